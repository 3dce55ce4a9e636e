//! The library's own backend: blocks of rows on all threads.
//!
//! `step.rs` is the way of a batch, `chain.rs` the way of a block through the layers, `sums.rs` the sums over blocks; `run.rs` trains
//! and `mixtures.rs` predicts. Parallel work goes to the threads of the caller.

pub(crate) mod chain;
pub(crate) mod mixtures;
mod run;
pub(crate) mod step;
mod sums;

use std::sync::Arc;

use super::{Alone, Backend, Communicator, Evaluation, Mixtures, Run, TrainingTask};
use crate::error::Result;
use crate::layer::Want;
use crate::model::DeepGp;
use crate::model::batch::Batch;
use crate::random::noise::Noise;
use crate::settings::PredictSettings;
use mixtures::CpuMixtures;
use run::CpuRun;
use step::StepMemory;

/// The backend on this machine's processors, alone or together with other processes.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// How sums are taken over processes.
    communicator: Arc<dyn Communicator>,
}

impl Default for Cpu {
    fn default() -> Self {
        Self::among(Arc::new(Alone))
    }
}

impl Cpu {
    /// The backend of one of several processes that hold some rows of every batch each ([`Batch::shard`]) and sum over all of them. Rows are
    /// taken as dense there: whether a sparse form pays, each would decide by its own.
    pub fn among(communicator: Arc<dyn Communicator>) -> Self {
        Self { communicator }
    }

    /// The backend that a new model has.
    pub(crate) fn shared() -> Arc<dyn Backend> {
        Arc::new(Self::default())
    }
}

impl Backend for Cpu {
    fn name(&self) -> String {
        "cpu".into()
    }

    fn communicator(&self) -> Arc<dyn Communicator> {
        self.communicator.clone()
    }

    fn evaluate(
        &self,
        model: &DeepGp,
        batch: Batch<'_>,
        noise: Noise<'_>,
        gradient: bool,
    ) -> Result<(Evaluation, Vec<f64>)> {
        let mut memory = StepMemory::new(model, batch.data, &*self.communicator);
        let evaluation = model.evaluate(batch, noise, &*self.communicator, &mut memory, gradient)?;
        Ok((evaluation, memory.into_gradient()))
    }

    fn takes_stored_rows(&self) -> bool {
        true
    }

    fn train<'d>(&self, model: &DeepGp, task: TrainingTask<'d>) -> Result<Box<dyn Run + 'd>> {
        Ok(Box::new(CpuRun::new(model, task, self.communicator.clone())?))
    }

    fn mixtures<'m>(&self, model: &'m DeepGp, settings: PredictSettings) -> Result<Box<dyn Mixtures + 'm>> {
        Ok(Box::new(CpuMixtures::new(model, &model.prepare()?, settings, Want::Moments)))
    }
}
