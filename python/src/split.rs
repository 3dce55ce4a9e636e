//! Which rows a split holds out, as arrays to index with.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::errors;

/// Row numbers.
type Rows<'py> = Bound<'py, PyArray1<i64>>;

/// The rest, and the rows that are held out.
#[pyfunction]
pub fn split_rows(py: Python<'_>, rows: usize, fraction: f64, seed: u64) -> PyResult<(Rows<'_>, Rows<'_>)> {
    let (rest, held_out) = deepgp::split_rows(rows, fraction, seed).map_err(errors::library)?;
    let array = |rows: Vec<u32>| rows.into_iter().map(i64::from).collect::<Vec<_>>().into_pyarray(py);
    Ok((array(rest), array(held_out)))
}
