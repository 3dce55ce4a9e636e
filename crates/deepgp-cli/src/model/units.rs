//! Numbers that a model file keeps in standardised units, in the units of its targets.

use deepgp::likelihood::Quantity;
use deepgp::{Scaling, ValidationScore};
use deepgp_io::ModelFile;

/// The standard deviation of each target's noise; empty if the likelihood has none.
pub fn noise(file: &ModelFile) -> Vec<f64> {
    let learnt = file.regressor.likelihood_summary();
    (0..file.schema.targets.len()).map_while(|output| Quantity::find(&learnt, "noise", Some(output))).collect()
}

/// The validation curve: steps, and the score of the validation rows after them, over all targets together.
pub fn validation(file: &ModelFile) -> Vec<(u64, f64)> {
    file.history.validation().iter().map(|&look| in_units(file, look)).collect()
}

/// The step whose parameters the model has, if validation rows chose it, and their score after it.
pub fn kept(file: &ModelFile) -> Option<(u64, f64)> {
    file.history.kept().map(|look| in_units(file, look))
}

/// A step and its score in standardised units, with the score as users see it.
fn in_units(file: &ModelFile, (step, score): (u64, f64)) -> (u64, f64) {
    let units = &file.regressor.standardiser.y;
    (step, validation_score(file.record.settings.train.validation_score, score, units))
}

/// A validation score in standardised units as users see it: a log density in the targets' units; a CRPS without its sign, in the units of
/// a single target and in standard deviations of several.
pub fn validation_score(kind: ValidationScore, score: f64, units: &Scaling) -> f64 {
    match kind {
        ValidationScore::LogDensity => score - units.log_volume(),
        ValidationScore::Crps => match units.scale[..] {
            [scale] => -score * scale,
            _ => -score,
        },
    }
}
