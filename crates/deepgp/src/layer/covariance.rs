//! The covariance of a layer over `Z_b`: every form is `Σ̃ = K_XX − K_XZb C K_XZbᵀ` (Table 2); they differ in `C`.
//!
//! Table 2 swaps its two labels against the text and writes `Z_a` for `Z_b` in the row of `Σ̃_GP`; eq. 6 needs
//! `+½ log |K|/|S|` (as printed, `S = ½K`, `m = 0` has a negative KL). What follows is eq. 3 and eq. 7, mended.
//!
//! A block of rows sees one shape for every form: `A = K_XZb Rᵀ` and `σ²_p = k_xx − A G_p Aᵀ`, where the *projection* `R`
//! is `L⁻¹` or the identity, and the symmetric *explained share* `G_p` is `I − V_p V_pᵀ`, its diagonal, or `C_p` itself.

use super::explained::Explained;
use super::gram::{Gram, GramBar};
use super::{dense_covariance, diagonal_covariance};
use crate::error::Result;
use crate::model::params::Constraint;
use crate::numeric::linalg::{Accumulate, lower_product};
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
    /// `Whitened` with `S' = diag(s²)`, a number `s` for each output and inducing input, whose sign does not matter: not in the paper. Rows
    /// cost `M_b P` where the others cost `M_b² P`, and it fits nearly as well. Its KL is `½ Σ (s² − log s² − 1)`.
    Diagonal,
}

impl CovarianceForm {
    /// Whether the form needs `L`, the factor of `K_bb`.
    pub fn needs_factor(self) -> bool {
        match self {
            Self::Dual => false,
            Self::Standard | Self::Whitened | Self::Diagonal => true,
        }
    }

    /// The structure of the form's explained shares.
    pub(super) fn structure(self) -> Structure {
        match self {
            Self::Dual => Structure::Dense(DenseForm::Dual),
            Self::Standard => Structure::Dense(DenseForm::Standard),
            Self::Whitened => Structure::Dense(DenseForm::Whitened),
            Self::Diagonal => Structure::Diagonal,
        }
    }
}

/// The trainable covariance of a layer; its inducing inputs `Z_b` belong to the layer.
#[derive(Clone, Debug)]
pub struct LayerCovariance {
    /// The variables that `factor` holds.
    pub form: CovarianceForm,
    /// `L_s` or `L_B`, lower triangular, one for each output: `[P · M_b, M_b]`, one below the other. Of the diagonal form the numbers `s`
    /// alone, a row for each output: `[P, M_b]`.
    pub factor: Mat,
}

/// The structure of a form's explained shares.
#[derive(Clone, Copy, Debug)]
pub(super) enum Structure {
    /// A symmetric matrix for each output, made of a triangle of numbers.
    Dense(DenseForm),
    /// A diagonal for each output.
    Diagonal,
}

/// The forms whose explained shares are symmetric matrices.
#[derive(Clone, Copy, Debug)]
pub(super) enum DenseForm {
    /// [`CovarianceForm::Dual`].
    Dual,
    /// [`CovarianceForm::Standard`].
    Standard,
    /// [`CovarianceForm::Whitened`].
    Whitened,
}

/// A layer's covariance as rows need it: `G` and the KL, computed once a step by [`LayerCovariance::prepare`].
#[derive(Clone, Debug)]
pub(crate) struct PreparedCovariance {
    /// The explained shares `G_1, G_2, …`.
    pub explained: Explained,
    /// The covariance's term of `KL[q ‖ p]`, summed over outputs.
    pub kl: f64,
    /// What the pullback needs, one square for each output below the other: `V_p = R L_s` (standard), `H⁻¹` (dual), nothing at all
    /// (whitened, diagonal).
    pub(super) saved: Mat,
}

