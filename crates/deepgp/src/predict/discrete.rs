//! What is said of a row whose target is a class or a count: probabilities, quantiles that are whole numbers, ranked scores that are sums.

use crate::likelihood::class_distribution::ClassDistribution;
use crate::likelihood::{Likelihood, Outcomes};
use crate::numeric::root_finding::smallest_count;
use crate::predict::mixture::Mixture;

/// The level that the ends of a sum over counts leave out on either side; its square is what the sum misses.
const LEFT_OUT: f64 = 1e-5;
/// The share of the distance to the nearest bend of a sum's terms over which they are taken to change along a line.
const STRAIGHT: f64 = 0.2;

impl Mixture<'_> {
    /// Writes the probability of each class, `Σ_s ω_s p_s(class)`; says so if the likelihood has no classes.
    pub fn class_probabilities(self, likelihood: &dyn Likelihood, probabilities: &mut [f64]) -> bool {
        let mut own = vec![0.0; probabilities.len()];
        probabilities.fill(0.0);
        let mut there = true;
        for (s, part) in self.parts().enumerate() {
            there &= likelihood.class_probabilities(part, &mut own);
            for (to, from) in probabilities.iter_mut().zip(&own) {
                *to += self.weight(s) * from;
            }
        }
        there
    }

    /// The distribution function at `at`; where it jumps there, as that of classes and counts does, the middle of the jump.
    pub(super) fn middle_of_jump(self, likelihood: &dyn Likelihood, p: usize, at: f64) -> f64 {
        let below = |at: f64| self.cumulative(likelihood, p, at);
        match likelihood.outcomes() {
            Outcomes::Real => below(at),
            Outcomes::Classes(_) | Outcomes::Counts => 0.5 * (below(at - 1.0) + below(at)),
        }
    }

    /// The smallest class number at which the sum of probabilities reaches `level`.
    pub(super) fn class_quantile(self, likelihood: &dyn Likelihood, level: f64, classes: usize) -> f64 {
        let mut p = vec![0.0; classes];
        self.class_probabilities(likelihood, &mut p);
        ClassDistribution(&p).quantile(level)
    }

    /// The smallest count at which the distribution function of `y_p` reaches `level`.
    pub(super) fn count_quantile(self, likelihood: &dyn Likelihood, p: usize, level: f64) -> f64 {
        let width = likelihood.observed_width();
        let (mut mean, mut variance) = (vec![0.0; width], vec![0.0; width]);
        self.moments_of_y(likelihood, &mut mean, &mut variance);
        // As if it were log-normal, of the same moments.
        let spread = (variance[p] / (mean[p] * mean[p])).ln_1p();
        let start = (mean[p].ln() - 0.5 * spread + spread.sqrt() * (level / (1.0 - level)).ln() / 1.702).exp();
        smallest_count(level, start, |k| self.cumulative(likelihood, p, k))
    }

    /// The ranked probability score of class numbers.
    pub(super) fn class_score(self, likelihood: &dyn Likelihood, y: f64, classes: usize) -> f64 {
        let mut p = vec![0.0; classes];
        self.class_probabilities(likelihood, &mut p);
        ClassDistribution(&p).ranked_score(y)
    }

    /// The ranked probability score of counts, `Σ_{k<y} F(k)² + Σ_{k≥y} (1 − F(k))²`.
    pub(super) fn count_score(self, likelihood: &dyn Likelihood, p: usize, y: f64) -> f64 {
        let quantile = |level| self.count_quantile(likelihood, p, level);
        let (low, high, bends) = (quantile(LEFT_OUT), quantile(1.0 - LEFT_OUT), [y, quantile(0.5)]);
        let below = |k: f64| self.cumulative(likelihood, p, k).powi(2);
        let above = |k: f64| (1.0 - self.cumulative(likelihood, p, k)).powi(2);
        let first = low.min(y - 1.0).max(0.0);
        sum_over_counts((first, y - 1.0), bends, below) + sum_over_counts((y, high.max(y)), bends, above)
    }
}

