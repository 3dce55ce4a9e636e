//! Several classes: class `c` has the probability `softmax_c = exp x_c / Σ_j exp x_j` with `x_j = level_j + f_j`, a latent function for each.
//!
//! The target is the number of the class, in one column. In the evidence lower bound, `E log softmax_y = m_y − E log Σ_j exp x_j` is replaced by
//! its tilted bound, so that it stays a lower bound (`tilted_bound.rs`):
//!
//! ```text
//! ∂m_j = 1[j = y] − a_j        ∂v_j = −½ a_j (1 − a_j)
//! ```
//!
//! Probabilities, densities and powers are exact (`race.rs`). Two classes are the logit of the difference `f_1 − f_0`, whose variance is the sum:
//! all of it is then by sums over a lattice, as for [`Bernoulli`].

use super::class_distribution::ClassDistribution;
use super::lattice::{self, Expectation};
use super::tilted_bound::tilted_bound;
use super::{
    Bernoulli, Latent, LatentBars, Likelihood, LikelihoodDescription, Link, LogConcave, Outcomes, TargetUnits,
    Tempered, race,
};
use crate::data::Scaling;
use crate::error::Result;
use crate::model::params::{Constraint, Leaf, Parameters};
use crate::numeric::mat::View;
use crate::random::noise::Key;

/// The most classes for which nothing is allocated.
const FEW: usize = 32;

/// The likelihood of several classes, `p(c | f) = softmax_c(level + f)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Softmax {
    /// The number that is added to each latent function: what is known of the classes before any input is looked at.
    pub levels: Vec<f64>,
}

impl Softmax {
    /// The likelihood for classes of these shares, at least two, all above 0.
    pub fn new(shares: &[f64]) -> Self {
        Self { levels: shares.iter().map(|share| share.ln()).collect() }
    }

    /// The number of classes.
    fn classes(&self) -> usize {
        self.levels.len()
    }

    /// The likelihood of two classes as one of their difference, with the difference's mean and variance; `None` if there are more.
    fn of_two(&self, f: Latent<'_>) -> Option<(Bernoulli, f64, f64)> {
        let &[first, second] = &self.levels[..] else { return None };
        let logit = Bernoulli { link: Link::Logit, level: second - first };
        Some((logit, f.mean[1] - f.mean[0], f.variance[0] + f.variance[1]))
    }

    /// Hands the means of all `x_j` to `then`, with room for so many numbers more a class.
    fn with_means<R>(&self, f: Latent<'_>, more: usize, then: impl FnOnce(&[f64], &mut [f64]) -> R) -> R {
        let (mut few, mut many);
        let count = self.classes() * (1 + more);
        let room = if count <= 4 * FEW {
            few = [0.0; 4 * FEW];
            &mut few[..count]
        } else {
            many = vec![0.0; count];
            &mut many[..]
        };
        let (means, room) = room.split_at_mut(self.classes());
        for (to, (mean, level)) in means.iter_mut().zip(f.mean.iter().zip(&self.levels)) {
            *to = mean + level;
        }
        then(means, room)
    }
}

/// Adds `weight` times the slopes of an expectation over the difference of two classes to `bars`.
fn add_difference(own: Expectation, weight: f64, bars: LatentBars<'_>) -> f64 {
    for (class, side) in [(0, -1.0), (1, 1.0)] {
        bars.mean[class] += weight * side * own.mean;
        bars.theta[class] += weight * side * own.mean;
        bars.variance[class] += weight * own.variance;
    }
    own.value
}

impl Parameters for Softmax {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        let shape = &[self.levels.len()];
        leaf(Leaf { name: "levels", constraint: Constraint::Real, shape, values: &mut self.levels });
    }
}

impl Likelihood for Softmax {
    fn name(&self) -> String {
        "softmax".into()
    }

    fn clone_box(&self) -> Box<dyn Likelihood> {
        Box::new(self.clone())
    }

    fn description(&self) -> Option<LikelihoodDescription> {
        Some(LikelihoodDescription::Softmax { classes: self.classes() })
    }

    fn outcomes(&self) -> Outcomes {
        Outcomes::Classes(self.classes())
    }

    fn target_units(&self) -> TargetUnits {
        TargetUnits::AsTheyAre
    }

    /// Users see every `f` with its level.
    fn latent_units(&self, _targets: &Scaling) -> Scaling {
        Scaling { shift: self.levels.clone(), scale: vec![1.0; self.classes()] }
    }

    fn latent_width(&self) -> usize {
        self.classes()
    }

    fn observed_width(&self) -> usize {
        1
    }

    fn location(&self, _output: usize) -> Option<usize> {
        None
    }

    fn check(&self, y: View<'_>) -> Result<()> {
        self.outcomes().check(y, &self.name())
    }

    fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        if let Some((logit, mean, variance)) = self.of_two(f) {
            let curve = logit.curve(y[0]);
            return lattice::expected_log_density(&curve, mean, variance, logit.resolution(), &mut []).value;
        }
        self.with_means(f, 4, |mean, room| {
            let (a, room) = room.split_at_mut(mean.len());
            mean[y[0] as usize] - tilted_bound(mean, f.variance, a, room)
        })
    }

    fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) {
        self.expected_log_density_with_pullback(y, f, weight, bars);
    }

    fn expected_log_density_with_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) -> f64 {
        if let Some((logit, mean, variance)) = self.of_two(f) {
            let curve = logit.curve(y[0]);
            let own = lattice::expected_log_density(&curve, mean, variance, logit.resolution(), &mut []);
            return add_difference(own, weight, bars);
        }
        self.with_means(f, 4, |mean, room| {
            let (a, room) = room.split_at_mut(mean.len());
            let (class, bound) = (y[0] as usize, tilted_bound(mean, f.variance, a, room));
            for (j, a) in a.iter().enumerate() {
                let slope = weight * (f64::from(u8::from(j == class)) - a);
                bars.mean[j] += slope;
                bars.theta[j] += slope;
                bars.variance[j] -= weight * 0.5 * a * (1.0 - a);
            }
            mean[class] - bound
        })
    }

    /// Mean and variance of the class number.
    fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]) {
        let mut p = vec![0.0; self.classes()];
        self.class_probabilities(f, &mut p);
        (mean[0], variance[0]) = ClassDistribution(&p).moments();
    }

    fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        self.log_expected_power(1.0, y, f)
    }

    fn cumulative(&self, _output: usize, at: f64, f: Latent<'_>) -> f64 {
        let mut p = vec![0.0; self.classes()];
        self.class_probabilities(f, &mut p);
        ClassDistribution(&p).cumulative(at).min(1.0)
    }

    fn class_probabilities(&self, f: Latent<'_>, probabilities: &mut [f64]) -> bool {
        if let Some((logit, mean, variance)) = self.of_two(f) {
            return logit.class_probabilities(Latent { mean: &[mean], variance: &[variance] }, probabilities);
        }
        self.with_means(f, 1, |mean, room| {
            race::expected_log_sum_exp(mean, f.variance, probabilities, room);
        });
        // The sums are right to 1e-6.
        let total: f64 = probabilities.iter().map(|p| p.max(0.0)).sum();
        probabilities.iter_mut().for_each(|p| *p = p.max(0.0) / total);
        true
    }

    fn tempered(&self) -> Option<&dyn Tempered> {
        Some(self)
    }

    /// The class at which the sum of probabilities passes a uniform number.
    fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]) {
        let x = || f.iter().zip(&self.levels).map(|(f, level)| f + level);
        let largest = x().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = x().map(|x| (x - largest).exp()).sum();
        let mut left = total * key.uniform(counter);
        let passed = x().position(|x| {
            left -= (x - largest).exp();
            left <= 0.0
        });
        y[0] = passed.unwrap_or(self.classes() - 1) as f64;
    }
}

impl Tempered for Softmax {
    fn log_expected_power(&self, power: f64, y: &[f64], f: Latent<'_>) -> f64 {
        if let Some((logit, mean, variance)) = self.of_two(f) {
            let (curve, resolution) = (logit.curve(y[0]), logit.resolution());
            return lattice::log_expected_power(&curve, power, mean, variance, resolution, &mut []).value;
        }
        self.with_means(f, 2, |mean, room| {
            let (in_mean, in_variance) = room.split_at_mut(mean.len());
            race::log_expected_power(power, y[0] as usize, mean, f.variance, in_mean, in_variance)
        })
    }

