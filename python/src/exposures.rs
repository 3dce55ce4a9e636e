//! Exposures: how long, or how much, was watched for events. The library has their logarithms, as offsets of log rates.

use deepgp::likelihood::Outcomes;
use deepgp_io::ModelFile;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Exposures of rows, as Python gives them.
pub type Exposures<'py> = Option<PyReadonlyArray1<'py, f64>>;

/// The offsets of `rows` rows, where targets are of this kind. Fails if there are not as many, or one is not a positive number, or nothing
/// grows with them.
pub fn offsets(exposures: &Exposures<'_>, outcomes: Outcomes, rows: usize) -> PyResult<Option<Vec<f64>>> {
    let Some(exposures) = exposures else { return Ok(None) };
    let wrong = |text: String| Err(PyValueError::new_err(text));
    match outcomes {
        Outcomes::Counts => {}
        Outcomes::Real | Outcomes::Classes(_) => {
            return wrong(
                "`exposure` is for counts: leave it out, or give likelihood=\"poisson\" or \"negative-binomial\""
                    .into(),
            );
        }
    }
    let all: Vec<f64> = exposures.as_array().iter().copied().collect();
    if all.len() != rows {
        return wrong(format!("`exposure`: expected {rows} rows, as many as X has, found {}", all.len()));
    }
    if let Some(row) = all.iter().position(|own| !(*own > 0.0 && own.is_finite())) {
        return wrong(format!(
            "`exposure`: row {row} is {:?}, but must be a positive number (rows count from 0)",
            all[row]
        ));
    }
    Ok(Some(all.into_iter().map(f64::ln).collect()))
}

/// The offsets of rows that a fitted model is asked about. Fails if it was fitted with exposures and is asked without.
pub fn offsets_for(file: &ModelFile, exposures: &Exposures<'_>, rows: usize) -> PyResult<Option<Vec<f64>>> {
    if let (Some(name), None) = (&file.schema.exposure, exposures) {
        return Err(PyValueError::new_err(format!(
            "the model was fitted with exposures (`{name}`), and counts grow with them: give `exposure`, or exposure=1 \
             for counts per unit of it"
        )));
    }
    offsets(exposures, file.regressor.model.likelihood().outcomes(), rows)
}
