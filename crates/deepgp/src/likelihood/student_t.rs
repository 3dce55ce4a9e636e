//! Student's t, for targets with outliers: `y = f + noise` whose tails fall like a power.
//!
//! With scale `s` (the square of a length) and `ν` degrees of freedom, both trained, and `r = y − f`:
//!
//! ```text
//! ℓ(r) = ln Γ((ν+1)/2) − ln Γ(ν/2) − ½ ln π ν s − (ν+1)/2 · ln(1 + r²/νs)
//! ∂f = (ν+1) r / (νs + r²)        ∂s = ((ν+1) r² / (νs + r²) − 1) / 2s
//! ∂ν = ½ (ψ((ν+1)/2) − ψ(ν/2) − 1/ν − ln(1 + r²/νs) + (ν+1) r² / ν(νs + r²))
//! ```
//!
//! Expectations under `N(f; m, v)` are by twenty Gauss–Hermite nodes, and their gradients those of the rule: `y` is a mixture of twenty
//! t distributions. There are more than two degrees of freedom, so that the variance `νs / (ν − 2)` exists.

use super::{
    GaussHermite, Latent, LatentBars, Likelihood, LikelihoodDescription, Quantity, Tempered, log_sum_exp, noise,
};
use crate::data::Scaling;
use crate::error::Result;
use crate::model::params::{Constraint, Leaf, Parameters};
use crate::numeric::mat::View;
use crate::numeric::root_finding::by_false_position;
use crate::numeric::special::{digamma, ln_gamma_half_step, student_t_cumulative};
use crate::numeric::student_t_curve::StudentTCurve;
use crate::random::noise::Key;

/// The number of nodes of the quadrature over `f`.
const POINTS: usize = 20;
/// The bound that degrees of freedom stay above: at 2 the variance is infinite.
pub(super) const LEAST_DEGREES: f64 = 2.0;

/// The likelihood `p(y | f) = Π_p t_{ν_p}(y_p; f_p, noise_p)`, Student's t around `f`.
#[derive(Clone, Debug, PartialEq)]
pub struct StudentT {
    /// The squared scale `s` of each output, in the model's units.
    pub noise: Vec<f64>,
    /// The degrees of freedom `ν` of each output, more than 2; many are as good as Gaussian noise.
    pub degrees: Vec<f64>,
    /// Nodes and weights of the quadrature over `f`.
    rule: GaussHermite,
}

/// The density of one output, with what does not depend on the row computed once.
struct Density {
    /// The squared scale `s`.
    noise: f64,
    /// The degrees of freedom `ν`.
    degrees: f64,
    /// The density's logarithm at `r = 0`.
    peak: f64,
    /// The slope of the peak in `ν`.
    peak_slope: f64,
}

/// A log density and its slopes.
struct Slopes {
    value: f64,
    f: f64,
    noise: f64,
    degrees: f64,
}

impl Density {
    /// The log density at `r = y − f`.
    fn log_density(&self, r: f64) -> f64 {
        self.peak - 0.5 * (self.degrees + 1.0) * (r * r / (self.degrees * self.noise)).ln_1p()
    }

    /// The log density at `r = y − f` with its slopes.
    fn slopes(&self, r: f64) -> Slopes {
        let (s, nu, square) = (self.noise, self.degrees, r * r);
        let pull = (nu + 1.0) / (nu * s + square);
        let spread = (square / (nu * s)).ln_1p();
        Slopes {
            value: self.peak - 0.5 * (nu + 1.0) * spread,
            f: pull * r,
            noise: 0.5 * (pull * square - 1.0) / s,
            degrees: self.peak_slope + 0.5 * (pull * square / nu - spread),
        }
    }
}

impl StudentT {
    /// Student's t with the same squared scale and degrees of freedom for each of `outputs`.
    pub fn new(noise: f64, degrees: f64, outputs: usize) -> Self {
        Self { noise: vec![noise; outputs], degrees: vec![degrees; outputs], rule: GaussHermite::new(POINTS) }
    }

    /// The number of outputs.
    fn outputs(&self) -> usize {
        self.noise.len()
    }

    /// The density of output `p`.
    fn density(&self, p: usize) -> Density {
        let (noise, degrees) = (self.noise[p], self.degrees[p]);
        let (upper, lower) = (0.5 * (degrees + 1.0), 0.5 * degrees);
        let peak = ln_gamma_half_step(lower) - 0.5 * (std::f64::consts::PI * degrees * noise).ln();
        Density { noise, degrees, peak, peak_slope: 0.5 * (digamma(upper) - digamma(lower) - 1.0 / degrees) }
    }

