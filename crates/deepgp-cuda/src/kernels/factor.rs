//! Launches of `factor.cu`: Cholesky factors of matrices of any order, and inverse factors.

use super::General;
use super::common::WARP;
use crate::device::memory::Span;
use crate::launch::Grid;

crate::source::constants! {
    /// Blocks that factor a matrix together.
    CLUSTER: usize = 8;
    /// Warps of each of them.
    FACTOR_WARPS: usize = 16;
    /// Columns of an inverse factor that one block computes.
    STRIP: usize = 8;
}

/// Bytes of shared memory that `invert_lower` declares itself, and some to spare.
pub const INVERT_OWN: usize = 10 << 10;

/// The largest matrix whose factor can be inverted with so many bytes of shared memory.
pub fn largest_order(shared: usize) -> usize {
    shared / (STRIP * size_of::<f64>())
}

crate::launch::kernels! {
    General;

    /// `L` of `L Lᵀ = a`, `[n, n]`, in place; `info` becomes 0, or the number of the first bad pivot, from 1.
    "factor_lower" requires Hopper => FactorLower { a: Span<f64>, n: usize, info: Span<i32> }:
        |_k| Grid::new((CLUSTER, 1), WARP * FACTOR_WARPS);

    /// `r = l⁻¹` for `count` lower triangles of order `n`, one after the other, and `log |l lᵀ|` of each. Rows of `l` are `stride` apart.
    "invert_lower" => InvertLower { l: Span<f64>, stride: usize, r: Span<f64>, n: usize, log_det: Span<f64> }
        over { count: usize }:
        |k| Grid::new((k.n.div_ceil(STRIP), k.count), WARP * STRIP).sharing(k.n * STRIP * size_of::<f64>());
}