    fn log_expected_power_pullback(
        &self,
        power: f64,
        y: &[f64],
        f: Latent<'_>,
        weight: f64,
        bars: LatentBars<'_>,
    ) -> f64 {
        if let Some((logit, mean, variance)) = self.of_two(f) {
            let (curve, resolution) = (logit.curve(y[0]), logit.resolution());
            let own = lattice::log_expected_power(&curve, power, mean, variance, resolution, &mut []);
            return add_difference(own, weight, bars);
        }
        self.with_means(f, 2, |mean, room| {
            let (in_mean, in_variance) = room.split_at_mut(mean.len());
            let value = race::log_expected_power(power, y[0] as usize, mean, f.variance, in_mean, in_variance);
            for j in 0..mean.len() {
                bars.mean[j] += weight * in_mean[j];
                bars.theta[j] += weight * in_mean[j];
                bars.variance[j] += weight * in_variance[j];
            }
            value
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::noise::{Purpose, fill_row};
    use crate::testing::{assert_pullbacks, uniform};

    const F: Latent<'_> = Latent { mean: &[0.3, -0.5, 1.0, 0.2], variance: &[0.4, 1.2, 0.1, 0.8] };

    fn four() -> Softmax {
        Softmax { levels: vec![0.1, 0.7, -0.2, -0.4] }
    }

    #[test]
    fn the_pullbacks_agree_with_central_differences() {
        for y in [0.0, 2.0] {
            assert_pullbacks(&four(), &[y], F, &[0.3, 1.0]);
        }
        let two = Latent { mean: &F.mean[..2], variance: &F.variance[..2] };
        for y in [0.0, 1.0] {
            assert_pullbacks(&Softmax { levels: vec![0.1, 0.7] }, &[y], two, &[0.3, 1.0]);
        }
    }

    #[test]
    fn two_classes_are_the_logit_of_their_difference() {
        let (two, logit) = (Softmax { levels: vec![0.3, 0.8] }, Bernoulli { link: Link::Logit, level: 0.5 });
        let f = Latent { mean: &[0.2, 1.1], variance: &[0.6, 0.9] };
        let difference = Latent { mean: &[0.9], variance: &[1.5] };
        for y in [0.0, 1.0] {
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{y}: {a} {b}");
            near(two.expected_log_density(&[y], f), Likelihood::expected_log_density(&logit, &[y], difference));
            near(two.log_expected_power(0.4, &[y], f), Tempered::log_expected_power(&logit, 0.4, &[y], difference));
            near(two.log_density(&[y], f), Likelihood::log_density(&logit, &[y], difference));
            near(two.cumulative(0, y, f), Likelihood::cumulative(&logit, 0, y, difference));
            // And by the way that three and more classes take.
            let mean = [0.5, 1.9];
            let raced = race::log_expected_power(1.0, y as usize, &mean, f.variance, &mut [0.0; 2], &mut [0.0; 2]);
            assert!((raced - two.log_density(&[y], f)).abs() < 1e-6);
        }
    }

    /// Averages over draws of `f`, with their standard errors.
    fn by_draws(f: Latent<'_>, g: impl Fn(&[f64]) -> f64) -> (f64, f64) {
        let (key, n) = (Key::new(3, Purpose::Simulate), 200_000);
        let (mut sum, mut square, mut draw) = (0.0, 0.0, vec![0.0; f.mean.len()]);
        for i in 0..n {
            fill_row(key, [i, 0, 0, 0], &mut draw);
            for (j, own) in draw.iter_mut().enumerate() {
                *own = f.mean[j] + f.variance[j].sqrt() * *own;
            }
            let value = g(&draw);
            (sum, square) = (sum + value, square + value * value);
        }
        let n = f64::from(n);
        (sum / n, ((square / n - (sum / n).powi(2)) / n).sqrt())
    }

    #[test]
    fn probabilities_are_those_of_draws_and_the_bound_is_below_the_expectation() {
        let own = four();
        let log_p = |f: &[f64], y: usize| {
            let x: Vec<f64> = f.iter().zip(&own.levels).map(|(f, level)| f + level).collect();
            x[y] - crate::likelihood::log_sum_exp(&x)
        };
        let mut p = [0.0; 4];
        assert!(own.class_probabilities(F, &mut p));
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        for y in 0..4 {
            let (found, error) = by_draws(F, |f| log_p(f, y).exp());
            assert!((p[y] - found).abs() < 4.0 * error, "{y}: {} {found} {error}", p[y]);
            assert!((own.log_density(&[y as f64], F) - p[y].ln()).abs() < 1e-6);
            let (expected, error) = by_draws(F, |f| log_p(f, y));
            let bound = own.expected_log_density(&[y as f64], F);
            assert!(bound < expected + 4.0 * error && bound > expected - 0.05, "{y}: {bound} {expected}");
        }
        assert!((own.cumulative(0, 1.5, F) - p[0] - p[1]).abs() < 1e-12);
    }

    #[test]
    fn draws_have_the_probabilities_of_classes() {
        let (own, key) = (four(), Key::new(1, Purpose::Observe));
        let still = Latent { mean: F.mean, variance: &[1e-12; 4] };
        let (mut p, mut drawn) = ([0.0; 4], [0.0; 4]);
        own.class_probabilities(still, &mut p);
        for i in 0..20_000 {
            let mut y = [0.0];
            own.draw(F.mean, key, [i, 0, 0, 0], &mut y);
            drawn[y[0] as usize] += 1.0 / 20_000.0;
        }
        assert!(drawn.iter().zip(p).all(|(a, b)| (a - b).abs() < 0.015), "{drawn:?} {p:?}");
    }

    #[test]
    fn many_classes_have_room() {
        let classes = 150;
        let (own, numbers) = (Softmax::new(&vec![1.0 / 150.0; classes]), uniform(2, classes, 1));
        let variance: Vec<f64> = numbers.row(1).iter().map(|u| 0.5 + 0.4 * u).collect();
        let f = Latent { mean: numbers.row(0), variance: &variance };
        let mut p = vec![0.0; classes];
        own.class_probabilities(f, &mut p);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-5, "{a} {b}");
        near(p.iter().sum(), 1.0);
        near(own.log_density(&[149.0], f), p[149].ln());
        assert!(own.expected_log_density(&[149.0], f) < own.log_density(&[149.0], f));
    }
}
