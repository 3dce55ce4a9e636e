//! What a model file keeps in standardised units, in those of its targets.

use deepgp::likelihood::Quantity;
use deepgp_io::ModelFile;

/// The standard deviation of each target's noise; nothing if the likelihood has none.
pub fn noise(file: &ModelFile) -> Vec<f64> {
    let learnt = file.regressor.likelihood_summary();
    (0..file.schema.targets.len()).map_while(|output| Quantity::find(&learnt, "noise", Some(output))).collect()
}

/// Steps, and the mean log density of a validation row after them, over all targets together.
pub fn validation(file: &ModelFile) -> Vec<(u64, f64)> {
    file.history.validation().iter().map(|&look| in_units(file, look)).collect()
}

/// The same of the step whose parameters the model has, where validation rows chose it.
pub fn kept(file: &ModelFile) -> Option<(u64, f64)> {
    file.history.kept().map(|look| in_units(file, look))
}

fn in_units(file: &ModelFile, (step, score): (u64, f64)) -> (u64, f64) {
    (step, score - file.regressor.standardiser.y.log_volume())
}
