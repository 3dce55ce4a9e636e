//! The library's own backend: blocks of rows on all threads.
//!
//! `step.rs` is the way of a batch, `chain.rs` the way of a block through the layers, `sums.rs` what blocks leave behind; `run.rs`
//! trains and `mixtures.rs` answers. Parallel work goes to the threads of whoever calls.

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
use mixtures::Passes;
use run::CpuRun;
use step::StepMemory;

/// This machine's processors, alone or together with other processes.
#[derive(Clone, Debug)]
pub struct Cpu {
    communicator: Arc<dyn Communicator>,
}

impl Default for Cpu {
    fn default() -> Self {
        Self::among(Arc::new(Alone))
    }
}

impl Cpu {
    /// One of several processes that hold a share of every batch each ([`Batch::shard`]) and sum over all of them.
    pub fn among(communicator: Arc<dyn Communicator>) -> Self {
        Self { communicator }
    }

    /// What a model is computed on unless it is told otherwise.
    pub(crate) fn shared() -> Arc<dyn Backend> {
        Arc::new(Self::default())
    }
}

impl Backend for Cpu {
    fn name(&self) -> String {
        "cpu".into()
    }

    fn evaluate(
        &self,
        model: &DeepGp,
        batch: Batch<'_>,
        noise: Noise<'_>,
        gradient: bool,
    ) -> Result<(Evaluation, Vec<f64>)> {
        let mut memory = StepMemory::new(model, batch.data);
        let evaluation = model.evaluate(batch, noise, &*self.communicator, &mut memory, gradient)?;
        Ok((evaluation, memory.into_gradient()))
    }

    fn train<'d>(&self, model: &DeepGp, task: TrainingTask<'d>) -> Result<Box<dyn Run + 'd>> {
        Ok(Box::new(CpuRun::new(model, task, self.communicator.clone())))
    }

    fn mixtures<'m>(&self, model: &'m DeepGp, settings: PredictSettings) -> Result<Box<dyn Mixtures + 'm>> {
        Ok(Box::new(Passes::new(model, &model.prepare()?, settings, Want::Moments)))
    }
}
