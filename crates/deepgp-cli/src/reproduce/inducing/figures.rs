//! Figures.

use super::InducingLine;
use crate::reproduce::publish::Named;

/// The figures by the names of their files, without endings; none if there are no results.
pub fn figures(_lines: &[InducingLine]) -> Vec<Named> {
    Vec::new()
}
