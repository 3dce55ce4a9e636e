//! A lane: a stream of work on the device, with its own cuBLAS and cuSOLVER.
//!
//! Work on one lane runs in order, lanes run side by side. Each has handles and workspace of its own, so products give the same bits
//! whatever else runs. Matrices are row-major; the libraries count columns first, so operands change places on the way.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublas::{result as blas, sys as blas_sys};
use cudarc::cusolver::{result as solver, sys as solver_sys};
use cudarc::driver::{CudaContext, CudaEvent, CudaFunction, CudaStream, result};

use crate::fault::Outcome;
use crate::memory::Span;

/// Bytes of workspace that cuBLAS gets on each lane.
pub const WORKSPACE: usize = 8 << 20;

/// The precision of rows.
pub trait Real: Copy + Default + std::fmt::Debug + Send + Sync + 'static {
    /// Its name in kernels.
    const NAME: &'static str;
    /// The number nearest to `value`.
    fn of(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// `wide` itself, if it already is in this precision.
    fn alias(wide: Span<f64>) -> Option<Span<Self>>;
    /// The type's name for cuBLAS, and how to compute with it.
    fn blas_type(rough: bool) -> (blas_sys::cudaDataType, blas_sys::cublasComputeType_t);
    /// As an argument of cuBLAS.
    fn pointer(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }
}

impl Real for f64 {
    const NAME: &'static str = "double";

    fn of(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn alias(wide: Span<f64>) -> Option<Span<Self>> {
        Some(wide)
    }

    fn blas_type(_rough: bool) -> (blas_sys::cudaDataType, blas_sys::cublasComputeType_t) {
        (blas_sys::cudaDataType_t::CUDA_R_64F, blas_sys::cublasComputeType_t::CUBLAS_COMPUTE_64F)
    }
}

impl Real for f32 {
    const NAME: &'static str = "float";

    fn of(value: f64) -> Self {
        value as Self
    }

    fn to_f64(self) -> f64 {
        self.into()
    }

    fn alias(_wide: Span<f64>) -> Option<Span<Self>> {
        None
    }

    fn blas_type(rough: bool) -> (blas_sys::cudaDataType, blas_sys::cublasComputeType_t) {
        let compute = match rough {
            false => blas_sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
            true => blas_sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
        };
        (blas_sys::cudaDataType_t::CUDA_R_32F, compute)
    }
}

/// A factor of a product: a row-major matrix, or many of them, `step` numbers apart.
#[derive(Clone, Copy, Debug)]
pub struct Factor<T> {
    span: Span<T>,
    stride: usize,
    step: usize,
    transposed: bool,
}

impl<T> Factor<T> {
    /// A matrix whose rows are `stride` numbers apart; the same for all products of a batch.
    pub fn new(span: Span<T>, stride: usize) -> Self {
        Self { span, stride, step: 0, transposed: false }
    }

    /// Its transpose.
    pub fn t(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// One matrix for each product of a batch.
    pub fn each(self, step: usize) -> Self {
        Self { step, ..self }
    }
}

/// `[m, n, k]` of `c = a b`, and how many of them.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub batch: usize,
    /// Whether factors in `f32` may be rounded to 10 bits, as the matrix units like them.
    pub rough: bool,
}

impl Shape {
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        Self { m, n, k, batch: 1, rough: false }
    }

