//! Backends: the machines that compute a model. The open traits; [`Cpu`] is the library's own, `deepgp-cuda` another.
//!
//! A model carries its [`Backend`] with it ([`DeepGp::computed_on`]), and training, evaluation and prediction go there. What crosses
//! the seam is small: parameters, plans of a few steps, values of the objective, moments. The data goes over once. Everything else,
//! from minibatches to early stopping and quantiles, is written once, on this side.
//!
//! To add one, implement [`Backend`] with a [`Run`] and [`Mixtures`] of its own; nothing else changes.

pub(crate) mod agreement;
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
use crate::model::batch::{Batch, Shard};
use crate::numeric::mat::View;
use crate::objective::Objective;
use crate::predict::Moments;
use crate::random::noise::Noise;
use crate::settings::{PredictSettings, TrainSettings};
use crate::train::optimiser::Optimiser;
use crate::train::state::TrainState;

/// The most steps of training that are asked for at once, in a *burst*; a step whose number is a multiple of it always ends one.
pub const BURST: u64 = 10;
/// The time after which the state of a run is fetched again from a device for callbacks to see.
const FETCH_EVERY: Duration = Duration::from_secs(1);

/// A machine that can compute a model.
pub trait Backend: std::fmt::Debug + Send + Sync {
    /// The backend's name, e.g. `cpu` or `cuda: NVIDIA H200`.
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

    /// The processes that a model is computed on together; a backend that says nothing computes alone.
    fn communicator(&self) -> Arc<dyn Communicator> {
        Arc::new(Alone)
    }

    /// The backend that one process has by itself on the same machine, for what it asks of a model that several have trained; `None` is the
    /// CPU.
    fn alone(&self) -> Option<Arc<dyn Backend>> {
        None
    }

    /// Whether runs take rows that are handed over with each step ([`StepPlan::minibatch`]); a backend that says nothing has all rows from the
    /// beginning.
    fn takes_stored_rows(&self) -> bool {
        false
    }

    /// A training run of a model on the task's rows. Parameters and the optimiser's state come by [`Run::load`].
    fn train<'d>(&self, model: &DeepGp, task: TrainingTask<'d>) -> Result<Box<dyn Run + 'd>>;

    /// A model ready to predict.
    fn mixtures<'m>(&self, model: &'m DeepGp, settings: PredictSettings) -> Result<Box<dyn Mixtures + 'm>>;
}

/// The task of a training run: rows, settings, objective and optimiser.
#[derive(Clone, Debug)]
pub struct TrainingTask<'d> {
    /// The training rows, in the model's units; a sample of them if all steps bring their own.
    pub data: &'d Dataset,
    /// The settings of the run, of which a backend needs batch size, samples and seed.
    pub settings: TrainSettings,
    /// The objective that is maximised.
    pub objective: Arc<dyn Objective>,
    /// The optimiser that moves the parameters.
    pub optimiser: &'d dyn Optimiser,
}

/// The objective of a batch in its parts, with what went wrong in computing it.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The name of the objective, e.g. `ELBO`.
    pub objective: &'static str,
    /// The term of the rows, `(num_data / batch) Σ_n weight_n term_n`.
    pub data_term: f64,
    /// The divergence `KL[q ‖ p]` of each layer.
    pub kl: Vec<f64>,
    /// The number of variances that were raised to the floor.
    pub clamped: usize,
    /// The kernel matrices that needed more jitter than asked for.
    pub jitter: Vec<JitterEvent>,
}

impl Evaluation {
    /// The objective's value, `data_term − Σ KL`, whatever `kl_weight` was.
    pub fn total(&self) -> f64 {
        self.data_term - self.kl.iter().sum::<f64>()
    }
}

/// A step that a run is asked to take.
#[derive(Clone, Copy, Debug)]
pub struct StepPlan<'a> {
    /// The step's number, from 0: its noise depends on it.
    pub step: u64,
    /// The rows of the minibatch: no more than the largest of an epoch that is cut evenly into batches of at most `batch_size`.
    pub rows: &'a [u32],
    /// The whole minibatch, where other processes hold rows of it too; `None` if these are all.
    pub shard: Option<Shard>,
    /// The rows themselves, in the order of `rows`, where those of the task are but a sample of all ([`Backend::takes_stored_rows`]).
    pub minibatch: Option<&'a Dataset>,
    /// The number of rows that the minibatch stands for: those of all minibatches, and of all processes.
    pub num_data: usize,
    /// The learning rate, schedule and roll-backs included.
    pub learning_rate: f64,
    /// The factor `κ` on the KL.
    pub kl_weight: f64,
    /// The share of training that is done, from 0 to 1.
    pub progress: f64,
}

