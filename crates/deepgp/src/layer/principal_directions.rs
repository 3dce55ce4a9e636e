//! Principal directions: the `width` orthonormal directions in which the rows of `x`, `[N, D]`, vary most.
//!
//! They are the leading eigenvectors `v` of `xᵀx`, found on the smaller side of `x`, or, where both sides are long, without forming either
//! product (Halko, Martinsson and Tropp 2011):
//!
//! | where | how | cost |
//! |---|---|---|
//! | `D ≤ N` | eigenvectors of `xᵀx`, `[D, D]` | `O(N D² + D³)` |
//! | `N < D` | `v = xᵀu / ‖xᵀu‖` for the eigenvectors `u` of `x xᵀ`, `[N, N]` | `O(D N² + N³)` |
//! | both above [`LONGEST_SIDE`], `width` far below | `Y ← orth(x orth(xᵀ Y))`, a few times, from random directions | `O(N D · width)` |
//!
//! `N` rows vary along `N` directions at most: by the last two ways, directions beyond those that the rows vary along are 0, as a layer that
//! is wider than its input has zeros beside it.

use crate::error::{Error, Result};
use crate::numeric::linalg::{principal_axes, shared_product, times};
use crate::numeric::mat::{Mat, View};
use crate::numeric::scratch::Scratch;
use crate::random::noise::{Key, Purpose};

/// The longest side, of rows or columns, whose square matrix of products is always formed: its eigenvectors take seconds.
const LONGEST_SIDE: usize = 1000;
/// The number of directions that are followed beside those that are wanted, so that the wanted ones converge.
const EXTRA: usize = 10;
/// The number of times that directions are turned towards those of most variance.
const ROUNDS: usize = 6;
/// The least deviation along a direction, as a share of the largest, at which rows are taken to vary along it.
const LEAST_DEVIATION: f64 = 1e-6;

/// The leading principal directions of `x` (taken as centred), `[D, width]`; each one's largest entry is positive.
pub(super) fn principal_directions(x: View<'_>, width: usize) -> Result<Mat> {
    let largest = x.as_slice().iter().fold(0.0f64, |a, v| a.max(v.abs()));
    // Squares of huge numbers would overflow; a power of two keeps all digits.
    let unit = if largest > 1e100 { largest.log2().floor().exp2() } else { 1.0 };
    let x = Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)] / unit);
    let side = x.nrows().min(x.ncols());
    let directions = if side > LONGEST_SIDE && 4 * (width + EXTRA) < side {
        by_rounds(&x, width)
    } else if x.ncols() <= x.nrows() {
        by_columns(&x, width)
    } else {
        by_rows(&x, width)
    };
    directions
        .filter(|all| all.as_slice().iter().all(|v| v.is_finite()))
        .ok_or_else(|| Error::Overflow { what: "principal directions of the inputs".into() })
}

/// The directions as eigenvectors of `xᵀx`; `None` if these are not found.
fn by_columns(x: &Mat, width: usize) -> Option<Mat> {
    let scatter = times(x.view().faer().transpose(), x.view().faer(), &mut Scratch::default());
    let axes = principal_axes(&scatter)?;
    Some(Mat::from_fn(x.ncols(), width, |i, j| axes[(i, j)]))
}

/// The directions by way of the eigenvectors of `x xᵀ`; `None` if these are not found.
fn by_rows(x: &Mat, width: usize) -> Option<Mat> {
    let mut gram = Mat::zeros(x.nrows(), x.nrows());
    shared_product(gram.view_mut(), x.view().faer(), x.view().faer().transpose());
    let axes = principal_axes(&gram)?;
    let used = width.min(x.nrows());
    let axes = Mat::from_fn(x.nrows(), used, |i, j| axes[(i, j)]);
    let mut directions = Mat::zeros(x.ncols(), used);
    shared_product(directions.view_mut(), x.view().faer().transpose(), axes.view().faer());
    normalise(&mut directions);
    Some(Mat::from_fn(x.ncols(), width, |i, j| if j < used { directions[(i, j)] } else { 0.0 }))
}

/// The directions by subspace iteration from random ones; `None` if eigenvectors of a small matrix are not found.
fn by_rounds(x: &Mat, width: usize) -> Option<Mat> {
    let (n, d, followed) = (x.nrows(), x.ncols(), width + EXTRA);
    let key = Key::new(0, Purpose::Inducing);
    let mut directions = Mat::from_fn(d, followed, |i, j| key.normals([i as u32, j as u32, 4, 0])[0]);
    let mut along = Mat::zeros(n, followed);
    for _ in 0..ROUNDS {
        shared_product(along.view_mut(), x.view().faer(), directions.view().faer());
        along = orthonormal(along)?;
        shared_product(directions.view_mut(), x.view().faer().transpose(), along.view().faer());
        directions = orthonormal(directions)?;
    }
    // Among the directions that are followed, those of most variance.
    shared_product(along.view_mut(), x.view().faer(), directions.view().faer());
    let axes = by_columns(&along, width)?;
    let mut out = Mat::zeros(d, width);
    shared_product(out.view_mut(), directions.view().faer(), axes.view().faer());
    normalise(&mut out);
    Some(out)
}