    /// The variance of output `p` given `f`, `νs / (ν − 2)`.
    fn variance(&self, p: usize) -> f64 {
        self.noise[p] * self.degrees[p] / (self.degrees[p] - LEAST_DEGREES)
    }
}

impl Parameters for StudentT {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        noise::visit(&mut self.noise, leaf);
        let (constraint, shape) = (Constraint::Positive { floor: LEAST_DEGREES }, &[self.degrees.len()]);
        leaf(Leaf { name: "degrees", constraint, shape, values: &mut self.degrees });
    }
}

impl Likelihood for StudentT {
    fn name(&self) -> String {
        "student-t".into()
    }

    fn clone_box(&self) -> Box<dyn Likelihood> {
        Box::new(self.clone())
    }

    fn description(&self) -> Option<LikelihoodDescription> {
        Some(LikelihoodDescription::StudentT { outputs: self.outputs() })
    }

    /// The standard deviation of each target's noise, `scale · √(noise ν / (ν − 2))`, and its degrees of freedom `ν`.
    fn summary(&self, targets: &Scaling) -> Vec<Quantity> {
        let variances = self.noise.iter().zip(&self.degrees).map(|(noise, degrees)| noise * degrees / (degrees - 2.0));
        let mut all = noise::deviations(variances, targets);
        let degrees = self.degrees.iter().enumerate();
        all.extend(degrees.map(|(p, own)| Quantity { name: "degrees".into(), output: Some(p), value: *own }));
        all
    }

    fn latent_width(&self) -> usize {
        self.outputs()
    }

    fn observed_width(&self) -> usize {
        self.outputs()
    }

    fn check(&self, _y: View<'_>) -> Result<()> {
        Ok(())
    }

    fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        let term = |p: usize| {
            let density = self.density(p);
            self.rule.expect(f.mean[p], f.variance[p], |f| density.log_density(y[p] - f))
        };
        (0..self.outputs()).map(term).sum()
    }

    fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) {
        for p in 0..self.outputs() {
            let (density, deviation) = (self.density(p), f.variance[p].sqrt());
            for (x, w) in self.rule.points() {
                let slopes = density.slopes(y[p] - f.mean[p] - deviation * x);
                let w = weight * w;
                bars.mean[p] += w * slopes.f;
                bars.variance[p] += w * slopes.f * x / (2.0 * deviation);
                bars.theta[p] += w * slopes.noise;
                bars.theta[self.outputs() + p] += w * slopes.degrees;
            }
        }
    }

    /// `E y_p = m_p`, `Var y_p = v_p + νs / (ν − 2)`.
    fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]) {
        mean.copy_from_slice(f.mean);
        for (p, variance) in variance.iter_mut().enumerate() {
            *variance = f.variance[p] + self.variance(p);
        }
    }

    fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        self.log_expected_power(1.0, y, f)
    }

    fn cumulative(&self, output: usize, at: f64, f: Latent<'_>) -> f64 {
        let (scale, degrees) = (self.noise[output].sqrt(), self.degrees[output]);
        let below = |f: f64| student_t_cumulative((at - f) / scale, degrees);
        self.rule.expect(f.mean[output], f.variance[output], below).clamp(0.0, 1.0)
    }

    /// By a table of the distribution function, to 1e-9, and to 1e-5 in far tails.
    fn cumulative_curve(&self, output: usize) -> Box<dyn Fn(f64, Latent<'_>) -> f64 + '_> {
        let (curve, scale) = (StudentTCurve::new(self.degrees[output]), self.noise[output].sqrt());
        Box::new(move |at, f| self.rule.expect(f.mean[output], f.variance[output], |f| curve.at((at - f) / scale)))
    }

    fn noise_variance(&self, _f: Latent<'_>, variance: &mut [f64]) {
        for (p, variance) in variance.iter_mut().enumerate() {
            *variance = self.variance(p);
        }
    }

    fn widened(&self, factors: &[f64]) -> Option<Box<dyn Likelihood>> {
        Some(Box::new(Self { noise: noise::widened(&self.noise, factors), ..self.clone() }))
    }

    fn tempered(&self) -> Option<&dyn Tempered> {
        Some(self)
    }

    /// The quantile of `y_p` given `f_p` at a uniform level.
    fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]) {
        for (p, y) in y.iter_mut().enumerate() {
            let level = key.uniform([counter[0], counter[1], counter[2], counter[3] + p as u32]);
            let of_one = |t: f64| student_t_cumulative(t, self.degrees[p]);
            *y = f[p] + self.noise[p].sqrt() * by_false_position((-4.0, 4.0), level, of_one);
        }
    }
}

