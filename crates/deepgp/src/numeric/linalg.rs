//! Products, with triangles and symmetry used where there are any, Cholesky factors and their inverses.
//!
//! This is the only file that calls the linear-algebra library's algorithms; others hand it views. Everything runs on the calling thread
//! but where it says so: parallelism is over row blocks and layers, further up, because threaded factorisations of a few
//! hundred rows lose to serial ones.

use faer::linalg::{cholesky::llt, evd, triangular_inverse};
use faer::reborrow::ReborrowMut;
use faer::{Accum, MatMut, MatRef, Par, dyn_stack};
use rayon::prelude::*;

use crate::numeric::mat::{Mat, ViewMut};
use crate::numeric::real::Real;
use crate::numeric::scratch::Scratch;

/// Whether a product replaces its destination or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulate {
    /// `dst ← …`.
    Replace,
    /// `dst += …`.
    Add,
}

impl From<Accumulate> for Accum {
    fn from(accumulate: Accumulate) -> Self {
        match accumulate {
            Accumulate::Replace => Self::Replace,
            Accumulate::Add => Self::Add,
        }
    }
}

/// The matrix product `dst ← alpha · a b`, or `dst += alpha · a b`.
pub(crate) fn product<T: Real>(
    dst: MatMut<'_, T>,
    accumulate: Accumulate,
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
) {
    faer::linalg::matmul::matmul(dst, accumulate.into(), a, b, alpha, Par::Seq);
}

/// The width of the strips that `0..n` is cut into for products with triangles: narrow ones waste few flops beyond the diagonal, wide ones
/// run fast.
fn strip_width(n: usize) -> usize {
    const NARROWEST: usize = 24;
    n.div_ceil(6).next_multiple_of(8).max(NARROWEST)
}

/// The start and end of each strip of `0..n`.
fn strips(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let width = strip_width(n);
    (0..n).step_by(width).map(move |start| (start, (start + width).min(n)))
}

/// Hands strips of rows of the square `dst` to all threads: each gets its first row and the rows themselves. How rows are cut does
/// not depend on the threads, so neither do the bits.
pub(crate) fn each_strip(dst: ViewMut<'_>, work: impl Fn(usize, ViewMut<'_>) + Sync) {
    let n = dst.ncols();
    let width = strip_width(n);
    dst.into_slice().par_chunks_mut(width * n).enumerate().for_each(|(strip, rows)| {
        let height = rows.len() / n;
        work(strip * width, ViewMut::new(rows, height, n));
    });
}

/// The lower triangle of the product `dst ← alpha · a b`, or `+=`, at about 0.6 of the flops; what is above it is unspecified.
pub(crate) fn lower_product<T: Real>(
    mut dst: MatMut<'_, T>,
    accumulate: Accumulate,
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
) {
    for (start, end) in strips(a.nrows()) {
        let own = dst.rb_mut().subrows_mut(start, end - start).subcols_mut(0, end);
        product(own, accumulate, alpha, a.subrows(start, end - start), b.subcols(0, end));
    }
}

/// The product `dst ← a rᵀ` for a lower-triangular `r`.
pub(crate) fn times_lower_transposed<T: Real>(mut dst: MatMut<'_, T>, a: MatRef<'_, T>, r: MatRef<'_, T>) {
    for (start, end) in strips(r.nrows()) {
        let own = dst.rb_mut().subcols_mut(start, end - start);
        let r = r.subrows(start, end - start).subcols(0, end).transpose();
        product(own, Accumulate::Replace, T::ONE, a.subcols(0, end), r);
    }
}

/// The product `dst ← a r`, or `dst += a r`, for a lower-triangular `r`.
pub(crate) fn times_lower<T: Real>(mut dst: MatMut<'_, T>, accumulate: Accumulate, a: MatRef<'_, T>, r: MatRef<'_, T>) {
    let n = r.nrows();
    for (start, end) in strips(n) {
        let own = dst.rb_mut().subcols_mut(start, end - start);
        let r = r.subrows(start, n - start).subcols(start, end - start);
        product(own, accumulate, T::ONE, a.subcols(start, n - start), r);
    }
}

/// The product `dst ← Rᵀ T` where it is known to be symmetric, for a lower-triangular `R`: `n³/3` flops, on all threads.
pub(crate) fn symmetric_transposed_lower_times(dst: &mut Mat, r: &Mat, t: &Mat) {
    let n = r.nrows();
    each_strip(dst.view_mut(), |start, rows| {
        let (height, end) = (rows.nrows(), start + rows.nrows());
        let r = r.view().faer().subrows(start, n - start).subcols(start, height);
        let t = t.view().faer().subrows(start, n - start).subcols(0, end);
        product(rows.faer().subcols_mut(0, end), Accumulate::Replace, 1.0, r.transpose(), t);
    });
    mirror_lower(dst.view_mut());
}

