//! Where to compute. All that Python knows of devices is here.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Fails unless this build can compute on the device of that name.
#[pyfunction]
pub fn check_device(name: &str) -> PyResult<()> {
    match name {
        "auto" | "cpu" => Ok(()),
        "cuda" => Err(PyRuntimeError::new_err(
            "device='cuda': this build of deepgp computes on the CPU only; take device='auto' or device='cpu'",
        )),
        _ => Err(PyValueError::new_err(format!("`device` is {name:?}, but must be 'auto', 'cpu' or 'cuda'"))),
    }
}
