//! [`Spread`]: one factor for each target that says how much wider, or narrower, its predicted distribution should be than the model's.
//!
//! With the mean `m` of the mixture at a row, a factor `κ` takes `Y` to `m + κ (Y − m)`. In terms of the mixture's parts,
//!
//! ```text
//! μ_s ← m + κ (μ_s − m)        σ²_s ← κ² σ²_s        noise ← κ² noise
//! κ = argmin −Σ_n ω_n log p_κ(y_n) + (ln κ)² / 2 DOUBT²
//! ```
//!
//! so that moments, quantiles, densities and draws follow, of the function as of observations. The factor is learnt from rows that training did not
//! see. Where the function is smooth and the noise low, few inducing inputs leave variances that are larger than the errors: the model knows
//! more than it says, and `κ` is below 1; where it was fitted too closely, `κ` is above 1. The last term keeps `κ` near 1 where rows are few. It
//! costs some thirty evaluations of the density of these rows.

use rayon::prelude::*;

use crate::data::Dataset;
use crate::error::Result;
use crate::likelihood::Likelihood;
use crate::numeric::golden_section::maximise;
use crate::numeric::mat::Mat;
use crate::predict::Predictor;
use crate::predict::mixture::Mixture;

/// The standard deviation of `ln κ` around 0 before any row is seen: 1 is worth as much as `1 / 2 DOUBT²` = 50 rows that say so. Held-out rows have also
/// chosen the step, and so think too well of it; where there are few, a factor of their own does more harm than good (docs/answers.md).
const DOUBT: f64 = 0.1;
/// The largest `ln κ`, and the largest negative one, that is looked for.
const RANGE: f64 = 3.0;
/// The number of golden sections of that range: to 1e-4 of `κ`.
const ROUNDS: usize = 23;

/// How much wider each target's predicted distribution is made than the model's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread(Vec<f64>);

impl Spread {
    /// The spread of these factors, one for each target; `None` unless all are positive numbers.
    pub fn new(factors: Vec<f64>) -> Option<Self> {
        factors.iter().all(|own| *own > 0.0 && own.is_finite()).then_some(Self(factors))
    }

    /// The factor of each target: 1 leaves its distribution as it is, more makes it wider. There are none where all are left as they are.
    pub fn factors(&self) -> &[f64] {
        &self.0
    }

    /// Whether distributions stay as they are.
    pub fn is_neutral(&self) -> bool {
        self.0.iter().all(|own| *own == 1.0)
    }

    /// Whether predictions through this likelihood can be made so much wider.
    pub fn suits(&self, likelihood: &dyn Likelihood) -> bool {
        self.is_neutral() || Widening::new(likelihood, &self.0).is_some()
    }

    /// The spread that suits rows which the model has not seen, in the model's units; rows count by their weights. Neutral where the likelihood cannot
    /// be widened, or these rows have no density.
    pub(crate) fn fit(predictor: &Predictor<'_>, held_out: &Dataset) -> Result<Self> {
        let (likelihood, y) = (predictor.model.likelihood(), held_out.y());
        let mut factors = vec![1.0; likelihood.observed_width()];
        if Widening::new(likelihood, &factors).is_none() {
            return Ok(Self::default());
        }
        let parts = predictor.parts(held_out)?;
        let (width, half) = (likelihood.latent_width(), parts.ncols() / 2);
        let fitness = |factors: &[f64]| {
            let Some(widening) = Widening::new(likelihood, factors) else { return f64::NEG_INFINITY };
            let of_row = |i: usize| {
                let mut own = parts.row(i).to_vec();
                let (mean, variance) = own.split_at_mut(half);
                widening.widen(mean, variance, predictor.weights.as_deref());
                let mixture = Mixture { mean, variance, width, weights: predictor.weights.as_deref() };
                held_out.weights().map_or(1.0, |all| all[i]) * mixture.log_density(widening.likelihood(), y.row(i))
            };
            // Added up in the order of rows, whatever the threads.
            let each: Vec<f64> = predictor.threads.run(|| (0..parts.nrows()).into_par_iter().map(of_row).collect());
            let doubt: f64 = factors.iter().map(|own| (own.ln() / DOUBT).powi(2)).sum();
            let total = each.iter().sum::<f64>() - 0.5 * doubt;
            if total.is_finite() { total } else { f64::NEG_INFINITY }
        };
        if fitness(&factors) == f64::NEG_INFINITY {
            return Ok(Self::default());
        }
        // One target has one factor; several have a common density, and each is looked at again when the others are about right.
        let sweeps = if factors.len() == 1 { 1 } else { 2 };
        for p in (0..sweeps).flat_map(|_| 0..likelihood.observed_width()) {
            let with = |log: f64| {
                let mut all = factors.clone();
                all[p] = log.exp();
                all
            };
            factors = with(maximise(-RANGE, RANGE, ROUNDS, |log| fitness(&with(log))));
        }
        Ok(Self(factors))
    }
}

/// A [`Spread`] at work on the mixtures of one likelihood.
#[derive(Clone, Debug)]
pub(crate) struct Widening {
    /// The likelihood with wider noise.
    likelihood: Box<dyn Likelihood>,
    /// The factor of each latent function: that of the target which scatters around it, and 1 if there is none.
    factors: Vec<f64>,
}

