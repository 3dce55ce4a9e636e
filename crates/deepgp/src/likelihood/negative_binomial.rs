//! Counts that vary more than at a known rate: the negative binomial likelihood, of mean `μ = exp(level + f)` and variance `μ + μ²/r`.
//!
//! With `g = level + f − ln r` and `σ(g) = μ / (μ + r)`:
//!
//! ```text
//! log p(y | f) = ln Γ(r + y) − ln Γ(r) − y ln r − ln y! + y (level + f) − (y + r) ln(1 + exp g)
//! ∂f = y − (y + r) σ(g)        ∂²f = −(y + r) σ(g) σ(−g)
//! ∂r = ψ(r + y) − ψ(r) − y/r − ln(1 + exp g) + (y + r) σ(g) / r
//! ```
//!
//! For `r → ∞` it is Poisson. All expectations are by sums over a lattice.

use super::counts::{cumulative, moments_of_rate, quantile_given, rate};
use super::lattice::{Curve, Jet};
use super::poisson::START_SCALE;
use super::{LikelihoodDescription, LogConcave, ObservedMoments, Outcomes, Quantity};
use crate::model::params::{Constraint, Leaf, Parameters};
use crate::numeric::incomplete::{beta, gamma_upper};
use crate::numeric::special::{digamma, ln_rising_factorial};

/// The least dispersion that training can reach: there, nearly all counts are 0.
pub(super) const LEAST_DISPERSION: f64 = 1e-3;
/// The dispersion from which on the distribution function is that of Poisson.
const AS_GOOD_AS_POISSON: f64 = 1e7;
/// The length over which `p(y | f)` bends.
const RESOLUTION: f64 = 0.6;

/// The likelihood of counts of mean `μ = exp(level + f)` and variance `μ + μ²/dispersion`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NegativeBinomial {
    /// The number that is added to `f`: the logarithm of the mean before any input is looked at.
    pub level: f64,
    /// The dispersion `r`: the fewer, the more counts of one mean vary.
    pub dispersion: f64,
}

impl NegativeBinomial {
    /// The likelihood for counts of this mean, above 0, and with this dispersion.
    pub fn new(mean: f64, dispersion: f64) -> Self {
        Self { level: mean.ln(), dispersion }
    }

    /// The distribution function `P(Y ≤ k)` at the mean `exp x`.
    fn given(&self, k: f64, x: f64) -> f64 {
        let (mean, r) = (rate(x).0, self.dispersion);
        if r > AS_GOOD_AS_POISSON {
            return gamma_upper(k + 1.0, mean);
        }
        beta(r / (r + mean), mean / (r + mean), r, k + 1.0)
    }
}

impl Parameters for NegativeBinomial {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        let values = std::slice::from_mut(&mut self.level);
        leaf(Leaf { name: "level", constraint: Constraint::Real, shape: &[], values });
        let constraint = Constraint::Positive { floor: LEAST_DISPERSION };
        let values = std::slice::from_mut(&mut self.dispersion);
        leaf(Leaf { name: "dispersion", constraint, shape: &[], values });
    }
}

/// The log density of a dispersed count as a function of `f`.
#[derive(Clone, Copy, Debug)]
pub struct DispersedCurve {
    /// The count.
    y: f64,
    /// The number that is added to `f`.
    level: f64,
    /// The dispersion `r`.
    dispersion: f64,
    /// The logarithm `ln r`.
    log_dispersion: f64,
    /// The terms without `f`, `ln Γ(r + y) − ln Γ(r) − y ln r − ln y!`.
    constant: f64,
    /// The slope `ψ(r + y) − ψ(r) − y/r` of these in `r`.
    constant_slope: f64,
}

impl DispersedCurve {
    /// The logarithm `ln(1 + exp g)`, and `σ(g)` and `σ(−g)`.
    fn parts(&self, f: f64) -> (f64, f64, f64) {
        let g = self.level + f - self.log_dispersion;
        let tail = (-g.abs()).exp();
        let (near, far) = (1.0 / (1.0 + tail), tail / (1.0 + tail));
        let (above, below) = if g > 0.0 { (near, far) } else { (far, near) };
        (g.max(0.0) + tail.ln_1p(), above, below)
    }
}

impl Curve for DispersedCurve {
    fn at(&self, f: f64) -> Jet {
        let (log, above, below) = self.parts(f);
        let total = self.y + self.dispersion;
        Jet {
            value: self.constant + self.y * (self.level + f) - total * log,
            slope: self.y - total * above,
            curvature: -total * above * below,
        }
    }

    fn add_slopes(&self, f: f64, slope: f64, share: f64, theta: &mut [f64]) {
        let (log, above, _) = self.parts(f);
        theta[0] += share * slope;
        theta[1] += share * (self.constant_slope - log + (self.y + self.dispersion) * above / self.dispersion);
    }
}

impl LogConcave for NegativeBinomial {
    type Curve = DispersedCurve;

    fn name(&self) -> String {
        "negative-binomial".into()
    }

    fn description(&self) -> Option<LikelihoodDescription> {
        Some(LikelihoodDescription::NegativeBinomial)
    }

    fn outcomes(&self) -> Outcomes {
        Outcomes::Counts
    }

