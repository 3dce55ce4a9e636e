//! A tighter evidence lower bound for Gaussian noise.

use super::{EvidenceLowerBound, Objective, ObjectiveForm, RowBars, RowTerm};
use crate::error::{Error, Result};
use crate::layer::CovarianceForm;
use crate::model::DeepGp;

/// A tighter evidence lower bound: the posterior may shrink the conditional variance `d` of the last layer, too, what its inducing inputs
/// leave of the prior, and does so as well as it can, at no cost. In each sample's expectation, for every output with noise `σ²`,
///
/// ```text
/// −d/2σ²  becomes  −½ ln(1 + d/σ²)        ∂d = 1/2σ² − 1/2(σ² + d)        ∂σ² = −d²/2σ⁴(σ² + d)
/// ```
///
/// It lies between the evidence lower bound and the evidence, and asks for Gaussian noise, and for a covariance whose rows see `K_bb⁻¹`:
/// not the dual one.
#[derive(Clone, Copy, Debug)]
pub struct TighterBound;

/// The gain of sample `s` over the evidence lower bound, `Σ_p d/2σ²_p − ½ ln(1 + d/σ²_p)`.
fn gain(noise: &[f64], conditional: f64) -> f64 {
    noise.iter().map(|noise| 0.5 * (conditional / noise - (conditional / noise).ln_1p())).sum()
}

/// The noise of each output, from a likelihood that was checked.
fn noise<'a>(row: &RowTerm<'a>) -> &'a [f64] {
    row.likelihood.gaussian_noise().expect("the objective was checked with this likelihood")
}

impl Objective for TighterBound {
    fn name(&self) -> &'static str {
        "tighter ELBO"
    }

    fn form(&self) -> Option<ObjectiveForm> {
        Some(ObjectiveForm::Tighter)
    }

    fn check(&self, model: &DeepGp) -> Result<()> {
        let refused = |requirement| Err(Error::Setting { name: "objective", value: "tighter".into(), requirement });
        if model.likelihood().gaussian_noise().is_none() {
            return refused("`elbo` or `predictive` unless the noise is Gaussian");
        }
        match model.layers().last().map(|last| last.covariance.form) {
            Some(CovarianceForm::Dual) => refused("`elbo` or `predictive` with a dual covariance"),
            Some(CovarianceForm::Standard | CovarianceForm::Whitened | CovarianceForm::Diagonal) | None => Ok(()),
        }
    }

    fn wants_conditional(&self) -> bool {
        true
    }

    fn add(&self, row: &RowTerm<'_>, sum: &mut f64) {
        EvidenceLowerBound.add(row, sum);
        for (s, d) in row.f.conditional.iter().enumerate() {
            *sum += row.scale * row.weight * row.f.weight(s) * gain(noise(row), *d);
        }
    }

    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>) {
        let RowBars { mean, variance, conditional, log_weights, likelihood, shared } = bars;
        for (s, &d) in row.f.conditional.iter().enumerate() {
            let weight = row.scale * row.weight * row.f.weight(s);
            for (noise, theta) in noise(row).iter().zip(&mut *likelihood) {
                let rest = 1.0 / (noise + d);
                conditional[s] += weight * 0.5 * d * rest / noise;
                *theta -= weight * 0.5 * d * d * rest / (noise * noise);
            }
            if let Some(bar) = log_weights.get_mut(s) {
                *bar += weight * gain(noise(row), d);
            }
        }
        EvidenceLowerBound.pullback(row, RowBars { mean, variance, conditional, log_weights, likelihood, shared });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::Gaussian;
    use crate::objective::Samples;
    use crate::objective::testing::{MEAN, VARIANCE, assert_row_pullback, row};

    #[test]
    fn it_gains_where_something_is_left_and_its_pullback_is_its_slope() {
        let likelihood = Gaussian { noise: vec![0.5, 0.05] };
        let value = |objective: &dyn Objective, f| {
            let mut sum = 0.0;
            objective.add(&row(&likelihood, f), &mut sum);
            sum
        };
        let f = Samples { conditional: &[0.15, 0.05, 0.3], ..Samples::alike(&MEAN, &VARIANCE, 2) };
        assert!(value(&TighterBound, f) > value(&EvidenceLowerBound, f) + 0.1);
        let none = Samples { conditional: &[0.0; 3], ..f };
        assert_eq!(value(&TighterBound, none), value(&EvidenceLowerBound, none));
        let weights = [0.2f64.ln(), 0.5f64.ln(), 0.3f64.ln()];
        assert_row_pullback(&TighterBound, &likelihood, f);
        assert_row_pullback(&TighterBound, &likelihood, Samples { log_weights: Some(&weights), ..f });
    }
}
