//! The state of a training run beside model, data and settings, what a run reports after each step, and why it ended.

use crate::backend::Evaluation;
use crate::error::{Error, Result};
use crate::model::DeepGp;
use crate::settings::TrainSettings;
use crate::train::optimiser::{Optimiser, OptimiserState};
use crate::train::row_order::Minibatches;

/// Parameters and the optimiser's state at some moment of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The raw, unconstrained parameters.
    pub raw: Vec<f64>,
    /// The optimiser's vectors and its count of updates.
    pub optimiser: OptimiserState,
}

impl Snapshot {
    /// Copies another snapshot of the same lengths, without an allocation.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.raw.copy_from_slice(&other.raw);
        for (to, from) in self.optimiser.slots.iter_mut().zip(&other.optimiser.slots) {
            to.copy_from_slice(from);
        }
        self.optimiser.updates = other.optimiser.updates;
    }
}

/// The best parameters so far by the validation rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The raw, unconstrained parameters.
    pub raw: Vec<f64>,
    /// The score of the validation rows, in the model's units; more is better.
    pub score: f64,
    /// The step after which they were found; 0 is the start.
    pub step: u64,
}

/// Everything that changes while a model is trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainState {
    /// The current parameters and optimiser state.
    pub now: Snapshot,
    /// The parameters and optimiser state before the last update, to roll back to; `None` before the first one.
    pub before: Option<Snapshot>,
    /// The number of steps so far, rolled back ones included.
    pub step: u64,
    /// The number of the current pass over the data, from 0.
    pub epoch: u64,
    /// The number of minibatches of this epoch already used.
    pub batches_used: u64,
    /// The factor on the learning rate that roll-backs lower; 1 as long as there are none.
    pub rate_factor: f64,
    /// The number of steps in a row that were rolled back, up to now.
    pub failures: u32,
    /// The number of all steps that were rolled back.
    pub rolled_back: u64,
    /// The best parameters so far by the validation rows, if there are any.
    pub best: Option<Best>,
    /// The number of validations since the best one.
    pub looks_since_best: u32,
    /// The number of training rows, by which a state is recognised as belonging to them.
    pub num_data: usize,
    /// The settings of the run, by which a state is recognised too. Only `steps` and `threads` may change when a run goes on.
    pub settings: TrainSettings,
}

impl TrainState {
    /// The state before the first step.
    pub(crate) fn start(model: &DeepGp, optimiser: &dyn Optimiser, num_data: usize, settings: TrainSettings) -> Self {
        let raw = model.raw();
        Self {
            now: Snapshot { optimiser: OptimiserState::new(optimiser, raw.len()), raw },
            before: None,
            step: 0,
            epoch: 0,
            batches_used: 0,
            rate_factor: 1.0,
            failures: 0,
            rolled_back: 0,
            best: None,
            looks_since_best: 0,
            num_data,
            settings,
        }
    }

    /// The raw parameters of the best model so far: the best by the validation rows, or the present ones where there are none.
    pub fn best_raw(&self) -> &[f64] {
        self.best.as_ref().map_or(&self.now.raw, |best| &best.raw)
    }

    /// Fails unless a run of `model` by `optimiser` on `num_data` rows with these settings can go on from here.
    pub(super) fn check(
        &self,
        model: &DeepGp,
        optimiser: &dyn Optimiser,
        num_data: usize,
        settings: &TrainSettings,
    ) -> Result<()> {
        let count = model.parameters().last().map_or(0, |p| p.range.end);
        let snapshots = || [Some(&self.now), self.before.as_ref()].into_iter().flatten();
        let lengths = snapshots()
            .flat_map(|s| std::iter::once(s.raw.len()).chain(s.optimiser.slots.iter().map(Vec::len)))
            .chain(self.best.as_ref().map(|best| best.raw.len()));
        let mut fits: Vec<_> = lengths.map(|found| ("the number of parameters", found, count)).collect();
        for own in snapshots() {
            let (found, name) = (optimiser.name(), &own.optimiser.name);
            if name != found {
                let (expected, found) = (name.clone(), found.into());
                return Err(Error::ForeignState { what: "the optimiser", expected, found });
            }
        }
        let slots = optimiser.slots().len();
        fits.extend(
            snapshots().map(|s| ("the number of vectors that the optimiser remembers", s.optimiser.slots.len(), slots)),
        );
        fits.push(("the number of training rows", self.num_data, num_data));
        let (used, per_epoch) = (self.batches_used as usize, Minibatches::new(num_data, &self.settings).count as usize);
        fits.push(("the place in the pass", used, used.min(per_epoch - 1)));
        for (what, expected, found) in fits {
            if expected != found {
                return Err(Error::ForeignState { what, expected: expected.to_string(), found: found.to_string() });
            }
        }
        let TrainSettings { steps, threads, .. } = *settings;
        let own = TrainSettings { steps, threads, ..self.settings };
        if own != *settings {
            let (expected, found) = (format!("{own:?}"), format!("{settings:?}"));
            return Err(Error::ForeignState { what: "a setting other than `steps` and `threads`", expected, found });
        }
        Ok(())
    }
}

/// Whether a step moved the parameters or was rolled back.
#[derive(Clone, Debug)]
pub enum StepOutcome {
    /// The parameters moved; this was the objective before they did.
    Taken(Evaluation),
    /// The step was rolled back, for this reason.
    RolledBack(Error),
}

/// What a run reports to its callback after each step.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// The step's number, from 1.
    pub step: u64,
    /// The number of passes over the data so far, with its fraction.
    pub epoch: f64,
    /// Whether the parameters moved, and the objective before they did.
    pub outcome: StepOutcome,
    /// The learning rate of the step.
    pub learning_rate: f64,
    /// The factor on the KL in the step.
    pub kl_weight: f64,
    /// The score of the validation rows, in the model's units, at steps after which it was computed; more is better.
    pub validation: Option<f64>,
    /// The wall-clock time of the step in seconds, without validation; on an accelerator the average over its burst.
    pub seconds: f64,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// All steps that the settings ask for were taken.
    Steps,
    /// The validation rows saw nothing better `patience` times in a row.
    Patience,
    /// The callback asked for it.
    Callback,
    /// Step after step had to be rolled back, the last one for this reason. The model holds the last good parameters.
    Stuck(Error),
}
