//! Covariances whose explained shares are symmetric matrices: dual, standard and whitened, `M_b³` flops an output.

use super::covariance::{CovarianceBars, DenseForm, LayerCovariance, PreparedCovariance, clear_above};
use super::explained::Explained;
use super::factor::Factor;
use super::gram::{Gram, GramBar};
use super::symmetric_sums::SymmetricSums;
use crate::error::{Error, Matrix, Result};
use crate::numeric::linalg::{Accumulate, Cholesky, lower_product, mirror_lower, product, times};
use crate::numeric::mat::{Mat, View, ViewMut};
use crate::numeric::scratch::Scratch;

/// Computes `G` and the KL.
pub(super) fn prepare(
    covariance: &LayerCovariance,
    form: DenseForm,
    gram: &Gram,
    layer: usize,
    scratch: &mut Scratch<f64>,
) -> Result<PreparedCovariance> {
    let (m, outputs) = (covariance.factor.ncols(), covariance.outputs());
    let mut saved = match form {
        DenseForm::Dual | DenseForm::Standard => scratch.take_mat(outputs * m, m),
        DenseForm::Whitened => Mat::default(),
    };
    let (mut explained, mut kl) = (scratch.take_mat(m, outputs * m), 0.0);
    let mut g = scratch.take_mat(m, m);
    for p in 0..outputs {
        let factor = covariance.factor_of(p);
        kl += match form {
            DenseForm::Dual => dual(gram, factor, layer, &mut g, square_mut(&mut saved, p), scratch)?,
            DenseForm::Standard => {
                let (mut v, r) = (square_mut(&mut saved, p), gram.factor().inverse.view().faer());
                lower_product(v.reborrow().faer(), Accumulate::Replace, 1.0, r, factor.faer());
                clear_above(&mut v);
                complement(v.as_view(), &mut g);
                divergence(v.as_view(), factor) + 0.5 * gram.factor().log_det
            }
            DenseForm::Whitened => {
                complement(factor, &mut g);
                divergence(factor, factor)
            }
        };
        for i in 0..m {
            explained.row_mut(i)[p * m..(p + 1) * m].copy_from_slice(g.row(i));
        }
    }
    scratch.give_mat(g);
    Ok(PreparedCovariance { explained: Explained::Dense(explained), kl, saved })
}

/// Writes `∂/∂factor` to `factor_bar`, adds to `∂/∂R`, and adds what reaches `K` directly to `gram_bar`.
#[allow(clippy::too_many_arguments, reason = "what was prepared, the gradients that come, and the places they go to")]
pub(super) fn pullback(
    covariance: &LayerCovariance,
    form: DenseForm,
    gram: &Gram,
    prepared: &PreparedCovariance,
    bars: CovarianceBars<'_>,
    gram_bar: &mut GramBar,
    mut factor_bar: ViewMut<'_>,
    scratch: &mut Scratch<f64>,
) {
    let CovarianceBars { projection: projection_bar, explained: explained_bar, kl: kl_bar } = bars;
    let (m, outputs) = (covariance.factor.ncols(), covariance.outputs());
    let sums = SymmetricSums { order: m, outputs };
    let mut g_bar = scratch.take_mat(m, m);
    for p in 0..outputs {
        let factor = covariance.factor_of(p);
        sums.symmetric(explained_bar, p, &mut g_bar);
        let own = &mut factor_bar.as_mut_slice()[p * m * m..(p + 1) * m * m];
        let mut own = ViewMut::new(own, m, m);
        match form {
            DenseForm::Dual => {
                let h_inverse = square(&prepared.saved, p);
                dual_pullback(gram, factor, h_inverse, &g_bar, kl_bar, own.reborrow(), gram_bar, scratch);
            }
            DenseForm::Standard => {
                // G = I − V Vᵀ with V = R L_s, and KL = ½ tr V Vᵀ − …: V̄ = −2 Ḡ V + KL̄ V, L̄_s = Rᵀ V̄, R̄ += V̄ L_sᵀ.
                let (v, r) = (square(&prepared.saved, p), gram.factor().inverse.view().faer());
                let mut v_bar = scratch.take_mat(m, m);
                product(v_bar.view_mut().faer(), Accumulate::Replace, -2.0, g_bar.view().faer(), v.faer());
                add_scaled(v_bar.as_mut_slice(), kl_bar, v.as_slice());
                let v_bar_view = v_bar.view().faer();
                lower_product(own.reborrow().faer(), Accumulate::Replace, 1.0, r.transpose(), v_bar_view);
                let factor_t = factor.faer().transpose();
                lower_product(projection_bar.view_mut().faer(), Accumulate::Add, 1.0, v_bar_view, factor_t);
                log_det_pullback(factor, kl_bar, &mut own);
                scratch.give_mat(v_bar);
            }
            DenseForm::Whitened => {
                // G = I − L_s L_sᵀ, and KL = ½ tr L_s L_sᵀ − …: L̄_s = −2 Ḡ L_s + KL̄ L_s.
                product(own.reborrow().faer(), Accumulate::Replace, -2.0, g_bar.view().faer(), factor.faer());
                add_scaled(own.as_mut_slice(), kl_bar, factor.as_slice());
                log_det_pullback(factor, kl_bar, &mut own);
            }
        }
        clear_above(&mut own);
    }
    scratch.give_mat(g_bar);
}

/// Square `p` of a matrix of squares, one below the other.
fn square(stacked: &Mat, p: usize) -> View<'_> {
    let m = stacked.ncols();
    stacked.view().rows(p * m..(p + 1) * m)
}

