//! The library's simulated data as arrays.

use deepgp::Dataset;
use deepgp::simulate;
use pyo3::prelude::*;

use crate::arrays::{self, Matrix, Vector};
use crate::background;

/// Inputs and one target.
type Simulated<'py> = PyResult<(Matrix<'py>, Vector<'py>)>;

fn simulated(py: Python<'_>, draw: impl FnOnce() -> Dataset + Send + 'static) -> Simulated<'_> {
    let data = background::run(py, move |_| draw())?;
    Ok((arrays::array(py, data.x().clone())?, arrays::vector(py, data.y().as_slice().to_vec())))
}

/// Distances of the tip of an arm of eight links from a point.
#[pyfunction]
pub fn eight_link_arm(py: Python<'_>, rows: usize, seed: u64) -> Simulated<'_> {
    simulated(py, move || simulate::eight_link_arm(rows, seed))
}

/// A step from −1 to 1.
#[pyfunction]
pub fn step_curve(py: Python<'_>, rows: usize, seed: u64) -> Simulated<'_> {
    simulated(py, move || simulate::step_curve(rows, seed))
}
