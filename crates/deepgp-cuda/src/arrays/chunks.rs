//! How work on rows is cut up, so that there is enough of it to keep the device busy and its sums have a fixed order.

use crate::kernels::symmetric::symmetric_blocks;

/// Rows are filled up to a multiple of this, so that sums over them can be cut into equal chunks.
pub const ROW_MULTIPLE: usize = 16;
/// Tiles that keep a large GPU busy, twice its multiprocessors: sums are cut into chunks until a product has so many, whatever else the
/// device does at the time.
const BUSY: usize = 264;
/// Rows and columns of the tiles that products are computed by.
const TILE: usize = 64;
/// Chunks of rows in which `Σ s_n x_n²` is taken.
pub const SQUARE_CHUNKS: usize = 128;

/// Into how many chunks of rows the sum that makes an `[m, n]` matrix is cut.
pub fn chunks(m: usize, n: usize) -> usize {
    // Large matrices are computed by larger tiles, and their partial sums are no longer small.
    if m.min(n) > 4 * TILE {
        return 2;
    }
    let tiles = m.div_ceil(TILE) * n.div_ceil(TILE);
    (BUSY / tiles).max(1).next_power_of_two().min(ROW_MULTIPLE)
}

/// From so many inducing inputs on `symmetric_sums` is faster than a product of whole matrices.
pub const SYMMETRIC_FROM: usize = 128;
/// The fewest rows of a chunk of `symmetric_sums`.
const SHORTEST: usize = 128;

/// Into how many chunks of rows `symmetric_sums` cuts its sums.
pub fn symmetric_chunks(rows: usize, m: usize, outputs: usize) -> usize {
    let (pairs, groups) = symmetric_blocks(m, outputs);
    (BUSY / (pairs * groups)).clamp(1, rows.div_ceil(SHORTEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_divide_the_rows() {
        for (m, n) in [(1, 1), (500, 10), (100, 100), (1000, 100), (2000, 200), (600, 513)] {
            assert_eq!(ROW_MULTIPLE % chunks(m, n), 0, "{m} {n}");
        }
        assert!(symmetric_chunks(16, 200, 10) == 1 && symmetric_chunks(6560, 200, 10) > 4);
    }
}
