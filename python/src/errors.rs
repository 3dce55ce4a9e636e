//! The library's errors as Python's: its message, under the class that scikit-learn and NumPy users expect.

use std::io::ErrorKind;

use deepgp_io::ModelError;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileNotFoundError, PyFloatingPointError, PyIsADirectoryError, PyOSError, PyPermissionError, PyValueError,
};

/// A wrong value is a `ValueError`; what arithmetic cannot do is a `FloatingPointError`.
pub fn library(error: deepgp::Error) -> PyErr {
    let message = error.to_string();
    match error {
        deepgp::Error::Diverged { .. }
        | deepgp::Error::Overflow { .. }
        | deepgp::Error::NotPositiveDefinite { .. }
        | deepgp::Error::Stuck { .. } => PyFloatingPointError::new_err(message),
        // In Python's words.
        deepgp::Error::ConstantColumn { .. } => {
            PyValueError::new_err(message.replace("`ConstantColumns::Keep`", "`constant_columns=\"keep\"`"))
        }
        _ => PyValueError::new_err(message),
    }
}

/// What the operating system refused is an `OSError`; a file that is no model is a `ValueError`.
pub fn file(error: ModelError) -> PyErr {
    let message = error.to_string();
    match &error {
        ModelError::Io { cause, .. } => match cause.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
            ErrorKind::IsADirectory => PyIsADirectoryError::new_err(message),
            _ => PyOSError::new_err(message),
        },
        _ => PyValueError::new_err(message),
    }
}

/// What is wrong with a frame is a `ValueError`.
pub fn table(error: deepgp_io::Error) -> PyErr {
    PyValueError::new_err(crate::frames::error_in_words(&error))
}
