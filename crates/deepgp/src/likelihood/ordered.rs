//! Classes that have an order: a number `f` with standard normal noise falls between two of several cutpoints `b_0 < b_1 < …`.
//!
//! Class `k` has the probability `P = Φ(b) − Φ(a)` with `b = b_k − f` and `a = b_{k−1} − f`, and `±∞` where there is no cutpoint. With
//! `p_b = φ(b)/P` and `p_a = φ(a)/P`:
//!
//! ```text
//! ∂f = p_a − p_b        ∂²f = a p_a − b p_b − (∂f)²        ∂b_k = p_b        ∂b_{k−1} = −p_a
//! ```
//!
//! The first cutpoint and the distances between neighbours are what is trained. Under `f ~ N(m, v)` the probabilities have a closed form,
//! `P(Y ≤ k) = Φ((b_k − m) / √(1 + v))`.

use super::lattice::{Curve, Jet, expect};
use super::{LikelihoodDescription, LogConcave, ObservedMoments, Outcomes, Quantity};
use crate::model::params::{Constraint, Leaf, Parameters};
use crate::numeric::normal;

/// The least distance of two cutpoints.
const LEAST_GAP: f64 = 1e-4;
/// The length over which probabilities bend.
const RESOLUTION: f64 = 0.8;

/// The likelihood of ordered classes, `p(k | f) = Φ(b_k − f) − Φ(b_{k−1} − f)`: ordered probit.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered {
    /// The first cutpoint, `b_0`.
    pub first: f64,
    /// The distances of each cutpoint from the one before it.
    pub gaps: Vec<f64>,
}

impl Ordered {
    /// The likelihood for classes of these shares, at least two, which sum to 1 and are above 0.
    pub fn new(shares: &[f64]) -> Self {
        // Under an f of variance 1, P(Y ≤ k) = Φ(b_k / √2).
        let below = shares.iter().scan(0.0, |sum, share| {
            *sum += share;
            Some(std::f64::consts::SQRT_2 * normal::quantile(f64::min(*sum, 1.0 - 1e-15)))
        });
        let cutpoints: Vec<f64> = below.take(shares.len().saturating_sub(1)).collect();
        let gaps = cutpoints.windows(2).map(|pair| (pair[1] - pair[0]).max(2.0 * LEAST_GAP)).collect();
        Self { first: cutpoints.first().copied().unwrap_or(0.0), gaps }
    }

    /// The number of classes.
    fn classes(&self) -> usize {
        self.gaps.len() + 2
    }

    /// The cutpoints, from the lowest.
    pub fn cutpoints(&self) -> impl Iterator<Item = f64> + '_ {
        let later = self.gaps.iter().scan(self.first, |at, gap| {
            *at += gap;
            Some(*at)
        });
        std::iter::once(self.first).chain(later)
    }

    /// The probabilities of all classes where `b_k − f` is divided by `spread`.
    fn each_class(&self, f: f64, spread: f64, mut each: impl FnMut(usize, f64)) {
        for class in 0..self.classes() {
            let curve = self.curve(class as f64);
            let scaled = OrderedCurve { low: curve.low / spread, high: curve.high / spread, class };
            each(class, scaled.at(f / spread).value.exp());
        }
    }

    /// Mean and variance of the class number where `b_k − f` is divided by `spread`.
    fn moments(&self, f: f64, spread: f64) -> (f64, f64) {
        let (mut first, mut second) = (0.0, 0.0);
        self.each_class(f, spread, |class, p| {
            first += p * class as f64;
            second += p * (class * class) as f64;
        });
        (first, (second - first * first).max(0.0))
    }
}

impl Parameters for Ordered {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        let values = std::slice::from_mut(&mut self.first);
        leaf(Leaf { name: "first_cutpoint", constraint: Constraint::Real, shape: &[], values });
        if !self.gaps.is_empty() {
            let constraint = Constraint::Positive { floor: LEAST_GAP };
            leaf(Leaf { name: "cutpoint_gaps", constraint, shape: &[self.gaps.len()], values: &mut self.gaps });
        }
    }
}

/// The log density of an ordered class as a function of `f`.
#[derive(Clone, Copy, Debug)]
pub struct OrderedCurve {
    /// The cutpoint below the class, or `−∞`.
    low: f64,
    /// The cutpoint above the class, or `∞`.
    high: f64,
    /// The class.
    class: usize,
}

