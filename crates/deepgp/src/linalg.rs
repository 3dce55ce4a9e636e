//! Products, Cholesky factors and triangular solves, and the pullbacks of those that need one.
//!
//! The only file that calls the linear-algebra library's algorithms; others hand it views. Everything runs on the calling thread: parallelism is over
//! row blocks and layers, further up, because threaded factorisations of a few hundred rows lose to serial ones.

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{cholesky::llt, evd, triangular_inverse, triangular_solve};
use faer::{Accum, MatMut, MatRef, Par, dyn_stack};

use crate::mat::Mat;
use crate::real::Real;

/// Whether a product replaces its destination or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Into {
    Replace,
    Add,
}

impl From<Into> for Accum {
    fn from(into: Into) -> Self {
        match into {
            Into::Replace => Self::Replace,
            Into::Add => Self::Add,
        }
    }
}

/// `dst ← alpha · a b`, or `dst += alpha · a b`.
pub(crate) fn product<T: Real>(dst: MatMut<'_, T>, into: Into, alpha: T, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    faer::linalg::matmul::matmul(dst, into.into(), a, b, alpha, Par::Seq);
}

/// Like [`product`], for the lower triangle of `dst` alone (half the flops); what is above it stays as it was.
pub(crate) fn lower_product<T: Real>(dst: MatMut<'_, T>, into: Into, alpha: T, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    use BlockStructure::{Rectangular, TriangularLower};
    triangular::matmul(dst, TriangularLower, into.into(), a, Rectangular, b, Rectangular, alpha, Par::Seq);
}

/// `a b` as a new matrix.
pub(crate) fn times(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    product(out.view_mut().faer(), Into::Replace, 1.0, a, b);
    out
}

/// Writes the lower triangle over the upper one.
pub(crate) fn mirror_lower<T: Real>(m: &mut Mat<T>) {
    for i in 0..m.nrows() {
        for j in 0..i {
            m[(j, i)] = m[(i, j)];
        }
    }
}

/// `Σ a_i b_i` with 16 partial sums, so that it vectorises and rounds the same everywhere.
#[inline(always)]
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 16;
    let mut lanes = [T::ZERO; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let mut tail = T::ZERO;
    for (&x, &y) in a_chunks.remainder().iter().zip(b_chunks.remainder()) {
        tail += x * y;
    }
    for (x, y) in a_chunks.zip(b_chunks) {
        for (lane, (&x, &y)) in lanes.iter_mut().zip(x.iter().zip(y)) {
            *lane += x * y;
        }
    }
    sum_lanes(lanes) + tail
}

/// A fixed tree over the partial sums.
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

/// The matrix was not positive definite: elimination met a non-positive pivot here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotPositive {
    pub pivot: usize,
}

/// `K = L Lᵀ`. Holds `Lᵀ` row by row, which is `L` column by column: the layout the factorisation is fastest in.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    upper: Mat,
}

impl Cholesky {
    /// Factors the symmetric `k`. Costs `n³/3` flops.
    pub fn new(k: &Mat) -> Result<Self, NotPositive> {
        let n = k.nrows();
        let mut upper = k.clone();
        let columns = MatMut::from_column_major_slice_mut(upper.as_mut_slice(), n, n);
        let scratch = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default());
        let mut memory = dyn_stack::MemBuffer::new(scratch);
        let stack = dyn_stack::MemStack::new(&mut memory);
        llt::factor::cholesky_in_place(columns, Default::default(), Par::Seq, stack, Default::default()).map_err(
            |error| {
                let llt::factor::LltError::NonPositivePivot { index } = error;
                NotPositive { pivot: index }
            },
        )?;
        for i in 0..n {
            upper.row_mut(i)[..i].fill(0.0);
            // A NaN in K slips past a comparison with zero.
            if !upper[(i, i)].is_finite() {
                return Err(NotPositive { pivot: i });
            }
        }
        Ok(Self { upper })
    }

    /// `L`.
    pub fn lower(&self) -> MatRef<'_, f64> {
        self.upper.view().faer().transpose()
    }

    /// `L`, copied.
    pub fn to_lower(&self) -> Mat {
        self.upper.transposed()
    }

    /// `log |K|`.
    pub fn log_det(&self) -> f64 {
        (0..self.upper.nrows()).map(|i| 2.0 * self.upper[(i, i)].ln()).sum()
    }

    /// `L⁻¹ b`.
    pub fn solve_lower(&self, b: &Mat) -> Mat {
        let mut out = b.clone();
        triangular_solve::solve_lower_triangular_in_place(self.lower(), out.view_mut().faer(), Par::Seq);
        out
    }

    /// `L⁻ᵀ b`.
    pub fn solve_upper(&self, b: &Mat) -> Mat {
        let mut out = b.clone();
        let upper = self.lower().transpose();
        triangular_solve::solve_upper_triangular_in_place(upper, out.view_mut().faer(), Par::Seq);
        out
    }

    /// `K⁻¹ b`.
    pub fn solve(&self, b: &Mat) -> Mat {
        self.solve_upper(&self.solve_lower(b))
    }

    /// `L⁻¹`, lower triangular.
    pub fn inverse_lower(&self) -> Mat {
        let mut out = Mat::zeros(self.upper.nrows(), self.upper.nrows());
        triangular_inverse::invert_lower_triangular(out.view_mut().faer(), self.lower(), Par::Seq);
        out
    }

    /// `∂/∂K` (symmetric) from the gradient at `L`, which is given as the lower triangle of `inner = Lᵀ L̄`:
    /// `K̄ = ½ L⁻ᵀ (P + Pᵀ) L⁻¹` where `P` is that triangle with its diagonal halved (Murray 2016).
    ///
    /// Where `L` enters by an inverse, `Lᵀ L̄` is simpler than `L̄`: for `w = L⁻ᵀ m` it is `−m (L⁻¹ w̄)ᵀ`, for `R = L⁻¹` it is
    /// `−R̄ Rᵀ`, for `log |K|` twice the identity.
    pub fn pullback(&self, inner: Mat) -> Mat {
        let mut p = inner;
        for v in p.as_mut_slice() {
            *v *= 0.5;
        }
        mirror_lower(&mut p); // P + Pᵀ: the halved diagonal meets itself
        let upper = self.lower().transpose();
        triangular_solve::solve_upper_triangular_in_place(upper, p.view_mut().faer(), Par::Seq);
        triangular_solve::solve_upper_triangular_in_place(upper, p.view_mut().faer().transpose_mut(), Par::Seq);
        p
    }
}

