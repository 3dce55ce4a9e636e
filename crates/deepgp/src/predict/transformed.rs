//! Predictions of transformed targets in the user's units: the mixture at a row, seen through the inverse of the transform.
//!
//! With `v` in the model's units, `y(v) = T⁻¹(v · scale + shift)` increases. So quantiles and draws map, `P(Y ≤ y(v)) = F(v)`, and a log
//! density gains the logarithm of the slope, `ln dv/dy`. Moments and the continuous ranked probability score are integrals over `v`:
//!
//! ```text
//! E y = Σ_s ω_s Σ_j w_j y(m_s + √v_s x_j)                        Gaussian parts and a smooth T, by Gauss–Hermite quadrature
//! E y = y(c) + ∫_c (1 − F) dy − ∫^c F dy                         else, for any c: the mean of v
//! E (y − y(c))² = 2 ∫_c (1 − F) (y − y(c)) dy + 2 ∫^c F (y(c) − y) dy
//! crps = ∫^{v_0} F² dy + ∫_{v_0} (1 − F)² dy                     where y(v_0) was observed
//! ```
//!
//! with `dy = y'(v) dv`, by Simpson's rule. Where `T` is a logarithm and observations have heavier tails than a Gaussian, neither the mean nor
//! the score exist; what is given then is that within some standard deviations.

use crate::data::{Standardiser, TargetTransform, check_finite};
use crate::error::{Error, Result};
use crate::likelihood::{GaussHermite, Gaussian, Likelihood};
use crate::numeric::mat::{Mat, View};
use crate::predict::distribution_on_grid::{Part, distribution_at};
use crate::predict::metrics::Assessment;
use crate::predict::mixture::{Mixture, Normals};
use crate::predict::{Moments, Predictor};

/// The nodes of the quadrature over a Gaussian part.
const NODES: usize = 20;
/// The standard deviations of every part that integrals of moments cover.
const REACH_OF_MOMENTS: f64 = 8.5;
/// The standard deviations of every part that the integral of the score covers: its integrand is a square.
const REACH_OF_SCORE: f64 = 6.0;
/// The intervals of Simpson's rule to a standard deviation of the narrowest part.
const INTERVALS_EACH: f64 = 8.0;
/// The least number of intervals of Simpson's rule on one side.
const FEWEST_INTERVALS: f64 = 64.0;
/// The most values of parts' distribution functions that an integral on one side takes, unless there would be too few intervals.
const MOST_VALUES: f64 = 100_000.0;

/// The predictive distribution at one row in the user's units.
#[derive(Clone, Copy, Debug)]
struct Transformed<'a> {
    /// The distribution in the model's units.
    mixture: Mixture<'a>,
    /// The likelihood through which it is seen.
    likelihood: &'a dyn Likelihood,
    /// The units of the targets, their transforms included.
    units: &'a Standardiser,
    /// The quadrature over a Gaussian part.
    rule: &'a GaussHermite,
}

