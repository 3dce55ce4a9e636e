//! The Gaussian likelihood, `y = f + noise`, each output with a noise variance of its own. Everything is in closed form.

use super::normal::{self, PowerSlopes, log_normal};
use super::{Latent, LatentBars, Likelihood, LikelihoodDescription, NormalPart, Quantity, Tempered, noise};
use crate::data::Scaling;
use crate::error::Result;
use crate::model::params::{Leaf, Parameters};
use crate::numeric::mat::View;
use crate::random::noise::{Key, fill_row};

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

impl Parameters for Gaussian {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        noise::visit(&mut self.noise, leaf);
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
        noise::deviations(self.noise.iter().copied(), targets)
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

    fn normals(&self, output: usize, f: Latent<'_>, each: &mut dyn FnMut(NormalPart)) -> bool {
        let variance = f.variance[output] + self.noise[output];
        each(NormalPart { weight: 1.0, mean: f.mean[output], variance });
        true
    }

    fn noise_variance(&self, _f: Latent<'_>, variance: &mut [f64]) {
        variance.copy_from_slice(&self.noise);
    }

    fn gaussian_noise(&self) -> Option<&[f64]> {
        Some(&self.noise)
    }

    fn widened(&self, factors: &[f64]) -> Option<Box<dyn Likelihood>> {
        Some(Box::new(Self { noise: noise::widened(&self.noise, factors) }))
    }

    fn tempered(&self) -> Option<&dyn Tempered> {
        Some(self)
    }

    /// `y_p = f_p + √noise_p ε_p` with `ε_p` standard normal.
    fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]) {
        fill_row(key, counter, y);
        for ((y, f), noise) in y.iter_mut().zip(f).zip(&self.noise) {
            *y = f + noise.sqrt() * *y;
        }
    }
}

impl Tempered for Gaussian {
    fn log_expected_power(&self, power: f64, y: &[f64], f: Latent<'_>) -> f64 {
        let terms = self.noise.iter().enumerate();
        terms.map(|(p, noise)| normal::log_expected_power(power, y[p], f.mean[p], f.variance[p], *noise)).sum()
    }

    fn log_expected_power_pullback(
        &self,
        power: f64,
        y: &[f64],
        f: Latent<'_>,
        weight: f64,
        bars: LatentBars<'_>,
    ) -> f64 {
        for (p, noise) in self.noise.iter().enumerate() {
            let slopes = PowerSlopes::new(power, y[p], f.mean[p], f.variance[p], *noise);
            bars.mean[p] += weight * slopes.mean;
            bars.variance[p] += weight * slopes.variance;
            bars.theta[p] += weight * slopes.log_noise / noise;
        }
        self.log_expected_power(power, y, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_pullbacks;

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
    fn the_pullbacks_agree_with_central_differences() {
        assert_pullbacks(&Gaussian { noise: vec![0.5, 0.05] }, &Y, F, &[0.3, 1.0]);
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