impl Widening {
    /// Mixtures seen through `likelihood` made wider by a factor for each target; `None` where a target scatters around no function, or its noise
    /// cannot be widened.
    pub fn new(likelihood: &dyn Likelihood, by_target: &[f64]) -> Option<Self> {
        if by_target.len() != likelihood.observed_width() {
            return None;
        }
        let mut factors = vec![1.0; likelihood.latent_width()];
        for (p, factor) in by_target.iter().enumerate() {
            factors[likelihood.location(p)?] = *factor;
        }
        Some(Self { likelihood: likelihood.widened(by_target)?, factors })
    }

    /// The likelihood with wider noise.
    pub fn likelihood(&self) -> &dyn Likelihood {
        &*self.likelihood
    }

    /// The factor of each latent function.
    pub fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// Stretches a draw of the latent functions at some rows around their means, `[N, P]` each.
    pub fn stretch(&self, drawn: &mut Mat, mean: &Mat) {
        for i in 0..drawn.nrows() {
            for ((f, mean), factor) in drawn.row_mut(i).iter_mut().zip(mean.row(i)).zip(&self.factors) {
                *f = mean + factor * (*f - mean);
            }
        }
    }

    /// Widens the mixture at one row: means and variances of its parts, `[S, P]` each, with these weights.
    pub fn widen(&self, mean: &mut [f64], variance: &mut [f64], weights: Option<&[f64]>) {
        let width = self.factors.len();
        let parts = mean.len() / width;
        for (latent, factor) in self.factors.iter().enumerate().filter(|(_, factor)| **factor != 1.0) {
            let weight = |s: usize| weights.map_or(1.0 / parts as f64, |all| all[s]);
            let center: f64 = (0..parts).map(|s| weight(s) * mean[s * width + latent]).sum();
            for at in (latent..mean.len()).step_by(width) {
                mean[at] = center + factor * (mean[at] - center);
                variance[at] *= factor * factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{Bernoulli, Gaussian, Heteroscedastic, Link, StudentT};

    const MEAN: [f64; 3] = [-0.6, 0.4, 1.1];
    const VARIANCE: [f64; 3] = [0.3, 0.02, 0.5];
    const WEIGHTS: [f64; 3] = [0.5, 0.2, 0.3];

    /// The likelihoods that can be widened, with the latent functions of one target each.
    fn likelihoods() -> [Box<dyn Likelihood>; 3] {
        [Box::new(Gaussian::new(0.1, 1)), Box::new(Heteroscedastic::new(0.1, 1)), Box::new(StudentT::new(0.1, 4.0, 1))]
    }

    /// A mixture of three parts of as many latent functions, each with another shift.
    fn parts(width: usize) -> (Vec<f64>, Vec<f64>) {
        let of = |all: [f64; 3], shift: f64| -> Vec<f64> {
            all.iter().flat_map(|v| (0..width).map(move |l| v + shift * l as f64)).collect()
        };
        (of(MEAN, -0.2), of(VARIANCE, 0.1))
    }

    #[test]
    fn a_wider_mixture_is_the_distribution_stretched_around_its_mean() {
        for (likelihood, weights) in likelihoods().iter().zip([None, Some(&WEIGHTS[..]), None]) {
            let width = likelihood.latent_width();
            let (mean, variance) = parts(width);
            let mixture = Mixture { mean: &mean, variance: &variance, width, weights };
            for factor in [0.4, 1.0, 2.5] {
                let widening = Widening::new(&**likelihood, &[factor]).unwrap();
                let (mut wide_mean, mut wide_variance) = (mean.clone(), variance.clone());
                widening.widen(&mut wide_mean, &mut wide_variance, weights);
                let wide = Mixture { mean: &wide_mean, variance: &wide_variance, width, weights };
                let moments = |own: Mixture<'_>, through: &dyn Likelihood| {
                    let (mut m, mut v) = ([0.0], [0.0]);
                    own.moments_of_y(through, &mut m, &mut v);
                    (m[0], v[0])
                };
                let ((m, v), (wide_m, wide_v)) =
                    (moments(mixture, &**likelihood), moments(wide, widening.likelihood()));
                assert!((m - wide_m).abs() < 1e-12 && (wide_v / (v * factor * factor) - 1.0).abs() < 1e-9);
                for y in [-1.3, 0.2, 2.0] {
                    let there = m + factor * (y - m);
                    let (before, after) =
                        (mixture.log_density(&**likelihood, &[y]), wide.log_density(widening.likelihood(), &[there]));
                    assert!((before - factor.ln() - after).abs() < 1e-10, "{}: {before} {after}", likelihood.name());
                    let (before, after) =
                        (mixture.cumulative(&**likelihood, 0, y), wide.cumulative(widening.likelihood(), 0, there));
                    assert!((before - after).abs() < 1e-10, "{}: {before} {after}", likelihood.name());
                }
            }
        }
    }

    #[test]
    fn classes_have_no_spread_and_factors_are_positive() {
        let classes = Bernoulli { link: Link::Probit, level: 0.0 };
        assert!(Widening::new(&classes, &[2.0]).is_none() && Widening::new(&Gaussian::new(0.1, 2), &[2.0]).is_none());
        assert!(Spread::default().suits(&classes) && !Spread::new(vec![2.0]).unwrap().suits(&classes));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Spread::new(vec![1.0, bad]), None);
        }
        assert!(Spread::new(vec![1.0, 1.0]).unwrap().is_neutral() && Spread::default().is_neutral());
    }
}
