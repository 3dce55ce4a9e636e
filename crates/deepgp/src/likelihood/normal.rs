//! Densities of Gaussians, their powers, and mixtures of them.
//!
//! The power `N(y; f, σ²)^α` is a Gaussian in `f` again, up to a factor, so that its expectation has a closed form. With `w = v + σ²/α`:
//!
//! ```text
//! log E_{N(f; μ, v)} N(y; f, σ²)^α = log N(y; μ, w) + ½ ln(2π σ²/α) − ½ α ln 2π σ²
//! ∂μ = (y − μ)/w      ∂v = ½ ((y − μ)²/w² − 1/w)      ∂ln σ² = ½ − ½ α + (σ²/α) ∂v
//! ```

use std::f64::consts::TAU;

/// One Gaussian of a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalPart {
    /// The Gaussian's share of the mixture.
    pub weight: f64,
    /// The Gaussian's mean.
    pub mean: f64,
    /// The Gaussian's variance.
    pub variance: f64,
}

/// The log density of a Gaussian, `log N(y; mean, variance) = −½ (log 2π variance + (y − mean)² / variance)`.
pub(crate) fn log_normal(y: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * ((TAU * variance).ln() + (y - mean) * (y - mean) / variance)
}

/// The logarithm `log E_{N(f; mean, variance)} N(y; f, noise)^power`.
pub(super) fn log_expected_power(power: f64, y: f64, mean: f64, variance: f64, noise: f64) -> f64 {
    let factor = 0.5 * (TAU * noise / power).ln() - 0.5 * power * (TAU * noise).ln();
    log_normal(y, mean, variance + noise / power) + factor
}

/// The slopes of [`log_expected_power`].
pub(super) struct PowerSlopes {
    /// The slope in the mean of `f`.
    pub mean: f64,
    /// The slope in the variance of `f`.
    pub variance: f64,
    /// The slope in the logarithm of the noise.
    pub log_noise: f64,
}

impl PowerSlopes {
    /// The slopes at these arguments of [`log_expected_power`].
    pub fn new(power: f64, y: f64, mean: f64, variance: f64, noise: f64) -> Self {
        let (residual, spread) = (y - mean, variance + noise / power);
        let slope = 0.5 * (residual * residual / spread - 1.0) / spread;
        Self { mean: residual / spread, variance: slope, log_noise: 0.5 - 0.5 * power + noise / power * slope }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::GaussHermite;
    use crate::numeric::mat::Mat;
    use crate::testing::assert_slope;

    #[test]
    fn the_expected_power_is_the_integral_it_claims_to_be_and_has_its_slopes() {
        let rule = GaussHermite::new(60);
        for power in [0.1, 0.5, 1.0] {
            let (y, mean, variance, noise) = (0.3, 0.7, 0.2, 0.5);
            let by_rule = rule.log_expect_exp(mean, variance, |f| power * log_normal(y, f, noise));
            let found = log_expected_power(power, y, mean, variance, noise);
            assert!((found - by_rule).abs() < 1e-12, "{power}: {found} {by_rule}");
            let slopes = PowerSlopes::new(power, y, mean, variance, noise);
            let at = Mat::column(vec![mean, variance, noise.ln()]);
            let gradient = Mat::column(vec![slopes.mean, slopes.variance, slopes.log_noise]);
            assert_slope("power", &at, &gradient, 1e-8, |at| {
                log_expected_power(power, y, at[(0, 0)], at[(1, 0)], at[(2, 0)].exp())
            });
        }
    }
}
