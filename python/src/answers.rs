//! What a model answers at rows, in the user's units.

use std::sync::Arc;

use deepgp::{
    Draws, Importance, JOINT_ROWS, Mat, PredictSettings, Rows, UserPredictor, importance as importance_of,
    importance_rows,
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

/// The mixture to ask: samples of the hidden layers, their seed, threads, and whether they are balanced.
#[derive(Clone, Copy, FromPyObject)]
pub struct Sampling(usize, u64, usize, bool);

impl Sampling {
    fn settings(self) -> PredictSettings {
        let Self(samples, seed, threads, balanced) = self;
        let draws = if balanced { Draws::Balanced } else { Draws::Independent };
        PredictSettings { samples, seed, threads, draws }
    }
}

/// What is asked: a model, rows with their exposures, and the mixture.
#[derive(FromPyObject)]
pub struct Question<'py>(PyRef<'py, Engine>, PyReadonlyArray2<'py, f64>, Exposures<'py>, Sampling);

impl Question<'_> {
    fn file(&self) -> Arc<ModelFile> {
        self.0.file()
    }

    /// The inputs, owned by whoever works on them; of questions that no exposure changes the answer to.
    fn x(&self) -> PyResult<Mat> {
        arrays::matrix(&self.1)
    }

    /// The number of rows.
    fn len(&self) -> usize {
        self.1.shape()[0]
    }

    /// The number of targets.
    fn outputs(&self) -> usize {
        self.0.widths().1
    }

    /// The rows with what they add to log rates, for the thread that works on them.
    fn asked(&self) -> PyResult<Asked> {
        let x = self.x()?;
        let offsets = exposures::offsets_for(&self.file(), &self.2, x.nrows())?;
        Ok(Asked { x, offsets })
    }

    /// Targets of these rows.
    fn targets(&self, y: &PyReadonlyArray2<'_, f64>) -> PyResult<Mat> {
        let (expected, found) = (self.len(), y.shape()[0]);
        if expected != found {
            return Err(PyValueError::new_err(format!("y: expected {expected} rows, as many as X has, found {found}")));
        }
        arrays::matrix(y)
    }

    /// Asks about all rows at once.
    fn at_once<T: Send + 'static>(
        &self,
        py: Python<'_>,
        answer: impl FnOnce(&UserPredictor<'_>) -> deepgp::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (file, sampling) = (self.file(), self.3);
        let work = move |_: &_| answer(&file.regressor.predictor(sampling.settings())?);
        background::run(py, work)?.map_err(errors::library)
    }

    /// Asks about some of these rows after the others, until nobody waits for the answer any more; puts the answers one below the other. What
    /// answers is told the number of the first of its rows.
    fn in_parts<const K: usize>(
        &self,
        py: Python<'_>,
        asked: Asked,
        answer: impl Fn(&UserPredictor<'_>, Rows<'_>, usize) -> deepgp::Result<[Mat; K]> + Send + 'static,
    ) -> PyResult<[Mat; K]> {
        let (file, sampling) = (self.file(), self.3);
        let work = move |caller: &background::Caller<_>| {
            let predictor = file.regressor.predictor(sampling.settings())?;
            let rows = chunks::rows_at_once(sampling.0, asked.x.ncols());
            let mut answers = vec![answer(&predictor, asked.some(0, rows), 0)?];
            for first in (rows..asked.x.nrows()).step_by(rows).take_while(|_| !caller.has_left()) {
                answers.push(answer(&predictor, asked.some(first, rows), first)?);
            }
            below_each_other(answers)
        };
        background::run(py, work)?.map_err(errors::library)
    }

    /// One matrix of answers to all rows.
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        answer: impl Fn(&UserPredictor<'_>, Rows<'_>) -> deepgp::Result<Mat> + Send + 'static,
    ) -> PyResult<Matrix<'py>> {
        let [all] = self.in_parts(py, self.asked()?, move |predictor, rows, _| Ok([answer(predictor, rows)?]))?;
        arrays::array(py, all)
    }
}

/// Rows to ask about, owned by the thread that works on them.
struct Asked {
    x: Mat,
    offsets: Option<Vec<f64>>,
}

