//! A factored kernel matrix `K = L Lᵀ`, stored as `R = L⁻¹`: formed once a step, it serves forward and backward.
//!
//! Everything that depends on `L` does so through `R` and `log |K|`, and products with `R` are faster than solves with `L`. Pulled
//! back to `K` (Murray 2016), with `Ψ` the lower triangle of `½ Lᵀ L̄` mirrored above the diagonal,
//!
//! ```text
//! K̄ = Rᵀ Ψ R
//! ```
//!
//! where `Lᵀ L̄` is simpler than `L̄`: for `w = L⁻ᵀ m` it is `−m (L⁻¹ w̄)ᵀ`, for `R` itself `−R̄ Rᵀ`, for `log |K|` twice the identity.
//! `n³/3` flops to factor, as many to invert, `4n³/3` for the pullback; half of the last where `Lᵀ L̄` is a product of thin
//! matrices, as for the mean.

use super::gram::leading;
use crate::numeric::linalg::{
    Accumulate, Cholesky, mirror_lower, product, symmetric_transposed_lower_times, times, times_lower,
};
use crate::numeric::mat::Mat;
use crate::numeric::scratch::Scratch;

/// The factor of a kernel matrix, as `R = L⁻¹` and `log |K|`.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    /// `R = L⁻¹`, lower triangular, zeros above.
    pub inverse: Mat,
    /// `log |K|`.
    pub log_det: f64,
}

/// The number of rows of `Ψ` that [`Factor::pullback_outer`] forms at a time.
const BLOCK: usize = 48;

impl Factor {
    /// Inverts `L`, whose memory it uses up. Costs `n³/3` flops.
    pub fn new(cholesky: Cholesky, scratch: &mut Scratch<f64>) -> Self {
        let log_det = cholesky.log_det();
        Self { inverse: cholesky.into_inverse_lower(scratch), log_det }
    }

    /// `L⁻¹ b`, `b` in whitened variables.
    pub fn whiten(&self, b: &Mat, scratch: &mut Scratch<f64>) -> Mat {
        times(self.inverse.view().faer(), b.view().faer(), scratch)
    }

    /// `L⁻ᵀ b`, the transpose of whitening.
    pub fn whiten_transposed(&self, b: &Mat, scratch: &mut Scratch<f64>) -> Mat {
        times(self.inverse.view().faer().transpose(), b.view().faer(), scratch)
    }

    /// `K⁻¹ b = L⁻ᵀ L⁻¹ b`.
    pub fn solve(&self, b: &Mat, scratch: &mut Scratch<f64>) -> Mat {
        let white = self.whiten(b, scratch);
        let solved = self.whiten_transposed(&white, scratch);
        scratch.give_mat(white);
        solved
    }

    /// `K̄` (symmetric) from `Lᵀ L̄`, of which only the lower triangle counts.
    pub fn pullback(&self, inner: Mat, scratch: &mut Scratch<f64>) -> Mat {
        let mut psi = inner;
        for v in psi.as_mut_slice() {
            *v *= 0.5;
        }
        mirror_lower(psi.view_mut());
        let mut t = scratch.take_mat(psi.nrows(), psi.nrows());
        times_lower(t.view_mut().faer(), Accumulate::Replace, psi.view().faer(), self.inverse.view().faer());
        symmetric_transposed_lower_times(&mut psi, &self.inverse, &t);
        scratch.give_mat(t);
        psi
    }

    /// The factor of the leading block of order `m`: of a triangle and of its inverse, leading blocks are each other's inverse.
    pub fn head(&self, m: usize, scratch: &mut Scratch<f64>) -> Self {
        let log_det = -2.0 * (0..m).map(|i| self.inverse[(i, i)].ln()).sum::<f64>();
        Self { inverse: leading(&self.inverse, m, scratch), log_det }
    }

