//! Launches of `symmetric.cu`: the gradients of all `G_p`, which are symmetric, by a kernel of their own.

use super::General;
use crate::device::memory::Span;
use crate::launch::Grid;

crate::source::constants! {
    /// Rows and columns of a tile.
    SIDE: usize = 32;
    /// Outputs that a block takes.
    GROUP: usize = 10;
    /// Threads of a block.
    SYMMETRIC_THREADS: usize = 256;
}

/// Pairs of tiles on and below the diagonal of an `[m, m]` matrix, and groups of outputs.
pub fn symmetric_blocks(m: usize, outputs: usize) -> (usize, usize) {
    let side = m.div_ceil(SIDE);
    (side * (side + 1) / 2, outputs.div_ceil(GROUP))
}

crate::launch::kernels! {
    General;

    /// The lower triangle of `Σ_n e_np a_n a_nᵀ` for each output, `[chunks, outputs, m, m]`: `chunks` of `chunk_rows`, the last one what
    /// is left of `all_rows`.
    "symmetric_sums" requires HopperAndDouble => SymmetricSums<T> {
        a: Span<T>, a_stride: usize, e: Span<T>, all_rows: usize, chunk_rows: usize, outputs: usize, m: usize, partial: Span<T>,
    } over { chunks: usize }: |k| {
        let (pairs, groups) = symmetric_blocks(k.m, k.outputs);
        Grid::new((pairs, groups * k.chunks), SYMMETRIC_THREADS)
    };

    /// `to`, `[outputs, m, m]`: the sum over chunks of what [`SymmetricSums`] wrote, mirrored above the diagonal.
    "sum_triangles" => SumTriangles<T> { from: Span<T>, chunks: usize, outputs: usize, m: usize, to: Span<f64> }:
        |k| Grid::each(k.outputs * k.m * k.m);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_on_and_below_the_diagonal_are_counted() {
        assert_eq!(symmetric_blocks(200, 10), (28, 1));
        assert_eq!(symmetric_blocks(32, 11), (1, 2));
    }
}