impl Asked {
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
pub fn moments<'py>(py: Python<'py>, question: Question<'_>) -> PyResult<Moments<'py>> {
    let [f_mean, f_variance, y_mean, y_variance, noise] =
        question.in_parts(py, question.asked()?, |predictor, rows, _| {
            let prediction = predictor.moments(rows)?;
            let (f, y) = (prediction.f, prediction.y);
            Ok([f.mean, f.variance, y.mean, y.variance, prediction.noise])
        })?;
    let out = |m| arrays::array(py, m);
    Ok((out(f_mean)?, out(f_variance)?, out(y_mean)?, out(y_variance)?, out(noise)?))
}

/// Quantiles of observations, `[N, P · levels]`.
#[pyfunction]
pub fn quantiles<'py>(py: Python<'py>, question: Question<'_>, levels: Vec<f64>) -> PyResult<Matrix<'py>> {
    question.matrix(py, move |predictor, rows| predictor.quantiles(rows, &levels))
}

/// Central intervals of observations, `[N, P · levels · 2]`.
#[pyfunction]
pub fn intervals<'py>(py: Python<'py>, question: Question<'_>, levels: Vec<f64>) -> PyResult<Matrix<'py>> {
    question.matrix(py, move |predictor, rows| predictor.intervals(rows, &levels))
}

/// The probability of each class, `[N, C]`.
#[pyfunction]
pub fn class_probabilities<'py>(py: Python<'py>, question: Question<'_>) -> PyResult<Matrix<'py>> {
    question.matrix(py, |predictor, rows| predictor.class_probabilities(rows))
}

/// The columns of the table, and the share of the variance of predictions in which each has a part with its standard error, `[answers, columns]`.
#[pyfunction]
pub fn importance<'py>(py: Python<'py>, question: Question<'_>) -> PyResult<Shares<'py>> {
    let (file, x, seed) = (question.file(), question.x()?, question.3.1);
    let names: Vec<String> = file.schema.inputs.iter().map(|column| column.name.clone()).collect();
    let groups = file.schema.inputs_of_columns();
    let found = question.at_once(py, move |predictor| {
        importance_of(x.view(), &groups, importance_rows(groups.len()), seed, |rows| predictor.central(rows))
    })?;
    let matrix = |of: fn(&Importance) -> f64| Mat::from_fn(found.len(), names.len(), |a, c| of(&found[a][c]));
    let (shares, errors) = (arrays::array(py, matrix(|own| own.share))?, arrays::array(py, matrix(|own| own.error))?);
    Ok((names, shares, errors))
}

/// The log density of each row's targets.
#[pyfunction]
pub fn log_density<'py>(
    py: Python<'py>,
    question: Question<'_>,
    y: PyReadonlyArray2<'_, f64>,
) -> PyResult<Vector<'py>> {
    let (asked, y) = (question.asked()?, question.targets(&y)?);
    let [all] = question.in_parts(py, asked, move |predictor, rows, first| {
        Ok([Mat::column(predictor.log_density(rows, y.view().rows(first..first + rows.x.nrows()))?)])
    })?;
    Ok(arrays::vector(py, all.into_vec()))
}

/// `P(observation ≤ y)` for each target, `[N, P]`.
#[pyfunction]
pub fn below<'py>(py: Python<'py>, question: Question<'_>, y: PyReadonlyArray2<'_, f64>) -> PyResult<Matrix<'py>> {
    let (asked, y) = (question.asked()?, question.targets(&y)?);
    let [all] = question.in_parts(py, asked, move |predictor, rows, first| {
        Ok([predictor.cumulative(rows, y.view().rows(first..first + rows.x.nrows()))?])
    })?;
    arrays::array(py, all)
}

/// Slopes of the function's mean and variance in the inputs, `[N, P · D]` each.
#[pyfunction]
pub fn input_gradient<'py>(py: Python<'py>, question: Question<'_>) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
    // An exposure shifts a log rate, and bends nothing.
    let asked = Asked { x: question.x()?, offsets: None };
    let [mean, variance] = question.in_parts(py, asked, |predictor, rows, _| {
        let slopes = predictor.input_gradient(rows.x)?;
        Ok([slopes.mean, slopes.variance])
    })?;
    Ok((arrays::array(py, mean)?, arrays::array(py, variance)?))
}

/// Draws of observations, each row by itself, `[draws, N, P]`.
#[pyfunction]
pub fn draws<'py>(py: Python<'py>, question: Question<'_>, count: usize) -> PyResult<Tensor<'py>> {
    let (rows, outputs) = (question.len(), question.outputs());
    // What the library hands over, and the array that it becomes.
    check_room(count, rows, 2 * outputs)?;
    let asked = question.asked()?;
    let all = question.at_once(py, move |predictor| predictor.draws_of_y(asked.all(), count))?;
    arrays::stack(py, all, rows, outputs)
}

/// Draws of observations of whole functions, `[draws, N, P]`.
#[pyfunction]
pub fn joint_draws<'py>(py: Python<'py>, question: Question<'_>, count: usize) -> PyResult<Tensor<'py>> {
    let (rows, outputs) = (question.len(), question.outputs());
    // Functions too.
    check_room(count, rows, 3 * outputs)?;
    if question.file().schema.exposure.is_some() {
        return Err(PyValueError::new_err(
            "counts that grow with an exposure are not drawn jointly: draw each row by itself, with `joint=False`",
        ));
    }
    let x = question.x()?;
    let all = question.at_once(py, move |predictor| Ok(predictor.joint_draws(x.view(), count)?.y))?;
    arrays::stack(py, all, rows, outputs)
}

/// Mean `[N, P]` and covariance `[P, N, N]` of the function over all rows.
#[pyfunction]
pub fn joint_moments<'py>(py: Python<'py>, question: Question<'_>) -> PyResult<(Matrix<'py>, Tensor<'py>)> {
    let (x, rows) = (question.x()?, question.len());
    let all = question.at_once(py, move |predictor| predictor.joint_moments(x.view()))?;
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
