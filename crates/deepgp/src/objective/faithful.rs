//! The faithful objective: the mean as if noise were constant, everything else by the predictive objective.

use super::{Objective, ObjectiveForm, Predictive, RowBars, RowTerm};
use crate::error::{Error, Result};
use crate::model::DeepGp;

/// The faithful objective: its value is that of [`Predictive`], but gradients are routed. Where the noise follows the inputs, a row whose
/// noise is large hardly counts for the mean, and the mean pays for the variance. Here the mean of the function `f` of every target, and the
/// noise's level, go up the expected log density under one constant noise, `y ~ N(f, noise)`:
///
/// ```text
/// ∂m_f = (y − m_f) / noise        ∂noise = ½ (((y − m_f)² + v_f) / noise − 1) / noise
/// ```
///
/// while the variance of `f` and all of `g` go up the predictive objective. A decoupled model has separate parameters for the two. It is the
/// gradient of no function; training ends where both routes are level.
///
/// So it is up to the share `hold` of training. From there to the share `release` the faithfulness `β` falls from 1 to 0, along a line:
/// `∂m_f` is the geometric mean of the two, of the constant one to the power `β` and of the predictive one to `1 − β`, and `∂noise` their
/// mean. After `release` all is the predictive objective, but that no row ever counts for the mean less than [`Faithful::LEAST`] of what it
/// does under constant noise: a few hard rows are not given up, while many that are merely noisy are weighed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faithful {
    /// The power `α` of the predictive objective, above 0 and at most 1.
    pub power: f64,
    /// The share of training up to which the faithfulness is 1.
    pub hold: f64,
    /// The share of training from which on the faithfulness is 0.
    pub release: f64,
}

/// The most targets for whose noise levels nothing is allocated.
const FEW: usize = 8;

impl Faithful {
    /// The usual power of the predictive objective: below 1 means are better, and densities hardly worse.
    pub const POWER: f64 = 0.75;
    /// The usual share of training up to which the faithfulness is 1.
    pub const HOLD: f64 = 0.3;
    /// The usual share of training from which on the faithfulness is 0.
    pub const RELEASE: f64 = 0.7;
    /// The least that a row counts for the mean, as a share of what it counts under constant noise.
    pub const LEAST: f64 = 0.3;

    /// The objective of all but the mean.
    fn predictive(self) -> Predictive {
        Predictive { power: self.power }
    }

    /// The faithfulness `β` when this share of training is done.
    pub(super) fn share(self, progress: f64) -> f64 {
        // Where the whole of training is held, the last step is, too.
        if progress <= self.hold || self.hold >= 1.0 {
            return 1.0;
        }
        if progress >= self.release { 0.0 } else { (self.release - progress) / (self.release - self.hold) }
    }
}

impl Objective for Faithful {
    fn name(&self) -> &'static str {
        "faithful"
    }

    fn form(&self) -> Option<ObjectiveForm> {
        Some(ObjectiveForm::Faithful { power: self.power, hold: self.hold, release: self.release })
    }

    fn check(&self, model: &DeepGp) -> Result<()> {
        self.predictive().check(model)?;
        match model.likelihood().noise_level() {
            Some(_) => Ok(()),
            None => Err(Error::Setting {
                name: "objective",
                value: "faithful".into(),
                requirement: "`elbo` or `predictive` unless the noise follows the inputs (`heteroscedastic`)",
            }),
        }
    }

    fn add(&self, row: &RowTerm<'_>, sum: &mut f64) {
        self.predictive().add(row, sum);
    }

    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>) {
        self.route(row, bars, |predictive, row, bars| predictive.pullback(row, bars));
    }

    fn add_with_pullback(&self, row: &RowTerm<'_>, sum: &mut f64, bars: RowBars<'_>) {
        self.route(row, bars, |predictive, row, bars| predictive.add_with_pullback(row, sum, bars));
    }
}

