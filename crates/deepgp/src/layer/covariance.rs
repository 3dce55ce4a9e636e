//! The covariance of a layer over `Z_b`: every form is `Σ̃ = K_XX − K_XZb C K_XZbᵀ` (Table 2); they differ in `C`.
//!
//! Table 2 swaps its two labels against the text and writes `Z_a` for `Z_b` in the row of `Σ̃_GP`; eq. 6 needs
//! `+½ log |K|/|S|` (as printed, `S = ½K`, `m = 0` has a negative KL). What follows is eq. 3 and eq. 7, mended.
//!
//! A block of rows sees one shape for every form: `A = K_XZb Rᵀ` and `σ²_p = k_xx − A G_p Aᵀ`, where the *projection* `R`
//! is `L⁻¹` or the identity, and the symmetric *explained share* `G_p` is `I − V_p V_pᵀ` or `C_p` itself.

use super::factor::Factor;
use super::gram::{Gram, GramBar};
use super::symmetric_sums::SymmetricSums;
use crate::error::{Error, Matrix, Result};
use crate::numeric::linalg::{Accumulate, Cholesky, lower_product, mirror_lower, product, times};
use crate::numeric::mat::{Mat, View, ViewMut};
use crate::numeric::scratch::Scratch;

/// The variables that a layer's covariance is trained in (Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum CovarianceForm {
    /// `C = (B⁻¹ + K)⁻¹` (eq. 7), computed as `L_B H⁻¹ L_Bᵀ` with `H = I + L_Bᵀ K L_B`: neither `B` nor `K` is inverted.
    /// It can only shrink the prior, and costs one factorisation an output.
    /// Its KL is `½ log |H| − ½ (M_b − tr H⁻¹)`.
    #[doc(alias = "Sigma_CB")]
    Dual,
    /// `C = K⁻¹ (K − S) K⁻¹` with `S = L_s L_sᵀ` (eq. 3). Its KL is `½ (log |K| − log |S| + tr K⁻¹S − M_b)`.
    #[doc(alias = "Sigma_GP")]
    Standard,
    /// `Standard` with `S = L S' Lᵀ`, `L Lᵀ = K`, `S' = L_s L_sᵀ`: not in the paper, and the safest to train.
    /// Its KL is `½ (tr S' − log |S'| − M_b)`.
    Whitened,
}

impl CovarianceForm {
    /// Whether the form needs `L`, the factor of `K_bb`.
    pub fn needs_factor(self) -> bool {
        match self {
            Self::Dual => false,
            Self::Standard | Self::Whitened => true,
        }
    }
}

/// The trainable covariance of a layer; its inducing inputs `Z_b` belong to the layer.
#[derive(Clone, Debug)]
pub struct LayerCovariance {
    /// The variables that `factor` holds.
    pub form: CovarianceForm,
    /// `L_s` or `L_B`, lower triangular, one for each output: `[P · M_b, M_b]`, one below the other.
    pub factor: Mat,
}

/// A layer's covariance as rows need it: `G` and the KL, computed once a step by [`LayerCovariance::prepare`].
#[derive(Clone, Debug)]
pub(crate) struct PreparedCovariance {
    /// The explained shares `G_1, G_2, …` side by side, `[M_b, P · M_b]`.
    pub explained: Mat,
    /// The covariance's term of `KL[q ‖ p]`, summed over outputs.
    pub kl: f64,
    /// What the pullback needs, one square for each output below the other: `V_p = R L_s` (standard), `H⁻¹` (dual), nothing at all
    /// (whitened).
    saved: Mat,
}

