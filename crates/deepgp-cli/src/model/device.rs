//! Devices that models are computed on, as `--device` names them.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use deepgp::backend::Backend;
use deepgp::{DeepGp, Error};
use deepgp_cuda::Cuda;
use serde::{Deserialize, Serialize};

use crate::terminal::output;
use crate::terminal::output::Voice;

/// The variable by which the driver knows how many queues a process may fill on a GPU, of 32 that there are; 8 if nobody says.
const QUEUES: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// All queues that there are.
const ALL: &str = "32";

/// Lets this process fill all queues of a GPU, unless its user said how many: a step has lanes of work beside one another, and several models
/// trained at once get in each other's way in eight queues. Only the first statement of `main` may call it.
#[allow(unsafe_code, reason = "the driver asks the environment and nothing else")]
pub fn fill_all_queues() {
    if std::env::var_os(QUEUES).is_none() {
        // SAFETY: nobody reads the environment meanwhile, since `main` has started no thread yet.
        unsafe { std::env::set_var(QUEUES, ALL) };
    }
}

/// A device to compute on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// An NVIDIA GPU if there is one, otherwise the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

/// The names of [`Device`]'s variants on the command line.
pub const DEVICES: &[&str] = &["auto", "cpu", "cuda"];

impl Device {
    /// The device's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }

    /// The device of this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Auto, Self::Cpu, Self::Cuda].into_iter().find(|device| device.name() == name)
    }

    /// Opens the accelerator; `None` is the processor. With [`Device::Auto`], a GPU that is there but cannot be used is
    /// mentioned.
    pub fn open(self, voice: Voice) -> Result<Option<Arc<dyn Backend>>> {
        Ok(self.open_for(0, voice)?.map(|cuda| Arc::new(cuda) as Arc<dyn Backend>))
    }

    /// [`Device::open`] for process `local_rank` of those on this machine, which take its GPUs in turn.
    pub fn open_for(self, local_rank: usize, voice: Voice) -> Result<Option<Cuda>> {
        if self == Self::Cpu {
            return Ok(None);
        }
        match Cuda::open_for(local_rank) {
            Ok(cuda) => Ok(Some(cuda)),
            Err(error) if self == Self::Cuda => bail!("{error} (--device cpu)"),
            Err(error) => {
                if Cuda::has_driver() {
                    output::say(voice, &format!("note: {error}; going on without the GPU"));
                }
                Ok(None)
            }
        }
    }

    /// Opens the device and has `model` computed there, and says so.
    pub fn place(self, model: &mut DeepGp, voice: Voice) -> Result<()> {
        place_on(self.open(voice)?, model, voice);
        Ok(())
    }
}

/// An error of the library in words of the command line: what a device cannot do, `--device cpu` can.
pub fn explain(error: Error) -> anyhow::Error {
    match error {
        Error::Device { .. } => anyhow!("{error} (--device cpu)"),
        other => other.into(),
    }
}

/// Has `model` computed on `accelerator`, if there is one, and says so.
pub fn place_on(accelerator: Option<Arc<dyn Backend>>, model: &mut DeepGp, voice: Voice) {
    if let Some(accelerator) = accelerator {
        output::say(voice, &format!("computing on {}", accelerator.name()));
        *model = model.clone().computed_on(Some(accelerator));
    }
}
