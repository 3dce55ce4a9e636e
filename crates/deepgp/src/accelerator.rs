//! The seam for machines other than the CPU: who computes steps and mixtures, if not this library.
//!
//! A model carries its [`Accelerator`] with it ([`DeepGp::computed_on`]), and whoever trains it, evaluates it or asks it for
//! predictions goes there. What crosses the seam is small: parameters, plans of a few steps, ELBOs, moments. The data goes over
//! once. Everything else, from minibatches to early stopping and quantiles, is written once, on this side.

use std::sync::Arc;

use crate::batch::Batch;
use crate::data::Dataset;
use crate::error::Result;
use crate::layer::JitterEvent;
use crate::mat::View;
use crate::model::DeepGp;
use crate::noise::Noise;
use crate::predict::Moments;
use crate::settings::{PredictSettings, TrainSettings};
use crate::step::Elbo;
use crate::train_state::TrainState;

/// Steps that are asked for at once in training, at most: a multiple of it always ends a burst.
pub const BURST: u64 = 10;

/// A machine that can compute a model.
pub trait Accelerator: std::fmt::Debug + Send + Sync {
    /// What it is, e.g. `cuda: NVIDIA H200`.
    fn name(&self) -> String;

    /// [`DeepGp::elbo_gradient`]; without `gradient` the vector is empty. The batch has been checked.
    fn evaluate(&self, model: &DeepGp, batch: Batch<'_>, noise: Noise<'_>, gradient: bool) -> Result<(Elbo, Vec<f64>)>;

    /// Takes a model and its training data on board. The state comes by [`Run::load`].
    fn train(&self, model: &DeepGp, data: &Dataset, settings: &TrainSettings) -> Result<Box<dyn Run>>;

    /// Makes a model ready to answer.
    fn mixtures(&self, model: &DeepGp, settings: PredictSettings) -> Result<Box<dyn Mixtures>>;
}

/// One step to make.
#[derive(Clone, Copy, Debug)]
pub struct StepPlan<'a> {
    /// Its number, from 0: the noise hangs on it.
    pub step: u64,
    /// The rows of the minibatch: no more than the largest of a pass that is cut evenly into batches of at most `batch_size`.
    pub rows: &'a [u32],
    /// Adam's rate, everything included.
    pub learning_rate: f64,
    /// The factor on the KL.
    pub kl_weight: f64,
}

/// A model in training on an accelerator.
pub trait Run: std::fmt::Debug + Send {
    /// Takes parameters and optimiser from a state. `model` holds the same parameters.
    fn load(&mut self, model: &DeepGp, state: &TrainState) -> Result<()>;

    /// Makes steps, and keeps the parameters before the last of them to return to. Stops at the first that cannot be computed: the
    /// last result is then its error, and the parameters are those it was to be computed at.
    fn steps(&mut self, plans: &[StepPlan<'_>]) -> Result<Vec<Result<Elbo>>>;

    /// Returns to the parameters before the last update.
    fn roll_back(&mut self) -> Result<()>;

    /// The current raw parameters.
    fn raw(&mut self, raw: &mut [f64]) -> Result<()>;

    /// Writes `now` and `before`.
    fn store(&mut self, state: &mut TrainState) -> Result<()>;
}

/// A model that answers on an accelerator.
pub trait Mixtures: std::fmt::Debug + Send + Sync {
    /// Moments of the last layer for each row and sample, as [`DeepGp::propagate`] gives them: `[N · S, P]` each.
    fn moments(&self, x: View<'_>) -> Result<Moments>;

    /// How many rows to ask for at once.
    fn rows_at_once(&self) -> usize;
}

impl DeepGp {
    /// The same model computed on an accelerator, or on the CPU if there is `None`.
    pub fn computed_on(mut self, accelerator: Option<Arc<dyn Accelerator>>) -> Self {
        self.accelerator = accelerator;
        self
    }

    /// Where it is computed; `None` is the CPU.
    pub fn accelerator(&self) -> Option<&Arc<dyn Accelerator>> {
        self.accelerator.as_ref()
    }

    /// Which kernel matrices need more jitter than asked for, at the present parameters; fails where no jitter helps.
    pub fn jitter_events(&self) -> Result<Vec<JitterEvent>> {
        Ok(self.prepare()?.into_iter().flat_map(|layer| layer.events).collect())
    }
}
