//! The precision of rows: `double` or `float`.

use std::ffi::c_void;

use cudarc::cublas::sys;

use super::memory::Span;
use crate::launch::argument::Element;

/// A precision that work on rows can be done in; everything of size `M × M` is `f64` in both.
pub trait Real: Element + Copy + Default + std::fmt::Debug + Send + Sync + 'static {
    /// The number nearest to `value`.
    fn of(value: f64) -> Self;
    /// The number in double, which is exact.
    fn to_f64(self) -> f64;
    /// `wide` itself, if it already is in this precision.
    fn alias(wide: Span<f64>) -> Option<Span<Self>>;
    /// The type's name for cuBLAS, and how to compute with it.
    fn blas_type(rough: bool) -> (sys::cudaDataType, sys::cublasComputeType_t);
    /// The number's address, as cuBLAS takes factors.
    fn pointer(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn alias(wide: Span<f64>) -> Option<Span<Self>> {
        Some(wide)
    }

    fn blas_type(_rough: bool) -> (sys::cudaDataType, sys::cublasComputeType_t) {
        (sys::cudaDataType_t::CUDA_R_64F, sys::cublasComputeType_t::CUBLAS_COMPUTE_64F)
    }
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }

    fn to_f64(self) -> f64 {
        self.into()
    }

    fn alias(_wide: Span<f64>) -> Option<Span<Self>> {
        None
    }

    fn blas_type(rough: bool) -> (sys::cudaDataType, sys::cublasComputeType_t) {
        let compute = match rough {
            false => sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
            true => sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
        };
        (sys::cudaDataType_t::CUDA_R_32F, compute)
    }
}