impl Tempered for StudentT {
    fn log_expected_power(&self, power: f64, y: &[f64], f: Latent<'_>) -> f64 {
        let term = |p: usize| {
            let density = self.density(p);
            self.rule.log_expect_exp(f.mean[p], f.variance[p], |f| power * density.log_density(y[p] - f))
        };
        (0..self.outputs()).map(term).sum()
    }

    fn log_expected_power_pullback(
        &self,
        power: f64,
        y: &[f64],
        f: Latent<'_>,
        weight: f64,
        bars: LatentBars<'_>,
    ) -> f64 {
        let mut sum = 0.0;
        for p in 0..self.outputs() {
            let (density, deviation) = (self.density(p), f.variance[p].sqrt());
            let node = |(x, w): (f64, f64)| {
                let slopes = density.slopes(y[p] - f.mean[p] - deviation * x);
                (w.ln() + power * slopes.value, x, slopes)
            };
            let each: [_; POINTS] = {
                let mut points = self.rule.points().map(node);
                std::array::from_fn(|_| points.next().expect("as many nodes as the rule was made with"))
            };
            let total = log_sum_exp(&each.each_ref().map(|(value, ..)| *value));
            for (value, x, slopes) in each {
                let share = weight * power * (value - total).exp();
                bars.mean[p] += share * slopes.f;
                bars.variance[p] += share * slopes.f * x / (2.0 * deviation);
                bars.theta[p] += share * slopes.noise;
                bars.theta[self.outputs() + p] += share * slopes.degrees;
            }
            sum += total;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::Gaussian;
    use crate::testing::assert_pullbacks;

    const Y: [f64; 2] = [0.3, -1.2];
    const F: Latent<'_> = Latent { mean: &[0.1, 0.4], variance: &[0.2, 0.7] };

    #[test]
    fn the_pullbacks_agree_with_central_differences() {
        let mut likelihood = StudentT::new(0.3, 4.0, 2);
        likelihood.degrees[1] = 9.0;
        assert_pullbacks(&likelihood, &Y, F, &[0.3, 1.0]);
    }

    #[test]
    fn the_density_is_the_slope_of_the_distribution_function_and_heavy_tailed() {
        let (likelihood, known) = (StudentT::new(0.3, 3.0, 1), Latent { mean: &[0.2], variance: &[0.1] });
        for y in [-3.0, 0.1, 0.8, 5.0] {
            let slope = (likelihood.cumulative(0, y + 1e-5, known) - likelihood.cumulative(0, y - 1e-5, known)) / 2e-5;
            let density = likelihood.log_density(&[y], known).exp();
            assert!((slope - density).abs() < 1e-8, "{y}: {slope} {density}");
        }
        assert!(likelihood.log_density(&[20.0], known) > Gaussian::new(0.9, 1).log_density(&[20.0], known) + 100.0);
    }

    #[test]
    fn the_prepared_distribution_function_is_the_distribution_function() {
        let mut likelihood = StudentT::new(0.3, 2.2, 2);
        likelihood.degrees[1] = 9.0;
        for p in 0..2 {
            let curve = likelihood.cumulative_curve(p);
            for y in [-30.0, -2.0, 0.3, 0.9, 400.0] {
                assert!((curve(y, F) - likelihood.cumulative(p, y, F)).abs() < 1e-6, "{p} {y}");
            }
        }
    }

    #[test]
    fn many_degrees_of_freedom_are_gaussian_noise() {
        let (many, gaussian) = (StudentT::new(0.3, 1e8, 2), Gaussian::new(0.3, 2));
        let near = |a: f64, b: f64, by: f64| assert!((a - b).abs() < by, "{a} {b}");
        near(many.expected_log_density(&Y, F), gaussian.expected_log_density(&Y, F), 1e-6);
        // By twenty nodes, where the Gaussian has closed forms.
        near(many.log_density(&Y, F), gaussian.log_density(&Y, F), 1e-4);
        near(many.cumulative(1, 0.3, F), gaussian.cumulative(1, 0.3, F), 1e-4);
    }

    #[test]
    fn draws_have_the_moments_of_y() {
        let (likelihood, key) = (StudentT::new(0.25, 8.0, 1), Key::new(1, crate::random::noise::Purpose::Observe));
        let draws: Vec<f64> = (0..20_000)
            .map(|i| {
                let mut y = [0.0];
                likelihood.draw(&[2.0], key, [i, 0, 0, 0], &mut y);
                y[0]
            })
            .collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let variance = draws.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!((mean - 2.0).abs() < 4.0 * (0.25f64 * 8.0 / 6.0 / 20_000.0).sqrt());
        assert!((variance * 3.0 - 1.0).abs() < 0.08, "{variance}");
    }
}
