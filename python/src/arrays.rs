//! Arrays in and out. NumPy's may be in any order and have any strides; the library's are row after row.

use deepgp::Mat;
use numpy::ndarray::{ArrayD, IxDyn};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayDyn, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An array of Python's with one axis, with two, with any number.
pub type Vector<'py> = Bound<'py, PyArray1<f64>>;
pub type Matrix<'py> = Bound<'py, PyArray2<f64>>;
pub type Tensor<'py> = Bound<'py, PyArrayDyn<f64>>;

/// A copy of the rows.
pub fn matrix(array: &PyReadonlyArray2<'_, f64>) -> PyResult<Mat> {
    let shape = array.shape();
    let values = array.as_array().iter().copied().collect();
    Mat::from_vec(shape[0], shape[1], values).map_err(crate::errors::library)
}

/// A copy of all of them.
pub fn matrices(arrays: &[PyReadonlyArray2<'_, f64>]) -> PyResult<Vec<Mat>> {
    arrays.iter().map(matrix).collect()
}

/// Hands a matrix over.
pub fn array<'py>(py: Python<'py>, matrix: Mat) -> PyResult<Matrix<'py>> {
    let (rows, columns) = (matrix.nrows(), matrix.ncols());
    shaped(py, &[rows, columns], matrix.into_vec())?.cast_into().map_err(PyErr::from)
}

/// Hands numbers over.
pub fn vector<'py>(py: Python<'py>, values: Vec<f64>) -> Vector<'py> {
    values.into_pyarray(py)
}

/// Hands numbers over, row after row.
pub fn shaped<'py>(py: Python<'py>, shape: &[usize], values: Vec<f64>) -> PyResult<Tensor<'py>> {
    let array = ArrayD::from_shape_vec(IxDyn(shape), values).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// A stack of matrices of one shape, `[count, rows, columns]`.
pub fn stack<'py>(py: Python<'py>, all: Vec<Mat>, rows: usize, columns: usize) -> PyResult<Tensor<'py>> {
    let shape = [all.len(), rows, columns];
    shaped(py, &shape, all.into_iter().flat_map(Mat::into_vec).collect())
}

/// The numbers of an array of this shape, row after row; `name` is for the message if its shape is another one.
pub fn values_of(name: &str, array: &PyReadonlyArrayDyn<'_, f64>, shape: &[usize]) -> PyResult<Vec<f64>> {
    if array.shape() != shape {
        let (expected, found) = (tuple(shape), tuple(array.shape()));
        return Err(PyValueError::new_err(format!("`{name}`: expected an array of shape {expected}, found {found}")));
    }
    Ok(array.as_array().iter().copied().collect())
}

/// A shape as Python writes it.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
