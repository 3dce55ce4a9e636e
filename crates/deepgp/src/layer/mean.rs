//! The mean over `Z_a`: every row of Table 1 is `μ̃ = K_XZa w`; they differ in `w` alone.
//!
//! Table 1 prints `μ̃_CB = K_XZa diag(K_ZaZa) a`, a factor that eq. 7 lacks. [`MeanForm::Dual`] is eq. 7;
//! [`MeanForm::ScaledDual`] is the table. The share of the KL is `½ wᵀ K_ZaZa w` in every form.

use super::gram::{Gram, GramBar};
use crate::linalg::{Into, product, times};
use crate::mat::Mat;

/// Which variables the mean is trained in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Whether it needs `L`.
    pub(crate) fn factors(self) -> bool {
        matches!(self, Self::Standard | Self::Whitened)
    }
}

/// The trainable mean of a layer; its inducing inputs are the layer's.
#[derive(Clone, Debug)]
pub struct LayerMean {
    /// Which variables `free` holds.
    pub form: MeanForm,
    /// `a`, `m` or `m'`, `[M_a, P]`.
    pub free: Mat,
}

/// What the mean is made into, once a step.
#[derive(Clone, Debug)]
pub(crate) struct PreparedMean {
    /// `w`, `[M_a, P]`.
    pub weights: Mat,
    /// `½ Σ_p w_pᵀ K_ZaZa w_p`.
    pub kl: f64,
}

impl LayerMean {
    /// `w` and the KL. Costs `M_a² P` beside the factorisation.
    pub(crate) fn prepare(&self, gram: &Gram) -> PreparedMean {
        let weights = match self.form {
            MeanForm::Dual => self.free.clone(),
            MeanForm::ScaledDual => scale_rows(&gram.k, &self.free),
            MeanForm::Standard => gram.factor().solve(&self.free),
            MeanForm::Whitened => gram.factor().solve_upper(&self.free),
        };
        let kl = match self.form {
            MeanForm::Dual | MeanForm::ScaledDual => half_dot(&weights, &times_gram(gram, &weights)),
            MeanForm::Standard => half_dot(&self.free, &weights),
            MeanForm::Whitened => half_dot(&self.free, &self.free),
        };
        PreparedMean { weights, kl }
    }

    /// `∂/∂free` from `∂/∂w` and `∂/∂KL`; adds what reaches `K` and `L` to `gram_bar`.
    pub(crate) fn pullback(
        &self,
        gram: &Gram,
        prepared: &PreparedMean,
        weights_bar: &Mat,
        kl_bar: f64,
        gram_bar: &mut GramBar,
    ) -> Mat {
        let w = &prepared.weights;
        match self.form {
            MeanForm::Dual | MeanForm::ScaledDual => {
                let mut total = weights_bar.clone();
                total.add_scaled(kl_bar, &times_gram(gram, w));
                outer(gram_bar.k_mut(), 0.5 * kl_bar, w, w);
                if self.form == MeanForm::Dual {
                    return total;
                }
                for i in 0..w.nrows() {
                    let reach: f64 = total.row(i).iter().zip(self.free.row(i)).map(|(x, y)| x * y).sum();
                    gram_bar.k_mut()[(i, i)] += reach;
                }
                scale_rows(&gram.k, &total)
            }
            // m̄ = K⁻¹ w̄ + KL̄ w and K̄ = −sym(K⁻¹ w̄ wᵀ) − ½ KL̄ w wᵀ.
            MeanForm::Standard => {
                let mut free_bar = gram.factor().solve(weights_bar);
                outer(gram_bar.k_mut(), -0.5, &free_bar, w);
                outer(gram_bar.k_mut(), -0.5, w, &free_bar);
                outer(gram_bar.k_mut(), -0.5 * kl_bar, w, w);
                free_bar.add_scaled(kl_bar, w);
                free_bar
            }
            // m̄' = L⁻¹ w̄ + KL̄ m' and Lᵀ L̄ = −m' (L⁻¹ w̄)ᵀ.
            MeanForm::Whitened => {
                let mut free_bar = gram.factor().solve_lower(weights_bar);
                outer(gram_bar.inner_mut(), -1.0, &self.free, &free_bar);
                free_bar.add_scaled(kl_bar, &self.free);
                free_bar
            }
        }
    }
}

fn times_gram(gram: &Gram, w: &Mat) -> Mat {
    times(gram.k.view().faer(), w.view().faer())
}

/// `diag(k) m`.
fn scale_rows(k: &Mat, m: &Mat) -> Mat {
    Mat::from_fn(m.nrows(), m.ncols(), |i, j| k[(i, i)] * m[(i, j)])
}

fn half_dot(a: &Mat, b: &Mat) -> f64 {
    0.5 * a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| x * y).sum::<f64>()
}

/// `into += scale · a bᵀ`.
fn outer(into: &mut Mat, scale: f64, a: &Mat, b: &Mat) {
    product(into.view_mut().faer(), Into::Add, scale, a.view().faer(), b.view().faer().transpose());
}
