//! What there is to a training run beside model, data and settings, and what it tells on the way.

use crate::adam::Adam;
use crate::error::Error;
use crate::settings::TrainSettings;
use crate::step::Elbo;

/// Parameters and optimiser at some moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Unconstrained parameters.
    pub raw: Vec<f64>,
    /// The optimiser's memory.
    pub adam: Adam,
}

impl Snapshot {
    /// A copy that allocates nothing.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.raw.copy_from_slice(&other.raw);
        self.adam.first.copy_from_slice(&other.adam.first);
        self.adam.second.copy_from_slice(&other.adam.second);
        self.adam.updates = other.adam.updates;
    }
}

/// The best parameters so far by the validation rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Unconstrained parameters.
    pub raw: Vec<f64>,
    /// Mean log density of the validation rows.
    pub score: f64,
    /// After which step; 0 is the start.
    pub step: u64,
}

/// Everything that changes while a model is trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainState {
    /// Parameters and optimiser.
    pub now: Snapshot,
    /// The same before the last update, to return to.
    pub before: Option<Snapshot>,
    /// Steps so far, rolled back ones included.
    pub step: u64,
    /// Which pass over the data this is.
    pub epoch: u64,
    /// Minibatches of this pass already used.
    pub batches_used: u64,
    /// Factor on the learning rate after roll-backs; 1 in quiet times.
    pub rate_factor: f64,
    /// Steps rolled back in a row.
    pub failures: u32,
    /// Steps rolled back in all.
    pub rolled_back: u64,
    /// The best parameters by the validation rows.
    pub best: Option<Best>,
    /// Looks at the validation rows since the best one.
    pub looks_since_best: u32,
    /// Rows of the training data, to tell whether a state belongs to them.
    pub num_data: usize,
    /// The settings of the run, likewise. Only `steps` and `threads` may change when it goes on.
    pub settings: TrainSettings,
}

/// What a step did.
#[derive(Clone, Debug)]
pub enum StepOutcome {
    /// The parameters moved; this was the ELBO before they did.
    Taken(Elbo),
    /// The step was rolled back, for this reason.
    RolledBack(Error),
}

/// One step, as reported to the callback.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// Its number, from 1.
    pub step: u64,
    /// Passes over the data so far, in fractions.
    pub epoch: f64,
    /// What it did.
    pub outcome: StepOutcome,
    /// The learning rate it used.
    pub learning_rate: f64,
    /// The factor on the KL it used.
    pub kl_weight: f64,
    /// Mean log density of the validation rows (in the model's units), at steps that looked.
    pub validation: Option<f64>,
    /// Wall-clock time of the step, without the look at the validation rows; on an accelerator the average over its burst.
    pub seconds: f64,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// All steps were made.
    Steps,
    /// The validation rows saw nothing better for `patience` looks.
    Patience,
    /// The callback asked for it.
    Callback,
    /// Step after step had to be rolled back, the last one for this reason. The model holds the last good parameters.
    Stuck(Error),
}