impl LayerCovariance {
    /// The factor of output `p`, `L_s` or `L_B`, `[M_b, M_b]`; of the diagonal form its diagonal, `[1, M_b]`.
    pub fn factor_of(&self, p: usize) -> View<'_> {
        let each = self.rows_each();
        self.factor.view().rows(p * each..(p + 1) * each)
    }

    /// The number of rows of `factor` for each output.
    fn rows_each(&self) -> usize {
        match self.form.structure() {
            Structure::Dense(_) => self.factor.ncols(),
            Structure::Diagonal => 1,
        }
    }

    /// The numbers that `factor` may hold.
    pub(super) fn constraint(&self) -> Constraint {
        match self.form.structure() {
            Structure::Dense(_) => Constraint::LowerTriangular { order: self.factor.ncols() },
            // Only squares count, as on the diagonal of a triangle. Their logarithms would be moved in place of the numbers themselves
            // if they were `Positive`: from a tiny start that takes a thousand steps, and then early stopping steps in.
            Structure::Diagonal => Constraint::Real,
        }
    }

    /// The projection `R`, lower triangular; `None` stands for the identity.
    pub(super) fn projection<'g>(&self, gram: &'g Gram) -> Option<&'g Mat> {
        match self.form {
            CovarianceForm::Dual => None,
            CovarianceForm::Standard | CovarianceForm::Whitened | CovarianceForm::Diagonal => {
                Some(&gram.factor().inverse)
            }
        }
    }

    /// The number of outputs, `P`.
    pub(crate) fn outputs(&self) -> usize {
        self.factor.nrows() / self.rows_each()
    }

    /// Computes `G` and the KL. Costs about `M_b³` flops an output beside the factorisation, and only `M_b` where the form is diagonal.
    pub(crate) fn prepare(&self, gram: &Gram, layer: usize, scratch: &mut Scratch<f64>) -> Result<PreparedCovariance> {
        match self.form.structure() {
            Structure::Dense(form) => dense_covariance::prepare(self, form, gram, layer, scratch),
            Structure::Diagonal => Ok(diagonal_covariance::prepare(&self.factor, scratch)),
        }
    }

    /// Writes `∂/∂factor` to `factor_bar`, and adds the gradients at `K` and `L` to `gram_bar`.
    pub(super) fn pullback(
        &self,
        gram: &Gram,
        prepared: &PreparedCovariance,
        bars: CovarianceBars<'_>,
        gram_bar: &mut GramBar,
        factor_bar: ViewMut<'_>,
        scratch: &mut Scratch<f64>,
    ) {
        let CovarianceBars { projection: projection_bar, explained: explained_bar, kl: kl_bar } = bars;
        match self.form.structure() {
            Structure::Dense(form) => {
                let bars = CovarianceBars { projection: &mut *projection_bar, explained: explained_bar, kl: kl_bar };
                dense_covariance::pullback(self, form, gram, prepared, bars, gram_bar, factor_bar, scratch);
            }
            Structure::Diagonal => diagonal_covariance::pullback(&self.factor, explained_bar, kl_bar, factor_bar),
        }
        if let Some(r) = self.projection(gram) {
            // Lᵀ L̄ = −R̄ Rᵀ, and KL̄ times the identity for the ½ log |K| of each output.
            clear_above(&mut projection_bar.view_mut());
            let inner = gram_bar.inner_mut(scratch);
            let (projection_bar, r) = (projection_bar.view().faer(), r.view().faer());
            lower_product(inner.view_mut().faer(), Accumulate::Add, -1.0, projection_bar, r.transpose());
            match self.form {
                CovarianceForm::Standard => {
                    for i in 0..inner.nrows() {
                        inner[(i, i)] += kl_bar * self.outputs() as f64;
                    }
                }
                CovarianceForm::Dual | CovarianceForm::Whitened | CovarianceForm::Diagonal => {}
            }
        }
    }
}

/// The gradients at `R`, `G` and the KL of a [`PreparedCovariance`].
pub(super) struct CovarianceBars<'a> {
    /// `∂/∂R`, the lower triangle; its memory is used up.
    pub projection: &'a mut Mat,
    /// `∂/∂G_1 … ∂/∂G_P`, in the layout of [`ExplainedSums`](super::explained::ExplainedSums).
    pub explained: &'a [f64],
    /// `∂/∂KL`.
    pub kl: f64,
}

impl PreparedCovariance {
    /// Gives its memory back.
    pub fn give(self, scratch: &mut Scratch<f64>) {
        self.explained.give(scratch);
        scratch.give_mat(self.saved);
    }
}

/// Writes zeros above the diagonal.
pub(super) fn clear_above(m: &mut ViewMut<'_>) {
    for i in 0..m.nrows() {
        m.row_mut(i)[i + 1..].fill(0.0);
    }
}
