//! The mean of a layer over `Z_a`: every row of Table 1 is `μ̃ = K_XZa w`; they differ in the weights `w` alone.
//!
//! Table 1 prints `μ̃_CB = K_XZa diag(K_ZaZa) a`, a factor that eq. 7 lacks. [`MeanForm::Dual`] is eq. 7;
//! [`MeanForm::ScaledDual`] is the table. The mean's term of the KL is `½ wᵀ K_ZaZa w` in every form.

use super::gram::{Gram, GramBar};
use crate::numeric::linalg::{Accumulate, product, times};
use crate::numeric::mat::Mat;
use crate::numeric::scratch::Scratch;

/// The variables that a layer's mean is trained in (Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum MeanForm {
    /// `w = a` (eq. 7): needs no inverse, but converges poorly (section 2.3).
    #[doc(alias = "mu_CB")]
    Dual,
    /// `w = diag(K_ZaZa) a`: as Table 1 prints it.
    ScaledDual,
    /// `w = K_ZaZa⁻¹ m` (eq. 3).
    #[doc(alias = "mu_GP")]
    Standard,
    /// `w = L⁻ᵀ m'` where `L Lᵀ = K_ZaZa`, so that `m' ~ N(0, I)` under the prior.
    #[doc(alias = "mu_GPcent")]
    Whitened,
}

impl MeanForm {
    /// Whether the form needs `L`, the factor of `K_aa`.
    pub fn needs_factor(self) -> bool {
        match self {
            Self::Dual | Self::ScaledDual => false,
            Self::Standard | Self::Whitened => true,
        }
    }
}

/// The trainable mean of a layer; its inducing inputs `Z_a` belong to the layer.
#[derive(Clone, Debug)]
pub struct LayerMean {
    /// The variables that `free` holds.
    pub form: MeanForm,
    /// The trainable numbers, `a`, `m` or `m'`, `[M_a, P]`.
    pub free: Mat,
}

/// A layer's mean as rows need it: `w` and the KL, computed once a step by [`LayerMean::prepare`].
#[derive(Clone, Debug)]
pub(crate) struct PreparedMean {
    /// The weights `w`, `[M_a, P]`.
    pub weights: Mat,
    /// The mean's term of `KL[q ‖ p]`, `½ Σ_p w_pᵀ K_ZaZa w_p`.
    pub kl: f64,
}

impl LayerMean {
    /// Computes `w` and the KL. Costs of the order of `M_a² P` flops beside the factorisation.
    pub(crate) fn prepare(&self, gram: &Gram, scratch: &mut Scratch<f64>) -> PreparedMean {
        let weights = match self.form {
            MeanForm::Dual => scratch.copy(&self.free),
            MeanForm::ScaledDual => scaled_rows(&gram.k, &self.free, scratch),
            MeanForm::Standard => gram.factor().solve(&self.free, scratch),
            MeanForm::Whitened => gram.factor().whiten_transposed(&self.free, scratch),
        };
        let kl = match self.form {
            MeanForm::Dual | MeanForm::ScaledDual => {
                let k_w = times_gram(gram, &weights, scratch);
                let kl = half_dot(&weights, &k_w);
                scratch.give_mat(k_w);
                kl
            }
            MeanForm::Standard => half_dot(&self.free, &weights),
            MeanForm::Whitened => half_dot(&self.free, &self.free),
        };
        PreparedMean { weights, kl }
    }

    /// The gradient `∂/∂free` from `∂/∂w` and `∂/∂KL`; adds the gradients at `K` and `L` to `gram_bar`.
    pub(crate) fn pullback(
        &self,
        gram: &Gram,
        prepared: &PreparedMean,
        weights_bar: &Mat,
        kl_bar: f64,
        gram_bar: &mut GramBar,
        scratch: &mut Scratch<f64>,
    ) -> Mat {
        let w = &prepared.weights;
        match self.form {
            // ā = w̄ + KL̄ K w and K̄ = ½ KL̄ w wᵀ.
            MeanForm::Dual => weights_pullback(gram, w, weights_bar, kl_bar, gram_bar, scratch),
            // Through w = diag(K) a: ā = diag(K) w̄', K̄_ii += w̄'_i · a_i, where w̄' is the gradient at w.
            MeanForm::ScaledDual => {
                let total = weights_pullback(gram, w, weights_bar, kl_bar, gram_bar, scratch);
                let k_bar = gram_bar.k_mut(scratch);
                for i in 0..w.nrows() {
                    k_bar[(i, i)] += total.row(i).iter().zip(self.free.row(i)).map(|(x, y)| x * y).sum::<f64>();
                }
                let free_bar = scaled_rows(&gram.k, &total, scratch);
                scratch.give_mat(total);
                free_bar
            }
            // m̄ = K⁻¹ w̄ + KL̄ w and K̄ = −sym(K⁻¹ w̄ wᵀ) − ½ KL̄ w wᵀ.
            MeanForm::Standard => {
                let mut free_bar = gram.factor().solve(weights_bar, scratch);
                let k_bar = gram_bar.k_mut(scratch);
                outer(k_bar, -0.5, &free_bar, w);
                outer(k_bar, -0.5, w, &free_bar);
                outer(k_bar, -0.5 * kl_bar, w, w);
                free_bar.add_scaled(kl_bar, w);
                free_bar
            }
            // m̄' = L⁻¹ w̄ + KL̄ m' and Lᵀ L̄ = −m' (L⁻¹ w̄)ᵀ.
            MeanForm::Whitened => {
                let mut minus = gram.factor().whiten(weights_bar, scratch);
                let mut free_bar = scratch.copy(&minus);
                free_bar.add_scaled(kl_bar, &self.free);
                for v in minus.as_mut_slice() {
                    *v = -*v;
                }
                gram_bar.add_outer(scratch.copy(&self.free), minus);
                free_bar
            }
        }
    }
}

/// The gradient at `w`, `w̄ + KL̄ K w`, of forms whose KL is computed as `½ wᵀ K w`; adds `½ KL̄ w wᵀ` to `K̄`.
fn weights_pullback(
    gram: &Gram,
    w: &Mat,
    weights_bar: &Mat,
    kl_bar: f64,
    gram_bar: &mut GramBar,
    scratch: &mut Scratch<f64>,
) -> Mat {
    let mut total = times_gram(gram, w, scratch);
    for (to, from) in total.as_mut_slice().iter_mut().zip(weights_bar.as_slice()) {
        *to = from + kl_bar * *to;
    }
    outer(gram_bar.k_mut(scratch), 0.5 * kl_bar, w, w);
    total
}

/// `K w`.
fn times_gram(gram: &Gram, w: &Mat, scratch: &mut Scratch<f64>) -> Mat {
    times(gram.k.view().faer(), w.view().faer(), scratch)
}

/// `diag(k) m`.
fn scaled_rows(k: &Mat, m: &Mat, scratch: &mut Scratch<f64>) -> Mat {
    let mut out = scratch.copy(m);
    for i in 0..m.nrows() {
        for v in out.row_mut(i) {
            *v *= k[(i, i)];
        }
    }
    out
}

/// `½ Σ a ∘ b`.
fn half_dot(a: &Mat, b: &Mat) -> f64 {
    0.5 * a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| x * y).sum::<f64>()
}

/// `into += scale · a bᵀ`.
fn outer(into: &mut Mat, scale: f64, a: &Mat, b: &Mat) {
    product(into.view_mut().faer(), Accumulate::Add, scale, a.view().faer(), b.view().faer().transpose());
}
