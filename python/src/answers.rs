//! What a model answers at rows, in the user's units.

use std::sync::Arc;

use deepgp::{
    Importance, JOINT_ROWS, Mat, PredictSettings, Rows, UserPredictor, importance as importance_of, importance_rows,
};
use deepgp_io::{ModelFile, chunks};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{Matrix, Tensor, Vector};
use crate::engine::Engine;
use crate::exposures::{self, Exposures};
use crate::{arrays, background, errors};

/// What a matrix takes beside its numbers, in numbers.
const MATRIX: usize = 8;

/// Mean and variance of the function, mean and variance of observations.
type Moments<'py> = (Matrix<'py>, Matrix<'py>, Matrix<'py>, Matrix<'py>, Matrix<'py>);

/// Names of columns, their shares of the variance, and the standard errors of these.
type Shares<'py> = (Vec<String>, Matrix<'py>, Matrix<'py>);

/// The mixture to ask: samples of the hidden layers, their seed, and threads.
#[derive(Clone, Copy, FromPyObject)]
pub struct Sampling(usize, u64, usize);

impl Sampling {
    fn settings(self) -> PredictSettings {
        let Self(samples, seed, threads) = self;
        PredictSettings { samples, seed, threads }
    }
}

/// Asks about all rows at once.
fn ask<T: Send + 'static>(
    py: Python<'_>,
    file: Arc<ModelFile>,
    sampling: Sampling,
    question: impl FnOnce(&UserPredictor<'_>) -> deepgp::Result<T> + Send + 'static,
) -> PyResult<T> {
    let work = move |_: &_| question(&file.regressor.predictor(sampling.settings())?);
    background::run(py, work)?.map_err(errors::library)
}

/// Rows to ask about, owned by the thread that works on them.
struct Asked {
    x: Mat,
    offsets: Option<Vec<f64>>,
}

impl Asked {
    /// Rows to ask the model of `file` about.
    fn new(file: &ModelFile, x: &PyReadonlyArray2<'_, f64>, exposure: &Exposures<'_>) -> PyResult<Self> {
        let x = arrays::matrix(x)?;
        let offsets = exposures::offsets_for(file, exposure, x.nrows())?;
        Ok(Self { x, offsets })
    }

    /// So many rows from `first` on, or as many as there are.
    fn some(&self, first: usize, rows: usize) -> Rows<'_> {
        let own = first..self.x.nrows().min(first + rows);
        Rows { offsets: self.offsets.as_ref().map(|all| &all[own.clone()]), x: self.x.view().rows(own) }
    }

    /// All of them.
    fn all(&self) -> Rows<'_> {
        self.some(0, self.x.nrows())
    }
}

/// Asks about some rows after the others, until nobody waits for the answer any more; puts the answers one below the other. The question
/// has the number of the first of these rows.
fn ask_rows<const K: usize>(
    py: Python<'_>,
    file: Arc<ModelFile>,
    sampling: Sampling,
    asked: Asked,
    question: impl Fn(&UserPredictor<'_>, Rows<'_>, usize) -> deepgp::Result<[Mat; K]> + Send + 'static,
) -> PyResult<[Mat; K]> {
    let work = move |caller: &background::Caller<_>| {
        let predictor = file.regressor.predictor(sampling.settings())?;
        let rows = chunks::rows_at_once(sampling.0, asked.x.ncols());
        let mut answers = vec![question(&predictor, asked.some(0, rows), 0)?];
        for first in (rows..asked.x.nrows()).step_by(rows).take_while(|_| !caller.has_left()) {
            answers.push(question(&predictor, asked.some(first, rows), first)?);
        }
        below_each_other(answers)
    };
    background::run(py, work)?.map_err(errors::library)
}

/// Answers about all rows, from those about some rows after the others.
fn below_each_other<const K: usize>(answers: Vec<[Mat; K]>) -> deepgp::Result<[Mat; K]> {
    let mut all: [(usize, Vec<f64>); K] = std::array::from_fn(|_| (0, Vec::new()));
    for some in answers {
        for ((width, values), own) in all.iter_mut().zip(some) {
            *width = own.ncols();
            values.extend(own.into_vec());
        }
    }
    let mut joined = std::array::from_fn(|_| Mat::zeros(0, 0));
    for (to, (width, values)) in joined.iter_mut().zip(all) {
        *to = Mat::from_vec(values.len().checked_div(width).unwrap_or(0), width, values)?;
    }
    Ok(joined)
}

