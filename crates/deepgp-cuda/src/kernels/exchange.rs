//! Launches of `exchange.cu`: what several processes add up before they exchange it.

use super::General;
use super::common::Control;
use crate::device::memory::Span;
use crate::launch::Grid;

crate::launch::kernels! {
    General;

    /// `to_j = Σ` over `blocks` of `n` numbers, in an order that depends on their number alone.
    "sum_blocks" => SumBlocks { from: Span<f64>, blocks: usize, n: usize, to: Span<f64> }: |k| Grid::new((k.n, 1), 512);

    /// How many variances of this process were at the floor.
    "count_clamped" => CountClamped { control: Span<Control>, to: Span<f64> }: |_k| Grid::new((1, 1), 1);
}