/// The product `dst ← a b`, by strips of rows, on all threads: for `M × M` work, during which no blocks of rows are under way.
pub(crate) fn shared_product(dst: ViewMut<'_>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    const ROWS: usize = 128;
    let columns = dst.ncols();
    dst.into_slice().par_chunks_mut(ROWS * columns).enumerate().for_each(|(strip, rows)| {
        let height = rows.len() / columns;
        let own = ViewMut::new(rows, height, columns).faer();
        product(own, Accumulate::Replace, 1.0, a.subrows(strip * ROWS, height), b);
    });
}

/// The product `a b`, in a matrix borrowed from `scratch`.
pub(crate) fn times(a: MatRef<'_, f64>, b: MatRef<'_, f64>, scratch: &mut Scratch<f64>) -> Mat {
    let mut out = scratch.take_mat(a.nrows(), b.ncols());
    product(out.view_mut().faer(), Accumulate::Replace, 1.0, a, b);
    out
}

/// Writes the lower triangle over the upper one, a tile at a time: by whole rows it would miss the cache at every entry.
pub(crate) fn mirror_lower<T: Real>(mut m: ViewMut<'_, T>) {
    const TILE: usize = 16;
    let n = m.nrows();
    let m = m.as_mut_slice();
    for first in (0..n).step_by(TILE) {
        for left in (0..=first).step_by(TILE) {
            for i in first..(first + TILE).min(n) {
                for j in left..(left + TILE).min(i) {
                    m[j * n + i] = m[i * n + j];
                }
            }
        }
    }
}

/// The dot product `Σ a_i b_i` with 16 partial sums, so that it vectorises and rounds the same everywhere.
#[inline(always)]
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 16;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut tail = T::ZERO;
    for (&a, &b) in a_rest.iter().zip(b_rest) {
        tail += a * b;
    }
    let mut lanes = [T::ZERO; LANES];
    for (a, b) in a.iter().zip(b) {
        for i in 0..LANES {
            lanes[i] += a[i] * b[i];
        }
    }
    sum_lanes(lanes) + tail
}

/// The sum of partial sums, by a fixed tree.
#[inline(always)]
pub(crate) fn sum_lanes<T: Real, const N: usize>(mut lanes: [T; N]) -> T {
    let mut width = N;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            let high = lanes[i + width];
            lanes[i] += high;
        }
    }
    lanes[0]
}

/// The failure of a Cholesky factorisation: the matrix is not positive definite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotPositive {
    /// The row at which elimination met a pivot that is not positive.
    pub pivot: usize,
}

/// The Cholesky factor of `K = L Lᵀ`. Holds `Lᵀ` row by row, which is `L` column by column: the layout the factorisation is fastest in.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    /// `Lᵀ`, zeros below the diagonal.
    upper: Mat,
}

impl Cholesky {
    /// Factors the symmetric `k`. Costs `n³/3` flops.
    pub fn new(k: &Mat, scratch: &mut Scratch<f64>) -> Result<Self, NotPositive> {
        let n = k.nrows();
        let mut upper = scratch.copy(k);
        match Self::factor(&mut upper) {
            Ok(()) => {}
            Err(pivot) => {
                scratch.give_mat(upper);
                return Err(NotPositive { pivot });
            }
        }
        for i in 0..n {
            upper.row_mut(i)[..i].fill(0.0);
        }
        Ok(Self { upper })
    }

    /// Factors in place the matrix whose upper triangle this is; fails with the pivot that is not positive.
    fn factor(upper: &mut Mat) -> Result<(), usize> {
        let n = upper.nrows();
        let columns = MatMut::from_column_major_slice_mut(upper.as_mut_slice(), n, n);
        let scratch = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default());
        let mut memory = dyn_stack::MemBuffer::new(scratch);
        let stack = dyn_stack::MemStack::new(&mut memory);
        let done = llt::factor::cholesky_in_place(columns, Default::default(), Par::Seq, stack, Default::default());
        if let Err(llt::factor::LltError::NonPositivePivot { index }) = done {
            return Err(index);
        }
        // A NaN in K slips past a comparison with zero.
        (0..n).find(|&i| !upper[(i, i)].is_finite()).map_or(Ok(()), Err)
    }

    /// The factor `L`.
    pub fn lower(&self) -> MatRef<'_, f64> {
        self.upper.view().faer().transpose()
    }

    /// The log determinant `log |K| = 2 Σ_i log L_ii`.
    pub fn log_det(&self) -> f64 {
        (0..self.upper.nrows()).map(|i| 2.0 * self.upper[(i, i)].ln()).sum()
    }

    /// The inverse factor `L⁻¹`, lower triangular with zeros above. Costs `n³/3` flops.
    pub fn into_inverse_lower(self, scratch: &mut Scratch<f64>) -> Mat {
        let n = self.upper.nrows();
        let mut out = scratch.zeros(n, n);
        triangular_inverse::invert_lower_triangular(out.view_mut().faer(), self.lower(), Par::Seq);
        scratch.give_mat(self.upper);
        out
    }
}

