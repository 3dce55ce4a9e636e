//! Launches of `pull.cu`: the way back through the kernel matrix of rows, in one kernel.

use super::Covariance;
use super::common::WARP;
use crate::device::memory::Span;
use crate::launch::Grid;

crate::source::constants! {
    /// The most threads of a block: a warp for every 32 columns.
    PULL_THREADS: usize = 512;
}

/// Rows that a block takes at a time.
const PULL_ROWS: usize = 8;
/// Columns of a warp.
const OWN_COLUMNS: usize = 32;
/// The most columns.
pub const MOST_COLUMNS: usize = PULL_THREADS / WARP * OWN_COLUMNS;
/// Numbers that a block leaves for each column: 16 for `Wᵀ [1 | x]` and 16 for `kᵀ mean_bar`.
pub const PULLED: usize = 32;
/// The most inputs with the one before them, and the most outputs.
const WIDEST: usize = 16;
/// Blocks of [`PULL_THREADS`] that keep a large GPU busy: one for each of its multiprocessors.
const BUSY: usize = 132;

/// Whether the kernel can take a layer of this shape.
pub fn can_pull(width: usize, outputs: usize, columns: usize) -> bool {
    width < WIDEST && outputs <= WIDEST && columns <= MOST_COLUMNS
}

fn warps(columns: usize) -> usize {
    columns.div_ceil(OWN_COLUMNS)
}

/// Rows of a block, so that there are enough blocks to keep the device busy and no more.
pub fn chunk_rows(rows: usize, columns: usize) -> usize {
    let blocks = BUSY * (PULL_THREADS / WARP / warps(columns)).max(1);
    rows.div_ceil(PULL_ROWS).div_ceil(blocks) * PULL_ROWS
}

/// Bytes of shared memory that a block asks for.
pub fn pull_bytes(columns: usize) -> usize {
    let (warps, side) = (warps(columns), WIDEST + 1);
    let sides = (2 * OWN_COLUMNS * warps + 3 * PULL_ROWS) * side;
    (sides + 16 + WARP + warps * PULL_ROWS * (OWN_COLUMNS + 1)) * size_of::<f64>()
}

crate::launch::kernels! {
    Covariance;

    /// From `k_bar`, of which the first `means` columns get `mean_bar weightsᵀ` and `covariances` columns from `start` on also `kb_bar`, to
    /// `x_bar`, unless that is [`Span::NONE`]; `identity` and `add` are those of [`InputGradient`](super::covariance::InputGradient).
    /// A block leaves [`PULLED`] sums for each column, half of them only `with_weights`; sums of `s_n x_n²` for each input in `squares`;
    /// and one for the variance in `partial`. Only where [`can_pull`] says so, and the covariance function is summed at once.
    "pull_rows" requires HopperAndDouble => PullRows<T> {
        k: Span<T>, x1: Span<T>, z1: Span<T>, theta: Span<f64>, mean_bar: Span<T>, weights: Span<T>, outputs: usize,
        means: usize, kb_bar: Span<T>, start: usize, covariances: usize, rows: usize, columns: usize, chunk_rows: usize,
        identity: bool, add: bool, with_weights: bool, x_bar: Span<T>, sums: Span<T>, squares: Span<f64>, partial: Span<f64>,
    }: |k| {
        let threads = warps(k.columns) * WARP;
        Grid::new((k.rows.div_ceil(k.chunk_rows), 1), threads).sharing(pull_bytes(k.columns))
    };

    /// `z_sums`, `[columns, D + 1]`, and unless that is [`Span::NONE`] `weights_bar`, `[means, outputs]`, from what `blocks` left.
    "sum_pulled" => SumPulled<T> {
        sums: Span<T>, blocks: usize, columns: usize, outputs: usize, means: usize, z_sums: Span<f64>, weights_bar: Span<f64>,
    }: |k| Grid::each(k.columns * PULLED);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_rows_and_fit_the_device() {
        for (rows, columns) in [(16, 1), (6560, 500), (10_000, 512), (10_000, 200), (1 << 20, 33)] {
            let chunk = chunk_rows(rows, columns);
            assert!(chunk % PULL_ROWS == 0 && chunk * rows.div_ceil(chunk) >= rows);
            assert!(pull_bytes(columns) <= 227 << 10, "{columns}");
        }
        assert_eq!((chunk_rows(10_000, 500), chunk_rows(10_000, 200)), (80, 40));
        assert!(can_pull(15, 16, 512) && !can_pull(16, 1, 1) && !can_pull(1, 17, 1) && !can_pull(1, 1, 513));
    }
}
