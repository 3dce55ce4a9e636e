//! Programs: CUDA text compiled for a device, and the kernels found in it.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};

use crate::fault::Outcome;
use crate::launch::{Group, Kernel};
use crate::source::Source;

/// The options that text is compiled with for devices of an architecture, e.g. `compute_90`.
pub fn options(architecture: &str) -> CompileOptions {
    let options = vec![format!("--gpu-architecture={architecture}"), "--std=c++17".into()];
    CompileOptions { options, ..CompileOptions::default() }
}

/// Compiled kernels by name, whichever group they are of.
#[derive(Debug)]
pub struct Functions(HashMap<&'static str, CudaFunction>);

impl Functions {
    /// Compiles a source for the device and finds the kernels of its group that the device can run.
    pub fn compile<G: Group>(context: &Arc<CudaContext>, source: &Source<G>) -> Outcome<Self> {
        let (major, minor) = context.compute_capability()?;
        let module =
            context.load_module(compile_ptx_with_opts(&source.text, options(&format!("compute_{major}{minor}")))?)?;
        let mut functions = HashMap::new();
        for kernel in G::KERNELS.iter().copied().flatten() {
            if kernel.needs.met(major, source.is_double) {
                functions.insert(kernel.name, module.load_function(kernel.name)?);
            }
        }
        Ok(Self(functions))
    }
}

/// A compiled program with the kernels of one group.
#[derive(Debug)]
pub struct Program<G> {
    functions: Arc<Functions>,
    group: PhantomData<fn() -> G>,
}

impl<G: Group> Program<G> {
    /// What was compiled from a source of this group.
    pub fn new(functions: Arc<Functions>) -> Self {
        Self { functions, group: PhantomData }
    }

    /// Whether the device can run a kernel that not every device can.
    pub fn has<K: Kernel<Group = G>>(&self) -> bool {
        self.functions.0.contains_key(K::NAME)
    }

    /// Lets blocks of a kernel ask for so many bytes of shared memory.
    pub fn allow_shared<K: Kernel<Group = G>>(&self, bytes: usize) -> Outcome<()> {
        use cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as SHARED;
        Ok(self.function::<K>().set_attribute(SHARED, bytes as i32)?)
    }

    /// A kernel of the program; one that needs a newer device only where [`Program::has`] says so.
    pub fn function<K: Kernel<Group = G>>(&self) -> &CudaFunction {
        self.functions.0.get(K::NAME).expect("a kernel of the group that was compiled")
    }
}