/// The lower triangle of `dst += alpha · a bᵀ` for lower-triangular `a` and `b`.
pub(crate) fn lower_times_transposed_lower(dst: MatMut<'_, f64>, alpha: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    use BlockStructure::{TriangularLower, TriangularUpper};
    let b = b.transpose();
    triangular::matmul(dst, TriangularLower, Accum::Add, a, TriangularLower, b, TriangularUpper, alpha, Par::Seq);
}

/// Eigenvectors of a symmetric matrix as columns, largest eigenvalue first; each one's largest entry is positive.
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
    use crate::testing::{assert_slope, dot_all, uniform};

    fn positive_definite(n: usize, seed: u64) -> Mat {
        let b = uniform(n, n, seed);
        let mut k = times(b.view().faer(), b.view().faer().transpose());
        for i in 0..n {
            k[(i, i)] += 0.5;
        }
        k
    }

    #[test]
    fn the_factor_multiplies_back_and_its_solves_undo_it() {
        let k = positive_definite(7, 1);
        let chol = Cholesky::new(&k).unwrap();
        let back = times(chol.lower(), chol.lower().transpose());
        let inverse = chol.inverse_lower();
        let b = uniform(7, 3, 2);
        let solved = times(k.view().faer(), chol.solve(&b).view().faer());
        let unit = times(inverse.view().faer(), chol.lower());
        for i in 0..7 {
            for j in 0..7 {
                assert!((back[(i, j)] - k[(i, j)]).abs() < 1e-13);
                assert!((unit[(i, j)] - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
            for j in 0..3 {
                assert!((solved[(i, j)] - b[(i, j)]).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn an_indefinite_or_nan_matrix_names_its_pivot() {
        let mut k = Mat::identity(4);
        k[(2, 2)] = -1.0;
        assert_eq!(Cholesky::new(&k).unwrap_err().pivot, 2);
        k[(2, 2)] = f64::NAN;
        assert!(Cholesky::new(&k).is_err());
    }

    #[test]
    fn the_pullbacks_agree_with_central_differences() {
        let k = positive_definite(5, 3);
        let weight = Mat::from_fn(5, 5, |i, j| if j <= i { uniform(5, 5, 4)[(i, j)] } else { 0.0 });
        let symmetric = |m: &Mat| Mat::from_fn(5, 5, |i, j| 0.5 * (m[(i, j)] + m[(j, i)]));
        let factor = |k: &Mat| Cholesky::new(&symmetric(k)).unwrap();
        let chol = factor(&k);

        let inner = times(chol.lower().transpose(), weight.view().faer());
        assert_slope("factor", &k, &chol.pullback(inner), 1e-7, |k| dot_all(&weight, &factor(k).to_lower()));

        let (mut inner, inverse) = (Mat::zeros(5, 5), chol.inverse_lower());
        lower_times_transposed_lower(inner.view_mut().faer(), -1.0, weight.view().faer(), inverse.view().faer());
        assert_slope("inverse", &k, &chol.pullback(inner), 1e-7, |k| dot_all(&weight, &factor(k).inverse_lower()));

        let (m, w_bar) = (uniform(5, 2, 6), uniform(5, 2, 7));
        let inner = times(m.view().faer(), chol.solve_lower(&w_bar).view().faer().transpose()).map(|v: f64| -v);
        assert_slope("solve", &k, &chol.pullback(inner), 1e-7, |k| dot_all(&w_bar, &factor(k).solve_upper(&m)));

        let inner = Mat::identity(5).map(|v: f64| 2.0 * v);
        assert_slope("log det", &k, &chol.pullback(inner), 1e-7, |k| factor(k).log_det());
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
