//! Gaussian noise that depends on the inputs: `y ~ N(f, noise · exp g)`, two latent functions for each target.
//!
//! The latent functions stand target by target, `f_1, g_1, f_2, g_2, …`. With `p = exp(½ v_g − m_g) / noise` and
//! `r = (y − m_f)² + v_f` the expected log density has a closed form:
//!
//! ```text
//! E log p(y | f, g) = −½ ln 2π noise − ½ m_g − ½ p r
//! ∂m_f = p (y − m_f)      ∂v_f = −½ p      ∂m_g = ½ (p r − 1)      ∂v_g = −¼ p r      ∂ln noise = ∂m_g
//! ```
//!
//! Densities, distribution functions and powers are in closed form in `f` and by nine Gauss–Hermite nodes `x_j` in `g`, with
//! `σ²_j = noise · exp(m_g + √v_g x_j)`: a mixture of nine Gaussians `N(m_f, v_f + σ²_j)`. The noise's logarithm is kept between two
//! bounds: below, a few targets that happen to be equal would drive it, and the density with it, to infinity.

use std::f64::consts::TAU;

use super::{
    GaussHermite, Latent, LatentBars, Likelihood, LikelihoodDescription, NOISE_FLOOR, NormalPart, Quantity, Tempered,
    noise,
};
use crate::data::Scaling;
use crate::error::Result;
use crate::model::params::{Leaf, Parameters};
use crate::numeric::mat::View;
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;
use crate::random::noise::{Key, fill_row};

/// The number of nodes of the quadrature over `g`.
const POINTS: usize = 9;
/// The largest noise variance, in units of the standardised targets.
const NOISE_CEILING: f64 = 1e5;
/// The largest `½ v_g` that counts: where the noise is that uncertain, it is not known at all.
const MOST_DOUBT: f64 = 10.0;

/// The Gaussian likelihood `p(y | f, g) = Π_p N(y_p; f_p, noise_p · exp g_p)`, whose noise follows the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Heteroscedastic {
    /// The noise variance of each output where `g = 0`, in the model's units.
    pub noise: Vec<f64>,
    /// The nodes of the quadrature over `g`.
    node: [f64; POINTS],
    /// The weights of the nodes.
    weight: [f64; POINTS],
}

/// The nodes of one output's quadrature over `g`.
struct Nodes {
    /// The logarithm of the noise variance, `ln σ²_j`, at each node.
    log_noise: [f64; POINTS],
    /// The noise variance `σ²_j` at each node.
    noise: [f64; POINTS],
    /// 1 where the noise of a node is free to move, and 0 where it is at a bound.
    free: [f64; POINTS],
}

/// The expectation `E p^α = Σ_j w_j E_f N(y; f, σ²_j)^α` of one output by its nodes.
struct Power {
    /// The nodes.
    nodes: Nodes,
    /// The variance `v_f + σ²_j / α` with which `y` scatters around `m_f` at each node.
    spread: [f64; POINTS],
    /// The share of each node in the sum.
    share: [f64; POINTS],
    /// The logarithm of the sum.
    log: f64,
}

impl Heteroscedastic {
    /// A heteroscedastic likelihood with the same noise variance at `g = 0` for each of `outputs`.
    pub fn new(noise: f64, outputs: usize) -> Self {
        let rule = GaussHermite::new(POINTS);
        let (mut node, mut weight) = ([0.0; POINTS], [0.0; POINTS]);
        for (j, point) in rule.points().enumerate() {
            (node[j], weight[j]) = point;
        }
        Self { noise: vec![noise; outputs], node, weight }
    }

    /// The number of nodes of the quadrature over `g`, for programs elsewhere.
    pub const NODES: usize = POINTS;
    /// The least and the largest noise variance, between which it is kept.
    pub const NOISE_BOUNDS: (f64, f64) = (NOISE_FLOOR, NOISE_CEILING);

