//! Deep Gaussian processes on NVIDIA GPUs: [`Cuda`] is a [`Backend`] for the models of [`deepgp`].
//!
//! Nothing of CUDA is needed to build this crate. The driver, cuBLAS, cuSOLVER and the run-time compiler are looked for when
//! [`Cuda::open`] is called, and if one is missing, the error says which.
//!
//! ```no_run
//! use std::sync::Arc;
//! use deepgp::{FitSettings, Training, simulate};
//!
//! let data = simulate::step_curve(1000, 1);
//! let settings = FitSettings::default();
//! let mut training = Training::new(&data, &settings)?;
//! let gpu = Arc::new(deepgp_cuda::Cuda::open(0)?);
//! *training.model_mut() = training.model().clone().computed_on(Some(gpu));
//! let fit = training.run(|_, _| std::ops::ControlFlow::Continue(()))?;
//! # Ok::<(), deepgp::Error>(())
//! ```
//!
//! Data, parameters and optimiser stay on the device. A step is one captured graph in which the factorisations of all layers run
//! beside one another and beside the rows (`task/schedule.rs`); the host hears of it a burst of steps at a time. Several models can train on
//! one device at once, each from a thread of its own: one of them seldom fills it.
//!
//! Several processes that hold some of the rows each ([`Cuda::among`]) train one model, each on a GPU, which they may share. There a step is two
//! graphs, and the sums over rows go through the host between them.

mod arrays;
mod device;
mod evaluate;
mod fault;
mod kernels;
mod launch;
mod mixtures;
mod model;
mod run;
mod source;
mod step;
mod task;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::CudaContext;
use deepgp::backend::{Alone, Backend, Communicator, Mixtures, Run, TrainingTask};
use deepgp::{Batch, DeepGp, Error, Evaluation, Noise, ObjectiveForm, Precision, PredictSettings};

use device::memory;
use device::program::{Functions, Program};
use device::real::Real;
use fault::{Fault, Outcome};
use kernels::{Covariance, DataTerm, General};
use launch::Group;
use mixtures::DeviceMixtures;
use run::DeviceRun;
use source::Source;
use source::covariance::CovarianceText;
use source::data_term::LikelihoodText;

/// An NVIDIA GPU that models can be computed on. Clones are the same device.
#[derive(Clone, Debug)]
pub struct Cuda {
    context: Arc<CudaContext>,
    name: String,
    /// Programs that were compiled, by their text.
    programs: Arc<Mutex<HashMap<String, Arc<Functions>>>>,
    /// How sums over rows are taken over processes.
    communicator: Arc<dyn Communicator>,
}

impl Cuda {
    /// The GPU of this number, from 0. Fails if there is none, or if a library that it needs cannot be loaded.
    #[allow(unsafe_code)]
    pub fn open(ordinal: usize) -> Result<Self, Error> {
        let unavailable = |what: String| Error::Device { device: "cuda".into(), what };
        // SAFETY: these look for libraries and run nothing of them but their initialisation.
        let libraries = unsafe {
            [
                ("the NVIDIA driver (libcuda)", cudarc::driver::sys::is_culib_present()),
                ("cuBLAS (libcublas)", cudarc::cublas::sys::is_culib_present()),
                ("cuSOLVER (libcusolver)", cudarc::cusolver::sys::is_culib_present()),
                ("the run-time compiler (libnvrtc)", cudarc::nvrtc::sys::is_culib_present()),
            ]
        };
        if let Some((missing, _)) = libraries.iter().find(|(_, present)| !present) {
            return Err(unavailable(format!(
                "{missing} was not found; install it or add its folder to LD_LIBRARY_PATH, or compute on the CPU"
            )));
        }
        let open = || -> Outcome<Self> {
            let count = CudaContext::device_count()?;
            if ordinal as i32 >= count {
                return Err(Fault::Device(format!(
                    "there is no GPU {ordinal}: the driver sees {count}; compute on the CPU"
                )));
            }
            let context = CudaContext::new(ordinal)?;
            // SAFETY: every array is used by lanes whose order this crate keeps itself.
            unsafe { context.disable_event_tracking() };
            let name = format!("cuda: {}", context.name()?);
            let cuda = Self { context, name, programs: Arc::default(), communicator: Arc::new(Alone) };
            // What cannot be compiled for this GPU shows here, where a caller can still fall back.
            let _gate = memory::gate();
            cuda.general_program::<f64>()?;
            Ok(cuda)
        };
        open().map_err(|fault| fault.on("cuda"))
    }

