//! The diagonal covariance: `S'_p = diag(s_p²)` in whitened variables, `M_b` numbers and as many flops an output.
//!
//! ```text
//! g_pm = 1 − s_pm²        KL = ½ Σ_pm (s_pm² − ln s_pm² − 1)        s̄_pm = −2 s_pm ḡ_pm + KL̄ (s_pm − 1/s_pm)
//! ```

use super::covariance::PreparedCovariance;
use super::explained::Explained;
use crate::numeric::mat::{Mat, ViewMut};
use crate::numeric::scratch::Scratch;

/// Computes the diagonals `g_p` and the KL from `s`, `[P, M_b]`.
pub(super) fn prepare(factor: &Mat, scratch: &mut Scratch<f64>) -> PreparedCovariance {
    let mut explained = scratch.take_mat(factor.nrows(), factor.ncols());
    let mut kl = 0.0;
    for (g, s) in explained.as_mut_slice().iter_mut().zip(factor.as_slice()) {
        let square = s * s;
        *g = 1.0 - square;
        kl += 0.5 * (square - square.ln() - 1.0);
    }
    PreparedCovariance { explained: Explained::Diagonal(explained), kl, saved: Mat::default() }
}

/// Writes `s̄` from `ḡ`, `[P, M_b]`, and `KL̄`.
pub(super) fn pullback(factor: &Mat, explained_bar: &[f64], kl_bar: f64, mut factor_bar: ViewMut<'_>) {
    for ((to, s), bar) in factor_bar.as_mut_slice().iter_mut().zip(factor.as_slice()).zip(explained_bar) {
        *to = kl_bar * (s - 1.0 / s) - 2.0 * s * bar;
    }
}