/// The sum `Σ g(k)` over the counts from one to another, both included: far from `bends` counts are skipped, and `g` goes along a line over
/// them.
fn sum_over_counts((from, to): (f64, f64), bends: [f64; 2], g: impl Fn(f64) -> f64) -> f64 {
    if to < from {
        return 0.0;
    }
    let (mut at, mut value) = (from, g(from));
    let mut sum = value;
    while at < to {
        let distance = bends.iter().map(|bend| (at - bend).abs()).fold(f64::INFINITY, f64::min);
        let stride = (STRAIGHT * distance).floor().clamp(1.0, to - at);
        let next = g(at + stride);
        // The counts after `at` up to the next one that is looked at: all but the first end of a trapezium.
        sum += 0.5 * (stride - 1.0) * value + 0.5 * (stride + 1.0) * next;
        (at, value) = (at + stride, next);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{Bernoulli, Link, Poisson};

    const MEAN: [f64; 3] = [-1.0, 0.3, 1.2];
    const VARIANCE: [f64; 3] = [0.2, 0.05, 0.6];

    fn mixture(weights: Option<&[f64]>) -> Mixture<'_> {
        Mixture { mean: &MEAN, variance: &VARIANCE, width: 1, weights }
    }

    #[test]
    fn probabilities_of_a_mixture_sum_to_one_and_are_its_densities() {
        let likelihood = Bernoulli { link: Link::Logit, level: 0.2 };
        for mixture in [mixture(None), mixture(Some(&[0.5, 0.3, 0.2]))] {
            let mut p = [0.0; 2];
            assert!(mixture.class_probabilities(&likelihood, &mut p));
            assert!((p[0] + p[1] - 1.0).abs() < 1e-14);
            assert!((p[1].ln() - mixture.log_density(&likelihood, &[1.0])).abs() < 1e-8);
            assert_eq!(mixture.quantile(&likelihood, 0, p[0] - 1e-6), 0.0);
            assert_eq!(mixture.quantile(&likelihood, 0, p[0] + 1e-6), 1.0);
            assert!((mixture.crps(&likelihood, 0, 1.0) - p[0] * p[0]).abs() < 1e-8);
            assert!((mixture.crps(&likelihood, 0, 0.0) - p[1] * p[1]).abs() < 1e-8);
        }
        assert!(!mixture(None).class_probabilities(&Poisson::new(2.0), &mut []));
    }

    #[test]
    fn quantiles_of_counts_are_the_smallest_that_reach_the_level() {
        for mean in [0.3, 4.0, 2e4] {
            let (likelihood, mixture) = (Poisson::new(mean), mixture(None));
            for level in [1e-4, 0.1, 0.5, 0.9, 0.999] {
                let found = mixture.quantile(&likelihood, 0, level);
                assert_eq!(found.fract(), 0.0);
                assert!(mixture.cumulative(&likelihood, 0, found) >= level);
                assert!(found == 0.0 || mixture.cumulative(&likelihood, 0, found - 1.0) < level, "{mean} {level}");
            }
        }
    }

    #[test]
    fn the_score_of_counts_is_its_sum_and_hardly_changes_where_counts_are_skipped() {
        for (mean, slack) in [(2.0, 1e-2), (300.0, 1e-2)] {
            let (likelihood, mixture) = (Poisson::new(mean), mixture(None));
            let counts = (60.0 * mean) as u32;
            let below: Vec<f64> = (0..counts).map(|k| mixture.cumulative(&likelihood, 0, f64::from(k))).collect();
            for y in [0.0, mean, 5.0 * mean] {
                let missed = |(k, below): (usize, &f64)| if y <= k as f64 { 1.0 - below } else { *below };
                let expected: f64 = below.iter().enumerate().map(missed).map(|own| own * own).sum();
                let found = mixture.crps(&likelihood, 0, y);
                assert!((found / expected - 1.0).abs() < slack, "{mean} {y}: {found} {expected}");
            }
        }
    }
}
