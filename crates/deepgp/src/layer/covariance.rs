//! The covariance over `Z_b`: every form is `Σ̃ = K_XX − K_XZb C K_XZbᵀ` (Table 2); they differ in `C`.
//!
//! Table 2 swaps its two labels against the text and writes `Z_a` for `Z_b` in the row of `Σ̃_GP`; eq. 6 needs
//! `+½ log |K|/|S|` (as printed, `S = ½K`, `m = 0` has a negative KL). What follows is eq. 3 and eq. 7, mended.
//!
//! A block of rows sees one shape for every form: `A = K_XZb Rᵀ` and `σ²_p = k_xx − Aᵀ G_p A`, where the *projection* `R`
//! is `L⁻¹` or nothing at all, and the symmetric *explained* share `G_p` is `I − V_p V_pᵀ` or `C_p` itself.

use super::gram::{Gram, GramBar};
use crate::error::{Error, Matrix, Result};
use crate::linalg::{Cholesky, Into, lower_product, lower_times_transposed_lower, mirror_lower, product, times};
use crate::mat::{Mat, View, ViewMut};

/// Which variables the covariance is trained in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Whether it needs `L`.
    pub(crate) fn factors(self) -> bool {
        !matches!(self, Self::Dual)
    }
}

/// The trainable covariance of a layer; its inducing inputs are the layer's.
#[derive(Clone, Debug)]
pub struct LayerCovariance {
    /// Which variables `factor` holds.
    pub form: CovarianceForm,
    /// `L_s` or `L_B`, lower triangular, one for each output: `[P · M_b, M_b]`, one below the other.
    pub factor: Mat,
}

/// What the covariance is made into, once a step.
#[derive(Clone, Debug)]
pub(crate) struct PreparedCovariance {
    /// `R`, lower triangular; `None` stands for the identity.
    pub projection: Option<Mat>,
    /// `G_1, G_2, …` side by side, `[M_b, P · M_b]`.
    pub explained: Mat,
    /// The sum over outputs.
    pub kl: f64,
    /// What the pullback needs, one for each output: `V_p = R L_s` (standard), `H⁻¹` (dual), nothing (whitened).
    kept: Vec<Mat>,
}

impl LayerCovariance {
    /// `L_s` or `L_B` of output `p`.
    pub fn factor_of(&self, p: usize) -> View<'_> {
        let m = self.factor.ncols();
        self.factor.view().rows(p * m..(p + 1) * m)
    }

    /// How many outputs there are.
    pub(crate) fn outputs(&self) -> usize {
        self.factor.nrows() / self.factor.ncols()
    }

    /// `R`, `G` and the KL. Costs about `M_b³` an output beside the factorisation.
    pub(crate) fn prepare(&self, gram: &Gram, layer: usize) -> Result<PreparedCovariance> {
        let (m, outputs) = (self.factor.ncols(), self.outputs());
        let projection = self.form.factors().then(|| gram.factor().inverse_lower());
        let (mut explained, mut kl, mut kept) = (Mat::zeros(m, outputs * m), 0.0, Vec::new());
        for p in 0..outputs {
            let factor = self.factor_of(p);
            let g = match (self.form, &projection) {
                (CovarianceForm::Dual, _) | (_, None) => {
                    let (g, h_inverse, divergence) = dual(gram, factor, layer)?;
                    kl += divergence;
                    kept.push(h_inverse);
                    g
                }
                (CovarianceForm::Whitened, Some(_)) => {
                    kl += divergence(factor, factor);
                    complement(factor)
                }
                (CovarianceForm::Standard, Some(r)) => {
                    let v = lower_times_lower(r.view(), factor);
                    kl += divergence(v.view(), factor) + 0.5 * gram.factor().log_det();
                    let g = complement(v.view());
                    kept.push(v);
                    g
                }
            };
            for i in 0..m {
                explained.row_mut(i)[p * m..(p + 1) * m].copy_from_slice(g.row(i));
            }
        }
        Ok(PreparedCovariance { projection, explained, kl, kept })
    }

    /// `∂/∂factor` from `∂/∂R`, `∂/∂G` (`[P · M_b, M_b]`, lower triangles) and `∂/∂KL`; adds what reaches `K` and `L` to
    /// `gram_bar`.
    pub(crate) fn pullback(
        &self,
        gram: &Gram,
        prepared: &PreparedCovariance,
        projection_bar: &Mat,
        explained_bar: &Mat,
        kl_bar: f64,
        gram_bar: &mut GramBar,
    ) -> Mat {
        let (m, outputs) = (self.factor.ncols(), self.outputs());
        let mut factor_bar = Mat::zeros(outputs * m, m);
        let mut projection_bar = projection_bar.clone();
        for p in 0..outputs {
            let factor = self.factor_of(p);
            let mut g_bar = explained_bar.view().rows(p * m..(p + 1) * m).to_mat();
            mirror_lower(&mut g_bar);
            let own = &mut factor_bar.as_mut_slice()[p * m * m..(p + 1) * m * m];
            let mut own = ViewMut::new(own, m, m);
            match (self.form, &prepared.projection) {
                (CovarianceForm::Dual, _) | (_, None) => {
                    dual_pullback(gram, factor, &prepared.kept[p], &g_bar, kl_bar, own.reborrow(), gram_bar);
                }
                (CovarianceForm::Whitened, Some(_)) => {
                    // G = I − L_s L_sᵀ.
                    product(own.reborrow().faer(), Into::Replace, -2.0, g_bar.view().faer(), factor.faer());
                    add_scaled(own.as_mut_slice(), kl_bar, factor.as_slice());
                }
                (CovarianceForm::Standard, Some(r)) => {
                    // G = I − V Vᵀ with V = R L_s.
                    let v = &prepared.kept[p];
                    let mut v_bar = v.clone();
                    product(v_bar.view_mut().faer(), Into::Replace, -2.0, g_bar.view().faer(), v.view().faer());
                    v_bar.add_scaled(kl_bar, v);
                    product(
                        own.reborrow().faer(),
                        Into::Replace,
                        1.0,
                        r.view().faer().transpose(),
                        v_bar.view().faer(),
                    );
                    lower_product(
                        projection_bar.view_mut().faer(),
                        Into::Add,
                        1.0,
                        v_bar.view().faer(),
                        factor.faer().transpose(),
                    );
                }
            }
            for i in 0..m {
                own.row_mut(i)[i + 1..].fill(0.0);
                if self.form.factors() {
                    own.row_mut(i)[i] -= kl_bar / factor[(i, i)];
                }
            }
        }
        if let Some(r) = &prepared.projection {
            // Lᵀ L̄ = −R̄ Rᵀ, and of ½ log |K| for each output the identity.
            let inner = gram_bar.inner_mut();
            let (projection_bar, r) = (projection_bar.view().faer(), r.view().faer());
            lower_times_transposed_lower(inner.view_mut().faer(), -1.0, projection_bar, r);
            if self.form == CovarianceForm::Standard {
                for i in 0..m {
                    inner[(i, i)] += kl_bar * outputs as f64;
                }
            }
        }
        factor_bar
    }
}

