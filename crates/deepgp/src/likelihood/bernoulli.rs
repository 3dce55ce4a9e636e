//! Two classes: `y` is 1 with the probability `link(level + f)`, and 0 otherwise.
//!
//! With `s = 1` where `y = 1`, `s = −1` where it is 0, and `x = s (level + f)`, the log density is `ln Φ(x)` (probit) or `ln σ(x)` (logit):
//!
//! ```text
//! probit:  ∂f = s φ(x)/Φ(x)        ∂²f = −r (r + x) with r = φ(x)/Φ(x)
//! logit:   ∂f = s σ(−x)            ∂²f = −σ(x) σ(−x)
//! ```
//!
//! Under the probit the predictive probability has a closed form, `E Φ(x) = Φ(z)` with `z = s (level + m) / √(1 + v)`:
//! `∂m = s r(z) / √(1 + v)`, `∂v = −½ z r(z) / (1 + v)`. The rest is by sums over a lattice.

use super::lattice::{Curve, Expectation, Jet, expect};
use super::{LikelihoodDescription, LogConcave, ObservedMoments, Outcomes};
use crate::model::params::{Constraint, Leaf, Parameters};
use crate::numeric::normal;

/// The function that makes a probability of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Link {
    /// The standard normal's distribution function `Φ`.
    Probit,
    /// The logistic function `σ(x) = 1 / (1 + exp(−x))`.
    Logit,
}

impl Link {
    /// The logarithm of the link's value at `x`, with its slopes.
    pub(super) fn log(self, x: f64) -> Jet {
        match self {
            Self::Probit => {
                let (value, slope) = normal::log_cumulative(x);
                Jet { value, slope, curvature: -slope * (slope + x) }
            }
            Self::Logit => {
                let tail = (-x.abs()).exp();
                let (near, far) = (1.0 / (1.0 + tail), tail / (1.0 + tail));
                let slope = if x > 0.0 { far } else { near };
                Jet { value: x.min(0.0) - tail.ln_1p(), slope, curvature: -near * far }
            }
        }
    }

    /// The link's value at `x`, a probability.
    fn probability(self, x: f64) -> f64 {
        match self {
            Self::Probit => normal::cumulative(x),
            Self::Logit => 1.0 / (1.0 + (-x).exp()),
        }
    }

    /// The number of which the link makes this probability under an `f` of variance 1, about.
    fn level(self, probability: f64) -> f64 {
        match self {
            Self::Probit => std::f64::consts::SQRT_2 * normal::quantile(probability),
            // A logistic function is close to the distribution function of N(0, 8/π).
            Self::Logit => (1.0 + std::f64::consts::PI / 8.0).sqrt() * (probability / (1.0 - probability)).ln(),
        }
    }
}

/// The likelihood of two classes `p(1 | f) = link(level + f)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bernoulli {
    /// The function that makes a probability of `level + f`.
    pub link: Link,
    /// The number that is added to `f`: what is known before any input is looked at.
    pub level: f64,
}

impl Bernoulli {
    /// The likelihood for targets of which this share, above 0 and below 1, is 1.
    pub fn new(link: Link, share: f64) -> Self {
        Self { link, level: link.level(share) }
    }

    /// The probabilities of 0 and 1 for `f ~ N(mean, variance)`.
    fn probabilities(&self, mean: f64, variance: f64) -> [f64; 2] {
        let x = self.level + mean;
        match self.link {
            Link::Probit => [-x, x].map(|x| normal::cumulative(x / (1.0 + variance).sqrt())),
            Link::Logit => {
                let one = expect(x, variance, RESOLUTION, |x| self.link.probability(x)).min(1.0);
                [1.0 - one, one]
            }
        }
    }
}

/// The length over which probabilities bend.
const RESOLUTION: f64 = 0.8;

impl Parameters for Bernoulli {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        let values = std::slice::from_mut(&mut self.level);
        leaf(Leaf { name: "level", constraint: Constraint::Real, shape: &[], values });
    }
}

