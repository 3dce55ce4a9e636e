//! Cholesky factors by cuSOLVER, in place.

use cudarc::cusolver::sys;

use super::lane::Lane;
use super::memory::Span;
use crate::fault::Outcome;

/// The libraries' upper triangle, columns first, is our lower one.
const UPPER: sys::cublasFillMode_t = sys::cublasFillMode_t::CUBLAS_FILL_MODE_UPPER;

impl Lane {
    /// How many numbers of workspace [`Lane::factor`] needs for order `n`.
    #[allow(unsafe_code)]
    pub fn factor_workspace(&self, n: usize) -> Outcome<usize> {
        let mut length = 0;
        // SAFETY: only the order is looked at.
        unsafe {
            sys::cusolverDnDpotrf_bufferSize(
                self.solver(),
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
            sys::cusolverDnDpotrf(
                self.solver(),
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
            sys::cusolverDnDpotrfBatched(
                self.solver(),
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
