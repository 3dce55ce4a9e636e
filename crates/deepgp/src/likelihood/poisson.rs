//! Counts of events at the rate `λ = exp(level + f)`: the Poisson likelihood.
//!
//! ```text
//! log p(y | f) = y x − exp x − ln y!        x = level + f
//! E log p = y (level + m) − exp(level + m + v/2) − ln y!        ∂m = y − exp(…)        ∂v = −½ exp(…)
//! ```
//!
//! Densities and powers are by sums over a lattice around the mode of `p(y | f)^α N(f)`, which for large counts is narrow.

use super::counts::{cumulative, moments_of_rate, quantile_given, rate};
use super::lattice::{Curve, Expectation, Jet};
use super::{LikelihoodDescription, LogConcave, ObservedMoments, Outcomes, Quantity};
use crate::model::params::{Constraint, Leaf, Parameters};
use crate::numeric::incomplete::gamma_upper;

/// The likelihood `p(y | f) = λ^y exp(−λ) / y!` of counts, with the rate `λ = exp(level + f)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson {
    /// The number that is added to `f`: the logarithm of the rate before any input is looked at.
    pub level: f64,
}

impl Poisson {
    /// The likelihood for counts of this mean, above 0.
    pub fn new(mean: f64) -> Self {
        Self { level: mean.ln() }
    }
}

/// The length over which `exp(−exp f)` bends.
pub(super) const RESOLUTION: f64 = 0.5;
/// The scale at which the logarithm of a rate starts to vary, in units of the prior: at the prior's variance, `exp(½ v)` would inflate every
/// rate.
pub(super) const START_SCALE: f64 = 0.1;

impl Parameters for Poisson {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        let values = std::slice::from_mut(&mut self.level);
        leaf(Leaf { name: "level", constraint: Constraint::Real, shape: &[], values });
    }
}

/// The log density of a count as a function of `f`.
#[derive(Clone, Copy, Debug)]
pub struct CountCurve {
    /// The count.
    y: f64,
    /// The number that is added to `f`.
    level: f64,
    /// The logarithm `ln y!`.
    log_factorial: f64,
}

impl Curve for CountCurve {
    fn at(&self, f: f64) -> Jet {
        let x = self.level + f;
        let (rate, slope) = rate(x);
        // Beyond its tangent point a rate does not bend.
        let curvature = if slope < rate { 0.0 } else { -slope };
        Jet { value: self.y * x - rate - self.log_factorial, slope: self.y - slope, curvature }
    }

    fn add_slopes(&self, _f: f64, slope: f64, share: f64, theta: &mut [f64]) {
        theta[0] += share * slope;
    }
}

impl LogConcave for Poisson {
    type Curve = CountCurve;

    fn name(&self) -> String {
        "poisson".into()
    }

    fn description(&self) -> Option<LikelihoodDescription> {
        Some(LikelihoodDescription::Poisson)
    }

    fn outcomes(&self) -> Outcomes {
        Outcomes::Counts
    }

    fn curve(&self, y: f64) -> CountCurve {
        CountCurve { y, level: self.level, log_factorial: libm::lgamma(y + 1.0) }
    }

    fn resolution(&self) -> f64 {
        RESOLUTION
    }

    fn level(&self) -> f64 {
        self.level
    }

    /// The rate where `f = 0`.
    fn summary(&self) -> Vec<Quantity> {
        vec![Quantity { name: "rate".into(), output: Some(0), value: self.level.exp() }]
    }

    fn start_scale(&self) -> f64 {
        START_SCALE
    }

    fn takes_offsets(&self) -> bool {
        true
    }

    fn expected_log_density(&self, y: f64, mean: f64, variance: f64) -> Option<Expectation> {
        let x = self.level + mean;
        let (rate, slope) = rate(x + 0.5 * variance);
        let value = y * x - rate - libm::lgamma(y + 1.0);
        Some(Expectation { value, mean: y - slope, variance: -0.5 * slope })
    }

    /// `E y = E λ`, `Var y = E λ + Var λ`.
    fn observed_moments(&self, mean: f64, variance: f64) -> ObservedMoments {
        let (expected, spread) = moments_of_rate(self.level + mean, variance);
        ObservedMoments { mean: expected, variance: expected + spread, noise: expected }
    }

    fn cumulative(&self, at: f64, mean: f64, variance: f64) -> f64 {
        let given = |k: f64, x: f64| gamma_upper(k + 1.0, rate(x).0);
        let next = |k: f64| Self { level: 0.0 }.curve(k);
        cumulative(at, self.level + mean, variance, f64::INFINITY, given, next)
    }

