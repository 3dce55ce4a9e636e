//! Figures.

use super::FormsLine;
use crate::reproduce::publish::Named;

/// The figures by the names of their files, without endings; none if there are no results.
pub fn figures(_lines: &[FormsLine]) -> Vec<Named> {
    Vec::new()
}