    fn curve(&self, y: f64) -> DispersedCurve {
        let Self { level, dispersion } = *self;
        DispersedCurve {
            y,
            level,
            dispersion,
            log_dispersion: dispersion.ln(),
            constant: ln_rising_factorial(dispersion, y) - libm::lgamma(y + 1.0),
            constant_slope: digamma(dispersion + y) - digamma(dispersion) - y / dispersion,
        }
    }

    fn resolution(&self) -> f64 {
        RESOLUTION
    }

    fn level(&self) -> f64 {
        self.level
    }

    /// The mean where `f = 0`, and the dispersion.
    fn summary(&self) -> Vec<Quantity> {
        let quantity = |name: &str, value| Quantity { name: name.into(), output: Some(0), value };
        vec![quantity("rate", self.level.exp()), quantity("dispersion", self.dispersion)]
    }

    fn start_scale(&self) -> f64 {
        START_SCALE
    }

    fn takes_offsets(&self) -> bool {
        true
    }

    /// `E y = E μ`, `E Var[y | f] = E μ + E μ²/r`, and `Var μ` beside it.
    fn observed_moments(&self, mean: f64, variance: f64) -> ObservedMoments {
        let (expected, spread) = moments_of_rate(self.level + mean, variance);
        let noise = expected + (expected * expected + spread) / self.dispersion;
        ObservedMoments { mean: expected, variance: noise + spread, noise }
    }

    fn cumulative(&self, at: f64, mean: f64, variance: f64) -> f64 {
        let next = |k: f64| Self { level: 0.0, ..*self }.curve(k);
        cumulative(at, self.level + mean, variance, self.dispersion, |k, x| self.given(k, x), next)
    }

    fn draw(&self, f: f64, uniform: f64) -> f64 {
        let x = self.level + f;
        let (mean, _) = rate(x);
        quantile_given(uniform, mean, mean + mean * mean / self.dispersion, |k| self.given(k, x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{GaussHermite, Latent, Likelihood, Poisson, Tempered};
    use crate::random::noise::{Key, Purpose};
    use crate::testing::assert_pullbacks;

    const OWN: NegativeBinomial = NegativeBinomial { level: 0.4, dispersion: 2.5 };

    fn latent<'a>(mean: &'a f64, variance: &'a f64) -> Latent<'a> {
        Latent { mean: std::slice::from_ref(mean), variance: std::slice::from_ref(variance) }
    }

    #[test]
    fn expectations_and_densities_are_the_integrals_they_claim_to_be() {
        let fine = GaussHermite::new(180);
        for (mean, variance) in [(0.7, 0.3), (-1.0, 1e-6), (2.0, 1.5)] {
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
        for (mean, variance) in [(1.2, 0.2), (2.0, 0.01), (1.0, 1e-8), (-3.0, 2.0)] {
            let f = latent(&mean, &variance);
            let (mut total, mut first) = (0.0, 0.0);
            for k in 0..3000 {
                let k = f64::from(k);
                let mass = Likelihood::log_density(&OWN, &[k], f).exp();
                (total, first) = (total + mass, first + k * mass);
                let found = Likelihood::cumulative(&OWN, 0, k + 0.3, f);
                assert!((found - total).abs() < 1e-7, "{mean} {variance} {k}: {found} {total}");
            }
            let own = LogConcave::observed_moments(&OWN, mean, variance);
            assert!((total - 1.0).abs() < 1e-7, "{total}");
            assert!((first / own.mean - 1.0).abs() < 1e-4, "{first} {own:?}");
        }
    }

    #[test]
    fn without_dispersion_it_is_poisson() {
        let (many, poisson) = (NegativeBinomial { level: 0.4, dispersion: 1e9 }, Poisson { level: 0.4 });
        for y in [0.0, 2.0, 300.0] {
            let f = latent(&1.1, &0.3);
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-4 * b.abs().max(1.0), "{y}: {a} {b}");
            near(Likelihood::expected_log_density(&many, &[y], f), Likelihood::expected_log_density(&poisson, &[y], f));
            near(Likelihood::log_density(&many, &[y], f), Likelihood::log_density(&poisson, &[y], f));
            near(Likelihood::cumulative(&many, 0, y, f), Likelihood::cumulative(&poisson, 0, y, f));
        }
        let (a, b) = (LogConcave::observed_moments(&many, 1.1, 0.3), LogConcave::observed_moments(&poisson, 1.1, 0.3));
        assert!((a.variance / b.variance - 1.0).abs() < 1e-6);
    }

    #[test]
    fn draws_have_the_moments_of_y_given_f() {
        let (key, n) = (Key::new(1, Purpose::Observe), 8000);
        let draws: Vec<f64> = (0..n).map(|i| LogConcave::draw(&OWN, 1.5, key.uniform([i, 0, 0, 0]))).collect();
        let (expected, n) = (1.9f64.exp(), f64::from(n));
        let spread = expected + expected * expected / 2.5;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - expected).abs() < 4.0 * (spread / n).sqrt(), "{mean} {expected}");
        assert!((variance / spread - 1.0).abs() < 0.15, "{variance} {spread}");
    }
}