/// Orthonormal columns that span what those of `a` do, `a u / ‖a u‖` for the eigenvectors `u` of `aᵀa`; where that is less, columns of 0.
/// Twice, as the first time rounding leaves small ones aslant.
fn orthonormal(mut a: Mat) -> Option<Mat> {
    for _ in 0..2 {
        let axes = by_columns(&a, a.ncols())?;
        let mut turned = Mat::zeros(a.nrows(), a.ncols());
        shared_product(turned.view_mut(), a.view().faer(), axes.view().faer());
        normalise(&mut turned);
        a = turned;
    }
    Some(a)
}

/// Scales each column to length 1 and its largest entry to be positive; a column that is far shorter than the longest becomes 0.
fn normalise(columns: &mut Mat) {
    let (n, p) = (columns.nrows(), columns.ncols());
    let (mut squares, mut largest) = (vec![0.0; p], vec![0.0f64; p]);
    for i in 0..n {
        for ((square, largest), v) in squares.iter_mut().zip(&mut largest).zip(columns.row(i)) {
            *square += v * v;
            if v.abs() > largest.abs() {
                *largest = *v;
            }
        }
    }
    let longest = squares.iter().copied().fold(0.0, f64::max).sqrt();
    let scale = |(square, largest): (&f64, &f64)| {
        let length = square.sqrt();
        if length > LEAST_DEVIATION * longest { largest.signum() / length } else { 0.0 }
    };
    let scales: Vec<f64> = squares.iter().zip(&largest).map(scale).collect();
    for i in 0..n {
        for (v, scale) in columns.row_mut(i).iter_mut().zip(&scales) {
            *v *= scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::uniform;

    /// Rows that vary less and less along turned axes.
    fn decaying(n: usize, d: usize, rate: f64) -> Mat {
        let (along, axes) = (uniform(n, n.min(d), 1), uniform(n.min(d), d, 2));
        let scaled = Mat::from_fn(n, n.min(d), |i, j| along[(i, j)] * rate.powi(j as i32));
        times(scaled.view().faer(), axes.view().faer(), &mut Scratch::default())
    }

    fn assert_near(one: &Mat, other: &Mat, tolerance: f64) {
        let apart = one.as_slice().iter().zip(other.as_slice()).fold(0.0f64, |a, (x, y)| a.max((x - y).abs()));
        assert!(apart < tolerance, "{apart}");
    }

    #[test]
    fn all_ways_find_the_same_directions() {
        for (n, d) in [(12, 40), (40, 12), (25, 25)] {
            let x = decaying(n, d, 0.6);
            let expected = by_columns(&x, 4).unwrap();
            assert_near(&by_rows(&x, 4).unwrap(), &expected, 1e-9);
            assert_near(&by_rounds(&x, 4).unwrap(), &expected, 1e-6);
        }
    }

    #[test]
    fn beyond_the_rank_of_the_rows_directions_are_zero() {
        let x = decaying(5, 30, 0.5);
        let found = principal_directions(x.view(), 9).unwrap();
        let gram = times(found.view().faer().transpose(), found.view().faer(), &mut Scratch::default());
        let expected = Mat::from_fn(9, 9, |i, j| f64::from(u8::from(i == j && i < 5)));
        assert_near(&gram, &expected, 1e-9);
        // Rows are told from each other by the directions as they were.
        let mapped = times(x.view().faer(), found.view().faer(), &mut Scratch::default());
        let squares = |m: &Mat| m.as_slice().iter().map(|v| v * v).sum::<f64>();
        assert!((squares(&mapped) / squares(&x) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn few_rows_of_very_many_columns_take_no_square_matrix_of_the_columns() {
        // 20,000² numbers would be 3.2 GB.
        let x = uniform(30, 20_000, 5);
        let found = principal_directions(x.view(), 10).unwrap();
        assert_eq!((found.nrows(), found.ncols()), (20_000, 10));
    }

    #[test]
    fn very_many_rows_and_columns_take_time_in_proportion_to_the_width() {
        let x = decaying(LONGEST_SIDE + 200, LONGEST_SIDE + 1, 0.7);
        let found = principal_directions(x.view(), 3).unwrap();
        // v is an eigenvector of xᵀx: its image points along itself.
        let along = times(x.view().faer(), found.view().faer(), &mut Scratch::default());
        let image = times(x.view().faer().transpose(), along.view().faer(), &mut Scratch::default());
        for p in 0..3 {
            let value: f64 = (0..x.ncols()).map(|i| image[(i, p)] * found[(i, p)]).sum();
            let rest: f64 = (0..x.ncols()).map(|i| (image[(i, p)] - value * found[(i, p)]).powi(2)).sum();
            assert!(rest.sqrt() < 1e-5 * value, "{p}: {} of {value}", rest.sqrt());
        }
    }
}