impl OrderedCurve {
    /// The log probability, and `p_a` and `p_b`.
    fn parts(&self, f: f64) -> (f64, f64, f64) {
        let (a, b) = (self.low - f, self.high - f);
        if a == f64::NEG_INFINITY {
            let (value, ratio) = normal::log_cumulative(b);
            return (value, 0.0, ratio);
        }
        if b == f64::INFINITY {
            let (value, ratio) = normal::log_cumulative(-a);
            return (value, ratio, 0.0);
        }
        // On the side where both are in the lower tail, which has the digits.
        let (upper, lower) = if a + b > 0.0 { (-a, -b) } else { (b, a) };
        let (upper, lower) = (normal::log_cumulative(upper).0, normal::log_cumulative(lower).0);
        let value = upper + (-(lower - upper).exp_m1()).ln();
        let ratio = |z: f64| (-0.5 * (z * z + std::f64::consts::TAU.ln()) - value).exp();
        (value, ratio(a), ratio(b))
    }
}

impl Curve for OrderedCurve {
    fn at(&self, f: f64) -> Jet {
        let (value, below, above) = self.parts(f);
        let slope = below - above;
        // A cutpoint that is not there pulls at nothing.
        let pull = |cutpoint: f64, ratio: f64| if cutpoint.is_finite() { (cutpoint - f) * ratio } else { 0.0 };
        let curvature = pull(self.low, below) - pull(self.high, above) - slope * slope;
        Jet { value, slope, curvature: curvature.min(0.0) }
    }

    fn add_slopes(&self, f: f64, slope: f64, share: f64, theta: &mut [f64]) {
        let (_, below, above) = self.parts(f);
        theta[0] -= share * slope;
        // Cutpoint b_k contains the first k distances.
        let if_contained = |contained: bool, ratio: f64| if contained { ratio } else { 0.0 };
        for (j, to) in theta[1..].iter_mut().enumerate() {
            *to += share * (if_contained(j < self.class, above) - if_contained(j + 1 < self.class, below));
        }
    }
}

impl LogConcave for Ordered {
    type Curve = OrderedCurve;

    fn name(&self) -> String {
        "ordered".into()
    }

    fn description(&self) -> Option<LikelihoodDescription> {
        Some(LikelihoodDescription::Ordered { classes: self.classes() })
    }

    fn outcomes(&self) -> Outcomes {
        Outcomes::Classes(self.classes())
    }

    fn curve(&self, y: f64) -> OrderedCurve {
        let class = y as usize;
        let at = |k: usize| self.first + self.gaps[..k].iter().sum::<f64>();
        OrderedCurve {
            low: if class == 0 { f64::NEG_INFINITY } else { at(class - 1) },
            high: if class + 1 >= self.classes() { f64::INFINITY } else { at(class) },
            class,
        }
    }

    fn resolution(&self) -> f64 {
        RESOLUTION
    }

    /// The cutpoints.
    fn summary(&self) -> Vec<Quantity> {
        let each = self.cutpoints().enumerate();
        each.map(|(k, value)| Quantity { name: format!("cutpoint {k}"), output: Some(0), value }).collect()
    }

    fn log_density(&self, y: f64, mean: f64, variance: f64) -> Option<f64> {
        let (curve, spread) = (self.curve(y), (1.0 + variance).sqrt());
        let scaled = OrderedCurve { low: curve.low / spread, high: curve.high / spread, class: curve.class };
        Some(scaled.at(mean / spread).value)
    }

    fn observed_moments(&self, mean: f64, variance: f64) -> ObservedMoments {
        let (expected, spread) = self.moments(mean, (1.0 + variance).sqrt());
        let noise = expect(mean, variance, RESOLUTION, |f| self.moments(f, 1.0).1);
        ObservedMoments { mean: expected, variance: spread, noise }
    }

    fn cumulative(&self, at: f64, mean: f64, variance: f64) -> f64 {
        if at < 0.0 {
            return 0.0;
        }
        let cutpoint = self.cutpoints().nth(at as usize);
        cutpoint.map_or(1.0, |cutpoint| normal::cumulative((cutpoint - mean) / (1.0 + variance).sqrt()))
    }

