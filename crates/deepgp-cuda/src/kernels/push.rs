//! Launches of `push.cu`: rows forward through a layer in one kernel.

use super::Covariance;
use super::common::{Control, Step, WARP};
use crate::device::memory::Span;
use crate::launch::Grid;

crate::source::constants! {
    /// The most threads of a block: a warp for every 32 columns.
    PUSH_THREADS: usize = 512;
}

/// Rows that a block takes at a time.
const PUSH_ROWS: usize = 16;
/// Columns of a warp.
const OWN_COLUMNS: usize = 32;
/// The most inputs with the one before them, and the most outputs.
const WIDEST: usize = 16;
/// Blocks that keep a large GPU busy: one for each of its multiprocessors.
const BUSY: usize = 132;

/// A layer as the kernel sees it.
#[derive(Clone, Copy, Debug)]
pub struct PushShape {
    pub width: usize,
    pub outputs: usize,
    pub columns: usize,
    /// `M_b`.
    pub covariances: usize,
}

impl PushShape {
    /// Warps of a block: for the columns, and for the outputs of the rows at hand.
    fn warps(self) -> usize {
        self.columns.div_ceil(OWN_COLUMNS).max((PUSH_ROWS * self.outputs).div_ceil(WARP))
    }

    /// Bytes of shared memory that a block asks for, or `None` if the kernel cannot take the shape however much there is.
    pub fn bytes(self) -> Option<usize> {
        let (warps, wide, narrow) = (self.warps(), self.outputs | 1, self.width | 1);
        let filled = self.covariances.next_multiple_of(8);
        let columns = OWN_COLUMNS * warps * (narrow + wide);
        let of_rows = PUSH_ROWS * (narrow + filled + 1) + WIDEST + warps * PUSH_ROWS * wide;
        let numbers = columns + filled * (filled + 1 + wide) + of_rows;
        let fits = self.width < WIDEST && self.outputs <= WIDEST && warps * WARP <= PUSH_THREADS;
        fits.then_some(numbers * size_of::<f64>())
    }
}

/// Rows of a block, so that there are enough blocks to keep the device busy and no more.
pub fn chunk_rows(rows: usize) -> usize {
    rows.div_ceil(PUSH_ROWS).div_ceil(BUSY) * PUSH_ROWS
}

crate::launch::kernels! {
    Covariance;

    /// `k(x, z)`, `A = k_b rᵀ`, and what [`DiagonalMoments`](super::diagonal::DiagonalMoments) computes, after means `k_a weights`. Only where
    /// [`PushShape::bytes`] says so, and the covariance function is summed at once.
    "push_rows" requires HopperAndDouble => PushRows<T> {
        x1: Span<T>, z1: Span<T>, theta: Span<f64>, weights: Span<T>, outputs: usize, means: usize, r: Span<T>, s: Span<f64>,
        start: usize, m: usize, rows: usize, columns: usize, chunk_rows: usize, prior: Span<f64>, floor_absolute: f64,
        floor_relative: f64, identity: bool, fan: usize, given: Span<f64>, ids: Span<u32>, k0: u32, k1: u32, layer: u32,
        samples: usize, steps: Span<Step>, control: Span<Control>, k: Span<T>, a: Span<T>, mean: Span<T>, variance: Span<T>,
        noise: Span<T>, above: Span<T>,
    } over { shape: PushShape }: |k| {
        let bytes = k.shape.bytes().expect("the shape was found to fit");
        Grid::new((k.rows.div_ceil(k.chunk_rows), 1), k.shape.warps() * WARP).sharing(bytes)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_layers_fit_and_others_do_not() {
        let paper = PushShape { width: 10, outputs: 10, columns: 500, covariances: 100 };
        assert!(paper.bytes().unwrap() <= 227 << 10, "{:?}", paper.bytes());
        assert!(PushShape { covariances: 300, ..paper }.bytes().unwrap() > 227 << 10);
        assert_eq!(PushShape { columns: 513, ..paper }.bytes(), None);
        assert_eq!(PushShape { width: 16, ..paper }.bytes(), None);
        assert_eq!(PushShape { outputs: 17, ..paper }.bytes(), None);
        // Outputs of 16 rows need more warps than so few columns.
        assert_eq!(PushShape { columns: 3, ..paper }.warps(), 5);
        assert_eq!((chunk_rows(10_000), chunk_rows(16), chunk_rows(6560)), (80, 16, 64));
    }
}
