//! Backends: who computes a model. The open traits; [`Cpu`] is the library's own, `deepgp-cuda` another.
//!
//! A model carries its [`Backend`] with it ([`DeepGp::computed_on`]), and whoever trains it, evaluates it or asks it for predictions
//! goes there. What crosses the seam is small: parameters, plans of a few steps, values of the objective, moments. The data goes over
//! once. Everything else, from minibatches to early stopping and quantiles, is written once, on this side.
//!
//! To add one, implement [`Backend`] with a [`Run`] and [`Mixtures`] of its own; nothing else changes.

mod communicator;
pub(crate) mod cpu;

pub use communicator::{Alone, Communicator};
pub use cpu::Cpu;

use std::sync::Arc;
use std::time::Duration;

use crate::data::Dataset;
use crate::error::Result;
use crate::layer::JitterEvent;
use crate::model::DeepGp;
use crate::model::batch::Batch;
use crate::numeric::mat::View;
use crate::objective::Objective;
use crate::predict::Moments;
use crate::random::noise::Noise;
use crate::settings::{PredictSettings, TrainSettings};
use crate::train::optimiser::Optimiser;
use crate::train::state::TrainState;

/// Steps that are asked for at once in training, at most: a multiple of it always ends a burst.
pub const BURST: u64 = 10;
/// How often the state of a run is fetched from a device for callbacks to see.
const FETCH_EVERY: Duration = Duration::from_secs(1);

/// A machine that can compute a model.
pub trait Backend: std::fmt::Debug + Send + Sync {
    /// What it is, e.g. `cpu` or `cuda: NVIDIA H200`.
    fn name(&self) -> String;

    /// The objective of a batch and, if `gradient` is set, its gradient in all parameter values in the order of
    /// [`DeepGp::parameters`]; otherwise that vector is empty. Model and batch have been checked.
    fn evaluate(
        &self,
        model: &DeepGp,
        batch: Batch<'_>,
        noise: Noise<'_>,
        gradient: bool,
    ) -> Result<(Evaluation, Vec<f64>)>;

    /// Takes a model and its training data on board. The state comes by [`Run::load`].
    fn train<'d>(&self, model: &DeepGp, task: TrainingTask<'d>) -> Result<Box<dyn Run + 'd>>;

    /// Makes a model ready to answer.
    fn mixtures<'m>(&self, model: &'m DeepGp, settings: PredictSettings) -> Result<Box<dyn Mixtures + 'm>>;
}

/// What a run is to do: on which rows, how, and to what end.
#[derive(Clone, Copy, Debug)]
pub struct TrainingTask<'d> {
    /// The training rows, in the model's units.
    pub data: &'d Dataset,
    /// Batch size, samples, seed.
    pub settings: TrainSettings,
    /// What is maximised.
    pub objective: &'d dyn Objective,
    /// How parameters move.
    pub optimiser: &'d dyn Optimiser,
}

/// What a batch gave: the objective in its parts, and how it went.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The name of the objective, e.g. `ELBO`.
    pub objective: &'static str,
    /// What the rows contribute: `(num_data / batch) Σ_n weight_n term_n`.
    pub data_term: f64,
    /// `KL[q ‖ p]` of each layer.
    pub kl: Vec<f64>,
    /// How many variances were raised to the floor.
    pub clamped: usize,
    /// Kernel matrices that needed more jitter than asked for.
    pub jitter: Vec<JitterEvent>,
}

impl Evaluation {
    /// The objective itself, `data_term − Σ KL`, whatever `kl_weight` was.
    pub fn total(&self) -> f64 {
        self.data_term - self.kl.iter().sum::<f64>()
    }
}

/// One step to make.
#[derive(Clone, Copy, Debug)]
pub struct StepPlan<'a> {
    /// Its number, from 0: the noise hangs on it.
    pub step: u64,
    /// The rows of the minibatch: no more than the largest of a pass that is cut evenly into batches of at most `batch_size`.
    pub rows: &'a [u32],
    /// The optimiser's rate, everything included.
    pub learning_rate: f64,
    /// The factor on the KL.
    pub kl_weight: f64,
}

