//! Training on the CPU: one step at a time, on the trainer's own state, which is therefore always current.

use std::sync::Arc;
use std::time::Duration;

use super::step::StepMemory;
use crate::backend::{Communicator, Evaluation, Run, StepPlan, TrainingTask};
use crate::error::Result;
use crate::model::DeepGp;
use crate::model::batch::Batch;
use crate::model::params::Parameter;
use crate::random::noise::{Key, Noise, Purpose};
use crate::train::optimiser::{Factors, Update};
use crate::train::state::TrainState;

/// A training run on the CPU.
#[derive(Debug)]
pub(super) struct CpuRun<'d> {
    /// Rows, settings, objective and optimiser.
    task: TrainingTask<'d>,
    /// How sums are taken over processes.
    communicator: Arc<dyn Communicator>,
    /// The model's list of parameters, for constraints and what is frozen; its values are not used.
    parameters: Vec<Parameter>,
    /// The memory of a step, reused by the next.
    memory: StepMemory,
    /// The numbers from 0 on: where the rows of a minibatch are that a step brings.
    places: Vec<u32>,
}

impl<'d> CpuRun<'d> {
    /// A run of `model`, with memory for its steps.
    pub fn new(model: &DeepGp, task: TrainingTask<'d>, communicator: Arc<dyn Communicator>) -> Result<Self> {
        let (parameters, memory) = (model.parameters(), StepMemory::new(model, task.data, &*communicator));
        Ok(Self { task, communicator, parameters, memory, places: Vec::new() })
    }

    /// Moves the parameters by the gradient in memory. The older of the two snapshots becomes the new one.
    fn update(&mut self, learning_rate: f64, model: &mut DeepGp, state: &mut TrainState) {
        let before = state.before.get_or_insert_with(|| state.now.clone());
        std::mem::swap(&mut state.now, before);
        let update = Update {
            gradient: self.memory.gradient(),
            parameters: &self.parameters,
            factors: Factors::new(self.memory.prepared()),
            rate: learning_rate,
        };
        self.task.optimiser.ascend(before, &update, &mut state.now);
        model.set_raw(&state.now.raw);
    }
}

impl Run for CpuRun<'_> {
    fn burst(&self) -> u64 {
        1
    }

    fn fetch_every(&self) -> Duration {
        Duration::ZERO
    }

    fn load(&mut self, _model: &DeepGp, _state: &TrainState) -> Result<()> {
        Ok(())
    }

    fn steps(
        &mut self,
        plans: &[StepPlan<'_>],
        model: &mut DeepGp,
        state: &mut TrainState,
    ) -> Result<Vec<Result<Evaluation>>> {
        let TrainingTask { data, settings, objective, .. } = self.task.clone();
        let mut outcomes = Vec::new();
        for &StepPlan { step, rows, shard, minibatch, num_data, learning_rate, kl_weight, progress } in plans {
            let objective = &*objective;
            let data = minibatch.unwrap_or(data);
            let from = self.places.len() as u32;
            self.places.extend(from..from.max(minibatch.map_or(0, |_| rows.len() as u32)));
            let places = minibatch.map(|_| &self.places[..rows.len()]);
            let own = Batch { samples: settings.samples, kl_weight, progress, objective, ..Batch::of(data, rows) };
            let batch = Batch { num_data, shard, places, ..own };
            let noise = Noise::Rows { key: Key::new(settings.seed, Purpose::Train), step: step as u32 };
            match model.evaluate(batch, noise, &*self.communicator, &mut self.memory, true) {
                Ok(evaluation) => {
                    self.update(learning_rate, model, state);
                    outcomes.push(Ok(evaluation));
                }
                Err(reason) if reason.can_be_rolled_back() => {
                    outcomes.push(Err(reason));
                    break;
                }
                Err(other) => return Err(other),
            }
        }
        Ok(outcomes)
    }

    fn roll_back(&mut self, model: &mut DeepGp, state: &mut TrainState) -> Result<()> {
        if let Some(before) = &state.before {
            state.now.copy_from(before);
            model.set_raw(&state.now.raw);
        }
        Ok(())
    }

    fn store_raw(&mut self, _state: &mut TrainState) -> Result<()> {
        Ok(())
    }

    fn store(&mut self, _state: &mut TrainState) -> Result<()> {
        Ok(())
    }
}