    /// The GPU that process `local_rank` of those on this machine takes, from 0: they take all that there are in turn. Fails as [`Cuda::open`]
    /// does.
    pub fn open_for(local_rank: usize) -> Result<Self, Error> {
        // Where there is no driver to ask, opening says so.
        let count = if Self::has_driver() { CudaContext::device_count().unwrap_or(0) } else { 0 };
        Self::open(local_rank % count.max(1) as usize)
    }

    /// The same device for one of several processes that hold some rows of every batch each ([`deepgp::Shard`]) and sum over all of them. All
    /// must compute on GPUs of one kind. What [`deepgp::Training::among`] begins is trained there once its model is computed on this
    /// ([`DeepGp::computed_on`]).
    pub fn among(self, communicator: Arc<dyn Communicator>) -> Self {
        Self { communicator, ..self }
    }

    /// Whether other processes have rows of the same batches.
    pub(crate) fn is_together(&self) -> bool {
        self.communicator.size() > 1
    }

    /// Whether there is an NVIDIA driver, and so likely a GPU.
    #[allow(unsafe_code)]
    pub fn has_driver() -> bool {
        // SAFETY: this looks for the library and runs nothing of it but its initialisation.
        unsafe { cudarc::driver::sys::is_culib_present() }
    }

    /// Bytes of shared memory that a block of a kernel may ask for.
    pub(crate) fn shared_memory(&self) -> Outcome<usize> {
        use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as LIMIT;
        Ok(self.context.attribute(LIMIT)? as usize)
    }

    pub(crate) fn context(&self) -> Arc<CudaContext> {
        self.context.clone()
    }

    /// The kernels that depend on nothing of a model but the precision of its rows.
    pub(crate) fn general_program<T: Real>(&self) -> Outcome<Program<General>> {
        self.program(Source::general::<T>())
    }

    /// The kernels of a covariance function.
    pub(crate) fn covariance_program<T: Real>(&self, text: &CovarianceText) -> Outcome<Program<Covariance>> {
        self.program(text.source::<T>())
    }

    /// The kernel of a model's data term.
    pub(crate) fn data_term_program<T: Real>(
        &self,
        text: &LikelihoodText,
        objective: ObjectiveForm,
    ) -> Outcome<Program<DataTerm>> {
        self.program(text.source::<T>(objective))
    }

    /// The program of a source, compiled unless it has been before.
    fn program<G: Group>(&self, source: Source<G>) -> Outcome<Program<G>> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(functions) = programs.get(&source.text) {
            return Ok(Program::new(functions.clone()));
        }
        let functions = Arc::new(Functions::compile(&self.context, &source)?);
        programs.insert(source.text, functions.clone());
        Ok(Program::new(functions))
    }

    fn named<T>(&self, outcome: Outcome<T>) -> Result<T, Error> {
        outcome.map_err(|fault| fault.on(&self.name))
    }
}

impl Backend for Cuda {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn evaluate(
        &self,
        model: &DeepGp,
        batch: Batch<'_>,
        noise: Noise<'_>,
        gradient: bool,
    ) -> Result<(Evaluation, Vec<f64>), Error> {
        let (elbo, found) = self.named(match model.precision() {
            Precision::F64 => evaluate::evaluate::<f64>(self, model, batch, noise),
            Precision::Mixed => evaluate::evaluate::<f32>(self, model, batch, noise),
        })?;
        Ok((elbo, if gradient { found } else { Vec::new() }))
    }

    fn communicator(&self) -> Arc<dyn Communicator> {
        self.communicator.clone()
    }

    fn alone(&self) -> Option<Arc<dyn Backend>> {
        Some(Arc::new(self.clone().among(Arc::new(Alone))))
    }

    fn train<'d>(&self, model: &DeepGp, task: TrainingTask<'d>) -> Result<Box<dyn Run + 'd>, Error> {
        self.named(match model.precision() {
            Precision::F64 => DeviceRun::<f64>::boxed(self, model, task),
            Precision::Mixed => DeviceRun::<f32>::boxed(self, model, task),
        })
    }

    fn mixtures<'m>(&self, model: &'m DeepGp, settings: PredictSettings) -> Result<Box<dyn Mixtures + 'm>, Error> {
        self.named(match model.precision() {
            Precision::F64 => DeviceMixtures::<f64>::boxed(self, model, settings),
            Precision::Mixed => DeviceMixtures::<f32>::boxed(self, model, settings),
        })
    }
}