impl LayerCovariance {
    /// The factor of output `p`, `L_s` or `L_B`, `[M_b, M_b]`.
    pub fn factor_of(&self, p: usize) -> View<'_> {
        square(&self.factor, p)
    }

    /// The projection `R`, lower triangular; `None` stands for the identity.
    pub(super) fn projection<'g>(&self, gram: &'g Gram) -> Option<&'g Mat> {
        match self.form {
            CovarianceForm::Dual => None,
            CovarianceForm::Standard | CovarianceForm::Whitened => Some(&gram.factor().inverse),
        }
    }

    /// The number of outputs, `P`.
    pub(crate) fn outputs(&self) -> usize {
        self.factor.nrows() / self.factor.ncols()
    }

    /// Computes `G` and the KL. Costs about `M_b³` flops an output beside the factorisation.
    pub(crate) fn prepare(&self, gram: &Gram, layer: usize, scratch: &mut Scratch<f64>) -> Result<PreparedCovariance> {
        let (m, outputs) = (self.factor.ncols(), self.outputs());
        let mut saved = match self.form {
            CovarianceForm::Dual | CovarianceForm::Standard => scratch.take_mat(outputs * m, m),
            CovarianceForm::Whitened => Mat::default(),
        };
        let (mut explained, mut kl) = (scratch.take_mat(m, outputs * m), 0.0);
        let mut g = scratch.take_mat(m, m);
        for p in 0..outputs {
            let factor = self.factor_of(p);
            kl += match self.form {
                CovarianceForm::Dual => dual(gram, factor, layer, &mut g, square_mut(&mut saved, p), scratch)?,
                CovarianceForm::Standard => {
                    let (mut v, r) = (square_mut(&mut saved, p), gram.factor().inverse.view().faer());
                    lower_product(v.reborrow().faer(), Accumulate::Replace, 1.0, r, factor.faer());
                    clear_above(&mut v);
                    complement(v.as_view(), &mut g);
                    divergence(v.as_view(), factor) + 0.5 * gram.factor().log_det
                }
                CovarianceForm::Whitened => {
                    complement(factor, &mut g);
                    divergence(factor, factor)
                }
            };
            for i in 0..m {
                explained.row_mut(i)[p * m..(p + 1) * m].copy_from_slice(g.row(i));
            }
        }
        scratch.give_mat(g);
        Ok(PreparedCovariance { explained, kl, saved })
    }

    /// Writes `∂/∂factor` to `factor_bar`, and adds the gradients at `K` and `L` to `gram_bar`.
    pub(super) fn pullback(
        &self,
        gram: &Gram,
        prepared: &PreparedCovariance,
        bars: CovarianceBars<'_>,
        gram_bar: &mut GramBar,
        mut factor_bar: ViewMut<'_>,
        scratch: &mut Scratch<f64>,
    ) {
        let CovarianceBars { projection: projection_bar, explained: explained_bar, sums, kl: kl_bar } = bars;
        let (m, outputs) = (self.factor.ncols(), self.outputs());
        let mut g_bar = scratch.take_mat(m, m);
        for p in 0..outputs {
            let factor = self.factor_of(p);
            sums.symmetric(explained_bar, p, &mut g_bar);
            let own = &mut factor_bar.as_mut_slice()[p * m * m..(p + 1) * m * m];
            let mut own = ViewMut::new(own, m, m);
            match self.form {
                CovarianceForm::Dual => {
                    let h_inverse = square(&prepared.saved, p);
                    dual_pullback(gram, factor, h_inverse, &g_bar, kl_bar, own.reborrow(), gram_bar, scratch);
                }
                CovarianceForm::Standard => {
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
                CovarianceForm::Whitened => {
                    // G = I − L_s L_sᵀ, and KL = ½ tr L_s L_sᵀ − …: L̄_s = −2 Ḡ L_s + KL̄ L_s.
                    product(own.reborrow().faer(), Accumulate::Replace, -2.0, g_bar.view().faer(), factor.faer());
                    add_scaled(own.as_mut_slice(), kl_bar, factor.as_slice());
                    log_det_pullback(factor, kl_bar, &mut own);
                }
            }
            clear_above(&mut own);
        }
        scratch.give_mat(g_bar);
        if let Some(r) = self.projection(gram) {
            // Lᵀ L̄ = −R̄ Rᵀ, and KL̄ times the identity for the ½ log |K| of each output.
            clear_above(&mut projection_bar.view_mut());
            let inner = gram_bar.inner_mut(scratch);
            let (projection_bar, r) = (projection_bar.view().faer(), r.view().faer());
            lower_product(inner.view_mut().faer(), Accumulate::Add, -1.0, projection_bar, r.transpose());
            match self.form {
                CovarianceForm::Standard => {
                    for i in 0..m {
                        inner[(i, i)] += kl_bar * outputs as f64;
                    }
                }
                CovarianceForm::Dual | CovarianceForm::Whitened => {}
            }
        }
    }
}

/// The gradients at `R`, `G` and the KL of a [`PreparedCovariance`].
pub(super) struct CovarianceBars<'a> {
    /// `∂/∂R`, the lower triangle; its memory is used up.
    pub projection: &'a mut Mat,
    /// `∂/∂G_1 … ∂/∂G_P`, in the layout of `sums`.
    pub explained: &'a [f64],
    /// How `explained` is laid out.
    pub sums: SymmetricSums,
    /// `∂/∂KL`.
    pub kl: f64,
}

impl PreparedCovariance {
    /// Gives its memory back.
    pub fn give(self, scratch: &mut Scratch<f64>) {
        scratch.give_mat(self.explained);
        scratch.give_mat(self.saved);
    }
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

/// Writes zeros above the diagonal.
fn clear_above(m: &mut ViewMut<'_>) {
    for i in 0..m.nrows() {
        m.row_mut(i)[i + 1..].fill(0.0);
    }
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
