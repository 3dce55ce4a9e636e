//! Launches of `diagonal.cu`: rows under the diagonal covariance.

use super::General;
use super::common::{BLOCK, Control, Step, WARP};
use crate::device::memory::Span;
use crate::launch::Grid;

crate::source::constants! {
    /// Columns of `A` that a block of `diagonal_moments` holds at once.
    DIAGONAL_COLUMNS: usize = 64;
    /// Outputs that such a block computes at once: two for each warp.
    DIAGONAL_OUTPUTS: usize = 16;
}

/// Chunks of rows in which `ḡ` is summed.
pub const DIAGONAL_CHUNKS: usize = 128;
/// Threads, and so columns, of a block of those sums.
const SUM_THREADS: usize = 128;
/// Bytes of shared memory that every device has for a block.
const SHARED: usize = 48 << 10;

/// Rows that a block of `through_diagonal` takes: 32, or fewer where their outputs would not fit.
pub fn block_rows<T>(outputs: usize) -> usize {
    let fit = SHARED / (outputs * size_of::<T>());
    (0..=5).rev().map(|power| 1 << power).find(|rows| *rows <= fit).unwrap_or(1)
}

crate::launch::kernels! {
    General;

    /// `variance_p = k(x, x) − Σ_j (1 − s_pj²) a_j²`, no lower than the floor, and what [`Moments`](super::rows::Moments) does to the mean;
    /// unless `above` is [`Span::NONE`] also one sample of each output, as [`Sample`](super::rows::Sample) draws it.
    "diagonal_moments" => DiagonalMoments<T> {
        a: Span<T>, a_stride: usize, s: Span<f64>, prior: Span<f64>, floor_absolute: f64, floor_relative: f64, x1: Span<T>,
        width: usize, identity: bool, rows: usize, outputs: usize, m: usize, fan: usize, given: Span<f64>, given_rows: usize,
        ids: Span<u32>, k0: u32, k1: u32, layer: u32, samples: usize, steps: Span<Step>, control: Span<Control>, mean: Span<T>,
        variance: Span<T>, noise: Span<T>, above: Span<T>,
    }: |k| Grid::new((k.rows.div_ceil(WARP), 1), BLOCK);

    /// With `e_p = −variance_bar_p` (0 at the floor): `a_bar = 2 a Σ_p e_p (1 − s_p²)`. Leaves `e`, and `−Σ_p e_p` in `diagonal_bar`. Unless
    /// `x_bar` is [`Span::NONE`], `mean_bar` and `variance_bar` first come from the gradient at samples, `fan` for each row.
    "through_diagonal" => ThroughDiagonal<T> {
        a: Span<T>, a_stride: usize, s: Span<f64>, x_bar: Span<T>, noise: Span<T>, fan: usize, variance: Span<T>,
        prior: Span<f64>, floor_absolute: f64, floor_relative: f64, rows: usize, outputs: usize, m: usize, block_rows: usize,
        mean_bar: Span<T>, variance_bar: Span<T>, e: Span<T>, a_bar: Span<T>, diagonal_bar: Span<f64>,
    }: |k| Grid::new((k.rows.div_ceil(k.block_rows), 1), BLOCK).sharing(k.block_rows * k.outputs * size_of::<T>());

    /// `partial[chunk, p, j] = Σ e_np a_nj²` over the rows of a chunk.
    "diagonal_sums" => DiagonalSums<T> {
        a: Span<T>, a_stride: usize, e: Span<T>, rows: usize, chunk_rows: usize, outputs: usize, m: usize, partial: Span<T>,
    } over { chunks: usize }: |k| Grid::new((k.m.div_ceil(SUM_THREADS), k.chunks), SUM_THREADS);

    /// `s_bar = kl_bar (s − 1 / s) − 2 s ḡ` of `n` numbers, where `ḡ` is the sum over chunks of what [`DiagonalSums`] left.
    "diagonal_gradient" => DiagonalGradient<T> {
        partial: Span<T>, chunks: usize, s: Span<f64>, n: usize, steps: Span<Step>, control: Span<Control>, s_bar: Span<f64>,
    }: |k| Grid::each(k.n);

    /// The same from `ḡ` itself, the sum over all processes.
    "summed_diagonal_gradient" => SummedDiagonalGradient {
        g_bar: Span<f64>, s: Span<f64>, n: usize, steps: Span<Step>, control: Span<Control>, s_bar: Span<f64>,
    }: |k| Grid::each(k.n);

    /// The KL of each output: `½ Σ_j (s_pj² − log s_pj² − 1)`.
    "diagonal_kl" => DiagonalKl { s: Span<f64>, m: usize, kl: Span<f64> } over { outputs: usize }:
        |k| Grid::new((k.outputs, 1), 128);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_block_fit_into_shared_memory() {
        assert_eq!((block_rows::<f64>(10), block_rows::<f64>(1000), block_rows::<f64>(6000)), (32, 4, 1));
        assert_eq!(block_rows::<f32>(1000), 8);
        assert!((1..=6000).all(|outputs| block_rows::<f64>(outputs) * outputs * 8 <= SHARED));
    }
}
