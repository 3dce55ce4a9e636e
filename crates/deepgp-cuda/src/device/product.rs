//! Products of matrices by cuBLAS. Matrices are row-major; cuBLAS counts columns first, so factors change places on the way.

use std::ffi::c_void;

use cudarc::cublas::sys;

use super::lane::Lane;
use super::memory::Span;
use super::real::Real;
use crate::fault::Outcome;

/// A row-major matrix that a product reads or writes, or many of them, `step` numbers apart.
#[derive(Clone, Copy, Debug)]
pub struct Operand<T> {
    span: Span<T>,
    stride: usize,
    step: usize,
    transposed: bool,
}

impl<T> Operand<T> {
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

    /// Asserts that `batch` matrices of this shape, after transposition, lie within the span.
    fn check(&self, rows: usize, columns: usize, batch: usize) {
        let (rows, columns) = if self.transposed { (columns, rows) } else { (rows, columns) };
        let reach = (batch - 1) * self.step + (rows - 1) * self.stride + columns;
        assert!(columns <= self.stride && reach <= self.span.len(), "a matrix of a product fits");
    }

    fn operation(&self) -> sys::cublasOperation_t {
        match self.transposed {
            false => sys::cublasOperation_t::CUBLAS_OP_N,
            true => sys::cublasOperation_t::CUBLAS_OP_T,
        }
    }
}

/// `[m, n, k]` of `c = a b`, and how many of them.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    m: usize,
    n: usize,
    k: usize,
    batch: usize,
    rough: bool,
}

impl Shape {
    /// The shape of one product: `a` of `[m, k]`, `b` of `[k, n]`.
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        Self { m, n, k, batch: 1, rough: false }
    }

    /// So many products of this shape at once.
    pub fn times(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// Factors in `f32` may be rounded to the 10 bits of TF32, as the matrix units like them.
    pub fn roughly(self) -> Self {
        Self { rough: true, ..self }
    }
}

impl Lane {
    /// `c = alpha a b + beta c`.
    #[allow(unsafe_code)]
    pub fn product<T: Real>(
        &self,
        shape: Shape,
        alpha: f64,
        a: Operand<T>,
        b: Operand<T>,
        beta: f64,
        c: Operand<T>,
    ) -> Outcome<()> {
        let Shape { m, n, k, batch, rough } = shape;
        self.bind()?;
        a.check(m, k, batch);
        b.check(k, n, batch);
        c.check(m, n, batch);
        assert!(!c.transposed, "a product is written as it is");
        let (alpha, beta) = (T::of(alpha), T::of(beta));
        let (kind, compute) = T::blas_type(rough);
        // SAFETY: the handle is this lane's; factors and result lie within their spans, as asserted; `alpha` and `beta` are read from
        // the host before the call returns.
        unsafe {
            sys::cublasGemmStridedBatchedEx(
                self.blas(),
                b.operation(),
                a.operation(),
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
                c.span.address() as *mut c_void,
                kind,
                c.stride as i32,
                c.step as i64,
                batch as i32,
                compute,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
            .result()?;
        }
        Ok(())
    }
}
