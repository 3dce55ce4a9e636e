//! A lane: a stream of work on the device, with its own cuBLAS and cuSOLVER.
//!
//! Work on one lane runs in order, lanes run side by side. Each has handles and workspace of its own, so products give the same bits
//! whatever else runs.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublas::{result as blas, sys as blas_sys};
use cudarc::cusolver::{result as solver, sys as solver_sys};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};

use super::memory::Span;
use super::pinned::Pinned;
use super::program::Program;
use crate::fault::Outcome;
use crate::launch::{Grid, Kernel};

/// Bytes of workspace that cuBLAS gets on each lane.
pub const WORKSPACE: usize = 8 << 20;

/// A stream of work on the device, with its own cuBLAS and cuSOLVER.
#[derive(Debug)]
pub struct Lane {
    stream: Arc<CudaStream>,
    blas: blas_sys::cublasHandle_t,
    solver: solver_sys::cusolverDnHandle_t,
}

impl Lane {
    /// A new stream on the device, with handles of its own.
    #[allow(unsafe_code)]
    pub fn new(context: &Arc<CudaContext>) -> Outcome<Self> {
        let stream = context.new_stream()?;
        let lane = Self { stream, blas: blas::create_handle()?, solver: solver::dn_create()? };
        // SAFETY: handles and stream are live, and belong to this lane alone.
        unsafe {
            blas::set_stream(lane.blas, lane.stream.cu_stream().cast())?;
            solver::dn_set_stream(lane.solver, lane.stream.cu_stream().cast())?;
        }
        Ok(lane)
    }

    /// Gives cuBLAS memory to work in, which must live as long as the lane.
    #[allow(unsafe_code)]
    pub fn give_workspace(&self, workspace: Span<u8>) -> Outcome<()> {
        // SAFETY: the handle is live, and the memory is used by this lane alone.
        unsafe {
            blas_sys::cublasSetWorkspace_v2(self.blas, workspace.address() as *mut c_void, workspace.len()).result()?;
        }
        Ok(())
    }

    /// The stream itself.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// The lane's cuBLAS.
    pub(super) fn blas(&self) -> blas_sys::cublasHandle_t {
        self.blas
    }

    /// The lane's cuSOLVER.
    pub(super) fn solver(&self) -> solver_sys::cusolverDnHandle_t {
        self.solver
    }

    /// Makes the device that of the calling thread.
    pub(super) fn bind(&self) -> Outcome<()> {
        Ok(self.stream.context().bind_to_thread()?)
    }

    /// Makes what comes next wait for what `other` has been given so far.
    pub fn after(&self, other: &Self) -> Outcome<()> {
        Ok(self.stream.join(&other.stream)?)
    }

    /// A mark after the work that the lane has been given so far.
    pub fn mark(&self) -> Outcome<CudaEvent> {
        Ok(self.stream.record_event(None)?)
    }

    /// Makes what comes next wait for a mark.
    pub fn wait(&self, mark: &CudaEvent) -> Outcome<()> {
        Ok(self.stream.wait(mark)?)
    }

    /// Copies numbers to the device, in order with the lane's other work.
    #[allow(unsafe_code)]
    pub fn upload<T: Copy>(&self, from: &[T], to: Span<T>) -> Outcome<()> {
        assert!(from.len() <= to.len(), "what is uploaded fits");
        self.bind()?;
        // SAFETY: the span lies in live memory and is long enough. Pageable memory is staged before the call returns.
        Ok(unsafe { result::memcpy_htod_async(to.address(), from, self.stream.cu_stream()) }?)
    }

    /// Copies numbers from the device, after the lane's other work, and waits for them.
    #[allow(unsafe_code)]
    pub fn download<T: Copy>(&self, from: Span<T>, to: &mut [T]) -> Outcome<()> {
        assert!(to.len() <= from.len(), "what is downloaded is there");
        self.bind()?;
        // SAFETY: the span lies in live memory and is long enough; every bit pattern of the types used here is a number; the host's
        // memory is borrowed until the copy is done.
        unsafe { result::memcpy_dtoh_async(to, from.address(), self.stream.cu_stream()) }?;
        Ok(self.stream.synchronize()?)
    }

    /// Copies numbers from the device to memory that it reaches by itself, in order with the lane's other work and without waiting for them.
    #[allow(unsafe_code)]
    pub fn hand_out(&self, from: Span<f64>, to: &Pinned) -> Outcome<()> {
        assert!(from.len() <= to.len(), "what is handed out fits");
        self.bind()?;
        let bytes = size_of::<f64>() * from.len();
        // SAFETY: the span lies in live memory, and the host's is long enough; whoever owns that leaves it alone until the lane has been waited
        // for, and frees it after the lane.
        Ok(unsafe { sys::cuMemcpyDtoHAsync_v2(to.address().cast(), from.address(), bytes, self.stream.cu_stream()) }
            .result()?)
    }

    /// Copies numbers to the device from memory that it reaches by itself, in order with the lane's other work.
    #[allow(unsafe_code)]
    pub fn take_in(&self, from: &Pinned, to: Span<f64>) -> Outcome<()> {
        assert!(to.len() <= from.len(), "what is taken in is there");
        self.bind()?;
        let bytes = size_of::<f64>() * to.len();
        // SAFETY: as above.
        Ok(unsafe { sys::cuMemcpyHtoDAsync_v2(to.address(), from.address().cast(), bytes, self.stream.cu_stream()) }
            .result()?)
    }

    /// Waits for all work that the lane has been given.
    pub fn wait_for_all(&self) -> Outcome<()> {
        Ok(self.stream.synchronize()?)
    }

    /// Copies numbers on the device.
    #[allow(unsafe_code)]
    pub fn copy<T>(&self, from: Span<T>, to: Span<T>) -> Outcome<()> {
        assert!(from.len() <= to.len(), "what is copied fits");
        self.bind()?;
        let bytes = from.len() * size_of::<T>();
        // SAFETY: both spans lie in live memory and do not overlap.
        Ok(unsafe { result::memcpy_dtod_async(to.address(), from.address(), bytes, self.stream.cu_stream()) }?)
    }

    /// Runs a kernel of a program on its arguments.
    #[allow(unsafe_code)]
    pub fn run<K: Kernel>(&self, program: &Program<K::Group>, kernel: K) -> Outcome<()> {
        let Grid { blocks: (x, y), threads, shared } = kernel.grid();
        if x == 0 || y == 0 {
            return Ok(());
        }
        self.bind()?;
        let words = kernel.words();
        let mut pointers: Vec<*mut c_void> =
            words.iter().map(|word| std::ptr::from_ref(word).cast_mut().cast()).collect();
        // SAFETY: the arguments are those of the kernel's declaration, which a test compares with the CUDA text in number, order and
        // type; each is given in as many bytes as its type has or more, the low ones first. Pointers are to spans in memory that
        // outlives the lane's work, as long as the declaration's callers promise. Arguments are read before the call returns.
        unsafe {
            result::launch_kernel(
                program.function::<K>().cu_function(),
                (x as u32, y as u32, 1),
                (threads as u32, 1, 1),
                shared as u32,
                self.stream.cu_stream(),
                &mut pointers,
            )?;
        }
        Ok(())
    }
}

impl Drop for Lane {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let _ = self.stream.synchronize();
        // SAFETY: both handles were made by `new` and are used by nobody else.
        unsafe {
            let _ = blas::destroy_handle(self.blas);
            let _ = solver::dn_destroy(self.solver);
        }
    }
}

// SAFETY: handles may be used from any thread, one at a time; a lane is never shared, only moved.
#[allow(unsafe_code)]
unsafe impl Send for Lane {}