    /// Mean and variance of `f` and of `g` of one output.
    fn latents(output: usize, f: Latent<'_>) -> [f64; 4] {
        let (own, other) = (2 * output, 2 * output + 1);
        [f.mean[own], f.variance[own], f.mean[other], f.variance[other]]
    }

    /// The noise variance `σ²_j` at each node of one output.
    fn noises(&self, output: usize, f: Latent<'_>) -> [f64; POINTS] {
        let mut noise = [0.0; POINTS];
        vectorised(
            #[inline(always)]
            || noise = self.nodes(output, f).noise,
        );
        noise
    }

    /// The quadrature over `g` of one output.
    #[inline(always)]
    fn nodes(&self, output: usize, f: Latent<'_>) -> Nodes {
        let [.., mean, variance] = Self::latents(output, f);
        let (centre, deviation) = (self.noise[output].ln() + mean, variance.sqrt());
        let (lowest, highest) = (NOISE_FLOOR.ln(), NOISE_CEILING.ln());
        let [mut log_noise, mut noise, mut free] = [[0.0; POINTS]; 3];
        // A loop, because `array::map` is a function of its own, compiled without vectors and with a call for each multiply-add.
        for j in 0..POINTS {
            let wanted = centre + deviation * self.node[j];
            log_noise[j] = wanted.clamp(lowest, highest);
            noise[j] = log_noise[j].exp_bounded();
            free[j] = if wanted >= lowest && wanted <= highest { 1.0 } else { 0.0 };
        }
        Nodes { log_noise, noise, free }
    }

    /// The expected noise `E exp(ln noise + g)` of one output, between the bounds.
    fn expected_noise(&self, output: usize, f: Latent<'_>) -> f64 {
        self.weight.iter().zip(self.noises(output, f)).map(|(w, noise)| w * noise).sum()
    }

    /// The precision `p` of one output, the `ln noise + m_g` that it is made of, and whether that is at its lower bound.
    fn precision(&self, output: usize, f: Latent<'_>) -> (f64, f64, bool) {
        let [.., mean, variance] = Self::latents(output, f);
        let wanted = self.noise[output].ln() + mean;
        let log_noise = wanted.clamp(NOISE_FLOOR.ln(), NOISE_CEILING.ln());
        (((0.5 * variance).min(MOST_DOUBT) - log_noise).exp(), log_noise, wanted < log_noise)
    }

    /// The expectation of a power for one output. A node's part of it is, with its spread `s_j`,
    /// `weight_j E_f N(y; f, σ²_j)^α = weight_j · exp(½ (1 − α) ln σ²_j − ½ (y − m_f)² / s_j) / √s_j`, but for a factor that all nodes share.
    #[inline(always)]
    fn expect_power(&self, power: f64, output: usize, y: f64, f: Latent<'_>) -> Power {
        let ([mean, variance, ..], nodes) = (Self::latents(output, f), self.nodes(output, f));
        let (square, rest, inverse) = ((y - mean) * (y - mean), 0.5 * (1.0 - power), 1.0 / power);
        let [mut spread, mut exponent, mut share] = [[0.0; POINTS]; 3];
        for j in 0..POINTS {
            spread[j] = variance + nodes.noise[j] * inverse;
            exponent[j] = rest * nodes.log_noise[j] - 0.5 * square / spread[j];
        }
        // Not below the least number, so that differences of two infinities do not arise.
        let largest = exponent.iter().copied().fold(f64::MIN, f64::max);
        for j in 0..POINTS {
            share[j] = self.weight[j] * (exponent[j] - largest).exp_bounded() / spread[j].sqrt();
        }
        let sum: f64 = share.iter().sum();
        share.iter_mut().for_each(|own| *own /= sum);
        let log = sum.ln() + largest - 0.5 * (power.ln() + power * TAU.ln());
        Power { nodes, spread, share, log }
    }
}

impl Parameters for Heteroscedastic {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        noise::visit(&mut self.noise, leaf);
    }
}