impl Transformed<'_> {
    /// The target `y` of number `p` in the model's units; `−∞` if its transform has no value there.
    fn in_model(self, p: usize, y: f64) -> f64 {
        (self.units.transform_of(p).forward(y) - self.units.y.shift[p]) / self.units.y.scale[p]
    }

    /// The log density of all targets of the row; `−∞` where a transform has no value.
    fn log_density(self, y: &[f64]) -> f64 {
        if !y.iter().enumerate().all(|(p, y)| self.units.transform_of(p).contains(*y)) {
            return f64::NEG_INFINITY;
        }
        let v: Vec<f64> = y.iter().enumerate().map(|(p, y)| self.in_model(p, *y)).collect();
        let slopes: f64 = y.iter().enumerate().map(|(p, y)| self.units.log_slope(p, *y)).sum();
        self.mixture.log_density(self.likelihood, &v) + slopes
    }

    /// The distribution function of target `p`; 0 where its transform has no value.
    fn cumulative(self, p: usize, y: f64) -> f64 {
        if !self.units.transform_of(p).contains(y) {
            return 0.0;
        }
        self.mixture.cumulative(self.likelihood, p, self.in_model(p, y))
    }

    /// Writes mean and variance of each target.
    fn moments(self, mean: &mut [f64], variance: &mut [f64]) {
        self.mixture.moments_of_y(self.likelihood, mean, variance);
        for (p, (mean, variance)) in mean.iter_mut().zip(variance).enumerate() {
            (*mean, *variance) = match self.units.transform_of(p) {
                TargetTransform::Identity => {
                    let scale = self.units.y.scale[p];
                    (*mean * scale + self.units.y.shift[p], *variance * scale * scale)
                }
                TargetTransform::Log | TargetTransform::Log1p | TargetTransform::YeoJohnson(_) => {
                    match self.mixture.normals(self.likelihood, p) {
                        Some(normals) => self.moments_by_quadrature(p, &normals),
                        None => self.moments_by_integration(p, *mean),
                    }
                }
                // A spline bends at its knots, where quadrature takes it for a polynomial.
                TargetTransform::Quantile(_) => self.moments_by_integration(p, *mean),
            };
        }
    }

    /// Mean and variance of target `p`, by quadrature over each of its Gaussian parts.
    fn moments_by_quadrature(self, p: usize, normals: &Normals) -> (f64, f64) {
        let alike = 1.0 / normals.parts.len() as f64;
        let weight = |s: usize| normals.weights.as_ref().map_or(alike, |all| all[s]);
        let values: Vec<(f64, f64)> = normals
            .parts
            .iter()
            .enumerate()
            .flat_map(|(s, (m, v))| {
                let (own, deviation) = (weight(s), v.sqrt());
                self.rule.points().map(move |(x, weight)| (own * weight, self.units.target(p, m + deviation * x)))
            })
            .collect();
        let mean: f64 = values.iter().map(|(weight, y)| weight * y).sum();
        if !mean.is_finite() {
            return (mean, f64::INFINITY);
        }
        (mean, values.iter().map(|(weight, y)| weight * (y - mean).powi(2)).sum())
    }

    /// Mean and variance of target `p`, by integrals of its distribution function either side of `center`.
    fn moments_by_integration(self, p: usize, center: f64) -> (f64, f64) {
        let over = Integral::new(&self, p, REACH_OF_MOMENTS);
        let middle = self.units.target(p, center);
        let above = over.integrate(center, over.high, |below, y| [1.0 - below, 2.0 * (1.0 - below) * (y - middle)]);
        let below = over.integrate(over.low, center, |below, y| [below, 2.0 * below * (middle - y)]);
        let shift = above[0] - below[0];
        (middle + shift, (above[1] + below[1] - shift * shift).max(0.0))
    }

    /// The continuous ranked probability score of target `p` where `y` was observed.
    fn crps(self, p: usize, y: f64) -> f64 {
        let v = self.in_model(p, y);
        if *self.units.transform_of(p) == TargetTransform::Identity {
            return self.units.y.scale[p] * self.mixture.crps(self.likelihood, p, v);
        }
        let over = Integral::new(&self, p, REACH_OF_SCORE);
        let at = v.clamp(over.low, over.high);
        // Beyond the mixture's reach the distribution function is 0 or 1.
        let beyond = if at == v { 0.0 } else { (self.units.target(p, at) - y).abs() };
        let below = over.integrate(over.low, at, |below, _| [below.powi(2), 0.0]);
        let above = over.integrate(at, over.high, |below, _| [(1.0 - below).powi(2), 0.0]);
        below[0] + above[0] + beyond
    }
}

/// Integrals over one target in the model's units, against `dy`.
struct Integral<'a> {
    /// The distribution.
    row: &'a Transformed<'a>,
    /// The target.
    p: usize,
    /// The value below which there is next to no mass.
    low: f64,
    /// The value above which there is next to no mass.
    high: f64,
    /// The standard deviation of the narrowest part; 0 if it is not known.
    narrowest: f64,
    /// The parts, if all are Gaussian.
    parts: Option<Vec<Part>>,
}

