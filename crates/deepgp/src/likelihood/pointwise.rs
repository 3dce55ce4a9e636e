//! Likelihoods given by one function: `ℓ(y, f) = log p(y | f)` of one target and one latent function, and its slopes.
//!
//! [`ByQuadrature`] makes a whole [`Likelihood`] of it. Expectations under `N(f; m, v)` are taken by Gauss–Hermite quadrature, and their
//! gradients are those of the rule itself, whose nodes and weights are `x_j` and `w_j`, at `f_j = m + √v x_j`:
//!
//! ```text
//! E log p ≈ Σ_j w_j ℓ(y, f_j)        ∂m = Σ_j w_j ℓ'(y, f_j)        ∂v = Σ_j w_j ℓ'(y, f_j) x_j / 2√v        ∂θ = Σ_j w_j ∂ℓ/∂θ
//! ```
//!
//! Those of `log E p^α ≈ log Σ_j w_j exp α ℓ(y, f_j)` have in place of `w_j` the node's share of the sum times `α`.
//!
//! Mean, variance, distribution function and draws of `y` given `f` are integrated numerically over `y`, unless the likelihood has a
//! formula for them: some 200 evaluations of `log p` a node, which is slow for quantiles of many rows.

use super::conditional::{Conditional, Support};
use super::quadrature::{GaussHermite, log_sum_exp};
use super::{Latent, LatentBars, Likelihood, LikelihoodDescription, Outcomes, TargetUnits, Tempered};
use crate::error::{Error, Result};
use crate::model::params::{self, Leaf, Parameters};
use crate::numeric::mat::View;
use crate::random::noise::Key;

/// The number of nodes of the quadrature.
const POINTS: usize = 20;
/// The most parameters for whose slopes nothing is allocated.
const FEW: usize = 8;

/// A likelihood `p(y | f)` of one target and one latent function, given by its log density.
pub trait Pointwise: Parameters + Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The likelihood's name, e.g. `student-t`.
    fn name(&self) -> String;

    /// The log density `log p(y | f)` and its slope `∂/∂f`; writes `∂/∂θ`, in the order of [`Parameters::visit`], to `theta`.
    fn log_density(&self, y: f64, f: f64, theta: &mut [f64]) -> (f64, f64);

    /// The values that `y` can take; by default any number.
    fn support(&self) -> Support {
        Support::Real
    }

    /// How targets are scaled before the likelihood sees them; by default real numbers are standardised, counts and positive numbers not.
    fn target_units(&self) -> TargetUnits {
        match self.support() {
            Support::Real => TargetUnits::Standardised,
            Support::Positive | Support::Counts => TargetUnits::AsTheyAre,
        }
    }

    /// Mean and variance of `y` given `f`, if there is a formula.
    fn moments(&self, _f: f64) -> Option<(f64, f64)> {
        None
    }

    /// The distribution function `P(Y ≤ y | f)`, if there is a formula.
    fn cumulative(&self, _y: f64, _f: f64) -> Option<f64> {
        None
    }
}

/// A [`Likelihood`] made of a [`Pointwise`] one by Gauss–Hermite quadrature.
#[derive(Clone, Debug)]
pub struct ByQuadrature<L> {
    /// The likelihood itself.
    pub likelihood: L,
    /// Nodes and weights of the quadrature.
    rule: GaussHermite,
    /// The number of the likelihood's parameters.
    parameters: usize,
}

impl<L: Pointwise> ByQuadrature<L> {
    /// The likelihood with a quadrature of 20 nodes.
    pub fn new(likelihood: L) -> Self {
        let parameters = params::count(&mut likelihood.clone());
        Self { likelihood, rule: GaussHermite::new(POINTS), parameters }
    }

    /// `log p(y | f)` without its slopes.
    fn log_p(&self, y: f64, f: f64) -> f64 {
        // A few slopes that nobody looks at find room on the stack: this is called for every node of every row.
        match self.parameters {
            few @ 0..=FEW => self.likelihood.log_density(y, f, &mut [0.0; FEW][..few]).0,
            many => self.likelihood.log_density(y, f, &mut vec![0.0; many]).0,
        }
    }

    /// Adds the slopes at every node to `bars`, each times the node's `share`, a function of its number and its weight in the rule.
    fn add_slopes(&self, y: f64, f: Latent<'_>, share: impl Fn(usize, f64) -> f64, bars: LatentBars<'_>) {
        let (deviation, mut theta) = (f.variance[0].sqrt(), vec![0.0; self.parameters]);
        for (j, (x, w)) in self.rule.points().enumerate() {
            let (_, slope) = self.likelihood.log_density(y, f.mean[0] + deviation * x, &mut theta);
            let share = share(j, w);
            bars.mean[0] += share * slope;
            bars.variance[0] += share * slope * x / (2.0 * deviation);
            for (to, from) in bars.theta.iter_mut().zip(&theta) {
                *to += share * from;
            }
        }
    }

