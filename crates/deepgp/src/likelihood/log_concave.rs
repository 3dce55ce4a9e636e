//! Likelihoods of one target and one latent function whose log density is concave in `f`: classes in two or in order, and counts.
//!
//! [`LogConcave`] asks for `ℓ(f) = log p(y | f)` with its slopes, and for what is known of `y` in closed form; everything that implements it is
//! a [`Likelihood`]. `E ℓ` and `log E p^α` are sums over a lattice (`lattice.rs`) unless there is a formula for them.

use super::lattice::{Curve, Expectation, expected_log_density, log_expected_power};
use super::{Latent, LatentBars, Likelihood, LikelihoodDescription, Outcomes, Quantity, TargetUnits, Tempered};
use crate::data::Scaling;
use crate::error::Result;
use crate::model::params::Parameters;
use crate::numeric::mat::View;
use crate::random::noise::Key;

/// The most parameters for whose slopes nothing is allocated.
const FEW: usize = 8;

/// Mean and variance of an observation, for `f ~ N(mean, variance)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedMoments {
    /// The mean `E y`.
    pub mean: f64,
    /// The variance of `y`.
    pub variance: f64,
    /// The part of the variance that knowing `f` would leave, `E Var[y | f]`.
    pub noise: f64,
}

/// A likelihood of classes or counts of one latent function, whose log density is concave in `f`.
pub trait LogConcave: Parameters + Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The log density of one observation as a function of `f`.
    type Curve: Curve;

    /// The likelihood's name, e.g. `poisson`.
    fn name(&self) -> String;

    /// The values that `y` can take.
    fn outcomes(&self) -> Outcomes;

    /// The log density of the observation `y` as a function of `f`.
    fn curve(&self, y: f64) -> Self::Curve;

    /// The length over which `p(y | f)` bends in `f`, whatever `y` is: the lattices of sums are as fine as that.
    fn resolution(&self) -> f64;

    /// What a model file stores of the likelihood beside its parameters; `None` for a likelihood that the library does not know.
    fn description(&self) -> Option<LikelihoodDescription> {
        None
    }

    /// The number that the likelihood adds to `f`, a parameter; what users see of `f` contains it.
    fn level(&self) -> f64 {
        0.0
    }

    /// What the likelihood has learnt.
    fn summary(&self) -> Vec<Quantity> {
        Vec::new()
    }

    /// The scale at which `f` starts to vary around its mean, in units of the prior.
    fn start_scale(&self) -> f64 {
        1.0
    }

    /// Whether `f` is the logarithm of a rate, to which the logarithm of an exposure can be added.
    fn takes_offsets(&self) -> bool {
        false
    }

    /// The expectation `E ℓ(f)` where there is a formula for it, of a likelihood that has no parameter but its level.
    fn expected_log_density(&self, _y: f64, _mean: f64, _variance: f64) -> Option<Expectation> {
        None
    }

    /// The logarithm `log E p(y | f)^power` where there is a formula for it, of a likelihood that has no parameter but its level.
    fn log_expected_power(&self, _power: f64, _y: f64, _mean: f64, _variance: f64) -> Option<Expectation> {
        None
    }

    /// The log density `log E p(y | f)` where there is a formula for it.
    fn log_density(&self, _y: f64, _mean: f64, _variance: f64) -> Option<f64> {
        None
    }

    /// Mean and variance of `y`, for `f ~ N(mean, variance)`.
    fn observed_moments(&self, mean: f64, variance: f64) -> ObservedMoments;

    /// The distribution function `P(Y ≤ at)`, for `f ~ N(mean, variance)`.
    fn cumulative(&self, at: f64, mean: f64, variance: f64) -> f64;

    /// The observation given `f` that belongs to a uniform number.
    fn draw(&self, f: f64, uniform: f64) -> f64;
}

/// Runs `then` with room for so many slopes: on the stack, if they are few.
fn with_room<R>(count: usize, then: impl FnOnce(&mut [f64]) -> R) -> R {
    match count {
        few @ 0..=FEW => then(&mut [0.0; FEW][..few]),
        many => then(&mut vec![0.0; many]),
    }
}

/// Adds `weight` times the slopes of a closed form to `bars`: the level's is that of the mean.
fn add_closed(own: Expectation, weight: f64, bars: LatentBars<'_>) -> f64 {
    bars.mean[0] += weight * own.mean;
    bars.variance[0] += weight * own.variance;
    if let Some(level) = bars.theta.first_mut() {
        *level += weight * own.mean;
    }
    own.value
}

/// Adds `weight` times the slopes that `sum` gives, those in the parameters included, to `bars`.
fn add_sum(weight: f64, bars: LatentBars<'_>, sum: impl FnOnce(&mut [f64]) -> Expectation) -> f64 {
    with_room(bars.theta.len(), |theta| {
        let own = sum(theta);
        bars.mean[0] += weight * own.mean;
        bars.variance[0] += weight * own.variance;
        for (to, from) in bars.theta.iter_mut().zip(theta) {
            *to += weight * *from;
        }
        own.value
    })
}