/// [`square`], mutably.
fn square_mut(stacked: &mut Mat, p: usize) -> ViewMut<'_> {
    let m = stacked.ncols();
    ViewMut::new(&mut stacked.as_mut_slice()[p * m * m..(p + 1) * m * m], m, m)
}

/// The KL `½ (tr V Vᵀ − log |L_s L_sᵀ| − M)` of one output, less its `½ log |K|`.
fn divergence(v: View<'_>, factor: View<'_>) -> f64 {
    let m = factor.nrows();
    let log_det: f64 = (0..m).map(|i| (factor[(i, i)] * factor[(i, i)]).ln()).sum();
    0.5 * (v.as_slice().iter().map(|x| x * x).sum::<f64>() - log_det - m as f64)
}

/// Adds `KL̄` times the gradient of `−½ log |L_s L_sᵀ|`, which is `−1 / L_s[i, i]` on the diagonal.
fn log_det_pullback(factor: View<'_>, kl_bar: f64, factor_bar: &mut ViewMut<'_>) {
    for i in 0..factor.nrows() {
        factor_bar.row_mut(i)[i] -= kl_bar / factor[(i, i)];
    }
}

/// Writes `G = I − V Vᵀ`.
fn complement(v: View<'_>, g: &mut Mat) {
    lower_product(g.view_mut().faer(), Accumulate::Replace, -1.0, v.faer(), v.faer().transpose());
    for i in 0..v.nrows() {
        g[(i, i)] += 1.0;
    }
    mirror_lower(g.view_mut());
}

/// Writes `C` and `H⁻¹` of the dual form for one output, and returns its KL. With `L_H L_Hᵀ = H` and `T = L_H⁻¹ L_Bᵀ`, `C = Tᵀ T` is
/// symmetric and positive to the last bit.
fn dual(
    gram: &Gram,
    factor: View<'_>,
    layer: usize,
    c: &mut Mat,
    mut h_inverse: ViewMut<'_>,
    scratch: &mut Scratch<f64>,
) -> Result<f64> {
    let m = factor.nrows();
    let k_b = times(gram.k.view().faer(), factor.faer(), scratch);
    let mut h = times(factor.faer().transpose(), k_b.view().faer(), scratch);
    for i in 0..m {
        h[(i, i)] += 1.0;
    }
    let cholesky = Cholesky::new(&h, scratch).map_err(|failure| Error::NotPositiveDefinite {
        layer,
        matrix: Matrix::DualPrecision,
        pivot: failure.pivot,
        jitter: 0.0,
        cause: "its entries are not finite or far too large".into(),
    })?;
    let Factor { inverse: r, log_det } = Factor::new(cholesky, scratch);
    product(h_inverse.reborrow().faer(), Accumulate::Replace, 1.0, r.view().faer().transpose(), r.view().faer());
    let trace: f64 = (0..m).map(|i| h_inverse.as_view()[(i, i)]).sum();
    let t = times(r.view().faer(), factor.faer().transpose(), scratch);
    lower_product(c.view_mut().faer(), Accumulate::Replace, 1.0, t.view().faer().transpose(), t.view().faer());
    mirror_lower(c.view_mut());
    for used in [k_b, h, r, t] {
        scratch.give_mat(used);
    }
    Ok(0.5 * (log_det - m as f64 + trace))
}

/// The pullback of [`dual`]: `C = B H⁻¹ Bᵀ` with `B = L_B`, `H = I + Bᵀ K B`, and `KL = ½ log |H| + ½ tr H⁻¹ + const` give
/// `H̄ = −H⁻¹ Bᵀ Ḡ B H⁻¹ + KL̄ (½ H⁻¹ − ½ H⁻²)`, `B̄ = 2 Ḡ B H⁻¹ + 2 K B H̄`, `K̄ = B H̄ Bᵀ`.
#[allow(clippy::too_many_arguments, reason = "the equations above have exactly these")]
fn dual_pullback(
    gram: &Gram,
    factor: View<'_>,
    h_inverse: View<'_>,
    g_bar: &Mat,
    kl_bar: f64,
    mut factor_bar: ViewMut<'_>,
    gram_bar: &mut GramBar,
    scratch: &mut Scratch<f64>,
) {
    let h_inverse = h_inverse.faer();
    let b_h = times(factor.faer(), h_inverse, scratch);
    let g_b_h = times(g_bar.view().faer(), b_h.view().faer(), scratch);
    let mut h_bar = times(h_inverse, h_inverse, scratch);
    for i in 0..h_bar.nrows() {
        for (j, v) in h_bar.row_mut(i).iter_mut().enumerate() {
            *v = 0.5 * kl_bar * (h_inverse[(i, j)] - *v);
        }
    }
    product(h_bar.view_mut().faer(), Accumulate::Add, -1.0, b_h.view().faer().transpose(), g_b_h.view().faer());
    let b_h_bar = times(factor.faer(), h_bar.view().faer(), scratch);
    product(factor_bar.reborrow().faer(), Accumulate::Replace, 2.0, gram.k.view().faer(), b_h_bar.view().faer());
    add_scaled(factor_bar.as_mut_slice(), 2.0, g_b_h.as_slice());
    let k_bar = gram_bar.k_mut(scratch);
    product(k_bar.view_mut().faer(), Accumulate::Add, 1.0, b_h_bar.view().faer(), factor.faer().transpose());
    for used in [b_h, g_b_h, h_bar, b_h_bar] {
        scratch.give_mat(used);
    }
}

/// `into += scale · from`.
fn add_scaled(into: &mut [f64], scale: f64, from: &[f64]) {
    for (to, from) in into.iter_mut().zip(from) {
        *to += scale * from;
    }
}