    fn draw(&self, f: f64, uniform: f64) -> f64 {
        let (rate, _) = rate(self.level + f);
        quantile_given(uniform, rate, rate, |k| gamma_upper(k + 1.0, rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::normal::log_normal;
    use crate::likelihood::{GaussHermite, Latent, Likelihood, Tempered};
    use crate::random::noise::{Key, Purpose};
    use crate::testing::assert_pullbacks;

    const OWN: Poisson = Poisson { level: 0.4 };

    fn latent<'a>(mean: &'a f64, variance: &'a f64) -> Latent<'a> {
        Latent { mean: std::slice::from_ref(mean), variance: std::slice::from_ref(variance) }
    }

    #[test]
    fn expectations_and_densities_are_the_integrals_they_claim_to_be() {
        let fine = GaussHermite::new(180);
        for (mean, variance) in [(0.7, 0.3), (-1.0, 1e-6), (2.0, 0.1)] {
            for y in [0.0, 1.0, 5.0, 20.0] {
                let (f, log_p) = (latent(&mean, &variance), |f: f64| OWN.curve(y).at(f).value);
                let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-7 * b.abs().max(1.0), "{mean} {y}: {a} {b}");
                near(Likelihood::expected_log_density(&OWN, &[y], f), fine.expect(mean, variance, log_p));
                for power in [0.3, 1.0] {
                    let expected = fine.expect(mean, variance, |f| (power * log_p(f)).exp()).ln();
                    near(Tempered::log_expected_power(&OWN, power, &[y], f), expected);
                }
            }
        }
    }

    #[test]
    fn the_pullbacks_agree_with_central_differences() {
        for (mean, variance) in [(0.7, 0.3), (-1.0, 1.5)] {
            for y in [0.0, 3.0, 40.0] {
                assert_pullbacks(&OWN, &[y], latent(&mean, &variance), &[0.3, 1.0]);
            }
        }
    }

    #[test]
    fn predictive_masses_sum_to_one_and_agree_with_moments_and_the_distribution_function() {
        for (mean, variance) in [(1.2, 0.2), (2.0, 0.01), (3.0, 1e-8), (-3.0, 2.0)] {
            let f = latent(&mean, &variance);
            let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
            for k in 0..4000 {
                let k = f64::from(k);
                let mass = Likelihood::log_density(&OWN, &[k], f).exp();
                (total, first, second) = (total + mass, first + k * mass, second + k * k * mass);
                let found = Likelihood::cumulative(&OWN, 0, k + 0.3, f);
                assert!((found - total).abs() < 1e-7, "{mean} {variance} {k}: {found} {total}");
            }
            let own = LogConcave::observed_moments(&OWN, mean, variance);
            assert!((total - 1.0).abs() < 1e-7, "{total}");
            assert!((first / own.mean - 1.0).abs() < 1e-5, "{first} {own:?}");
            assert!(((second - first * first) / own.variance - 1.0).abs() < 1e-2, "{second} {own:?}");
            assert_eq!(Likelihood::cumulative(&OWN, 0, -0.1, f), 0.0);
        }
    }

    #[test]
    fn large_counts_are_gaussian() {
        // A rate of 10⁴ whose logarithm is known to 0.02: y ~ N(10⁴, 10⁴ + 200²), about.
        let own = Poisson::new(1e4);
        let f = latent(&0.0, &4e-4);
        for y in [9500.0, 9900.0, 10_000.0, 10_300.0] {
            let found = Likelihood::log_density(&own, &[y], f);
            let expected = log_normal(y, 1e4 * 2e-4f64.exp(), 1e4 + 4e4);
            assert!((found - expected).abs() < 0.06, "{y}: {found} {expected}");
            let below = crate::numeric::normal::cumulative((y + 0.5 - 1e4) / 5e4f64.sqrt());
            assert!((Likelihood::cumulative(&own, 0, y, f) - below).abs() < 0.01, "{y}");
        }
        // Known exactly, it is Poisson alone.
        let known = Likelihood::log_density(&own, &[9900.0], latent(&0.0, &1e-12));
        assert!((known - own.curve(9900.0).at(0.0).value).abs() < 1e-6);
        assert!((known - log_normal(9900.0, 1e4, 1e4)).abs() < 0.01);
    }

    #[test]
    fn no_rate_overflows_and_the_way_back_is_open() {
        for mean in [50.0, 1e3, 1e8] {
            let own = LogConcave::expected_log_density(&OWN, 3.0, mean, 4.0).unwrap();
            assert!(own.value.is_finite() && own.mean < 0.0 && own.variance < 0.0, "{own:?}");
            assert!(Likelihood::log_density(&OWN, &[3.0], latent(&mean, &4.0)).is_finite());
            let moments = LogConcave::observed_moments(&OWN, mean, 400.0);
            assert!(moments.mean.is_finite() && moments.variance.is_finite());
            assert!(LogConcave::cumulative(&OWN, 3.0, mean, 4.0) < 1e-6);
        }
        assert_pullbacks(&OWN, &[3.0], latent(&41.0, &0.5), &[]);
    }

    #[test]
    fn draws_have_the_moments_of_y_given_f() {
        let key = Key::new(1, Purpose::Observe);
        for level in [-1.0, 2.0, 7.0] {
            let (own, n) = (Poisson { level }, 4000);
            let draws: Vec<f64> = (0..n).map(|i| LogConcave::draw(&own, 0.5, key.uniform([i, 0, 0, 0]))).collect();
            let (rate, n) = ((level + 0.5).exp(), f64::from(n));
            let mean = draws.iter().sum::<f64>() / n;
            let variance = draws.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n;
            assert!((mean - rate).abs() < 4.0 * (rate / n).sqrt(), "{mean} {rate}");
            assert!((variance / rate - 1.0).abs() < 0.15, "{variance} {rate}");
        }
    }
}