/// The log density of a class as a function of `f`.
#[derive(Clone, Copy, Debug)]
pub struct ClassCurve {
    /// The function that makes probabilities.
    link: Link,
    /// The number that is added to `f`.
    level: f64,
    /// The side of the class: 1 for the class 1, and −1 for 0.
    side: f64,
}

impl Curve for ClassCurve {
    fn at(&self, f: f64) -> Jet {
        let Jet { value, slope, curvature } = self.link.log(self.side * (self.level + f));
        Jet { value, slope: self.side * slope, curvature }
    }

    fn add_slopes(&self, _f: f64, slope: f64, share: f64, theta: &mut [f64]) {
        theta[0] += share * slope;
    }
}

impl LogConcave for Bernoulli {
    type Curve = ClassCurve;

    fn name(&self) -> String {
        match self.link {
            Link::Probit => "probit".into(),
            Link::Logit => "logit".into(),
        }
    }

    fn description(&self) -> Option<LikelihoodDescription> {
        Some(LikelihoodDescription::Bernoulli { link: self.link })
    }

    fn outcomes(&self) -> Outcomes {
        Outcomes::Classes(2)
    }

    fn curve(&self, y: f64) -> ClassCurve {
        ClassCurve { link: self.link, level: self.level, side: 2.0 * y - 1.0 }
    }

    fn resolution(&self) -> f64 {
        RESOLUTION
    }

    fn level(&self) -> f64 {
        self.level
    }

    fn log_expected_power(&self, power: f64, y: f64, mean: f64, variance: f64) -> Option<Expectation> {
        match self.link {
            Link::Probit if power == 1.0 => {
                let (side, spread) = (2.0 * y - 1.0, 1.0 + variance);
                let z = side * (self.level + mean) / spread.sqrt();
                let (value, slope) = normal::log_cumulative(z);
                Some(Expectation { value, mean: side * slope / spread.sqrt(), variance: -0.5 * z * slope / spread })
            }
            Link::Probit | Link::Logit => None,
        }
    }

    /// `E y = P(1)`, `Var y = P(1) P(0)`, `E Var[y | f] = E p(1 | f) p(0 | f)`.
    fn observed_moments(&self, mean: f64, variance: f64) -> ObservedMoments {
        let [zero, one] = self.probabilities(mean, variance);
        let given = |x: f64| self.link.probability(x) * self.link.probability(-x);
        let noise = expect(self.level + mean, variance, RESOLUTION, given);
        ObservedMoments { mean: one, variance: zero * one, noise }
    }

    fn cumulative(&self, at: f64, mean: f64, variance: f64) -> f64 {
        if at < 0.0 {
            0.0
        } else if at < 1.0 {
            self.probabilities(mean, variance)[0]
        } else {
            1.0
        }
    }

