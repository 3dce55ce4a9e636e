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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faithful {
    /// The power `α` of the predictive objective, above 0 and at most 1.
    pub power: f64,
}

impl Faithful {
    /// The objective of all but the mean.
    fn predictive(self) -> Predictive {
        Predictive { power: self.power }
    }
}

impl Objective for Faithful {
    fn name(&self) -> &'static str {
        "faithful"
    }

    fn form(&self) -> Option<ObjectiveForm> {
        Some(ObjectiveForm::Faithful { power: self.power })
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
        let RowBars { mean, variance, conditional, log_weights, likelihood, shared } = bars;
        let levels = row.likelihood.noise_level().expect("the objective was checked with this likelihood");
        // The predictive gradient at the levels goes nowhere.
        let kept: Vec<f64> = likelihood[..levels.len()].to_vec();
        let own =
            RowBars { mean: &mut *mean, variance, conditional, log_weights, likelihood: &mut *likelihood, shared };
        self.predictive().pullback(row, own);
        likelihood[..levels.len()].copy_from_slice(&kept);
        for s in 0..row.f.len() {
            let (f, weight) = (row.f.at(s), row.scale * row.weight * row.f.weight(s));
            for (p, noise) in levels.iter().enumerate() {
                let latent = row.likelihood.location(p).expect("a target whose noise has a level has a function");
                let residual = row.y[p] - f.mean[latent];
                mean[s * row.f.width + latent] = weight * residual / noise;
                let square = residual * residual + f.variance[latent];
                likelihood[p] += weight * 0.5 * (square / noise - 1.0) / noise;
            }
        }
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
        let own = gradients(&Faithful { power: 0.7 }, &followed, f);
        let predictive = gradients(&Predictive { power: 0.7 }, &followed, f);
        let every_other = |all: &[f64]| all.iter().copied().step_by(2).collect::<Vec<f64>>();
        let (mean, variance) = (every_other(&MEAN), every_other(&VARIANCE));
        let bound = gradients(&EvidenceLowerBound, &constant, Samples::alike(&mean, &variance, 1));
        assert_eq!(own[1], predictive[1]);
        for s in 0..3 {
            assert!((own[0][2 * s] - bound[0][s]).abs() < 1e-12 && own[0][2 * s + 1] == predictive[0][2 * s + 1]);
        }
        assert!((own[2][0] - bound[2][0]).abs() < 1e-12 && own[2] != predictive[2]);
    }
}