    /// The distribution of `y` given `f`, for integration over `y`.
    fn conditional(&self, f: f64) -> Conditional<impl Fn(f64) -> f64 + '_> {
        Conditional::new(self.likelihood.support(), f, move |y| self.log_p(y, f))
    }

    /// Mean and variance of `y` given `f`, by the likelihood's formula or by integration.
    fn conditional_moments(&self, f: f64) -> (f64, f64) {
        self.likelihood.moments(f).unwrap_or_else(|| self.conditional(f).moments())
    }

    /// `P(Y ≤ y | f)`, by the likelihood's formula or by integration.
    fn conditional_cumulative(&self, y: f64, f: f64) -> f64 {
        self.likelihood.cumulative(y, f).unwrap_or_else(|| self.conditional(f).cumulative(y))
    }
}

impl<L: Pointwise> Parameters for ByQuadrature<L> {
    fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        self.likelihood.visit(leaf);
    }
}

impl<L: Pointwise> Likelihood for ByQuadrature<L> {
    fn name(&self) -> String {
        self.likelihood.name()
    }

    fn clone_box(&self) -> Box<dyn Likelihood> {
        Box::new(self.clone())
    }

    fn description(&self) -> Option<LikelihoodDescription> {
        None
    }

    fn outcomes(&self) -> Outcomes {
        match self.likelihood.support() {
            Support::Real | Support::Positive => Outcomes::Real,
            Support::Counts => Outcomes::Counts,
        }
    }

    fn latent_width(&self) -> usize {
        1
    }

    fn observed_width(&self) -> usize {
        1
    }

    fn target_units(&self) -> TargetUnits {
        self.likelihood.target_units()
    }

    fn check(&self, y: View<'_>) -> Result<()> {
        let support = self.likelihood.support();
        match y.as_slice().iter().position(|y| !support.holds(*y)) {
            None => Ok(()),
            Some(row) => Err(Error::Target {
                row,
                value: y.as_slice()[row],
                likelihood: self.name(),
                requirement: support.requirement(),
            }),
        }
    }

    /// `E log p(y | f) ≈ Σ_j w_j ℓ(y, f_j)`.
    fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        self.rule.expect(f.mean[0], f.variance[0], |f| self.log_p(y[0], f))
    }

    /// `∂/∂m = Σ_j w_j ℓ'(y, f_j)`, `∂/∂v = Σ_j w_j ℓ'(y, f_j) x_j / 2√v`, `∂/∂θ = Σ_j w_j ∂ℓ(y, f_j)/∂θ`.
    fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) {
        self.add_slopes(y[0], f, |_, w| weight * w, bars);
    }

    /// `E y = E E[y | f]`, `Var y = E Var[y | f] + Var E[y | f]`.
    fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]) {
        let deviation = f.variance[0].sqrt();
        let each: Vec<(f64, f64, f64)> = (self.rule.points())
            .map(|(x, w)| {
                let (m, v) = self.conditional_moments(f.mean[0] + deviation * x);
                (w, m, v)
            })
            .collect();
        mean[0] = each.iter().map(|(w, m, _)| w * m).sum();
        variance[0] = each.iter().map(|(w, m, v)| w * (v + (m - mean[0]).powi(2))).sum();
    }

    /// `log p(y) ≈ log Σ_j w_j exp ℓ(y, f_j)`.
    fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
        self.rule.log_expect_exp(f.mean[0], f.variance[0], |f| self.log_p(y[0], f))
    }

    /// `P(Y ≤ at) ≈ Σ_j w_j P(Y ≤ at | f_j)`.
    fn cumulative(&self, _output: usize, at: f64, f: Latent<'_>) -> f64 {
        self.rule.expect(f.mean[0], f.variance[0], |f| self.conditional_cumulative(at, f)).clamp(0.0, 1.0)
    }

    /// `E Var[y | f] ≈ Σ_j w_j Var[y | f_j]`.
    fn noise_variance(&self, f: Latent<'_>, variance: &mut [f64]) {
        variance[0] = self.rule.expect(f.mean[0], f.variance[0], |f| self.conditional_moments(f).1);
    }

    fn tempered(&self) -> Option<&dyn Tempered> {
        Some(self)
    }

    /// The quantile of `y` given `f` at a uniform level.
    fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]) {
        let level = key.uniform(counter);
        y[0] = self.conditional(f[0]).quantile(level, |at| self.conditional_cumulative(at, f[0]));
    }
}