/// The eigenvectors of a symmetric matrix as columns, largest eigenvalue first; each one's largest entry is positive. `None` if the
/// algorithm does not converge.
pub(crate) fn principal_axes(symmetric: &Mat) -> Option<Mat> {
    let n = symmetric.nrows();
    let (mut vectors, mut values) = (Mat::zeros(n, n), vec![0.0; n]);
    let scratch = evd::self_adjoint_evd_scratch::<f64>(n, evd::ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let mut memory = dyn_stack::MemBuffer::new(scratch);
    evd::self_adjoint_evd(
        symmetric.view().faer(),
        faer::ColMut::from_slice_mut(&mut values).as_diagonal_mut(),
        Some(vectors.view_mut().faer()),
        Par::Seq,
        dyn_stack::MemStack::new(&mut memory),
        Default::default(),
    )
    .ok()?;
    let u = &vectors;
    Some(Mat::from_fn(n, n, |i, j| {
        let column = n - 1 - j;
        let largest = (0..n).map(|r| u[(r, column)]).fold(0.0f64, |a, b| if b.abs() > a.abs() { b } else { a });
        u[(i, column)] * largest.signum()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{positive_definite, uniform};

    #[test]
    fn the_factor_multiplies_back_and_its_inverse_undoes_it() {
        let scratch = &mut Scratch::default();
        let k = positive_definite(7, 0.5, 1);
        let chol = Cholesky::new(&k, scratch).unwrap();
        let lower = chol.lower().to_owned();
        let back = times(lower.as_ref(), lower.transpose(), scratch);
        let inverse = chol.into_inverse_lower(scratch);
        let unit = times(inverse.view().faer(), lower.as_ref(), scratch);
        for i in 0..7 {
            for j in 0..7 {
                assert!((back[(i, j)] - k[(i, j)]).abs() < 1e-13);
                assert!((unit[(i, j)] - f64::from(u8::from(i == j))).abs() < 1e-12);
                assert!(j <= i || inverse[(i, j)] == 0.0);
            }
        }
    }

    #[test]
    fn an_indefinite_or_nan_matrix_names_its_pivot() {
        let scratch = &mut Scratch::default();
        let mut k = Mat::identity(4);
        k[(2, 2)] = -1.0;
        assert_eq!(Cholesky::new(&k, scratch).unwrap_err().pivot, 2);
        k[(2, 2)] = f64::NAN;
        assert!(Cholesky::new(&k, scratch).is_err());
    }

    #[test]
    fn products_with_triangles_are_products() {
        let scratch = &mut Scratch::default();
        for n in [1, 5, 24, 61, 100, 170] {
            let (a, square) = (uniform(9, n, 1), uniform(n, n, 2));
            let r = Mat::from_fn(n, n, |i, j| if j <= i { square[(i, j)] } else { 0.0 });
            let same = |x: &Mat, y: &Mat, lower: bool| {
                for i in 0..x.nrows() {
                    for j in 0..if lower { i + 1 } else { x.ncols() } {
                        assert!((x[(i, j)] - y[(i, j)]).abs() < 1e-12, "{n}: ({i}, {j})");
                    }
                }
            };
            let (mut out, r_t) = (Mat::zeros(9, n), r.transposed());
            times_lower_transposed(out.view_mut().faer(), a.view().faer(), r.view().faer());
            same(&out, &times(a.view().faer(), r_t.view().faer(), scratch), false);
            let plain = times(a.view().faer(), r.view().faer(), scratch);
            times_lower(out.view_mut().faer(), Accumulate::Replace, a.view().faer(), r.view().faer());
            same(&out, &plain, false);
            times_lower(out.view_mut().faer(), Accumulate::Add, a.view().faer(), r.view().faer());
            same(&out, &plain.map(|v: f64| 2.0 * v), false);
            let mut out = Mat::zeros(n, n);
            lower_product(out.view_mut().faer(), Accumulate::Add, -2.0, a.view().faer().transpose(), a.view().faer());
            let gram = times(a.view().faer().transpose(), a.view().faer(), scratch);
            same(&out, &gram.map(|v: f64| -2.0 * v), true);
            let t = times(gram.view().faer(), r.view().faer(), scratch);
            symmetric_transposed_lower_times(&mut out, &r, &t);
            same(&out, &times(r_t.view().faer(), t.view().faer(), scratch), false);
        }
    }

    #[test]
    fn dot_is_a_sum_of_products_for_any_length() {
        for n in 0..70 {
            let (a, b) = (uniform(1, n, 5), uniform(1, n, 6));
            let plain: f64 = a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| x * y).sum();
            assert!((dot(a.as_slice(), b.as_slice()) - plain).abs() < 1e-13);
        }
    }

    #[test]
    fn principal_axes_come_in_order_and_point_one_way() {
        let k = Mat::from_fn(3, 3, |i, j| if i == j { [1.0, 5.0, 3.0][i] } else { 0.0 });
        let axes = principal_axes(&k).unwrap();
        assert!((axes[(1, 0)] - 1.0).abs() < 1e-14 && (axes[(2, 1)] - 1.0).abs() < 1e-14);
    }
}
