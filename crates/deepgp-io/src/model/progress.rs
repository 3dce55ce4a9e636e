//! How training is going, for whoever watches: the same for every program that trains a model.

use deepgp::likelihood::Quantity;
use deepgp::{StepOutcome, StepReport};

/// What a training run reports to its progress display after a step.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingProgress {
    /// The step's number, from 1.
    pub step: u64,
    /// Passes over the data so far.
    pub epoch: f64,
    /// The bound before the step; or why the step was rolled back.
    pub bound: Result<Bound, String>,
    /// What the likelihood has learnt so far.
    pub likelihood: Vec<Quantity>,
    /// The learning rate of the step.
    pub learning_rate: f64,
    /// The score of the validation rows, of standardised targets, if the step looked at them; more is better.
    pub validation: Option<f64>,
    /// Seconds of training so far.
    pub seconds: f64,
}

/// The objective of training and its two parts: a bound on the log evidence, as a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The objective's name, e.g. `ELBO`.
    pub objective: &'static str,
    /// The objective itself: `data_term - kl`.
    pub elbo: f64,
    /// The expected log likelihood of the data.
    pub data_term: f64,
    /// The KL divergence from the prior, over all layers.
    pub kl: f64,
}

impl TrainingProgress {
    /// What the library reports of a step, with what the likelihood has learnt and the seconds of training so far.
    pub fn new(report: &StepReport, likelihood: Vec<Quantity>, seconds: f64) -> Self {
        let bound = match &report.outcome {
            StepOutcome::Taken(taken) => Ok(Bound {
                objective: taken.objective,
                elbo: taken.total(),
                data_term: taken.data_term,
                kl: taken.kl.iter().sum(),
            }),
            StepOutcome::RolledBack(reason) => Err(reason.to_string()),
        };
        let StepReport { step, epoch, learning_rate, validation, .. } = *report;
        Self { step, epoch, bound, likelihood, learning_rate, validation, seconds }
    }
}
