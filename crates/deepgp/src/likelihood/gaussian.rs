//! The Gaussian likelihood, `y = f + noise`, each output with a noise variance of its own. Everything is in closed form.

use super::{Latent, LatentBars, Likelihood, LikelihoodDescription, Quantity};
use crate::data::Scaling;
use crate::error::Result;
use crate::model::params::{Constraint, Leaf, Parameters};
use crate::numeric::mat::View;
use crate::random::noise::{Key, fill_row};

/// The least noise variance that training can reach, in units of the standardised targets.
pub(crate) const NOISE_FLOOR: f64 = 1e-6;

/// The Gaussian likelihood `p(y | f) = Π_p N(y_p; f_p, noise_p)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    /// The noise variance of each output, in the model's units: a known standard deviation `s` of target `p` is
    /// `(s / standardiser.y.scale[p])²`. To keep it fixed, freeze `likelihood.noise` in the model.
    pub noise: Vec<f64>,
}

impl Gaussian {
    /// A Gaussian likelihood with the same noise variance for each of `outputs`.
    pub fn new(noise: f64, outputs: usize) -> Self {
        Self { noise: vec![noise; outputs] }
    }
}

/// The log density of a Gaussian, `log N(y; mean, variance) = −½ (log 2π variance + (y − mean)² / variance)`.
pub(crate) fn log_normal(y: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * ((std::f64::consts::TAU * variance).ln() + (y - mean) * (y - mean) / variance)
}

impl Parameters for Gaussian {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        leaf(Leaf {
            name: "noise",
            constraint: Constraint::Positive { floor: NOISE_FLOOR },
            shape: &[self.noise.len()],
            values: &mut self.noise,
        });
    }
}

impl Likelihood for Gaussian {
    fn name(&self) -> String {
        "gaussian".into()
    }

    fn clone_box(&self) -> Box<dyn Likelihood> {
        Box::new(self.clone())
    }

    fn description(&self) -> Option<LikelihoodDescription> {
        Some(LikelihoodDescription::Gaussian { outputs: self.noise.len() })
    }

    /// The standard deviation of each target's noise, `scale · √noise`.
    fn summary(&self, targets: &Scaling) -> Vec<Quantity> {
        let each = self.noise.iter().zip(&targets.scale).enumerate();
        each.map(|(p, (noise, scale))| Quantity { name: "noise".into(), output: Some(p), value: noise.sqrt() * scale })
            .collect()
    }

    fn latent_width(&self) -> usize {
        self.noise.len()
    }

    fn observed_width(&self) -> usize {
        self.noise.len()
    }

    fn check(&self, _y: View<'_>) -> Result<()> {
        Ok(())
    }

