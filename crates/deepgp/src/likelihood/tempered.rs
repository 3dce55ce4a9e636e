//! Tempered likelihoods: `log E p(y | f)^α`, from which the predictive objective is made.
//!
//! At `α = 1` it is the log density of the row, and for `α → 0` it is `α` times the expected log density.

use super::{Latent, LatentBars, Likelihood};

/// A likelihood whose powers have an expectation under a Gaussian `f`, with a gradient.
pub trait Tempered: Likelihood {
    /// The logarithm `log E_{N(f; mean, variance)} p(y | f)^power` of one row, jointly over the columns of `y`.
    fn log_expected_power(&self, power: f64, y: &[f64], f: Latent<'_>) -> f64;

    /// Adds `weight` times the gradient of [`Tempered::log_expected_power`] to `bars`, and returns its value, which costs nothing more.
    fn log_expected_power_pullback(
        &self,
        power: f64,
        y: &[f64],
        f: Latent<'_>,
        weight: f64,
        bars: LatentBars<'_>,
    ) -> f64;
}