/// Mean and variance of the function and of observations at each row, and the noise's part of the latter.
#[pyfunction]
pub fn moments<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    exposure: Exposures<'_>,
    sampling: Sampling,
) -> PyResult<Moments<'py>> {
    let file = engine.file();
    let asked = Asked::new(&file, &x, &exposure)?;
    let [f_mean, f_variance, y_mean, y_variance, noise] = ask_rows(py, file, sampling, asked, |predictor, rows, _| {
        let prediction = predictor.moments(rows)?;
        let (f, y) = (prediction.f, prediction.y);
        Ok([f.mean, f.variance, y.mean, y.variance, prediction.noise])
    })?;
    let out = |m| arrays::array(py, m);
    Ok((out(f_mean)?, out(f_variance)?, out(y_mean)?, out(y_variance)?, out(noise)?))
}

/// Quantiles of observations, `[N, P · levels]`.
#[pyfunction]
pub fn quantiles<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    levels: Vec<f64>,
    exposure: Exposures<'_>,
    sampling: Sampling,
) -> PyResult<Matrix<'py>> {
    let file = engine.file();
    let asked = Asked::new(&file, &x, &exposure)?;
    let question = move |predictor: &UserPredictor<'_>, rows: Rows<'_>, _| Ok([predictor.quantiles(rows, &levels)?]);
    let [all] = ask_rows(py, file, sampling, asked, question)?;
    arrays::array(py, all)
}

/// Central intervals of observations, `[N, P · levels · 2]`.
#[pyfunction]
pub fn intervals<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    levels: Vec<f64>,
    exposure: Exposures<'_>,
    sampling: Sampling,
) -> PyResult<Matrix<'py>> {
    let file = engine.file();
    let asked = Asked::new(&file, &x, &exposure)?;
    let question = move |predictor: &UserPredictor<'_>, rows: Rows<'_>, _| Ok([predictor.intervals(rows, &levels)?]);
    let [all] = ask_rows(py, file, sampling, asked, question)?;
    arrays::array(py, all)
}

/// The probability of each class, `[N, C]`.
#[pyfunction]
pub fn class_probabilities<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    sampling: Sampling,
) -> PyResult<Matrix<'py>> {
    let file = engine.file();
    let asked = Asked::new(&file, &x, &None)?;
    let [all] = ask_rows(py, file, sampling, asked, |predictor, rows, _| Ok([predictor.class_probabilities(rows)?]))?;
    arrays::array(py, all)
}

/// The columns of the table, and the share of the variance of predictions in which each has a part with its standard error, `[answers, columns]`.
#[pyfunction]
pub fn importance<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    sampling: Sampling,
) -> PyResult<Shares<'py>> {
    let (file, x) = (engine.file(), arrays::matrix(&x)?);
    let names: Vec<String> = file.schema.inputs.iter().map(|column| column.name.clone()).collect();
    let groups = file.schema.inputs_of_columns();
    let found = ask(py, file, sampling, move |predictor| {
        importance_of(x.view(), &groups, importance_rows(groups.len()), sampling.1, |rows| predictor.central(rows))
    })?;
    let matrix = |of: fn(&Importance) -> f64| Mat::from_fn(found.len(), names.len(), |a, c| of(&found[a][c]));
    let (shares, errors) = (arrays::array(py, matrix(|own| own.share))?, arrays::array(py, matrix(|own| own.error))?);
    Ok((names, shares, errors))
}

/// The log density of each row's targets.
#[pyfunction]
pub fn log_density<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    y: PyReadonlyArray2<'_, f64>,
    exposure: Exposures<'_>,
    sampling: Sampling,
) -> PyResult<Vector<'py>> {
    let file = engine.file();
    let (asked, y) = (Asked::new(&file, &x, &exposure)?, as_many(&x, &y)?);
    let [all] = ask_rows(py, file, sampling, asked, move |predictor, rows, first| {
        Ok([Mat::column(predictor.log_density(rows, y.view().rows(first..first + rows.x.nrows()))?)])
    })?;
    Ok(arrays::vector(py, all.into_vec()))
}