impl<'a> Integral<'a> {
    /// Integrals over target `p`, to so many standard deviations of every part.
    fn new(row: &'a Transformed<'a>, p: usize, reach: f64) -> Self {
        let (low, high) = row.mixture.range(row.likelihood, p, reach);
        let normals = row.mixture.normals(row.likelihood, p);
        let narrowest =
            normals.as_ref().map_or(0.0, |own| own.parts.iter().map(|(_, v)| *v).fold(f64::INFINITY, f64::min).sqrt());
        let parts = normals.map(|Normals { parts, weights }| {
            let alike = 1.0 / parts.len() as f64;
            let weight = |s: usize| weights.as_ref().map_or(alike, |all| all[s]);
            let part = |(s, &(mean, v)): (usize, &(f64, f64))| Part { mean, deviation: v.sqrt(), weight: weight(s) };
            parts.iter().enumerate().map(part).collect()
        });
        Self { row, p, low, high, narrowest, parts }
    }

    /// The distribution function at each of `values`.
    fn below(&self, values: &[f64]) -> Vec<f64> {
        match &self.parts {
            Some(parts) => distribution_at(values, parts),
            None => values.iter().map(|v| self.row.mixture.cumulative(self.row.likelihood, self.p, *v)).collect(),
        }
    }

    /// Two integrals `∫ g dy` from one value to another, where `g` is given the distribution function and `y`: by Simpson's rule,
    /// `h/3 (g_0 + 4 g_1 + 2 g_2 + 4 g_3 + … + g_n)`.
    fn integrate(&self, from: f64, to: f64, g: impl Fn(f64, f64) -> [f64; 2]) -> [f64; 2] {
        let units = self.row.units;
        let affordable = MOST_VALUES / self.parts.as_ref().map_or(MOST_VALUES / 400.0, |parts| parts.len() as f64);
        let wanted = (INTERVALS_EACH * (to - from) / self.narrowest).min(affordable).max(FEWEST_INTERVALS);
        let intervals = 2 * (0.5 * wanted).ceil() as usize;
        let step = (to - from) / intervals as f64;
        let nodes: Vec<f64> = (0..=intervals).map(|i| from + i as f64 * step).collect();
        let mut sums = [0.0; 2];
        for (i, (v, below)) in nodes.iter().zip(self.below(&nodes)).enumerate() {
            let y = units.target(self.p, *v);
            let slope = (-units.log_slope(self.p, y)).exp();
            let weight = if i == 0 || i == intervals { 1.0 } else { 2.0 * (1 + i % 2) as f64 };
            for (sum, own) in sums.iter_mut().zip(g(below, y)) {
                // Far out a slope may be infinite where nothing is left to weigh.
                *sum += if own == 0.0 { 0.0 } else { weight * own * slope };
            }
        }
        sums.map(|sum| step / 3.0 * sum)
    }
}

/// The continuous ranked probability score, in the user's units, of target `p` where `y` was observed and the prediction in the model's units
/// is a Gaussian of this mean and variance.
pub(crate) fn crps_of_gaussian(units: &Standardiser, p: usize, (mean, variance): (f64, f64), y: f64) -> f64 {
    let targets = units.y.scale.len();
    let (means, variances) = (vec![mean; targets], vec![variance; targets]);
    let mixture = Mixture { mean: &means, variance: &variances, width: targets, weights: None };
    let (likelihood, rule) = (Gaussian::new(0.0, targets), GaussHermite::new(1));
    Transformed { mixture, likelihood: &likelihood, units, rule: &rule }.crps(p, y)
}