/// A model in training.
///
/// Every method gets the trainer's model and state. A run may keep parameters and optimiser elsewhere, as a GPU does; then `now` and
/// `before` of the state are out of date until [`Run::store`] brings them. Counters belong to the trainer.
pub trait Run: std::fmt::Debug + Send {
    /// The most steps that it wants to be asked for at once, up to [`BURST`].
    fn burst(&self) -> u64 {
        BURST
    }

    /// How old the state that callbacks see may be; zero if it is always at hand.
    fn fetch_every(&self) -> Duration {
        FETCH_EVERY
    }

    /// Takes parameters and optimiser from a state. `model` holds the same parameters.
    fn load(&mut self, model: &DeepGp, state: &TrainState) -> Result<()>;

    /// Makes steps, and keeps the parameters before the last of them to return to. Stops at the first that cannot be computed: the
    /// last result is then its error, and the parameters are those it was to be computed at.
    fn steps(
        &mut self,
        plans: &[StepPlan<'_>],
        model: &mut DeepGp,
        state: &mut TrainState,
    ) -> Result<Vec<Result<Evaluation>>>;

    /// Returns to the parameters before the last update.
    fn roll_back(&mut self, model: &mut DeepGp, state: &mut TrainState) -> Result<()>;

    /// Writes the current raw parameters to `state.now.raw`.
    fn store_raw(&mut self, state: &mut TrainState) -> Result<()>;

    /// Writes `now` and, where it is there, `before` of the state.
    fn store(&mut self, state: &mut TrainState) -> Result<()>;
}

/// A model that answers.
pub trait Mixtures: std::fmt::Debug + Send + Sync {
    /// Moments of the last layer for each row and sample, as [`DeepGp::propagate`] gives them: `[N · S, P]` each. Whatever rows are
    /// asked for together, a row's numbers are the same.
    fn moments(&self, x: View<'_>) -> Result<Moments>;

    /// How many rows to ask for at once: results are reduced, and memory used again, so many rows at a time.
    fn rows_at_once(&self) -> usize;
}

impl DeepGp {
    /// The same model computed by another backend; `None` is the library's own, the CPU.
    pub fn computed_on(mut self, backend: Option<Arc<dyn Backend>>) -> Self {
        self.backend = backend.unwrap_or_else(Cpu::shared);
        self
    }

    /// Who computes it.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The objective of a batch.
    pub fn objective(&self, batch: Batch<'_>, noise: Noise<'_>) -> Result<Evaluation> {
        self.check_data(batch.data)?;
        self.check_batch(batch, &noise)?;
        Ok(self.backend.evaluate(self, batch, noise, false)?.0)
    }

    /// The objective of a batch, and the gradient of `data_term − kl_weight · Σ KL` in all parameter values, in the order of
    /// [`DeepGp::parameters`].
    pub fn objective_gradient(&self, batch: Batch<'_>, noise: Noise<'_>) -> Result<(Evaluation, Vec<f64>)> {
        self.check_data(batch.data)?;
        self.check_batch(batch, &noise)?;
        self.backend.evaluate(self, batch, noise, true)
    }

    /// [`DeepGp::objective`] under the name that it had when there was one objective.
    #[deprecated(since = "0.2.0", note = "call `objective`: the batch says which one")]
    pub fn elbo(&self, batch: Batch<'_>, noise: Noise<'_>) -> Result<Evaluation> {
        self.objective(batch, noise)
    }

    /// [`DeepGp::objective_gradient`] under the name that it had when there was one objective.
    #[deprecated(since = "0.2.0", note = "call `objective_gradient`: the batch says which one")]
    pub fn elbo_gradient(&self, batch: Batch<'_>, noise: Noise<'_>) -> Result<(Evaluation, Vec<f64>)> {
        self.objective_gradient(batch, noise)
    }

    /// Which kernel matrices need more jitter than asked for, at the present parameters; fails where no jitter helps.
    pub fn jitter_events(&self) -> Result<Vec<JitterEvent>> {
        Ok(self.prepare()?.into_iter().flat_map(|layer| layer.events).collect())
    }
}
