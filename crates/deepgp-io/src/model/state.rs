//! The state of a run in a checkpoint: counters in words, parameters and moments as arrays. Noise and minibatches are functions of
//! the counters, so nothing else is needed to go on to the same bits.

use deepgp::{Best, OptimiserState, Snapshot, TrainSettings, TrainState};
use serde::{Deserialize, Serialize};

use super::description::{Array, Arrays, vector};

/// The counters of a [`TrainState`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StateDescription {
    step: u64,
    epoch: u64,
    batches_used: u64,
    rate_factor: f64,
    failures: u32,
    rolled_back: u64,
    looks_since_best: u32,
    num_data: usize,
    settings: TrainSettings,
    now_updates: u64,
    before_updates: Option<u64>,
    /// Score and step.
    best: Option<(f64, u64)>,
}

impl StateDescription {
    /// Describes `state`, and adds its arrays.
    pub fn of(state: &TrainState, arrays: &mut Arrays) -> Self {
        let optimiser = state.settings.optimiser.optimiser();
        let mut snapshot = |name: &str, own: &Snapshot| {
            arrays.insert(format!("state.{name}.raw"), Array::vector(&own.raw));
            for (slot, values) in optimiser.slots().iter().zip(&own.optimiser.slots) {
                arrays.insert(format!("state.{name}.{}.{slot}", optimiser.name()), Array::vector(values));
            }
            own.optimiser.updates
        };
        let now_updates = snapshot("now", &state.now);
        let before_updates = state.before.as_ref().map(|before| snapshot("before", before));
        let best = state.best.as_ref().map(|best| {
            arrays.insert("state.best.raw".into(), Array::vector(&best.raw));
            (best.score, best.step)
        });
        Self {
            step: state.step,
            epoch: state.epoch,
            batches_used: state.batches_used,
            rate_factor: state.rate_factor,
            failures: state.failures,
            rolled_back: state.rolled_back,
            looks_since_best: state.looks_since_best,
            num_data: state.num_data,
            settings: state.settings,
            now_updates,
            before_updates,
            best,
        }
    }

    /// The state again.
    pub fn build(&self, arrays: &Arrays) -> Result<TrainState, String> {
        let optimiser = self.settings.optimiser.optimiser();
        let snapshot = |name: &str, updates: u64| {
            let part = |part: &str| vector(arrays, &format!("state.{name}.{part}"));
            let slot = |slot: &&str| part(&format!("{}.{slot}", optimiser.name()));
            let slots = optimiser.slots().iter().map(slot).collect::<Result<_, _>>()?;
            Ok::<_, String>(Snapshot {
                raw: part("raw")?,
                optimiser: OptimiserState { name: optimiser.name().into(), updates, slots },
            })
        };
        let best = match self.best {
            None => None,
            Some((score, step)) => Some(Best { raw: vector(arrays, "state.best.raw")?, score, step }),
        };
        Ok(TrainState {
            now: snapshot("now", self.now_updates)?,
            before: self.before_updates.map(|updates| snapshot("before", updates)).transpose()?,
            step: self.step,
            epoch: self.epoch,
            batches_used: self.batches_used,
            rate_factor: self.rate_factor,
            failures: self.failures,
            rolled_back: self.rolled_back,
            best,
            looks_since_best: self.looks_since_best,
            num_data: self.num_data,
            settings: self.settings,
        })
    }
}