/// `½ (tr V Vᵀ − log |L_s L_sᵀ| − M)`.
fn divergence(v: View<'_>, factor: View<'_>) -> f64 {
    let m = factor.nrows();
    let log_det: f64 = (0..m).map(|i| (factor[(i, i)] * factor[(i, i)]).ln()).sum();
    0.5 * (v.as_slice().iter().map(|x| x * x).sum::<f64>() - log_det - m as f64)
}

/// `I − V Vᵀ`.
fn complement(v: View<'_>) -> Mat {
    let mut g = Mat::identity(v.nrows());
    lower_product(g.view_mut().faer(), Into::Add, -1.0, v.faer(), v.faer().transpose());
    mirror_lower(&mut g);
    g
}

/// `C`, `H⁻¹` and the KL of the dual form. `C = Tᵀ T` with `T = L_H⁻¹ L_Bᵀ` is symmetric and positive to the last bit.
fn dual(gram: &Gram, factor: View<'_>, layer: usize) -> Result<(Mat, Mat, f64)> {
    let m = factor.nrows();
    let k_b = times(gram.k.view().faer(), factor.faer());
    let mut h = Mat::identity(m);
    product(h.view_mut().faer(), Into::Add, 1.0, factor.faer().transpose(), k_b.view().faer());
    let chol = Cholesky::new(&h).map_err(|failure| Error::NotPositiveDefinite {
        layer,
        matrix: Matrix::DualPrecision,
        pivot: failure.pivot,
        jitter: 0.0,
        cause: "its entries are not finite or far too large".into(),
    })?;
    let inverse = chol.solve(&Mat::identity(m));
    let trace: f64 = (0..m).map(|i| inverse[(i, i)]).sum();
    let t = chol.solve_lower(&factor.to_mat().transposed());
    let mut c = Mat::zeros(m, m);
    lower_product(c.view_mut().faer(), Into::Replace, 1.0, t.view().faer().transpose(), t.view().faer());
    mirror_lower(&mut c);
    Ok((c, inverse, 0.5 * (chol.log_det() - m as f64 + trace)))
}

/// `C = B H⁻¹ Bᵀ` with `B = L_B`, `H = I + Bᵀ K B`, and `KL = ½ log |H| + ½ tr H⁻¹ + const`:
/// `H̄ = −H⁻¹ Bᵀ Ḡ B H⁻¹ + KL̄ (½ H⁻¹ − ½ H⁻²)`, `B̄ = 2 Ḡ B H⁻¹ + 2 K B H̄`, `K̄ = B H̄ Bᵀ`.
fn dual_pullback(
    gram: &Gram,
    factor: View<'_>,
    h_inverse: &Mat,
    g_bar: &Mat,
    kl_bar: f64,
    mut factor_bar: ViewMut<'_>,
    gram_bar: &mut GramBar,
) {
    let h_inverse = h_inverse.view().faer();
    let b_h = times(factor.faer(), h_inverse);
    let g_b_h = times(g_bar.view().faer(), b_h.view().faer());
    let mut h_bar = times(h_inverse, h_inverse);
    for i in 0..h_bar.nrows() {
        for (j, v) in h_bar.row_mut(i).iter_mut().enumerate() {
            *v = 0.5 * kl_bar * (h_inverse[(i, j)] - *v);
        }
    }
    product(h_bar.view_mut().faer(), Into::Add, -1.0, b_h.view().faer().transpose(), g_b_h.view().faer());
    let b_h_bar = times(factor.faer(), h_bar.view().faer());
    product(factor_bar.reborrow().faer(), Into::Replace, 2.0, gram.k.view().faer(), b_h_bar.view().faer());
    add_scaled(factor_bar.as_mut_slice(), 2.0, g_b_h.as_slice());
    product(gram_bar.k_mut().view_mut().faer(), Into::Add, 1.0, b_h_bar.view().faer(), factor.faer().transpose());
}

fn add_scaled(into: &mut [f64], scale: f64, from: &[f64]) {
    for (to, from) in into.iter_mut().zip(from) {
        *to += scale * from;
    }
}

/// The product of two lower-triangular matrices, which is one.
fn lower_times_lower(a: View<'_>, b: View<'_>) -> Mat {
    let mut out = Mat::zeros(a.nrows(), a.nrows());
    lower_product(out.view_mut().faer(), Into::Replace, 1.0, a.faer(), b.faer());
    out
}