impl Faithful {
    /// Routes the gradients of the predictive objective, which `pull` adds to the bars that it is given.
    fn route(self, row: &RowTerm<'_>, bars: RowBars<'_>, pull: impl FnOnce(Predictive, &RowTerm<'_>, RowBars<'_>)) {
        let RowBars { mean, variance, conditional, log_weights, likelihood, shared } = bars;
        let levels = row.likelihood.noise_level().expect("the objective was checked with this likelihood");
        let (share, outputs) = (self.share(row.progress), levels.len());
        // A few levels find room on the stack: this is called for every row.
        let (mut few, many);
        let before: &[f64] = match outputs {
            0..=FEW => {
                few = [0.0; FEW];
                few[..outputs].copy_from_slice(&likelihood[..outputs]);
                &few[..outputs]
            }
            _ => {
                many = likelihood[..outputs].to_vec();
                &many
            }
        };
        let own =
            RowBars { mean: &mut *mean, variance, conditional, log_weights, likelihood: &mut *likelihood, shared };
        pull(self.predictive(), row, own);
        for (now, before) in likelihood.iter_mut().zip(before) {
            *now = before + (1.0 - share) * (*now - before);
        }
        for s in 0..row.f.len() {
            let (f, weight) = (row.f.at(s), row.scale * row.weight * row.f.weight(s));
            for (p, noise) in levels.iter().enumerate() {
                let latent = row.likelihood.location(p).expect("a target whose noise has a level has a function");
                let residual = row.y[p] - f.mean[latent];
                let (own, plain) = (&mut mean[s * row.f.width + latent], weight * residual / noise);
                *own = blend(plain, *own, share).abs().max(Self::LEAST * plain.abs()).copysign(plain);
                let square = residual * residual + f.variance[latent];
                likelihood[p] += share * weight * 0.5 * (square / noise - 1.0) / noise;
            }
        }
    }
}

/// The geometric mean `one^share · other^(1 − share)` of two numbers of one sign; 0 if one of them is.
fn blend(one: f64, other: f64, share: f64) -> f64 {
    if share == 1.0 {
        one
    } else if one == 0.0 || other == 0.0 {
        0.0
    } else {
        other * (one / other).powf(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{Gaussian, Heteroscedastic, Likelihood};
    use crate::objective::testing::{MEAN, VARIANCE, row};
    use crate::objective::{EvidenceLowerBound, Samples};

    /// The gradients of an objective at a row of three samples: mean, variance, likelihood.
    fn gradients(objective: &dyn Objective, likelihood: &dyn Likelihood, f: Samples<'_>) -> [Vec<f64>; 3] {
        let [mut mean, mut variance] = [(); 2].map(|()| vec![0.0; f.mean.len()]);
        // What other rows have left is kept.
        let mut theta = vec![1.0; 1];
        let bars = RowBars {
            mean: &mut mean,
            variance: &mut variance,
            conditional: &mut [],
            log_weights: &mut [],
            likelihood: &mut theta,
            shared: &mut [],
        };
        objective.pullback(&row(likelihood, f), bars);
        [mean, variance, theta]
    }

    #[test]
    fn the_mean_goes_up_the_bound_of_constant_noise_and_the_rest_the_predictive_objective() {
        let (followed, constant) = (Heteroscedastic::new(0.2, 1), Gaussian::new(0.2, 1));
        let f = Samples::alike(&MEAN, &VARIANCE, 2);
        let own = gradients(&Faithful { power: 0.7, hold: 1.0, release: 1.0 }, &followed, f);
        let predictive = gradients(&Predictive { power: 0.7 }, &followed, f);
        let every_other = |all: &[f64]| all.iter().copied().step_by(2).collect::<Vec<f64>>();
        let (mean, variance) = (every_other(&MEAN), every_other(&VARIANCE));
        let bound = gradients(&EvidenceLowerBound, &constant, Samples::alike(&mean, &variance, 1));
        assert_eq!(own[1], predictive[1]);
        for s in 0..3 {
            assert!((own[0][2 * s] - bound[0][s]).abs() < 1e-12 && own[0][2 * s + 1] == predictive[0][2 * s + 1]);
        }
        assert!((own[2][0] - bound[2][0]).abs() < 1e-12 && own[2] != predictive[2]);
        // The row is at 0.8 of training: a faithfulness that falls from 0.5 on to 0 at 0.9 is a quarter.
        let (between, share) = (gradients(&Faithful { power: 0.7, hold: 0.5, release: 0.9 }, &followed, f), 0.25);
        for s in 0..3 {
            let (one, other): (f64, f64) = (bound[0][s], predictive[0][2 * s]);
            let expected = one.signum() * one.abs().powf(share) * other.abs().powf(1.0 - share);
            assert!((between[0][2 * s] - expected).abs() < 1e-12 * expected.abs());
        }
        assert!((between[2][0] - share * bound[2][0] - (1.0 - share) * predictive[2][0]).abs() < 1e-12);
    }

    #[test]
    fn the_faithfulness_is_held_and_then_falls() {
        let at = |hold, release, progress| Faithful { power: 1.0, hold, release }.share(progress);
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|progress| at(0.25, 0.75, progress)), [1.0, 1.0, 0.5, 0.0, 0.0]);
        assert_eq!((at(1.0, 1.0, 1.0), at(0.0, 1.0, 0.5)), (1.0, 0.5));
        // A release at once is a jump.
        assert_eq!([0.3, 0.31].map(|progress| at(0.3, 0.3, progress)), [1.0, 0.0]);
    }
}
