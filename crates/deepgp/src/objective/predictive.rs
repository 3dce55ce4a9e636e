//! The predictive objective: the log density of rows, and the powers between it and the evidence lower bound.

use super::{Objective, ObjectiveForm, RowBars, RowTerm};
use crate::error::{Error, Result};
use crate::likelihood::{LatentBars, Tempered, log_sum_exp};
use crate::model::DeepGp;

/// The predictive objective: a row's term is `1/α log Σ_s ω_s E_{q(f | h_s)} p(y | f)^α` with the samples' weights `ω_s`, `1/S` or learned.
///
/// At `α = 1` it is the log density that the model predicts for the row, so that training fits what is scored; for `α → 0` it is the
/// evidence lower bound (power expectation propagation runs between the two). With one fresh sample of the hidden layers only the last
/// layer is predictive and the noise of the hidden ones regularises. With the share `ρ_s` of sample `s` in the sum and
/// `ℓ_s = log E p^α`, the gradients are `(ρ_s/α) ∂ℓ_s` in what belongs to a sample, `ρ_s/α` at the logarithm of its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predictive {
    /// The power `α`, above 0 and at most 1.
    pub power: f64,
}

/// The most samples for which nothing is allocated.
const FEW: usize = 16;

impl Predictive {
    /// Hands the logarithms `log ω_s + ℓ_s` of all samples and of their sum to `then`.
    fn with_logs<R>(self, row: &RowTerm<'_>, then: impl FnOnce(&dyn Tempered, &[f64], f64) -> R) -> R {
        let tempered = row.likelihood.tempered().expect("the objective was checked with this likelihood");
        let log = |s: usize| row.f.log_weight(s) + tempered.log_expected_power(self.power, row.y, row.f.at(s));
        let with = |each: &mut [f64]| {
            for (s, each) in each.iter_mut().enumerate() {
                *each = log(s);
            }
            then(tempered, each, log_sum_exp(each))
        };
        match row.f.len() {
            few @ 0..=FEW => with(&mut [0.0; FEW][..few]),
            many => with(&mut vec![0.0; many]),
        }
    }
}

impl Objective for Predictive {
    fn name(&self) -> &'static str {
        "predictive"
    }

    fn form(&self) -> Option<ObjectiveForm> {
        Some(ObjectiveForm::Predictive { power: self.power })
    }

    fn check(&self, model: &DeepGp) -> Result<()> {
        ObjectiveForm::Predictive { power: self.power }.check()?;
        match model.likelihood().tempered() {
            Some(_) => Ok(()),
            None => Err(Error::Setting {
                name: "objective",
                value: "predictive".into(),
                requirement: "`elbo` for a likelihood that has no powers (`Likelihood::tempered`)",
            }),
        }
    }

    fn add(&self, row: &RowTerm<'_>, sum: &mut f64) {
        *sum += row.scale * row.weight * self.with_logs(row, |_, _, total| total) / self.power;
    }

    /// One sample has no weight to share: its value comes with its gradient.
    fn add_with_pullback(&self, row: &RowTerm<'_>, sum: &mut f64, bars: RowBars<'_>) {
        if row.f.len() > 1 {
            self.add(row, sum);
            return self.pullback(row, bars);
        }
        let factor = row.scale * row.weight / self.power;
        let RowBars { mean, variance, log_weights, likelihood, .. } = bars;
        let own = LatentBars { mean, variance, theta: likelihood };
        let tempered = row.likelihood.tempered().expect("the objective was checked with this likelihood");
        *sum += factor * tempered.log_expected_power_pullback(self.power, row.y, row.f.at(0), factor, own);
        if let Some(bar) = log_weights.first_mut() {
            *bar += factor;
        }
    }

    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>) {
        self.with_logs(row, |tempered, each, total| {
            let (factor, width) = (row.scale * row.weight / self.power, row.f.width);
            let samples = bars.mean.chunks_exact_mut(width).zip(bars.variance.chunks_exact_mut(width));
            for (s, (mean, variance)) in samples.enumerate() {
                let share = factor * (each[s] - total).exp();
                let own = LatentBars { mean, variance, theta: &mut *bars.likelihood };
                tempered.log_expected_power_pullback(self.power, row.y, row.f.at(s), share, own);
                if let Some(bar) = bars.log_weights.get_mut(s) {
                    *bar += share;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{Gaussian, Heteroscedastic, Likelihood, StudentT};
    use crate::objective::testing::{MEAN, VARIANCE, Y, assert_row_pullback, row};
    use crate::objective::{EvidenceLowerBound, Samples};

    fn value(objective: &dyn Objective, likelihood: &dyn Likelihood, f: Samples<'_>) -> f64 {
        let mut sum = 0.0;
        objective.add(&row(likelihood, f), &mut sum);
        sum
    }

    #[test]
    fn its_pullback_is_its_slope_for_every_likelihood_power_and_weight() {
        let likelihoods: [Box<dyn Likelihood>; 3] = [
            Box::new(Gaussian { noise: vec![0.5, 0.05] }),
            Box::new(StudentT::new(0.3, 4.0, 2)),
            Box::new(Heteroscedastic::new(0.2, 1)),
        ];
        let weights = [0.2f64.ln(), 0.5f64.ln(), 0.3f64.ln()];
        for likelihood in &likelihoods {
            for power in [0.2, 1.0] {
                let f = Samples::alike(&MEAN, &VARIANCE, 2);
                assert_row_pullback(&Predictive { power }, &**likelihood, f);
                assert_row_pullback(&Predictive { power }, &**likelihood, Samples { log_weights: Some(&weights), ..f });
            }
        }
    }

    #[test]
    fn a_small_power_is_the_bound_and_a_whole_one_the_density_of_the_mixture() {
        let likelihood = Gaussian { noise: vec![0.5, 0.05] };
        let f = Samples::alike(&MEAN, &VARIANCE, 2);
        let bound = value(&EvidenceLowerBound, &likelihood, f);
        let (far, near) = [1e-3, 1e-5].map(|power| (value(&Predictive { power }, &likelihood, f) - bound).abs()).into();
        assert!(near < 1e-3 * bound.abs() && near < 0.02 * far, "{far} {near}");
        let density = (0..3).map(|s| likelihood.log_density(&Y, f.at(s)).exp()).sum::<f64>() / 3.0;
        assert!((value(&Predictive { power: 1.0 }, &likelihood, f) - 3.0 * density.ln()).abs() < 1e-10);
        // Jensen: a larger power is worth more.
        let values = [0.1, 0.4, 1.0].map(|power| value(&Predictive { power }, &likelihood, f));
        assert!(bound < values[0] && values[0] < values[1] && values[1] < values[2]);
    }
}
