//! Launches of `resident.cu`: the Cholesky factor of a matrix that fits into the shared memory of a cluster, and a solve with it.

use super::General;
use super::common::WARP;
use super::factor::{CLUSTER, FACTOR_WARPS};
use crate::device::memory::Span;
use crate::launch::Grid;

/// Rows and columns of a tile.
const SIDE: usize = 32;
/// Numbers of a tile, with the gaps between its rows.
const TILE: usize = SIDE * (SIDE + 1);
/// Numbers beside tiles: two scaled blocks of the diagonal, inverses of two diagonals, and a pivot's number.
const BESIDE: usize = 2 * SIDE * SIDE + 2 * SIDE + 2;
/// Strips of right-hand sides: two that are solved, one that is being solved, and two sums of what is taken off.
const SIDES: usize = 5;

crate::source::constants! {
    /// Tiles of other blocks that are fetched at once.
    STAGED: usize = 8;
}

/// The shared memory of one block in numbers, for a matrix of order `n` and a solve with `width` right-hand sides, or none; `None` if
/// the matrix has more strips of rows than two for each block of the cluster.
fn resident_numbers(n: usize, width: usize) -> Option<usize> {
    let strips = n.div_ceil(SIDE);
    // A block has strips r and 15 − r.
    let tiles = if strips > CLUSTER { 2 * CLUSTER + 1 } else { strips };
    // The tiles that are fetched make room for right-hand sides in the end.
    let rest = (STAGED.min(strips - 1) * TILE).max(SIDES * (SIDE + 1) * width);
    (strips <= 2 * CLUSTER).then_some(BESIDE + tiles * TILE + rest)
}

/// The bytes of shared memory that [`FactorResident`] asks for, or `None` if the matrix is too large for it however much there is.
pub fn resident_bytes(n: usize, width: usize) -> Option<usize> {
    resident_numbers(n, width).map(|numbers| numbers * size_of::<f64>())
}

crate::launch::kernels! {
    General;

    /// `L` of `L Lᵀ = a`, `[n, n]`, in place, and unless `free` is [`Span::NONE`] `weights = L⁻ᵀ free`, both `[n, width]`. `info` becomes
    /// 0, or the number of the first bad pivot, from 1. The matrix must fit, as [`resident_bytes`] says.
    "factor_resident" requires Hopper => FactorResident {
        a: Span<f64>, n: usize, free: Span<f64>, width: usize, weights: Span<f64>, info: Span<i32>,
    }: |k| {
        let width = if k.free.len() > 0 { k.width } else { 0 };
        let bytes = resident_bytes(k.n, width).expect("the matrix was found to fit");
        Grid::new((CLUSTER, 1), WARP * FACTOR_WARPS).sharing(bytes)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_matrices_fit_into_a_clusters_shared_memory() {
        // What a block of a Hopper GPU may ask for.
        let most = 227 << 10;
        assert!(resident_bytes(500, 10).unwrap() <= most && resident_bytes(512, 50).unwrap() <= most);
        assert!(resident_bytes(512, 60).unwrap() > most, "so wide a solve does not fit");
        assert_eq!(resident_bytes(513, 0), None);
        assert_eq!(resident_bytes(1, 0).unwrap(), 8 * (2 * 32 * 32 + 32 * 33 + 66));
    }
}
