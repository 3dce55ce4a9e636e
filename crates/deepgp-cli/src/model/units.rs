//! Numbers that a model file keeps in standardised units, in the units of its targets.
//!
//! Where targets are transformed, the noise is around the transformed ones, and in their units.

use deepgp::likelihood::{Outcomes, Quantity};
use deepgp::{Standardiser, ValidationScore};
use deepgp_io::ModelFile;

/// The standard deviation of each target's noise; empty if the likelihood has none.
pub fn noise(file: &ModelFile) -> Vec<f64> {
    let learnt = file.regressor.likelihood_summary();
    (0..file.schema.targets.len()).map_while(|output| Quantity::find(&learnt, "noise", Some(output))).collect()
}

/// The names of what the noise is around: the targets, or what their transforms make of them.
pub fn noise_units(file: &ModelFile) -> Vec<String> {
    let targets = file.schema.targets.iter().enumerate();
    targets.map(|(p, name)| file.regressor.standardiser.transform_of(p).of_name(name)).collect()
}

/// The validation curve: steps, and the score of the validation rows after them, over all targets together.
pub fn validation(file: &ModelFile) -> Vec<(u64, f64)> {
    file.history.validation().iter().map(|&look| in_units(file, look)).collect()
}

/// The step whose parameters the model has, if validation rows chose it, and their score after it.
pub fn kept(file: &ModelFile) -> Option<(u64, f64)> {
    file.history.kept().map(|look| in_units(file, look))
}

/// The score by which validation rows judged, as users see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judge {
    /// The mean log density of a row, or of a count its log mass: more is better.
    #[default]
    LogDensity,
    /// The mean log loss of a row's class: less is better.
    LogLoss,
    /// The continuous ranked probability score: less is better.
    Crps,
}

impl Judge {
    /// A score in a few words: `-1.500`, `log loss 0.250`.
    pub fn in_words(self, score: f64) -> String {
        match self {
            Self::LogDensity | Self::Crps => format!("{score:.3}"),
            Self::LogLoss => format!("log loss {score:.3}"),
        }
    }

    /// The score that a setting means for such targets.
    pub fn of(setting: ValidationScore, outcomes: Outcomes) -> Self {
        match (setting.suiting(outcomes), outcomes) {
            (ValidationScore::LogDensity, Outcomes::Classes(_)) => Self::LogLoss,
            (ValidationScore::LogDensity, Outcomes::Real | Outcomes::Counts) => Self::LogDensity,
            (ValidationScore::Crps, _) => Self::Crps,
        }
    }
}

/// The score by which the validation rows of a fit judged.
pub fn judge(file: &ModelFile) -> Judge {
    Judge::of(file.record.settings.train.validation_score, file.regressor.model.likelihood().outcomes())
}

/// A step and its score in standardised units, with the score as users see it.
fn in_units(file: &ModelFile, (step, score): (u64, f64)) -> (u64, f64) {
    let (units, log_volume) = (&file.regressor.standardiser, file.record.validation_log_volume);
    (step, validation_score(judge(file), score, units, log_volume))
}

/// A validation score in standardised units as users see it: a log density in the targets' units, which loses `log_volume` on the way, if
/// that is not the same for every row; a log loss and a CRPS without their sign, the latter in the units of a single target (the transformed
/// one, where it is transformed) and in standard deviations of several.
pub fn validation_score(judge: Judge, score: f64, units: &Standardiser, log_volume: Option<f64>) -> f64 {
    match judge {
        Judge::LogDensity => score - log_volume.unwrap_or_else(|| units.y.log_volume()),
        Judge::LogLoss => -score,
        Judge::Crps => match units.y.scale[..] {
            [scale] => -score * scale,
            _ => -score,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_loss_is_told_as_such() {
        assert_eq!([Judge::LogDensity, Judge::Crps].map(|judge| judge.in_words(-1.5)), ["-1.500", "-1.500"]);
        assert_eq!(Judge::LogLoss.in_words(0.25), "log loss 0.250");
    }
}
