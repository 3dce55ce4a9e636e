//! The noise that a model predicts for scored rows, beside what it may depend on.

use anyhow::Result;
use deepgp::UserPredictor;
use deepgp_io::ModelFile;

use super::inducing::ordered_inputs;
use super::outputs::{column, inputs_of};
use crate::model::score::Scored;
use crate::picture::sample;
use crate::report::NoiseView;

/// The number of rows whose noise is drawn.
pub(super) const ROWS: usize = 2000;
/// The number of inputs that the noise is drawn against.
const INPUTS: usize = 4;

/// The noise of some of the scored rows, target by target; nothing where it does not follow the inputs.
pub fn noise(file: &ModelFile, scored: &Scored, predictor: &UserPredictor<'_>) -> Result<Vec<NoiseView>> {
    if !file.regressor.model.likelihood().noise_follows_inputs() {
        return Ok(Vec::new());
    }
    let rows = sample(&(0..scored.rows()).collect::<Vec<_>>(), ROWS);
    let x = inputs_of(scored, &rows);
    let predicted = predictor.moments(x.view())?;
    let (names, order) = ordered_inputs(file, 0);
    let inputs: Vec<_> = order.into_iter().take(INPUTS).map(|d| (names[d].clone(), column(&x, d))).collect();
    let view = |p: usize| {
        let mean = column(&predicted.y.mean, p);
        NoiseView {
            error: rows.iter().zip(&mean).map(|(&row, mean)| scored.data.y()[(row, p)] - mean).collect(),
            mean,
            spread: column(&predicted.y.variance, p).into_iter().map(f64::sqrt).collect(),
            deviation: column(&predicted.noise, p).into_iter().map(f64::sqrt).collect(),
            inputs: inputs.clone(),
        }
    };
    Ok((0..file.schema.targets.len()).map(view).collect())
}