impl Likelihood for Heteroscedastic {
    fn name(&self) -> String {
        "heteroscedastic".into()
    }

    fn clone_box(&self) -> Box<dyn Likelihood> {
        Box::new(self.clone())
    }

    fn description(&self) -> Option<LikelihoodDescription> {
        Some(LikelihoodDescription::Heteroscedastic { outputs: self.noise.len() })
    }

    /// The units of the target for `f`; `g`, a logarithm, has none.
    fn latent_units(&self, targets: &Scaling) -> Scaling {
        let both = |of: &[f64], none: f64| of.iter().flat_map(|own| [*own, none]).collect();
        Scaling { shift: both(&targets.shift, 0.0), scale: both(&targets.scale, 1.0) }
    }

    /// The standard deviation of each target's noise where `g = 0`, `scale · √noise`.
    fn summary(&self, targets: &Scaling) -> Vec<Quantity> {
        noise::deviations(self.noise.iter().copied(), targets)
    }

    fn location(&self, output: usize) -> Option<usize> {
        Some(2 * output)
    }

    fn latent_width(&self) -> usize {
        2 * self.noise.len()
    }

    fn observed_width(&self) -> usize {
        self.noise.len()
    }

    /// The noise starts nearly known: at the prior's variance, `exp(½ v_g)` would inflate every precision.
    fn start_scale(&self, latent: usize) -> f64 {
        if latent.is_multiple_of(2) { 1.0 } else { 1e-2 }
    }

    fn check(&self, _y: View<'_>) -> Result<()> {
        Ok(())
    }

    fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        let term = |p: usize| {
            let [mean, variance, ..] = Self::latents(p, f);
            let (precision, log_noise, _) = self.precision(p, f);
            let square = (y[p] - mean) * (y[p] - mean) + variance;
            -0.5 * (TAU.ln() + log_noise + precision * square)
        };
        (0..self.noise.len()).map(term).sum()
    }

    fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) {
        for p in 0..self.noise.len() {
            let [mean, variance, _, doubt] = Self::latents(p, f);
            let (precision, _, at_floor) = self.precision(p, f);
            let residual = y[p] - mean;
            let share = precision * (residual * residual + variance);
            bars.mean[2 * p] += weight * precision * residual;
            bars.variance[2 * p] -= weight * 0.5 * precision;
            // At the floor the noise may rise, and not fall.
            let slope = if at_floor { (0.5 * (share - 1.0)).max(0.0) } else { 0.5 * (share - 1.0) };
            bars.mean[2 * p + 1] += weight * slope;
            bars.theta[p] += weight * slope / self.noise[p];
            if 0.5 * doubt < MOST_DOUBT {
                bars.variance[2 * p + 1] -= weight * 0.25 * share;
            }
        }
    }

    /// `E y_p = m_f`, `Var y_p = v_f + E exp(ln noise + g)`.
    fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]) {
        for p in 0..self.noise.len() {
            mean[p] = f.mean[2 * p];
            variance[p] = f.variance[2 * p] + self.expected_noise(p, f);
        }
    }

    fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        self.log_expected_power(1.0, y, f)
    }

    /// `P(y_p ≤ at) = Σ_j w_j ½ erfc((m_f − at) / √(2 (v_f + σ²_j)))`.
    fn cumulative(&self, output: usize, at: f64, f: Latent<'_>) -> f64 {
        let mut below = 0.0;
        self.normals(output, f, &mut |part| {
            below += part.weight * 0.5 * libm::erfc((part.mean - at) / (2.0 * part.variance).sqrt());
        });
        below.min(1.0)
    }

    fn normals(&self, output: usize, f: Latent<'_>, each: &mut dyn FnMut(NormalPart)) -> bool {
        let [mean, variance, ..] = Self::latents(output, f);
        for (weight, noise) in self.weight.iter().zip(self.noises(output, f)) {
            each(NormalPart { weight: *weight, mean, variance: variance + noise });
        }
        true
    }

    fn noise_variance(&self, f: Latent<'_>, variance: &mut [f64]) {
        for (p, variance) in variance.iter_mut().enumerate() {
            *variance = self.expected_noise(p, f);
        }
    }

    fn noise_level(&self) -> Option<&[f64]> {
        Some(&self.noise)
    }

    fn widened(&self, factors: &[f64]) -> Option<Box<dyn Likelihood>> {
        Some(Box::new(Self { noise: noise::widened(&self.noise, factors), ..self.clone() }))
    }

    fn tempered(&self) -> Option<&dyn Tempered> {
        Some(self)
    }

    /// `y_p = f_p + √(noise_p exp g_p) ε_p` with `ε_p` standard normal.
    fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]) {
        fill_row(key, counter, y);
        for ((y, f), noise) in y.iter_mut().zip(f.chunks_exact(2)).zip(&self.noise) {
            let log_noise = (noise.ln() + f[1]).clamp(NOISE_FLOOR.ln(), NOISE_CEILING.ln());
            *y = f[0] + (0.5 * log_noise).exp() * *y;
        }
    }
}

