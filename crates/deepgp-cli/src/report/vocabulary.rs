//! The words that figures and key numbers have for objectives, validation scores and noise: made from the library's enums, in one place.

use deepgp::ObjectiveForm;
use deepgp::likelihood::LikelihoodDescription;

use super::Report;
use crate::model::units::Judge;

/// The words for the learning curve of an objective.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectiveWords {
    /// The name of the objective, as a title.
    pub(super) title: &'static str,
    /// The name of its curve.
    pub(super) label: &'static str,
    /// The noun for it within a sentence.
    pub(super) noun: &'static str,
}

impl ObjectiveWords {
    pub(super) fn of(objective: ObjectiveForm) -> Self {
        match objective {
            ObjectiveForm::Elbo => Self { title: "Evidence lower bound", label: "ELBO", noun: "bound" },
            ObjectiveForm::Tighter => {
                Self { title: "Tighter evidence lower bound", label: "tighter ELBO", noun: "bound" }
            }
            ObjectiveForm::Predictive { .. } => {
                Self { title: "Predictive objective", label: "predictive objective", noun: "objective" }
            }
            ObjectiveForm::Faithful { .. } => {
                Self { title: "Faithful objective", label: "faithful objective", noun: "objective" }
            }
        }
    }
}

/// The words for a validation score, as users see it: a log density, or a log loss or CRPS without the sign that training gives it.
#[derive(Debug, Clone)]
pub(super) struct ScoreWords {
    /// The name of the score within a sentence.
    pub(super) name: &'static str,
    /// The title of the axis that the score is drawn on.
    pub(super) axis: &'static str,
    /// What the score is of, and in which units.
    pub(super) meaning: String,
    /// What a good course looks like, and what a bad one means.
    pub(super) good: &'static str,
    /// Which way is better, in a few words.
    pub(super) better: &'static str,
}

impl ScoreWords {
    /// The words for the score by which the validation rows of a report judged.
    pub(super) fn of(report: &Report) -> Self {
        match report.choices.judge {
            Judge::LogLoss => Self {
                name: "log loss",
                axis: "mean log loss of a validation row",
                meaning: "The score on rows held back from training, in the units of the log loss of test rows."
                    .to_owned(),
                good: "Good: it falls and stays level; a rise after a trough is overfitting.",
                better: "lower is better",
            },
            Judge::LogDensity if report.counts.is_some() => Self {
                name: "log probability",
                axis: "mean log probability of a validation row",
                meaning: "The score on rows held back from training, in the units of the log score of test rows."
                    .to_owned(),
                good: "Good: it rises and stays level; a fall after a peak is overfitting.",
                better: "higher is better",
            },
            Judge::LogDensity => Self {
                name: "log density",
                axis: "mean log density of a validation row",
                meaning: format!(
                    "The score on rows held back from training, in the units of the {} of test rows.",
                    if report.targets.len() > 1 { "joint log likelihood" } else { "log likelihood" }
                ),
                good: "Good: it rises and stays level; a fall after a peak is overfitting.",
                better: "higher is better",
            },
            Judge::Crps => Self {
                name: "CRPS",
                axis: "mean CRPS of a validation row",
                meaning: format!(
                    "The continuous ranked probability score of rows held back from training: an error, in {}.",
                    crps_units(report)
                ),
                good: "Good: it falls and stays level; a rise after a trough is overfitting.",
                better: "lower is better",
            },
        }
    }
}

/// The units of the CRPS of validation rows: those of a single target, or of what its transform makes of it.
fn crps_units(report: &Report) -> String {
    match (&report.targets[..], report.history.noise_units.as_deref()) {
        ([_], Some([transformed])) => format!("units of {transformed}"),
        ([] | [_], _) => "units of the target".to_owned(),
        _ => "standard deviations of the targets, the mean over all of them".to_owned(),
    }
}

/// The best of some validation scores as users see them; `None` if none is a number.
pub(super) fn best(judge: Judge, all: &[(f64, f64)]) -> Option<f64> {
    let finite = all.iter().map(|(_, own)| *own).filter(|own| own.is_finite());
    match judge {
        Judge::LogDensity => finite.reduce(f64::max),
        Judge::LogLoss | Judge::Crps => finite.reduce(f64::min),
    }
}

/// The words for a noise that is the same for all rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoiseWords {
    /// The title of its learning curve.
    pub(super) title: &'static str,
    /// The title of the axis that it is drawn on.
    pub(super) axis: &'static str,
}

impl NoiseWords {
    /// The words for the noise of a likelihood; `None` where it follows the inputs, so that no one number says what it is, and where there is
    /// none.
    pub(super) fn of(likelihood: Option<LikelihoodDescription>) -> Option<Self> {
        match likelihood {
            None | Some(LikelihoodDescription::Gaussian { .. }) => {
                Some(Self { title: "Standard deviation of the noise", axis: "noise" })
            }
            Some(LikelihoodDescription::StudentT { .. }) => {
                Some(Self { title: "Scale of the noise", axis: "scale of the noise" })
            }
            Some(
                LikelihoodDescription::Heteroscedastic { .. }
                | LikelihoodDescription::Bernoulli { .. }
                | LikelihoodDescription::Softmax { .. }
                | LikelihoodDescription::Ordered { .. }
                | LikelihoodDescription::Poisson
                | LikelihoodDescription::NegativeBinomial,
            ) => None,
        }
    }
}