    pub fn times(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    pub fn roughly(self) -> Self {
        Self { rough: true, ..self }
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Argument(u64);

impl<T> From<Span<T>> for Argument {
    fn from(span: Span<T>) -> Self {
        Self(span.address())
    }
}

impl From<f64> for Argument {
    fn from(value: f64) -> Self {
        Self(value.to_bits())
    }
}

impl From<u32> for Argument {
    fn from(value: u32) -> Self {
        Self(value.into())
    }
}

impl From<usize> for Argument {
    /// Kernels take counts as `int`.
    fn from(value: usize) -> Self {
        Self(i32::try_from(value).expect("counts were checked to fit").cast_unsigned().into())
    }
}

impl From<bool> for Argument {
    fn from(value: bool) -> Self {
        Self(value.into())
    }
}

/// See the module.
#[derive(Debug)]
pub struct Lane {
    stream: Arc<CudaStream>,
    blas: blas_sys::cublasHandle_t,
    solver: solver_sys::cusolverDnHandle_t,
}

impl Lane {
    /// A new one.
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

    /// Makes the device that of the calling thread.
    fn bind(&self) -> Outcome<()> {
        Ok(self.stream.context().bind_to_thread()?)
    }

    /// Makes what comes next wait for what `other` has been given so far.
    pub fn after(&self, other: &Self) -> Outcome<()> {
        Ok(self.stream.join(&other.stream)?)
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

    /// Copies numbers on the device.
    #[allow(unsafe_code)]
    pub fn copy<T>(&self, from: Span<T>, to: Span<T>) -> Outcome<()> {
        assert!(from.len() <= to.len(), "what is copied fits");
        self.bind()?;
        let bytes = from.len() * size_of::<T>();
        // SAFETY: both spans lie in live memory and do not overlap.
        Ok(unsafe { result::memcpy_dtod_async(to.address(), from.address(), bytes, self.stream.cu_stream()) }?)
    }

    /// A mark after the work that the lane has been given so far.
    pub fn mark(&self) -> Outcome<CudaEvent> {
        Ok(self.stream.record_event(None)?)
    }

    /// Makes what comes next wait for a mark.
    pub fn wait(&self, mark: &CudaEvent) -> Outcome<()> {
        Ok(self.stream.wait(mark)?)
    }

    /// Runs `kernel` on a grid of blocks of `threads`, with `shared` bytes of memory for each block.
    #[allow(unsafe_code)]
    pub fn launch(
        &self,
        kernel: &CudaFunction,
        grid: (usize, usize),
        threads: usize,
        shared: usize,
        arguments: &[Argument],
    ) -> Outcome<()> {
        if grid.0 == 0 || grid.1 == 0 {
            return Ok(());
        }
        self.bind()?;
        let mut pointers: Vec<*mut c_void> =
            arguments.iter().map(|a| std::ptr::from_ref(&a.0).cast_mut().cast()).collect();
        // SAFETY: every caller in this crate passes the arguments that its kernel declares, pointers to spans of the declared type
        // and length among them, in memory that outlives the lane's work. Arguments are read before the call returns.
        unsafe {
            result::launch_kernel(
                kernel.cu_function(),
                (grid.0 as u32, grid.1 as u32, 1),
                (threads as u32, 1, 1),
                shared as u32,
                self.stream.cu_stream(),
                &mut pointers,
            )?;
        }
        Ok(())
    }

    /// Runs `kernel` on `n` threads or more, one for each number.
    pub fn each(&self, kernel: &CudaFunction, n: usize, arguments: &[Argument]) -> Outcome<()> {
        self.launch(kernel, (n.div_ceil(256), 1), 256, 0, arguments)
    }

    /// `c = alpha a b + beta c`; rows of `c` are `c_stride` apart, its matrices `c_step`.
    #[allow(unsafe_code, clippy::too_many_arguments)]
    pub fn product<T: Real>(
        &self,
        shape: Shape,
        alpha: f64,
        a: Factor<T>,
        b: Factor<T>,
        beta: f64,
        c: Span<T>,
        c_stride: usize,
        c_step: usize,
    ) -> Outcome<()> {
        let Shape { m, n, k, batch, rough } = shape;
        self.bind()?;
        let reach = |rows: usize, columns: usize, stride: usize, step: usize| {
            (batch - 1) * step + (rows - 1) * stride + columns
        };
        let extent = |f: &Factor<T>, rows, columns| {
            let (rows, columns) = if f.transposed { (columns, rows) } else { (rows, columns) };
            assert!(columns <= f.stride && reach(rows, columns, f.stride, f.step) <= f.span.len(), "a factor fits");
        };
        extent(&a, m, k);
        extent(&b, k, n);
        assert!(n <= c_stride && reach(m, n, c_stride, c_step) <= c.len(), "a product fits");
        let op = |f: &Factor<T>| match f.transposed {
            false => blas_sys::cublasOperation_t::CUBLAS_OP_N,
            true => blas_sys::cublasOperation_t::CUBLAS_OP_T,
        };
        let (alpha, beta) = (T::of(alpha), T::of(beta));
        let (kind, compute) = T::blas_type(rough);
        // SAFETY: the handle is this lane's; operands and result lie within their spans, as asserted; the factors are read from the
        // host before the call returns.
        unsafe {
            blas_sys::cublasGemmStridedBatchedEx(
                self.blas,
                op(&b),
                op(&a),
                n as i32,
                m as i32,
                k as i32,
                alpha.pointer(),
                b.span.address() as *const c_void,
                kind,
                b.stride as i32,
                b.step as i64,
                a.span.address() as *const c_void,
                kind,
                a.stride as i32,
                a.step as i64,
                beta.pointer(),
                c.address() as *mut c_void,
                kind,
                c_stride as i32,
                c_step as i64,
                batch as i32,
                compute,
                blas_sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
            .result()?;
        }
        Ok(())
    }

    /// How many numbers of workspace [`Lane::factor`] needs for order `n`.
    #[allow(unsafe_code)]
    pub fn factor_workspace(&self, n: usize) -> Outcome<usize> {
        let mut length = 0;
        // SAFETY: only the order is looked at.
        unsafe {
            solver_sys::cusolverDnDpotrf_bufferSize(
                self.solver,
                UPPER,
                n as i32,
                std::ptr::null_mut(),
                n as i32,
                &raw mut length,
            )
            .result()?;
        }
        Ok(length as usize)
    }

    /// Replaces the lower triangle of `k`, `[n, n]`, by `L` of `L Lᵀ = k`; what stands above is left as it is. `info` becomes 0, or the
    /// number of the first bad pivot, from 1.
    #[allow(unsafe_code)]
    pub fn factor(&self, k: Span<f64>, n: usize, workspace: Span<f64>, info: Span<i32>) -> Outcome<()> {
        assert!(n * n <= k.len() && info.len() > 0);
        self.bind()?;
        // SAFETY: all spans are live and of the lengths that the call asks for.
        unsafe {
            solver_sys::cusolverDnDpotrf(
                self.solver,
                UPPER,
                n as i32,
                k.address() as *mut f64,
                n as i32,
                workspace.address() as *mut f64,
                workspace.len() as i32,
                info.address() as *mut i32,
            )
            .result()?;
        }
        Ok(())
    }

    /// [`Lane::factor`] for many matrices, whose addresses stand in `addresses`.
    #[allow(unsafe_code)]
    pub fn factor_each(&self, addresses: Span<u64>, n: usize, infos: Span<i32>) -> Outcome<()> {
        assert!(infos.len() >= addresses.len());
        self.bind()?;
        // SAFETY: the addresses are those of live matrices of order `n`, written by whoever laid them out.
        unsafe {
            solver_sys::cusolverDnDpotrfBatched(
                self.solver,
                UPPER,
                n as i32,
                addresses.address() as *mut *mut f64,
                n as i32,
                infos.address() as *mut i32,
                addresses.len() as i32,
            )
            .result()?;
        }
        Ok(())
    }
}

/// The libraries' upper triangle, columns first, is our lower one.
const UPPER: solver_sys::cublasFillMode_t = solver_sys::cublasFillMode_t::CUBLAS_FILL_MODE_UPPER;

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