impl Tempered for Heteroscedastic {
    fn log_expected_power(&self, power: f64, y: &[f64], f: Latent<'_>) -> f64 {
        let mut sum = 0.0;
        vectorised(
            #[inline(always)]
            || {
                // A loop, because the sum of an iterator is a function of its own, compiled without vectors and with a call for each multiply-add.
                for (p, y) in y.iter().enumerate() {
                    sum += self.expect_power(power, p, *y, f).log;
                }
            },
        );
        sum
    }

    /// Each node counts by its share `ρ_j` of the sum; `ln σ²_j` moves with `m_g`, with `ln noise`, and by `x_j / 2√v_g` with `v_g`.
    fn log_expected_power_pullback(
        &self,
        power: f64,
        y: &[f64],
        f: Latent<'_>,
        weight: f64,
        bars: LatentBars<'_>,
    ) -> f64 {
        let LatentBars { mean, variance, theta } = bars;
        let mut sum = 0.0;
        vectorised(
            #[inline(always)]
            || {
                for p in 0..self.noise.len() {
                    let Power { nodes, spread, share, log } = self.expect_power(power, p, y[p], f);
                    let (residual, deviation) = (y[p] - f.mean[2 * p], f.variance[2 * p + 1].sqrt());
                    let (rest, inverse) = (0.5 * (1.0 - power), 1.0 / power);
                    let half = if deviation > 0.0 { 0.5 / deviation } else { 0.0 };
                    let mut slopes = [[0.0; POINTS]; 4];
                    for j in 0..POINTS {
                        let precision = share[j] / spread[j];
                        let of_variance = 0.5 * precision * (residual * residual / spread[j] - 1.0);
                        let of_noise = nodes.free[j] * (rest * share[j] + nodes.noise[j] * inverse * of_variance);
                        slopes[0][j] = residual * precision;
                        slopes[1][j] = of_variance;
                        slopes[2][j] = of_noise;
                        slopes[3][j] = of_noise * half * self.node[j];
                    }
                    let [of_mean, of_variance, of_noise, of_doubt] =
                        slopes.map(|each| weight * each.iter().sum::<f64>());
                    mean[2 * p] += of_mean;
                    variance[2 * p] += of_variance;
                    mean[2 * p + 1] += of_noise;
                    variance[2 * p + 1] += of_doubt;
                    theta[p] += of_noise / self.noise[p];
                    sum += log;
                }
            },
        );
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::Gaussian;
    use crate::likelihood::normal::log_normal;
    use crate::testing::assert_pullbacks;

    const Y: [f64; 2] = [0.3, -1.2];
    const F: Latent<'_> = Latent { mean: &[0.1, -0.7, 0.4, 0.3], variance: &[0.2, 0.4, 0.7, 0.05] };

    #[test]
    fn expectations_and_densities_are_the_integrals_they_claim_to_be() {
        let likelihood = Heteroscedastic::new(0.2, 2);
        let fine = GaussHermite::new(60);
        let (mut expected, mut density) = (0.0, 0.0);
        for (p, y) in Y.into_iter().enumerate() {
            let [m, v, mg, vg] = Heteroscedastic::latents(p, F);
            let over_f = |g: f64| fine.expect(m, v, |f| log_normal(y, f, 0.2 * g.exp()));
            expected += fine.expect(mg, vg, over_f);
            density += fine.expect(mg, vg, |g| log_normal(y, m, v + 0.2 * g.exp()).exp()).ln();
            let below = fine.expect(mg, vg, |g| 0.5 * libm::erfc((m - y) / (2.0 * (v + 0.2 * g.exp())).sqrt()));
            assert!((likelihood.cumulative(p, y, F) - below).abs() < 1e-7);
            let mut noise = [0.0; 2];
            likelihood.noise_variance(F, &mut noise);
            assert!((noise[p] / (0.2 * (mg + 0.5 * vg).exp()) - 1.0).abs() < 1e-8);
        }
        assert!((likelihood.expected_log_density(&Y, F) - expected).abs() < 1e-10);
        // The rule has nine nodes; its error is what remains.
        assert!((likelihood.log_density(&Y, F) - density).abs() < 1e-6);
    }

    #[test]
    fn the_pullbacks_agree_with_central_differences() {
        assert_pullbacks(&Heteroscedastic::new(0.2, 2), &Y, F, &[0.3, 1.0]);
    }

    #[test]
    fn a_noise_that_does_not_vary_is_gaussian_noise() {
        let f = Latent { mean: &[0.1, 0.0, 0.4, 0.0], variance: &[0.2, 0.0, 0.7, 0.0] };
        let plain = Latent { mean: &[0.1, 0.4], variance: &[0.2, 0.7] };
        let (one, other) = (Heteroscedastic::new(0.2, 2), Gaussian::new(0.2, 2));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(one.expected_log_density(&Y, f), other.expected_log_density(&Y, plain));
        near(one.log_density(&Y, f), other.log_density(&Y, plain));
        near(one.cumulative(1, 0.3, f), other.cumulative(1, 0.3, plain));
    }

    #[test]
    fn no_target_makes_the_density_infinite_and_the_floor_can_be_left() {
        let likelihood = Heteroscedastic::new(0.2, 1);
        let sunk = Latent { mean: &[0.3, -100.0], variance: &[1e-10, 1e-10] };
        let highest = log_normal(0.0, 0.0, NOISE_FLOOR);
        assert!(likelihood.expected_log_density(&[0.3], sunk) <= highest + 1e-9);
        assert!(likelihood.log_density(&[0.3], sunk) <= highest + 1e-9);
        let slope = |y: f64| {
            let (mut mean, mut variance, mut theta) = ([0.0; 2], [0.0; 2], [0.0]);
            let bars = LatentBars { mean: &mut mean, variance: &mut variance, theta: &mut theta };
            likelihood.expected_log_density_pullback(&[y], sunk, 1.0, bars);
            mean[1]
        };
        assert!(slope(0.3) == 0.0 && slope(0.4) > 0.0);
    }

    #[test]
    fn draws_have_the_moments_of_y() {
        let (likelihood, key) = (Heteroscedastic::new(0.25, 1), Key::new(1, crate::random::noise::Purpose::Observe));
        let draws: Vec<f64> = (0..20_000)
            .map(|i| {
                let mut y = [0.0];
                likelihood.draw(&[2.0, 1.0], key, [i, 0, 0, 0], &mut y);
                y[0]
            })
            .collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let variance = draws.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 20_000.0;
        let expected = 0.25 * 1f64.exp();
        assert!((mean - 2.0).abs() < 4.0 * expected.sqrt() / 20_000f64.sqrt());
        assert!((variance / expected - 1.0).abs() < 4.0 * (2.0 / 20_000f64).sqrt());
    }
}