    fn draw(&self, f: f64, uniform: f64) -> f64 {
        self.cutpoints().take_while(|cutpoint| normal::cumulative(cutpoint - f) < uniform).count() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{Bernoulli, GaussHermite, Latent, Likelihood, Link, Tempered};
    use crate::random::noise::{Key, Purpose};
    use crate::testing::assert_pullbacks;

    fn own() -> Ordered {
        Ordered { first: -0.7, gaps: vec![0.5, 1.1] }
    }

    fn latent<'a>(mean: &'a f64, variance: &'a f64) -> Latent<'a> {
        Latent { mean: std::slice::from_ref(mean), variance: std::slice::from_ref(variance) }
    }

    #[test]
    fn expectations_and_probabilities_are_the_integrals_they_claim_to_be() {
        let (own, fine) = (own(), GaussHermite::new(150));
        for (mean, variance) in [(0.4, 0.3), (-2.0, 1.5), (5.0, 1e-6)] {
            let f = latent(&mean, &variance);
            let mut p = [0.0; 4];
            assert!(own.class_probabilities(f, &mut p));
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let mut below = 0.0;
            for class in 0..4 {
                let y = class as f64;
                let log_p = |f: f64| own.curve(y).at(f).value;
                let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-7 * b.abs().max(1.0), "{mean} {y}: {a} {b}");
                near(Likelihood::expected_log_density(&own, &[y], f), fine.expect(mean, variance, log_p));
                for power in [0.3, 1.0] {
                    let expected = fine.expect(mean, variance, |f| (power * log_p(f)).exp()).ln();
                    near(Tempered::log_expected_power(&own, power, &[y], f), expected);
                }
                near(Likelihood::log_density(&own, &[y], f), p[class].ln());
                below += p[class];
                near(Likelihood::cumulative(&own, 0, y, f), below);
            }
        }
        assert_eq!(Likelihood::cumulative(&own, 0, -0.5, latent(&0.0, &1.0)), 0.0);
    }

    #[test]
    fn the_pullbacks_agree_with_central_differences() {
        for y in [0.0, 1.0, 2.0, 3.0] {
            assert_pullbacks(&own(), &[y], latent(&0.4, &0.6), &[0.3, 1.0]);
        }
    }

    #[test]
    fn two_classes_in_order_are_the_probit() {
        let (two, probit) = (Ordered { first: 0.6, gaps: vec![] }, Bernoulli { link: Link::Probit, level: -0.6 });
        for y in [0.0, 1.0] {
            let f = latent(&0.3, &0.8);
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{y}: {a} {b}");
            near(Likelihood::expected_log_density(&two, &[y], f), Likelihood::expected_log_density(&probit, &[y], f));
            near(Likelihood::log_density(&two, &[y], f), Likelihood::log_density(&probit, &[y], f));
        }
    }

    #[test]
    fn far_tails_stay_finite_and_concave() {
        for f in [-300.0, -40.0, 40.0, 300.0] {
            for y in [0.0, 1.0, 2.0, 3.0] {
                let jet = own().curve(y).at(f);
                assert!(jet.value.is_finite() && jet.slope.is_finite() && jet.curvature <= 0.0, "{f} {y}: {jet:?}");
            }
        }
    }

    #[test]
    fn cutpoints_start_at_the_classes_shares_and_draws_have_them() {
        let shares = [0.1, 0.5, 0.15, 0.25];
        let (own, key) = (Ordered::new(&shares), Key::new(1, Purpose::Observe));
        let mut p = [0.0; 4];
        own.class_probabilities(latent(&0.0, &1.0), &mut p);
        for (found, expected) in p.iter().zip(shares) {
            assert!((found - expected).abs() < 1e-12);
        }
        let mut drawn = [0.0; 4];
        for i in 0..20_000 {
            let mut y = [0.0];
            Likelihood::draw(&own, &[key.normals([i, 1, 0, 0])[0]], key, [i, 0, 0, 0], &mut y);
            drawn[y[0] as usize] += 1.0 / 20_000.0;
        }
        assert!(drawn.iter().zip(shares).all(|(a, b)| (a - b).abs() < 0.015), "{drawn:?}");
        let moments = LogConcave::observed_moments(&own, 0.0, 1.0);
        assert!((moments.mean - (0.5 + 0.3 + 0.75)).abs() < 1e-9 && moments.noise < moments.variance);
    }
}