    fn draw(&self, f: f64, uniform: f64) -> f64 {
        f64::from(u8::from(uniform <= self.link.probability(self.level + f)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{GaussHermite, Latent, Likelihood, Tempered};
    use crate::random::noise::{Key, Purpose};
    use crate::testing::assert_pullbacks;

    const BOTH: [Bernoulli; 2] =
        [Bernoulli { link: Link::Probit, level: 0.3 }, Bernoulli { link: Link::Logit, level: -0.4 }];

    fn latent<'a>(mean: &'a f64, variance: &'a f64) -> Latent<'a> {
        Latent { mean: std::slice::from_ref(mean), variance: std::slice::from_ref(variance) }
    }

    #[test]
    fn expectations_and_densities_are_the_integrals_they_claim_to_be() {
        let fine = GaussHermite::new(150);
        for own in BOTH {
            for (mean, variance) in [(0.4, 0.3), (-2.0, 1.5), (1.0, 4.0), (5.0, 1e-6)] {
                for y in [0.0, 1.0] {
                    let log_p = |f: f64| own.curve(y).at(f).value;
                    let f = latent(&mean, &variance);
                    let expected = fine.expect(mean, variance, log_p);
                    let found = Likelihood::expected_log_density(&own, &[y], f);
                    assert!((found - expected).abs() < 1e-7, "{own:?} {mean} {variance}: {found} {expected}");
                    for power in [0.3, 1.0] {
                        let expected = fine.expect(mean, variance, |f| (power * log_p(f)).exp()).ln();
                        let found = Tempered::log_expected_power(&own, power, &[y], f);
                        assert!((found - expected).abs() < 1e-7, "{own:?} {mean} {variance}: {found} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_closed_form_is_the_sum_and_far_tails_stay_finite() {
        let own = BOTH[0];
        for (mean, variance) in [(0.1, 0.5), (-30.0, 2.0), (-1e4, 1.0), (3.0, 1e3)] {
            let closed = LogConcave::log_expected_power(&own, 1.0, 1.0, mean, variance).unwrap();
            let summed = super::super::lattice::log_expected_power(&own.curve(1.0), 1.0, mean, variance, 0.8, &mut []);
            for (a, b) in [(closed.value, summed.value), (closed.mean, summed.mean), (closed.variance, summed.variance)]
            {
                assert!((a - b).abs() < 1e-7 * b.abs().max(1e-3), "{mean} {variance}: {a} {b}");
            }
        }
        for own in BOTH {
            let jet = own.curve(1.0).at(-1e8);
            assert!(jet.value.is_finite() && jet.slope > 0.0 && jet.curvature <= 0.0, "{jet:?}");
            assert!(own.curve(0.0).at(-1e8).value.abs() < 1e-300);
        }
    }

    #[test]
    fn the_pullbacks_agree_with_central_differences() {
        for own in BOTH {
            for (mean, variance) in [(0.4, 0.3), (-1.0, 3.0)] {
                for y in [0.0, 1.0] {
                    assert_pullbacks(&own, &[y], latent(&mean, &variance), &[0.3, 1.0]);
                }
            }
        }
    }

    #[test]
    fn probabilities_sum_to_one_and_agree_with_densities_moments_and_draws() {
        for own in BOTH {
            let f = latent(&0.4, &0.9);
            let (mut p, mut mean, mut variance, mut noise) = ([0.0; 2], [0.0], [0.0], [0.0]);
            assert!(own.class_probabilities(f, &mut p));
            assert!((p[0] + p[1] - 1.0).abs() < 1e-15);
            Likelihood::observed_moments(&own, f, &mut mean, &mut variance);
            own.noise_variance(f, &mut noise);
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-8, "{own:?}: {a} {b}");
            near(p[1], mean[0]);
            near(p[0] * p[1], variance[0]);
            near(p[0], Likelihood::cumulative(&own, 0, 0.5, f));
            near(p[1], Likelihood::log_density(&own, &[1.0], f).exp());
            assert!(noise[0] > 0.0 && noise[0] < variance[0]);
            let key = Key::new(1, Purpose::Observe);
            let ones: f64 = (0..20_000)
                .map(|i| {
                    let (e, mut y) = (key.normals([i, 1, 0, 0])[0], [0.0]);
                    Likelihood::draw(&own, &[0.4 + 0.9f64.sqrt() * e], key, [i, 0, 0, 0], &mut y);
                    y[0]
                })
                .sum();
            assert!((ones / 20_000.0 - p[1]).abs() < 4.0 * (p[0] * p[1] / 20_000.0).sqrt());
        }
    }

    #[test]
    fn a_level_starts_at_the_classes_shares() {
        for link in [Link::Probit, Link::Logit] {
            for share in [0.02, 0.4, 0.9] {
                let p = Bernoulli::new(link, share).probabilities(0.0, 1.0)[1];
                assert!((p / share - 1.0).abs() < 0.2, "{link:?} {share}: {p}");
            }
        }
    }
}