/// `P(observation ≤ y)` for each target, `[N, P]`.
#[pyfunction]
pub fn below<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    y: PyReadonlyArray2<'_, f64>,
    exposure: Exposures<'_>,
    sampling: Sampling,
) -> PyResult<Matrix<'py>> {
    let file = engine.file();
    let (asked, y) = (Asked::new(&file, &x, &exposure)?, as_many(&x, &y)?);
    let [all] = ask_rows(py, file, sampling, asked, move |predictor, rows, first| {
        Ok([predictor.cumulative(rows, y.view().rows(first..first + rows.x.nrows()))?])
    })?;
    arrays::array(py, all)
}

/// Slopes of the function's mean and variance in the inputs, `[N, P · D]` each.
#[pyfunction]
pub fn input_gradient<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    sampling: Sampling,
) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
    // An exposure shifts a log rate, and bends nothing.
    let asked = Asked { x: arrays::matrix(&x)?, offsets: None };
    let [mean, variance] = ask_rows(py, engine.file(), sampling, asked, |predictor, rows, _| {
        let slopes = predictor.input_gradient(rows.x)?;
        Ok([slopes.mean, slopes.variance])
    })?;
    Ok((arrays::array(py, mean)?, arrays::array(py, variance)?))
}

/// Draws of observations, each row by itself, `[draws, N, P]`.
#[pyfunction]
pub fn draws<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    count: usize,
    exposure: Exposures<'_>,
    sampling: Sampling,
) -> PyResult<Tensor<'py>> {
    let (rows, (_, outputs, _)) = (x.shape()[0], engine.widths());
    // What the library hands over, and the array that it becomes.
    check_room(count, rows, 2 * outputs)?;
    let file = engine.file();
    let asked = Asked::new(&file, &x, &exposure)?;
    let all = ask(py, file, sampling, move |predictor| predictor.draws_of_y(asked.all(), count))?;
    arrays::stack(py, all, rows, outputs)
}

/// Draws of observations of whole functions, `[draws, N, P]`.
#[pyfunction]
pub fn joint_draws<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    count: usize,
    sampling: Sampling,
) -> PyResult<Tensor<'py>> {
    let (rows, (_, outputs, _)) = (x.shape()[0], engine.widths());
    // Functions too.
    check_room(count, rows, 3 * outputs)?;
    let file = engine.file();
    if file.schema.exposure.is_some() {
        return Err(PyValueError::new_err(
            "counts that grow with an exposure are not drawn jointly: draw each row by itself, with `joint=False`",
        ));
    }
    let x = arrays::matrix(&x)?;
    let all = ask(py, file, sampling, move |predictor| Ok(predictor.joint_draws(x.view(), count)?.y))?;
    arrays::stack(py, all, rows, outputs)
}

/// Mean `[N, P]` and covariance `[P, N, N]` of the function over all rows.
#[pyfunction]
pub fn joint_moments<'py>(
    py: Python<'py>,
    engine: &Engine,
    x: PyReadonlyArray2<'_, f64>,
    sampling: Sampling,
) -> PyResult<(Matrix<'py>, Tensor<'py>)> {
    let x = arrays::matrix(&x)?;
    let rows = x.nrows();
    let all = ask(py, engine.file(), sampling, move |predictor| predictor.joint_moments(x.view()))?;
    Ok((arrays::array(py, all.mean)?, arrays::stack(py, all.covariance, rows, rows)?))
}

/// How many rows can be taken jointly, at most.
#[pyfunction]
pub fn joint_rows() -> usize {
    JOINT_ROWS
}

/// Fails if there is no memory for so many draws of `width` numbers a row. To run out of it later would end the process.
fn check_room(count: usize, rows: usize, width: usize) -> PyResult<()> {
    let numbers = rows.checked_mul(width).and_then(|each| each.checked_add(MATRIX)?.checked_mul(count));
    let fits = numbers.is_some_and(|numbers| Vec::<f64>::new().try_reserve_exact(numbers).is_ok());
    let message = || format!("there is no memory for {count} draws at {rows} rows: ask for fewer at a time");
    if fits { Ok(()) } else { Err(PyMemoryError::new_err(message())) }
}

/// Targets of as many rows as there are inputs.
fn as_many(x: &PyReadonlyArray2<'_, f64>, y: &PyReadonlyArray2<'_, f64>) -> PyResult<Mat> {
    let (expected, found) = (x.shape()[0], y.shape()[0]);
    if expected != found {
        return Err(PyValueError::new_err(format!("y: expected {expected} rows, as many as X has, found {found}")));
    }
    arrays::matrix(y)
}