    /// `K̄` from `Lᵀ L̄ = a bᵀ`, both `[n, P]`, and from a leading block of `Lᵀ L̄`, `[m, m]`, if there is one.
    ///
    /// Then `Ψ_ij = ½ a_i · b_j` for `j ≤ i`, so that row `i` of `Ψ R` is made of sums over all rows before and after it:
    /// `½ a_i · Σ_{j ≤ i} b_j R_j + ½ b_i · Σ_{j > i} a_j R_j`. A block of rows at a time. A leading block of `Ψ` meets the leading
    /// block of `R` alone, so that it costs `m³` flops.
    pub fn pullback_outer(&self, a: &Mat, b: &Mat, head: Option<&Mat>, scratch: &mut Scratch<f64>) -> Mat {
        let (n, p) = (a.nrows(), a.ncols());
        let (a_all, b_all, r_all) = (a.view().faer(), b.view().faer(), self.inverse.view().faer());
        let mut t = scratch.take_mat(n, n);
        let mut psi = scratch.take_mat(BLOCK, BLOCK);
        let mut sums = scratch.zeros(p, n);
        for start in (0..n).step_by(BLOCK) {
            let len = BLOCK.min(n - start);
            let (a, b, r) = (a_all.subrows(start, len), b_all.subrows(start, len), r_all.subrows(start, len));
            psi.reshape_for_overwrite(len, len);
            product(psi.view_mut().faer(), Accumulate::Replace, 0.5, a, b.transpose());
            mirror_lower(psi.view_mut());
            product(t.view_mut().faer().subrows_mut(start, len), Accumulate::Replace, 1.0, psi.view().faer(), r);
            product(t.view_mut().faer().subrows_mut(start, len), Accumulate::Add, 0.5, a, sums.view().faer());
            product(sums.view_mut().faer(), Accumulate::Add, 1.0, b.transpose(), r);
        }
        sums.fill(0.0);
        for start in (0..n).step_by(BLOCK).rev() {
            let len = BLOCK.min(n - start);
            let (a, b, r) = (a_all.subrows(start, len), b_all.subrows(start, len), r_all.subrows(start, len));
            product(t.view_mut().faer().subrows_mut(start, len), Accumulate::Add, 0.5, b, sums.view().faer());
            product(sums.view_mut().faer(), Accumulate::Add, 1.0, a.transpose(), r);
        }
        if let Some(head) = head {
            let m = head.nrows();
            psi.reshape_for_overwrite(m, m);
            for (to, from) in psi.as_mut_slice().iter_mut().zip(head.as_slice()) {
                *to = 0.5 * from;
            }
            mirror_lower(psi.view_mut());
            let own = t.view_mut().faer().submatrix_mut(0, 0, m, m);
            times_lower(own, Accumulate::Add, psi.view().faer(), r_all.submatrix(0, 0, m, m));
        }
        let mut k_bar = scratch.take_mat(n, n);
        symmetric_transposed_lower_times(&mut k_bar, &self.inverse, &t);
        for used in [t, psi, sums] {
            scratch.give_mat(used);
        }
        k_bar
    }

    /// Gives its memory back.
    pub fn give(self, scratch: &mut Scratch<f64>) {
        scratch.give_mat(self.inverse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_slope, dot_all, positive_definite, uniform};

    const N: usize = 53;

    fn factor(k: &Mat) -> Factor {
        let scratch = &mut Scratch::default();
        let symmetric = Mat::from_fn(N, N, |i, j| 0.5 * (k[(i, j)] + k[(j, i)]));
        Factor::new(Cholesky::new(&symmetric, scratch).unwrap(), scratch)
    }

    #[test]
    fn solves_undo_the_matrix() {
        let scratch = &mut Scratch::default();
        let (k, b) = (positive_definite(N, 2.0, 3), uniform(N, 3, 2));
        let back = times(k.view().faer(), factor(&k).solve(&b, scratch).view().faer(), scratch);
        for (x, y) in back.as_slice().iter().zip(b.as_slice()) {
            assert!((x - y).abs() < 1e-10);
        }
    }

    #[test]
    fn the_pullbacks_agree_with_central_differences() {
        let scratch = &mut Scratch::default();
        let k = positive_definite(N, 2.0, 3);
        let made = factor(&k);
        let square = uniform(N, N, 4);
        let weight = Mat::from_fn(N, N, |i, j| if j <= i { square[(i, j)] } else { 0.0 });

        let r_t = made.inverse.transposed();
        let inner = times(weight.view().faer(), r_t.view().faer(), scratch).map(|v: f64| -v);
        let k_bar = made.pullback(inner, scratch);
        assert_slope("inverse", &k, &k_bar, 1e-7, |k| dot_all(&weight, &factor(k).inverse));

        let inner = Mat::identity(N).map(|v: f64| 2.0 * v);
        assert_slope("log det", &k, &made.pullback(inner, scratch), 1e-7, |k| factor(k).log_det);

        let (m, w_bar) = (uniform(N, 2, 6), uniform(N, 2, 7));
        let minus = m.map(|v: f64| -v);
        let k_bar = made.pullback_outer(&minus, &made.whiten(&w_bar, scratch), None, scratch);
        assert_slope("solve", &k, &k_bar, 1e-7, |k| {
            dot_all(&w_bar, &factor(k).whiten_transposed(&m, &mut Scratch::default()))
        });
    }
}
