//! The evidence lower bound.

use super::{Objective, ObjectiveForm, RowBars, RowTerm};
use crate::likelihood::LatentBars;

/// The evidence lower bound: a row's term is `1/S Σ_s E_s` with `E_s = E_{q(f | h_s)} log p(y | f)`. With the KL of all layers it is a
/// lower bound on `log p(y)`. Where samples have weights, these take the place of `1/S`, and it is no bound any more.
///
/// Each sample's expectation is the likelihood's, in closed form or by quadrature, so the gradients are
/// `∂/∂mean_s = (1/S) ∂E_s/∂mean_s`, `∂/∂variance_s = (1/S) ∂E_s/∂variance_s` and `∂/∂θ = 1/S Σ_s ∂E_s/∂θ`, and at the logarithm of a
/// weight `ω_s E_s`.
#[derive(Clone, Copy, Debug)]
pub struct EvidenceLowerBound;

/// The factor `scale · weight / S` on the expectation of sample `s`.
fn sample_weight(row: &RowTerm<'_>, s: usize) -> f64 {
    match row.f.log_weights {
        None => row.scale / row.f.len() as f64 * row.weight,
        Some(_) => row.scale * row.f.weight(s) * row.weight,
    }
}

impl Objective for EvidenceLowerBound {
    fn name(&self) -> &'static str {
        "ELBO"
    }

    fn form(&self) -> Option<ObjectiveForm> {
        Some(ObjectiveForm::Elbo)
    }

    fn add(&self, row: &RowTerm<'_>, sum: &mut f64) {
        for s in 0..row.f.len() {
            *sum += sample_weight(row, s) * row.likelihood.expected_log_density(row.y, row.f.at(s));
        }
    }

    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>) {
        self.add_with_pullback(row, &mut 0.0, bars);
    }

    fn add_with_pullback(&self, row: &RowTerm<'_>, sum: &mut f64, bars: RowBars<'_>) {
        let width = row.f.width;
        let samples = bars.mean.chunks_exact_mut(width).zip(bars.variance.chunks_exact_mut(width));
        for (s, (mean, variance)) in samples.enumerate() {
            let (weight, own) = (sample_weight(row, s), LatentBars { mean, variance, theta: &mut *bars.likelihood });
            let value = row.likelihood.expected_log_density_with_pullback(row.y, row.f.at(s), weight, own);
            *sum += weight * value;
            if let Some(bar) = bars.log_weights.get_mut(s) {
                *bar += weight * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{Gaussian, Likelihood};
    use crate::objective::Samples;
    use crate::objective::testing::{MEAN, VARIANCE, Y, assert_row_pullback, row};

    #[test]
    fn it_is_the_mean_over_samples_and_its_pullback_is_its_slope() {
        let likelihood = Gaussian { noise: vec![0.5, 0.05] };
        let f = Samples::alike(&MEAN, &VARIANCE, 2);
        let each = (0..3).map(|s| likelihood.expected_log_density(&Y, f.at(s)));
        let mut sum = 0.0;
        EvidenceLowerBound.add(&row(&likelihood, f), &mut sum);
        assert!((sum - 3.0 * each.sum::<f64>() / 3.0).abs() < 1e-12);
        assert_row_pullback(&EvidenceLowerBound, &likelihood, f);
        let weights = [0.2f64.ln(), 0.5f64.ln(), 0.3f64.ln()];
        assert_row_pullback(&EvidenceLowerBound, &likelihood, Samples { log_weights: Some(&weights), ..f });
    }
}