    /// `E log p(y | f) = Σ_p log N(y_p; mean_p, noise_p) − ½ variance_p / noise_p`.
    fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        let terms = self.noise.iter().enumerate();
        terms.map(|(p, noise)| log_normal(y[p], f.mean[p], *noise) - 0.5 * f.variance[p] / noise).sum()
    }

    /// With `r = y − mean`: `∂/∂mean = r / noise`, `∂/∂variance = −1 / 2 noise`, `∂/∂noise = ((r² + variance) / noise − 1) / 2 noise`.
    fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) {
        for (p, noise) in self.noise.iter().enumerate() {
            let residual = y[p] - f.mean[p];
            bars.mean[p] += weight * residual / noise;
            bars.variance[p] -= weight * 0.5 / noise;
            bars.theta[p] += weight * 0.5 * ((residual * residual + f.variance[p]) / noise - 1.0) / noise;
        }
    }

    /// `E y_p = mean_p`, `Var y_p = variance_p + noise_p`.
    fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]) {
        mean.copy_from_slice(f.mean);
        for (p, noise) in self.noise.iter().enumerate() {
            variance[p] = f.variance[p] + noise;
        }
    }

    /// `log p(y) = Σ_p log N(y_p; mean_p, variance_p + noise_p)`.
    fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        let terms = self.noise.iter().enumerate();
        terms.map(|(p, noise)| log_normal(y[p], f.mean[p], f.variance[p] + noise)).sum()
    }

    /// `P(y_p ≤ at) = ½ erfc((mean_p − at) / √(2 (variance_p + noise_p)))`, which keeps its digits in the lower tail.
    fn cumulative(&self, output: usize, at: f64, f: Latent<'_>) -> f64 {
        let deviation = (f.variance[output] + self.noise[output]).sqrt();
        0.5 * libm::erfc((f.mean[output] - at) / (deviation * std::f64::consts::SQRT_2))
    }

    fn normal(&self, output: usize, f: Latent<'_>) -> Option<(f64, f64)> {
        Some((f.mean[output], f.variance[output] + self.noise[output]))
    }

    /// `y_p = f_p + √noise_p ε_p` with `ε_p` standard normal.
    fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]) {
        fill_row(key, counter, y);
        for ((y, f), noise) in y.iter_mut().zip(f).zip(&self.noise) {
            *y = f + noise.sqrt() * *y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::mat::Mat;
    use crate::testing::assert_slope;

    const Y: [f64; 2] = [0.3, -1.2];
    const F: Latent<'_> = Latent { mean: &[0.1, 0.4], variance: &[0.2, 0.7] };

    /// Trapezoidal rule over ±10 deviations of f.
    fn integrate(mean: f64, variance: f64, integrand: impl Fn(f64) -> f64) -> f64 {
        let (steps, deviation) = (4000, variance.sqrt());
        let width = 20.0 * deviation / f64::from(steps);
        let point = |i: i32| mean - 10.0 * deviation + f64::from(i) * width;
        (0..=steps).map(|i| width * log_normal(point(i), mean, variance).exp() * integrand(point(i))).sum()
    }

    #[test]
    fn expectations_and_densities_are_the_integrals_they_claim_to_be() {
        let likelihood = Gaussian { noise: vec![0.5, 0.05] };
        let (mut expected, mut density) = (0.0, 0.0);
        for p in 0..2 {
            let log_p = |f: f64| log_normal(Y[p], f, likelihood.noise[p]);
            expected += integrate(F.mean[p], F.variance[p], log_p);
            density += integrate(F.mean[p], F.variance[p], |f| log_p(f).exp()).ln();
            let below = |f: f64| 0.5 * libm::erfc((f - Y[p]) / (2.0 * likelihood.noise[p]).sqrt());
            assert!((likelihood.cumulative(p, Y[p], F) - integrate(F.mean[p], F.variance[p], below)).abs() < 1e-10);
        }
        assert!((likelihood.expected_log_density(&Y, F) - expected).abs() < 1e-9);
        assert!((likelihood.log_density(&Y, F) - density).abs() < 1e-9);
    }

    #[test]
    fn the_pullback_agrees_with_central_differences() {
        let likelihood = Gaussian { noise: vec![0.5, 0.05] };
        let (mut mean, mut variance, mut theta) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        let bars = LatentBars { mean: &mut mean, variance: &mut variance, theta: &mut theta };
        likelihood.expected_log_density_pullback(&Y, F, 1.5, bars);
        let at = |m: &[f64], v: &[f64], noise: &[f64]| {
            let likelihood = Gaussian { noise: noise.to_vec() };
            1.5 * likelihood.expected_log_density(&Y, Latent { mean: m, variance: v })
        };
        let column = |v: &[f64]| Mat::column(v.to_vec());
        assert_slope("mean", &column(F.mean), &column(&mean), 1e-8, |m| {
            at(m.as_slice(), F.variance, &likelihood.noise)
        });
        assert_slope("variance", &column(F.variance), &column(&variance), 1e-8, |v| {
            at(F.mean, v.as_slice(), &likelihood.noise)
        });
        assert_slope("noise", &column(&likelihood.noise), &column(&theta), 1e-6, |n| {
            at(F.mean, F.variance, n.as_slice())
        });
    }

    #[test]
    fn draws_have_the_moments_of_y() {
        let likelihood = Gaussian::new(0.25, 1);
        let key = Key::new(1, crate::random::noise::Purpose::Observe);
        let draws: Vec<f64> = (0..20_000)
            .map(|i| {
                let mut y = [0.0];
                likelihood.draw(&[2.0], key, [i, 0, 0, 0], &mut y);
                y[0]
            })
            .collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let variance = draws.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!((mean - 2.0).abs() < 4.0 * 0.5 / 20_000f64.sqrt());
        assert!((variance - 0.25).abs() < 4.0 * 0.25 * (2.0 / 20_000f64).sqrt());
    }
}
