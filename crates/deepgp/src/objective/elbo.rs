//! The evidence lower bound.

use super::{Objective, ObjectiveForm, RowBars, RowTerm};
use crate::likelihood::LatentBars;

/// The evidence lower bound: a row's term is `1/S Σ_s E_s` with `E_s = E_{q(f | h_s)} log p(y | f)`. With the KL of all layers it is a
/// lower bound on `log p(y)`.
///
/// Each sample's expectation is the likelihood's, in closed form or by quadrature, so the gradients are
/// `∂/∂mean_s = (1/S) ∂E_s/∂mean_s`, `∂/∂variance_s = (1/S) ∂E_s/∂variance_s` and `∂/∂θ = 1/S Σ_s ∂E_s/∂θ`.
#[derive(Clone, Copy, Debug)]
pub struct EvidenceLowerBound;

/// The factor `scale · weight / S` on one sample's expectation.
fn sample_weight(row: &RowTerm<'_>) -> f64 {
    row.scale / row.f.len() as f64 * row.weight
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
            *sum += sample_weight(row) * row.likelihood.expected_log_density(row.y, row.f.at(s));
        }
    }

    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>) {
        let width = row.f.width;
        let samples = bars.mean.chunks_exact_mut(width).zip(bars.variance.chunks_exact_mut(width));
        for (s, (mean, variance)) in samples.enumerate() {
            let bars = LatentBars { mean, variance, theta: &mut *bars.likelihood };
            row.likelihood.expected_log_density_pullback(row.y, row.f.at(s), sample_weight(row), bars);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{Gaussian, Likelihood};
    use crate::numeric::mat::Mat;
    use crate::objective::Samples;
    use crate::testing::assert_slope;

    const Y: [f64; 2] = [0.3, -1.2];
    const MEAN: [f64; 6] = [0.1, 0.4, -0.3, 0.9, 0.0, -1.0];
    const VARIANCE: [f64; 6] = [0.2, 0.7, 0.3, 0.1, 0.5, 0.4];

    fn value(likelihood: &dyn Likelihood, mean: &[f64], variance: &[f64]) -> f64 {
        let f = Samples { mean, variance, width: 2 };
        let mut sum = 0.0;
        EvidenceLowerBound.add(&RowTerm { likelihood, shared: &[], y: &Y, f, weight: 2.0, scale: 1.5 }, &mut sum);
        sum
    }

    #[test]
    fn it_is_the_mean_over_samples_and_its_pullback_is_its_slope() {
        let likelihood = Gaussian { noise: vec![0.5, 0.05] };
        let f = Samples { mean: &MEAN, variance: &VARIANCE, width: 2 };
        let each = (0..3).map(|s| likelihood.expected_log_density(&Y, f.at(s)));
        assert!((value(&likelihood, &MEAN, &VARIANCE) - 3.0 * each.sum::<f64>() / 3.0).abs() < 1e-12);

        let (mut mean, mut variance, mut theta) = ([0.0; 6], [0.0; 6], [0.0; 2]);
        let row = RowTerm { likelihood: &likelihood, shared: &[], y: &Y, f, weight: 2.0, scale: 1.5 };
        let bars = RowBars { mean: &mut mean, variance: &mut variance, likelihood: &mut theta, shared: &mut [] };
        EvidenceLowerBound.pullback(&row, bars);
        let column = |v: &[f64]| Mat::column(v.to_vec());
        assert_slope("mean", &column(&MEAN), &column(&mean), 1e-8, |m| value(&likelihood, m.as_slice(), &VARIANCE));
        assert_slope("variance", &column(&VARIANCE), &column(&variance), 1e-8, |v| {
            value(&likelihood, &MEAN, v.as_slice())
        });
        assert_slope("noise", &column(&likelihood.noise), &column(&theta), 1e-6, |noise| {
            value(&Gaussian { noise: noise.as_slice().to_vec() }, &MEAN, &VARIANCE)
        });
    }
}
