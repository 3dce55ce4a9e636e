//! Rows to predict at: inputs and, where targets are counts, offsets.

use crate::data::Dataset;
use crate::numeric::mat::View;

/// Rows to predict at. A view of inputs alone is one of these, without offsets.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The inputs, `[N, D]`.
    pub x: View<'a>,
    /// The offset of each row, the logarithm of its exposure, `[N]`; `None` for an exposure of 1.
    pub offsets: Option<&'a [f64]>,
}

impl<'a> Rows<'a> {
    /// Rows of these inputs with these offsets.
    pub fn with_offsets(x: View<'a>, offsets: &'a [f64]) -> Self {
        Self { x, offsets: Some(offsets) }
    }
}

impl<'a> From<View<'a>> for Rows<'a> {
    fn from(x: View<'a>) -> Self {
        Self { x, offsets: None }
    }
}

impl<'a> From<&'a Dataset> for Rows<'a> {
    fn from(data: &'a Dataset) -> Self {
        Self { x: data.x().view(), offsets: data.offsets() }
    }
}