/// A training run of one model on a backend.
///
/// Every method gets the trainer's model and state. A run may hold parameters and the optimiser's state elsewhere, as a GPU does; then
/// `now` and `before` of the state are out of date until [`Run::store`] writes them. Counters belong to the trainer.
pub trait Run: std::fmt::Debug + Send {
    /// The most steps that the run wants to be asked for at once, up to [`BURST`].
    fn burst(&self) -> u64 {
        BURST
    }

    /// The greatest age of the state that callbacks see; zero if it is always current.
    fn fetch_every(&self) -> Duration {
        FETCH_EVERY
    }

    /// Sets the run's parameters and optimiser state to those of `state`. `model` holds the same parameters.
    fn load(&mut self, model: &DeepGp, state: &TrainState) -> Result<()>;

    /// Takes steps, and saves the parameters before the last of them to roll back to. Stops at the first that cannot be computed: the
    /// last result is then its error, and the parameters are those it was to be computed at.
    fn steps(
        &mut self,
        plans: &[StepPlan<'_>],
        model: &mut DeepGp,
        state: &mut TrainState,
    ) -> Result<Vec<Result<Evaluation>>>;

    /// Returns to the parameters and the optimiser's state before the last update.
    fn roll_back(&mut self, model: &mut DeepGp, state: &mut TrainState) -> Result<()>;

    /// Writes the current raw parameters to `state.now.raw`.
    fn store_raw(&mut self, state: &mut TrainState) -> Result<()>;

    /// Writes the current parameters and optimiser state to `state.now` and, if it is there, those before the last update to
    /// `state.before`.
    fn store(&mut self, state: &mut TrainState) -> Result<()>;
}

/// A model ready to predict on a backend: from rows to the mixtures of Gaussians at them.
pub trait Mixtures: std::fmt::Debug + Send + Sync {
    /// The last layer's moments for each row and sample, as [`DeepGp::propagate`] gives them: `[N · S, P]` each. Whatever rows are
    /// asked for together, a row's numbers are the same.
    fn moments(&self, x: View<'_>) -> Result<Moments>;

    /// The number of rows to ask for at once: results are reduced, and memory reused, so many rows at a time.
    fn rows_at_once(&self) -> usize;
}

impl DeepGp {
    /// The same model computed by another backend; `None` is the library's own, the CPU.
    pub fn computed_on(mut self, backend: Option<Arc<dyn Backend>>) -> Self {
        self.backend = backend.unwrap_or_else(Cpu::shared);
        self
    }

    /// The backend that computes the model.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The objective of a batch, in its parts.
    pub fn objective(&self, batch: Batch<'_>, noise: Noise<'_>) -> Result<Evaluation> {
        self.check_data(batch.data)?;
        self.check_batch(batch, &noise)?;
        batch.objective.check(self)?;
        Ok(self.backend.evaluate(self, batch, noise, false)?.0)
    }

    /// The objective of a batch, in its parts, and the gradient of `data_term − kl_weight · Σ KL` in all parameter values, in the order
    /// of [`DeepGp::parameters`].
    pub fn objective_gradient(&self, batch: Batch<'_>, noise: Noise<'_>) -> Result<(Evaluation, Vec<f64>)> {
        self.check_data(batch.data)?;
        self.check_batch(batch, &noise)?;
        batch.objective.check(self)?;
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

    /// The backend under the name that it had in version 0.1; `None` is the CPU.
    #[deprecated(since = "0.2.0", note = "it is `backend`, and the CPU is one too")]
    pub fn accelerator(&self) -> Option<&Arc<dyn Backend>> {
        Some(&self.backend).filter(|backend| backend.name() != "cpu")
    }

    /// The kernel matrices that need more jitter than asked for, at the present parameters; fails where no jitter helps.
    pub fn jitter_events(&self) -> Result<Vec<JitterEvent>> {
        Ok(self.prepare()?.into_iter().flat_map(|layer| layer.events).collect())
    }
}