impl<L: Pointwise> Tempered for ByQuadrature<L> {
    fn log_expected_power(&self, power: f64, y: &[f64], f: Latent<'_>) -> f64 {
        self.rule.log_expect_exp(f.mean[0], f.variance[0], |f| power * self.log_p(y[0], f))
    }

    fn log_expected_power_pullback(
        &self,
        power: f64,
        y: &[f64],
        f: Latent<'_>,
        weight: f64,
        bars: LatentBars<'_>,
    ) -> f64 {
        let deviation = f.variance[0].sqrt();
        let each: Vec<f64> =
            (self.rule.points()).map(|(x, w)| w.ln() + power * self.log_p(y[0], f.mean[0] + deviation * x)).collect();
        let total = log_sum_exp(&each);
        self.add_slopes(y[0], f, |j, _| weight * power * (each[j] - total).exp(), bars);
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::Gaussian;
    use crate::model::params::Constraint;
    use crate::numeric::mat::Mat;
    use crate::testing::assert_pullbacks;

    /// A Gaussian that does not know that it is one.
    #[derive(Clone, Debug)]
    struct Plain {
        noise: f64,
    }

    impl Parameters for Plain {
        fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
            let constraint = Constraint::Positive { floor: 1e-6 };
            leaf(Leaf { name: "noise", constraint, shape: &[], values: std::slice::from_mut(&mut self.noise) });
        }
    }

    impl Pointwise for Plain {
        fn name(&self) -> String {
            "plain".into()
        }

        fn log_density(&self, y: f64, f: f64, theta: &mut [f64]) -> (f64, f64) {
            let residual = y - f;
            theta[0] = 0.5 * (residual * residual / self.noise - 1.0) / self.noise;
            let value = -0.5 * ((std::f64::consts::TAU * self.noise).ln() + residual * residual / self.noise);
            (value, residual / self.noise)
        }
    }

    const F: Latent<'_> = Latent { mean: &[0.4], variance: &[0.3] };

    #[test]
    fn a_gaussian_by_quadrature_is_the_one_in_closed_form() {
        let (plain, known) = (ByQuadrature::new(Plain { noise: 0.2 }), Gaussian::new(0.2, 1));
        let near = |a: f64, b: f64, what: &str| assert!((a - b).abs() < 1e-7, "{what}: {a} {b}");
        near(plain.expected_log_density(&[1.1], F), known.expected_log_density(&[1.1], F), "expectation");
        near(plain.log_density(&[1.1], F), known.log_density(&[1.1], F), "density");
        let (mut noise, powers) =
            ([0.0], (plain.log_expected_power(0.4, &[1.1], F), known.log_expected_power(0.4, &[1.1], F)));
        near(powers.0, powers.1, "power");
        plain.noise_variance(F, &mut noise);
        near(noise[0], 0.2, "noise");
        let (mut m, mut v) = ([0.0], [0.0]);
        plain.observed_moments(F, &mut m, &mut v);
        near(m[0], 0.4, "mean");
        near(v[0], 0.5, "variance");
        for at in [-2.0, 0.0, 0.4, 1.7] {
            near(plain.cumulative(0, at, F), known.cumulative(0, at, F), "distribution function");
        }
        assert!(plain.check(Mat::column(vec![-1.0, 1e9]).view()).is_ok());
    }

    #[test]
    fn its_pullbacks_are_the_slopes_of_the_rule() {
        assert_pullbacks(&ByQuadrature::new(Plain { noise: 0.2 }), &[1.1], F, &[0.3, 1.0]);
    }

    #[test]
    fn draws_have_the_moments_of_y_given_f() {
        let likelihood = ByQuadrature::new(Plain { noise: 0.25 });
        let key = Key::new(1, crate::random::noise::Purpose::Observe);
        let draws: Vec<f64> = (0..2000)
            .map(|i| {
                let mut y = [0.0];
                likelihood.draw(&[2.0], key, [i, 0, 0, 0], &mut y);
                y[0]
            })
            .collect();
        let mean = draws.iter().sum::<f64>() / 2000.0;
        let variance = draws.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 2000.0;
        assert!((mean - 2.0).abs() < 4.0 * 0.5 / 2000f64.sqrt() && (variance - 0.25).abs() < 0.25 * 4.0 * 0.032);
    }
}