impl<L: LogConcave> Likelihood for L {
    fn name(&self) -> String {
        LogConcave::name(self)
    }

    fn clone_box(&self) -> Box<dyn Likelihood> {
        Box::new(self.clone())
    }

    fn description(&self) -> Option<LikelihoodDescription> {
        LogConcave::description(self)
    }

    fn outcomes(&self) -> Outcomes {
        LogConcave::outcomes(self)
    }

    fn target_units(&self) -> TargetUnits {
        TargetUnits::AsTheyAre
    }

    /// Users see `f` with its level.
    fn latent_units(&self, _targets: &Scaling) -> Scaling {
        Scaling { shift: vec![self.level()], scale: vec![1.0] }
    }

    fn summary(&self, _targets: &Scaling) -> Vec<Quantity> {
        LogConcave::summary(self)
    }

    fn latent_width(&self) -> usize {
        1
    }

    fn observed_width(&self) -> usize {
        1
    }

    /// `f` has other units than `y`.
    fn location(&self, _output: usize) -> Option<usize> {
        None
    }

    fn start_scale(&self, _latent: usize) -> f64 {
        LogConcave::start_scale(self)
    }

    fn takes_offset(&self, _latent: usize) -> bool {
        self.takes_offsets()
    }

    fn check(&self, y: View<'_>) -> Result<()> {
        LogConcave::outcomes(self).check(y, &LogConcave::name(self))
    }

    fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        let (mean, variance) = (f.mean[0], f.variance[0]);
        let by_sum = || expected_log_density(&self.curve(y[0]), mean, variance, self.resolution(), &mut []);
        LogConcave::expected_log_density(self, y[0], mean, variance).unwrap_or_else(by_sum).value
    }

    fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) {
        self.expected_log_density_with_pullback(y, f, weight, bars);
    }

    fn expected_log_density_with_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) -> f64 {
        let (mean, variance) = (f.mean[0], f.variance[0]);
        match LogConcave::expected_log_density(self, y[0], mean, variance) {
            Some(own) => add_closed(own, weight, bars),
            None => add_sum(weight, bars, |theta| {
                expected_log_density(&self.curve(y[0]), mean, variance, self.resolution(), theta)
            }),
        }
    }

    fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]) {
        let own = LogConcave::observed_moments(self, f.mean[0], f.variance[0]);
        (mean[0], variance[0]) = (own.mean, own.variance);
    }

    fn noise_variance(&self, f: Latent<'_>, variance: &mut [f64]) {
        variance[0] = LogConcave::observed_moments(self, f.mean[0], f.variance[0]).noise;
    }

    fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        let closed = LogConcave::log_density(self, y[0], f.mean[0], f.variance[0]);
        closed.unwrap_or_else(|| Tempered::log_expected_power(self, 1.0, y, f))
    }

    fn cumulative(&self, _output: usize, at: f64, f: Latent<'_>) -> f64 {
        LogConcave::cumulative(self, at, f.mean[0], f.variance[0])
    }

    /// The class probabilities, each by itself, so that small ones have their digits, and then in proportion.
    fn class_probabilities(&self, f: Latent<'_>, probabilities: &mut [f64]) -> bool {
        match LogConcave::outcomes(self) {
            Outcomes::Real | Outcomes::Counts => false,
            Outcomes::Classes(_) => {
                for (class, own) in probabilities.iter_mut().enumerate() {
                    *own = Likelihood::log_density(self, &[class as f64], f).exp();
                }
                let total: f64 = probabilities.iter().sum();
                probabilities.iter_mut().for_each(|own| *own /= total);
                true
            }
        }
    }

    fn tempered(&self) -> Option<&dyn Tempered> {
        Some(self)
    }

    fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]) {
        y[0] = LogConcave::draw(self, f[0], key.uniform(counter));
    }
}

impl<L: LogConcave> Tempered for L {
    fn log_expected_power(&self, power: f64, y: &[f64], f: Latent<'_>) -> f64 {
        let (mean, variance) = (f.mean[0], f.variance[0]);
        let by_sum = || log_expected_power(&self.curve(y[0]), power, mean, variance, self.resolution(), &mut []);
        LogConcave::log_expected_power(self, power, y[0], mean, variance).unwrap_or_else(by_sum).value
    }

    fn log_expected_power_pullback(
        &self,
        power: f64,
        y: &[f64],
        f: Latent<'_>,
        weight: f64,
        bars: LatentBars<'_>,
    ) -> f64 {
        let (mean, variance) = (f.mean[0], f.variance[0]);
        match LogConcave::log_expected_power(self, power, y[0], mean, variance) {
            Some(own) => add_closed(own, weight, bars),
            None => add_sum(weight, bars, |theta| {
                log_expected_power(&self.curve(y[0]), power, mean, variance, self.resolution(), theta)
            }),
        }
    }
}
