//! Launches of `rows.cu`: gathering a batch, moments, samples, and the way back through them.

use super::General;
use super::common::{BLOCK, Control, Step, WARP};
use crate::device::memory::Span;
use crate::launch::Grid;

crate::source::constants! {
    /// Outputs that a thread of `through_variance` has under way.
    UNDER_WAY: usize = 10;
}

crate::launch::kernels! {
    General;

    /// `[1 | z]` of inducing inputs, `[rows, width + 1]`, in double and in the rows' precision.
    "with_ones" => WithOnes<T> { z: Span<f64>, rows: usize, width: usize, wide: Span<f64>, narrow: Span<T> }:
        |k| Grid::each(k.rows * (k.width + 1));

    /// `[1 | x]` of the batch, `[rows, width + 1]`, by the row numbers of this step.
    "gather" => Gather<T> {
        data: Span<T>, ids: Span<u32>, rows: usize, width: usize, control: Span<Control>, x1: Span<T>,
    }: |k| Grid::each(k.rows * (k.width + 1));

    /// `variance_p = k(x, x) − a · q_p`, no lower than the floor. `identity` adds input column `p` to the mean of output `p`, where there
    /// is one. `fan` rows of the layer belong to one of the batch.
    "moments" => Moments<T> {
        a: Span<T>, a_stride: usize, q: Span<T>, prior: Span<f64>, floor_absolute: f64, floor_relative: f64, x1: Span<T>,
        width: usize, identity: bool, rows: usize, outputs: usize, m: usize, fan: usize, steps: Span<Step>,
        control: Span<Control>, mean: Span<T>, variance: Span<T>,
    }: |k| Grid::warps(k.rows * k.outputs);

    /// `f = mean + √variance noise`, `fan` samples of each row, as the next layer's `[1 | x]`. Noise comes from `given`, `[given_rows,
    /// outputs]`, over and over, or is drawn by the key `k0, k1`: a row's own if there are `ids`, else the same for all rows.
    "sample" => Sample<T> {
        mean: Span<T>, variance: Span<T>, given: Span<f64>, given_rows: usize, ids: Span<u32>, k0: u32, k1: u32, layer: u32,
        rows: usize, fan: usize, samples: usize, outputs: usize, steps: Span<Step>, control: Span<Control>, noise: Span<T>,
        x1: Span<T>,
    }: |k| Grid::each(k.rows * k.fan * k.outputs);

    /// With `e_p = −variance_bar_p` (0 at the floor): `a_bar = 2 Σ_p e_p q_p`. Leaves `e_p` in `e`, or, where that is [`Span::NONE`],
    /// `e_p a` in place of `q_p`; and `−Σ_p e_p` in `diagonal_bar`.
    "through_variance" => ThroughVariance<T> {
        a: Span<T>, a_stride: usize, q: Span<T>, variance: Span<T>, variance_bar: Span<T>, prior: Span<f64>,
        floor_absolute: f64, floor_relative: f64, outputs: usize, m: usize, e: Span<T>, a_bar: Span<T>,
        diagonal_bar: Span<f64>,
    } over { rows: usize }: |k| {
        // Whole groups, and one more, since the compiler reads pairs.
        let shared = (k.outputs.next_multiple_of(UNDER_WAY) + 1) * size_of::<T>();
        Grid::new((k.rows, 1), k.m.next_multiple_of(WARP).min(BLOCK)).sharing(shared)
    };

    /// From the gradient at samples, `fan` for each row, to those at the moments they came from.
    "sample_pullback" => SamplePullback<T> {
        x_bar: Span<T>, noise: Span<T>, variance: Span<T>, rows: usize, fan: usize, outputs: usize, mean_bar: Span<T>,
        variance_bar: Span<T>,
    }: |k| Grid::each(k.rows * k.outputs);

    /// The gradient at the points of learned sites, `[samples, outputs]`, from those at samples, `fan` for each row of the layer. Says in
    /// `control` if it is not finite.
    "point_gradient" => PointGradient<T> {
        x_bar: Span<T>, variance: Span<T>, batch_rows: usize, fan: usize, samples: usize, outputs: usize, control: Span<Control>,
        points_bar: Span<f64>,
    }: |k| Grid::new((k.samples * k.outputs, 1), BLOCK);

    /// `partial[chunk, d] = Σ s_n x_nd²` over the rows of a chunk.
    "weighted_squares" => WeightedSquares<T> {
        s: Span<T>, s_stride: usize, x1: Span<T>, rows: usize, width: usize, chunk_rows: usize, partial: Span<f64>,
    } over { chunks: usize }: |k| Grid::new((k.chunks, 1), k.width.next_multiple_of(WARP).min(BLOCK));
}
