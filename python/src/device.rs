//! Where to compute. All that Python knows of devices is here.

use std::sync::{Arc, Mutex, PoisonError};

use deepgp::Error;
use deepgp::backend::Backend;
use deepgp_cuda::Cuda;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The one GPU of a process, by the process's number, once it has been found: it keeps its compiled kernels from fit to fit. A process that
/// was forked off cannot use its parent's.
static GPU: Mutex<Option<(u32, Arc<Cuda>)>> = Mutex::new(None);

fn gpu() -> deepgp::Result<Arc<Cuda>> {
    // Without the variable a GPU works as well, only several models at once do not. It comes before the lock: whoever holds the interpreter may wait
    // for the lock, so whoever holds the lock must not wait for the interpreter.
    let _ = Python::attach(fill_all_queues);
    let mut place = GPU.lock().unwrap_or_else(PoisonError::into_inner);
    match &*place {
        Some((process, found)) if *process == std::process::id() => Ok(found.clone()),
        Some(_) => Err(Error::Device {
            device: "cuda".into(),
            what: "a forked process cannot use the GPU of its parent; start processes with `spawn`".into(),
        }),
        None => {
            let found = Arc::new(Cuda::open(0)?);
            *place = Some((std::process::id(), found.clone()));
            Ok(found)
        }
    }
}

/// Lets this process fill all 32 queues of a GPU, as the command does, unless somebody said how many or has opened the GPU already: several models
/// trained at once get in each other's way in the eight that are usual.
fn fill_all_queues(py: Python<'_>) -> PyResult<()> {
    let environment = py.import("os")?.getattr("environ")?;
    environment.call_method1("setdefault", ("CUDA_DEVICE_MAX_CONNECTIONS", "32"))?;
    Ok(())
}

/// The accelerator of that name; `None` is the CPU, which `auto` falls back to.
pub fn open(name: &str) -> PyResult<Option<Arc<dyn Backend>>> {
    match name {
        "cpu" => Ok(None),
        "auto" => Ok(gpu().ok().map(|gpu| gpu as Arc<dyn Backend>)),
        "cuda" => match gpu() {
            Ok(gpu) => Ok(Some(gpu)),
            Err(error) => Err(PyRuntimeError::new_err(format!("device='cuda': {error} (device='cpu')"))),
        },
        _ => Err(PyValueError::new_err(format!("`device` is {name:?}, but must be 'auto', 'cpu' or 'cuda'"))),
    }
}

/// Fails unless the device of that name can be used.
#[pyfunction]
pub fn check_device(name: &str) -> PyResult<()> {
    open(name).map(drop)
}
