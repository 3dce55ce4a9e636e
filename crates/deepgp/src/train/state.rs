//! What there is to a training run beside model, data and settings, and what it tells on the way.

use crate::backend::Evaluation;
use crate::error::{Error, Result};
use crate::model::DeepGp;
use crate::settings::TrainSettings;
use crate::train::optimiser::{Optimiser, OptimiserState};
use crate::train::row_order::Passes;

/// Parameters and optimiser at some moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Unconstrained parameters.
    pub raw: Vec<f64>,
    /// What the optimiser remembers.
    pub optimiser: OptimiserState,
}

impl Snapshot {
    /// A copy that allocates nothing.
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
        let slots = optimiser.slots().len();
        fits.extend(
            snapshots().map(|s| ("the number of vectors that the optimiser remembers", s.optimiser.slots.len(), slots)),
        );
        fits.push(("the number of training rows", self.num_data, num_data));
        let (used, per_pass) = (self.batches_used as usize, Passes::new(num_data, &self.settings).batches as usize);
        fits.push(("the place in the pass", used, used.min(per_pass - 1)));
        for (what, expected, found) in fits {
            if expected != found {
                return Err(Error::ForeignState { what, expected: expected.to_string(), found: found.to_string() });
            }
        }
        let TrainSettings { steps, threads, .. } = *settings;
        let kept = TrainSettings { steps, threads, ..self.settings };
        if kept != *settings {
            let (expected, found) = (format!("{kept:?}"), format!("{settings:?}"));
            return Err(Error::ForeignState { what: "a setting other than `steps` and `threads`", expected, found });
        }
        Ok(())
    }
}

/// What a step did.
#[derive(Clone, Debug)]
pub enum StepOutcome {
    /// The parameters moved; this was the objective before they did.
    Taken(Evaluation),
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