impl Predictor<'_> {
    /// Mean and variance of `y` at each row in the user's units, for inputs in the model's.
    pub(crate) fn transformed_moments(&self, x: View<'_>, units: &Standardiser) -> Result<Moments> {
        let width = self.model.likelihood().observed_width();
        let rule = GaussHermite::new(NODES);
        let all = self.map_rows(x.into(), 2 * width, |_, mixture, out| {
            let (mean, variance) = out.split_at_mut(width);
            self.transformed(mixture, units, &rule).moments(mean, variance);
        })?;
        let columns = |from: usize| Mat::from_fn(x.nrows(), width, |i, p| all[(i, from + p)]);
        Ok(Moments { mean: columns(0), variance: columns(width) })
    }

    /// The log density of each row's targets, which are in the user's units, for inputs in the model's.
    pub(crate) fn transformed_log_density(&self, x: View<'_>, y: View<'_>, units: &Standardiser) -> Result<Vec<f64>> {
        self.check_user_targets(x, y)?;
        let rule = GaussHermite::new(NODES);
        let all = self.map_rows(x.into(), 1, |row, mixture, out| {
            out[0] = self.transformed(mixture, units, &rule).log_density(y.row(row));
        })?;
        Ok(all.into_vec())
    }

    /// The probability integral transform of each target, which is in the user's units, for inputs in the model's.
    pub(crate) fn transformed_cumulative(&self, x: View<'_>, y: View<'_>, units: &Standardiser) -> Result<Mat> {
        self.check_user_targets(x, y)?;
        let rule = GaussHermite::new(NODES);
        self.map_rows(x.into(), y.ncols(), |row, mixture, out| {
            let own = self.transformed(mixture, units, &rule);
            for (p, out) in out.iter_mut().enumerate() {
                *out = own.cumulative(p, y[(row, p)]);
            }
        })
    }

    /// The predictions beside what was observed, both in the user's units, for inputs in the model's.
    pub(crate) fn transformed_assess(&self, x: View<'_>, y: View<'_>, units: &Standardiser) -> Result<Assessment> {
        self.check_user_targets(x, y)?;
        let (width, rule) = (y.ncols(), GaussHermite::new(NODES));
        let all = self.map_rows(x.into(), 4 * width + 1, |row, mixture, out| {
            let own = self.transformed(mixture, units, &rule);
            let (mean, rest) = out.split_at_mut(width);
            let (variance, rest) = rest.split_at_mut(width);
            let (pit, rest) = rest.split_at_mut(width);
            let (crps, density) = rest.split_at_mut(width);
            own.moments(mean, variance);
            for p in 0..width {
                pit[p] = own.cumulative(p, y[(row, p)]);
                crps[p] = own.crps(p, y[(row, p)]);
            }
            density[0] = own.log_density(y.row(row));
        })?;
        let columns = |from: usize| Mat::from_fn(x.nrows(), width, |i, p| all[(i, from * width + p)]);
        Ok(Assessment {
            mean: columns(0),
            deviation: columns(1).map(f64::sqrt),
            pit: columns(2),
            crps: columns(3),
            log_density: (0..x.nrows()).map(|i| all[(i, 4 * width)]).collect(),
        })
    }

    /// The distribution of a row's targets in the user's units.
    fn transformed<'m>(
        &'m self,
        mixture: Mixture<'m>,
        units: &'m Standardiser,
        rule: &'m GaussHermite,
    ) -> Transformed<'m> {
        Transformed { mixture, likelihood: self.likelihood(), units, rule }
    }

    /// Fails unless `y` has a finite row for each of `x`. Values that a transform cannot have are no mistake here: their density is 0.
    fn check_user_targets(&self, x: View<'_>, y: View<'_>) -> Result<()> {
        let width = self.model.likelihood().observed_width();
        if (y.nrows(), y.ncols()) != (x.nrows(), width) {
            return Err(Error::Shape {
                what: "targets",
                expected: format!("{} x {width}", x.nrows()),
                found: format!("{} x {}", y.nrows(), y.ncols()),
            });
        }
        check_finite("y", y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ConstantColumns, Dataset, TransformChoice};
    use crate::likelihood::{Latent, LatentBars};
    use crate::model::params::{Leaf, Parameters};
    use crate::random::noise::{Key, Purpose};

    /// A skewed positive target, and its units under each transform.
    fn units() -> Vec<Standardiser> {
        let key = Key::new(5, Purpose::Simulate);
        let y: Vec<f64> = (0..500).flat_map(|i| key.normals([i, 0, 0, 0])).map(|e| (0.8 * e).exp()).collect();
        let data = Dataset::new(Mat::from_fn(y.len(), 1, |i, _| i as f64), Mat::column(y.clone())).unwrap();
        let plain = Standardiser::fit(&data, ConstantColumns::Reject).unwrap();
        let choices = [
            TransformChoice::None,
            TransformChoice::Log,
            TransformChoice::Log1p,
            TransformChoice::YeoJohnson,
            TransformChoice::Quantile,
        ];
        let fit = |choice: TransformChoice| vec![choice.fit_column(0, &y, None).unwrap()];
        choices.map(|choice| plain.clone().with_transforms(&data, fit(choice)).unwrap()).to_vec()
    }

    /// A mixture of three parts, one of them narrow.
    const MEAN: [f64; 3] = [-0.6, 0.4, 1.1];
    const VARIANCE: [f64; 3] = [0.3, 0.02, 0.5];

    /// A Gaussian that does not say that it is one, so that nothing is done by formula.
    #[derive(Clone, Debug)]
    struct Nameless(Gaussian);

    impl Parameters for Nameless {
        fn visit(&mut self, leaf: &mut dyn FnMut(Leaf<'_>)) {
            self.0.visit(leaf);
        }
    }

    impl Likelihood for Nameless {
        fn name(&self) -> String {
            "nameless".into()
        }
        fn clone_box(&self) -> Box<dyn Likelihood> {
            Box::new(self.clone())
        }
        fn latent_width(&self) -> usize {
            1
        }
        fn observed_width(&self) -> usize {
            1
        }
        fn check(&self, _y: View<'_>) -> Result<()> {
            Ok(())
        }
        fn expected_log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
            self.0.expected_log_density(y, f)
        }
        fn expected_log_density_pullback(&self, y: &[f64], f: Latent<'_>, weight: f64, bars: LatentBars<'_>) {
            self.0.expected_log_density_pullback(y, f, weight, bars);
        }
        fn observed_moments(&self, f: Latent<'_>, mean: &mut [f64], variance: &mut [f64]) {
            self.0.observed_moments(f, mean, variance);
        }
        fn log_density(&self, y: &[f64], f: Latent<'_>) -> f64 {
            self.0.log_density(y, f)
        }
        fn cumulative(&self, output: usize, at: f64, f: Latent<'_>) -> f64 {
            self.0.cumulative(output, at, f)
        }
        fn draw(&self, f: &[f64], key: Key, counter: [u32; 4], y: &mut [f64]) {
            self.0.draw(f, key, counter, y);
        }
    }

    /// Asserts of the distribution at a row of each transform, with a likelihood of the noise 0.1.
    fn for_each(likelihood: &dyn Likelihood, check: impl Fn(Transformed<'_>, &str)) {
        let rule = GaussHermite::new(NODES);
        for units in &units() {
            let mixture = Mixture { mean: &MEAN, variance: &VARIANCE, width: 1, weights: None };
            check(Transformed { mixture, likelihood, units, rule: &rule }, units.transform_of(0).choice().name());
        }
    }

    /// The integral of `g` over `y`, by a fine sum over equal steps of the model's units: slow, and of another kind than what is tested.
    fn brute_force(row: Transformed<'_>, g: impl Fn(f64) -> f64) -> f64 {
        let (steps, low, high) = (200_000, -9.0, 11.0);
        let at = |i: usize| row.units.target(0, low + (high - low) * i as f64 / steps as f64);
        (0..steps).map(|i| (at(i + 1) - at(i)) * g(0.5 * (at(i) + at(i + 1)))).sum()
    }

    #[test]
    fn densities_integrate_to_one_and_moments_are_those_of_the_density() {
        for_each(&Gaussian::new(0.1, 1), |row, name| {
            let density = |y: f64| row.log_density(&[y]).exp();
            let total = brute_force(row, density);
            assert!((total - 1.0).abs() < 1e-5, "{name}: {total}");
            let expected = brute_force(row, |y| y * density(y));
            let spread = brute_force(row, |y| (y - expected).powi(2) * density(y));
            let (mut mean, mut variance) = ([0.0], [0.0]);
            row.moments(&mut mean, &mut variance);
            assert!((mean[0] - expected).abs() < 1e-3 * spread.sqrt(), "{name}: {} {expected}", mean[0]);
            assert!((variance[0] / spread - 1.0).abs() < 1e-2, "{name}: {} {spread}", variance[0]);
        });
    }

    #[test]
    fn moments_without_formulas_are_those_of_quadrature() {
        for_each(&Gaussian::new(0.1, 1), |row, name| {
            let (mut mean, mut variance) = ([0.0], [0.0]);
            row.moments(&mut mean, &mut variance);
            let slow = Transformed { likelihood: &Nameless(Gaussian::new(0.1, 1)), ..row };
            let (mut slow_mean, mut slow_variance) = ([0.0], [0.0]);
            slow.moments(&mut slow_mean, &mut slow_variance);
            assert!((mean[0] - slow_mean[0]).abs() < 1e-3 * variance[0].sqrt(), "{name}: {mean:?} {slow_mean:?}");
            assert!((variance[0] / slow_variance[0] - 1.0).abs() < 1e-2, "{name}: {variance:?} {slow_variance:?}");
        });
    }

    #[test]
    fn moments_of_a_logarithm_are_those_of_the_log_normal() {
        let log = units()[1].clone();
        let rule = GaussHermite::new(NODES);
        for (m, v) in [(0.3, 0.2), (-2.0, 1.0), (4.0, 0.01)] {
            let mixture = Mixture { mean: &[m], variance: &[v], width: 1, weights: None };
            let row = Transformed { mixture, likelihood: &Gaussian::new(0.05, 1), units: &log, rule: &rule };
            let (mut mean, mut variance) = ([0.0], [0.0]);
            row.moments(&mut mean, &mut variance);
            let (mu, s) = (m * log.y.scale[0] + log.y.shift[0], (v + 0.05) * log.y.scale[0].powi(2));
            let expected = (mu + 0.5 * s).exp();
            assert!((mean[0] / expected - 1.0).abs() < 1e-12, "{} {expected}", mean[0]);
            let expected = s.exp_m1() * (2.0 * mu + s).exp();
            assert!((variance[0] / expected - 1.0).abs() < 1e-10, "{} {expected}", variance[0]);
        }
    }

    #[test]
    fn the_ranked_score_is_its_integral() {
        for likelihood in [&Gaussian::new(0.1, 1) as &dyn Likelihood, &Nameless(Gaussian::new(0.1, 1))] {
            for_each(likelihood, |row, name| {
                for y in [0.05, 0.4, 1.0, 3.0, 60.0] {
                    let expected = brute_force(row, |t| (row.cumulative(0, t) - f64::from(u8::from(y <= t))).powi(2));
                    // The sum ends where the mixture does; beyond it the integrand is 1.
                    let end = row.units.target(0, 11.0);
                    let expected = expected + (y - end).max(0.0);
                    let found = row.crps(0, y);
                    assert!((found / expected - 1.0).abs() < 5e-4, "{name} at {y}: {found} {expected}");
                }
            });
        }
    }

    #[test]
    fn what_a_transform_cannot_have_has_no_density_and_no_mass_below_it() {
        for_each(&Gaussian::new(0.1, 1), |row, name| {
            let possible = row.units.transform_of(0).contains(-2.0);
            assert_eq!(row.log_density(&[-2.0]).is_finite(), possible, "{name}");
            assert_eq!(row.cumulative(0, -2.0) == 0.0, !possible, "{name}");
            let expected = brute_force(row, |t| (1.0 - row.cumulative(0, t)).powi(2)) + row.units.target(0, -9.0) + 2.0;
            if !possible {
                assert!((row.crps(0, -2.0) / expected - 1.0).abs() < 2e-4, "{name}: {} {expected}", row.crps(0, -2.0));
            }
        });
    }
}
