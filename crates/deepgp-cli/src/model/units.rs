//! Numbers that a model file keeps in standardised units, in the units of its targets.

use deepgp::likelihood::Quantity;
use deepgp_io::ModelFile;

/// The standard deviation of each target's noise; empty if the likelihood has none.
pub fn noise(file: &ModelFile) -> Vec<f64> {
    let learnt = file.regressor.likelihood_summary();
    (0..file.schema.targets.len()).map_while(|output| Quantity::find(&learnt, "noise", Some(output))).collect()
}

/// The validation curve: steps, and the mean log density of a validation row after them, over all targets together.
pub fn validation(file: &ModelFile) -> Vec<(u64, f64)> {
    file.history.validation().iter().map(|&look| in_units(file, look)).collect()
}

/// The step whose parameters the model has, if validation rows chose it, and their mean log density after it.
pub fn kept(file: &ModelFile) -> Option<(u64, f64)> {
    file.history.kept().map(|look| in_units(file, look))
}

/// A step and its score in standardised units, with the score in the targets' units.
fn in_units(file: &ModelFile, (step, score): (u64, f64)) -> (u64, f64) {
    (step, score - file.regressor.standardiser.y.log_volume())
}
