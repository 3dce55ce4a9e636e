//! The predictive distribution at one row: a mixture of Gaussians over `f`, seen through the likelihood as one over `y`.
//!
//! `p(f) = Σ_s ω_s N(f; μ_s, σ²_s)`, one part for each sample of the hidden layers with the weight `ω_s = 1/S`, or one for each learned site
//! with a weight of its own. The density of `y` is an average of densities, taken by log-sum-exp; its quantiles invert the average of
//! distribution functions. Where `y` is a mixture of Gaussians itself, quantiles and the CRPS are by formula.

use crate::likelihood::{Latent, Likelihood, Outcomes};
use crate::numeric::root_finding::{by_false_position, by_newton};
use crate::predict::absolute::{absolute_differences, mean_absolute, weighted_differences};

/// The mixture of Gaussians at one row: the last layer's moments for each sample of the hidden layers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixture<'a> {
    /// The means `μ_s`, `[S, P]`, sample by sample.
    pub mean: &'a [f64],
    /// The variances `σ²_s`, `[S, P]`, sample by sample.
    pub variance: &'a [f64],
    /// The number of latent functions, `P`.
    pub width: usize,
    /// The weights `ω_s` of the parts, which sum to 1; `None` where all weigh alike.
    pub weights: Option<&'a [f64]>,
}

impl<'a> Mixture<'a> {
    /// The Gaussians, one for each sample.
    pub(super) fn parts(self) -> impl ExactSizeIterator<Item = Latent<'a>> {
        let chunks = self.mean.chunks_exact(self.width).zip(self.variance.chunks_exact(self.width));
        chunks.map(|(mean, variance)| Latent { mean, variance })
    }

    /// The number of samples, `S`.
    fn len(self) -> usize {
        self.mean.len() / self.width
    }

    /// The weight of part `s`.
    pub(super) fn weight(self, s: usize) -> f64 {
        self.weights.map_or(1.0 / self.len() as f64, |all| all[s])
    }

    /// The mean `Σ_s ω_s v_s` of what `of_part` gives for each part.
    fn average(self, of_part: impl Fn(Latent<'_>) -> f64) -> f64 {
        match self.weights {
            None => self.parts().map(of_part).sum::<f64>() / self.len() as f64,
            Some(weights) => self.parts().zip(weights).map(|(part, weight)| weight * of_part(part)).sum(),
        }
    }

    /// Part `s mod S`, so that more draws than samples can be taken.
    pub fn part(self, s: usize) -> Latent<'a> {
        let start = s % self.len() * self.width;
        let range = start..start + self.width;
        Latent { mean: &self.mean[range.clone()], variance: &self.variance[range] }
    }

    /// Writes mean and variance of each latent function.
    pub fn moments_of_f(self, mean: &mut [f64], variance: &mut [f64]) {
        self.moments(mean, variance, |part, m, v| {
            m.copy_from_slice(part.mean);
            v.copy_from_slice(part.variance);
        });
    }

    /// Writes mean and variance of each output of `y`.
    pub fn moments_of_y(self, likelihood: &dyn Likelihood, mean: &mut [f64], variance: &mut [f64]) {
        self.moments(mean, variance, |part, m, v| likelihood.observed_moments(part, m, v));
    }

    /// Writes the variance of each output of `y` that knowing `f` would leave, `Σ_s ω_s E Var[y | f]`.
    pub fn noise_variance(self, likelihood: &dyn Likelihood, variance: &mut [f64]) {
        let mut own = vec![0.0; variance.len()];
        variance.fill(0.0);
        for (s, part) in self.parts().enumerate() {
            likelihood.noise_variance(part, &mut own);
            for (to, from) in variance.iter_mut().zip(&own) {
                *to += self.weight(s) * from;
            }
        }
    }

    /// Writes the mixture's mean `m = Σ_s ω_s m_s` and variance `v = Σ_s ω_s (v_s + (m_s − m)²)`, where `of_part` gives `m_s` and `v_s`.
    fn moments(self, mean: &mut [f64], variance: &mut [f64], of_part: impl Fn(Latent<'_>, &mut [f64], &mut [f64])) {
        let width = mean.len();
        let mut each = vec![0.0; 2 * width * self.len()];
        for (part, each) in self.parts().zip(each.chunks_exact_mut(2 * width)) {
            let (m, v) = each.split_at_mut(width);
            of_part(part, m, v);
        }
        let over_parts = |of: &dyn Fn(&[f64]) -> f64| match self.weights {
            None => 1.0 / self.len() as f64 * each.chunks_exact(2 * width).map(of).sum::<f64>(),
            Some(weights) => each.chunks_exact(2 * width).zip(weights).map(|(each, weight)| weight * of(each)).sum(),
        };
        for p in 0..width {
            let m = over_parts(&|each| each[p]);
            mean[p] = m;
            variance[p] = over_parts(&|each| each[width + p] + (each[p] - m).powi(2));
        }
    }

    /// The log density `log Σ_s ω_s p_s(y)`, jointly over the columns of `y`: by log-sum-exp,
    /// `ℓ_max + log Σ_s ω_s exp(ℓ_s − ℓ_max)` with `ℓ_s = log p_s(y)`.
    pub fn log_density(self, likelihood: &dyn Likelihood, y: &[f64]) -> f64 {
        let each: Vec<f64> = self.parts().map(|part| likelihood.log_density(y, part)).collect();
        if each.iter().any(|v| v.is_nan()) {
            return f64::NAN;
        }
        let largest = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !largest.is_finite() {
            return largest;
        }
        let shares = each.iter().map(|v| (v - largest).exp());
        largest
            + match self.weights {
                None => (shares.sum::<f64>() / each.len() as f64).ln(),
                Some(weights) => shares.zip(weights).map(|(share, weight)| weight * share).sum::<f64>().ln(),
            }
    }

    /// The distribution function `F(at) = P(y_p ≤ at) = Σ_s ω_s F_s(at)` of output `p`.
    pub fn cumulative(self, likelihood: &dyn Likelihood, p: usize, at: f64) -> f64 {
        self.average(|part| likelihood.cumulative(p, at, part))
    }

    /// The continuous ranked probability score, `∫ (F(t) − 1[y ≤ t])² dt` for the distribution function `F` of `y_p`: 0 is perfect,
    /// and its unit is that of `y`. It is `E|Y − y| − ½ E|Y − Y'|`, which for Gaussian parts, with [`mean_absolute`]'s
    /// `A(m, v) = E|N(m, v)|`, is
    ///
    /// ```text
    /// Σ_s ω_s A(m_s − y, v_s) − ½ Σ_s Σ_t ω_s ω_t A(m_s − m_t, v_s + v_t)
    /// ```
    ///
    /// at `S (S + 3) / 2` evaluations of `A`, because the double sum is symmetric. Of classes and counts it is a sum.
    pub fn crps(self, likelihood: &dyn Likelihood, p: usize, y: f64) -> f64 {
        match likelihood.outcomes() {
            Outcomes::Real => self.crps_of_number(likelihood, p, y),
            Outcomes::Classes(classes) => self.class_score(likelihood, y, classes),
            Outcomes::Counts => self.count_score(likelihood, p, y),
        }
    }

    /// [`Mixture::crps`] of a number on the real line.
    fn crps_of_number(self, likelihood: &dyn Likelihood, p: usize, y: f64) -> f64 {
        let Some(Normals { parts, weights }) = self.normals(likelihood, p) else {
            return self.crps_by_integration(likelihood, p, y);
        };
        let to_y = parts.iter().map(|&(m, v)| mean_absolute(m - y, v));
        match weights {
            None => {
                let weight = 1.0 / parts.len() as f64;
                weight * to_y.sum::<f64>() - weight * weight * absolute_differences(&parts)
            }
            Some(weights) => {
                let to_y: f64 = to_y.zip(&weights).map(|(own, weight)| weight * own).sum();
                to_y - weighted_differences(&parts, &weights)
            }
        }
    }

    /// The CRPS as `∫_{t<y} F(t)² dt + ∫_{t>y} (1 − F(t))² dt`, by Simpson's rule out to 12 standard deviations of every part.
    fn crps_by_integration(self, likelihood: &dyn Likelihood, p: usize, y: f64) -> f64 {
        const INTERVALS: usize = 400;
        let (low, high) = self.range(likelihood, p, 12.0);
        let curve = likelihood.cumulative_curve(p);
        let below = |t: f64| self.average(|part| curve(t, part)).powi(2);
        let above = |t: f64| (1.0 - self.average(|part| curve(t, part))).powi(2);
        simpson(low.min(y), y, INTERVALS, below) + simpson(y, high.max(y), INTERVALS, above)
    }

    /// The lowest and the highest value of `y_p` within so many standard deviations of some part's mean.
    pub(super) fn range(self, likelihood: &dyn Likelihood, p: usize, deviations: f64) -> (f64, f64) {
        let width = likelihood.observed_width();
        let (mut mean, mut variance) = (vec![0.0; width], vec![0.0; width]);
        self.parts().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), part| {
            likelihood.observed_moments(part, &mut mean, &mut variance);
            let reach = deviations * variance[p].sqrt();
            (low.min(mean[p] - reach), high.max(mean[p] + reach))
        })
    }

    /// The Gaussians of which `y_p` is a mixture, if it is one.
    pub(super) fn normals(self, likelihood: &dyn Likelihood, p: usize) -> Option<Normals> {
        let (mut parts, mut weights) = (Vec::new(), Vec::new());
        for (s, part) in self.parts().enumerate() {
            let gaussian = likelihood.normals(p, part, &mut |own| {
                parts.push((own.mean, own.variance));
                weights.push(self.weight(s) * own.weight);
            });
            if !gaussian {
                return None;
            }
        }
        let alike = self.weights.is_none() && parts.len() == self.len();
        Some(Normals { parts, weights: (!alike).then_some(weights) })
    }

    /// The quantile of `y_p` at `level`, where `F(y_p) = level`; where `F` jumps across the level, the upper end of the jump: of classes and
    /// counts, the smallest one with `F(y_p) ≥ level`.
    pub fn quantile(self, likelihood: &dyn Likelihood, p: usize, level: f64) -> f64 {
        match likelihood.outcomes() {
            Outcomes::Classes(classes) => return self.class_quantile(likelihood, level, classes),
            Outcomes::Counts => return self.count_quantile(likelihood, p, level),
            Outcomes::Real => {}
        }
        match self.normals(likelihood, p) {
            Some(normals) => normals.quantile(level),
            None => by_false_position(self.range(likelihood, p, 4.0), level, |at| self.cumulative(likelihood, p, at)),
        }
    }
}

/// A mixture of Gaussians over one output of `y`.
pub(super) struct Normals {
    /// Mean and variance of each.
    pub parts: Vec<(f64, f64)>,
    /// The weight of each, which sum to 1; `None` where all weigh alike.
    pub weights: Option<Vec<f64>>,
}

impl Normals {
    /// The mean over parts of what `of` gives for each.
    fn average(&self, of: impl Fn(&(f64, f64)) -> f64) -> f64 {
        match &self.weights {
            None => 1.0 / self.parts.len() as f64 * self.parts.iter().map(of).sum::<f64>(),
            Some(weights) => self.parts.iter().zip(weights).map(|(part, weight)| weight * of(part)).sum(),
        }
    }

    /// The quantile at `level`, by Newton's method from `mean + deviation · log(level / (1 − level)) / 1.702`.
    fn quantile(&self, level: f64) -> f64 {
        let mean = self.average(|(m, _)| *m);
        let variance = self.average(|(m, v)| v + (m - mean).powi(2));
        // As if all were one Gaussian, whose quantiles are close to a logistic's.
        let start = mean + variance.sqrt() * (level / (1.0 - level)).ln() / 1.702;
        let scaled: Vec<(f64, f64)> = self.parts.iter().map(|(m, v)| (*m, (0.5 / v).sqrt())).collect();
        by_newton(start, variance.sqrt(), level, |at| distribution(&scaled, self.weights.as_deref(), at))
    }
}

/// Distribution function and density of a mixture of Gaussians, from the mean `m` and the scale `s = 1/√(2v)` of each: with
/// `z = (at − m) s`, `F = ½ Σ ω erfc(−z)` and `p = Σ ω s exp(−z²) / √π`.
fn distribution(parts: &[(f64, f64)], weights: Option<&[f64]>, at: f64) -> (f64, f64) {
    let (mut below, mut density) = (0.0, 0.0);
    let mut add = |&(mean, scale): &(f64, f64), weight: f64| {
        let z = (at - mean) * scale;
        below += weight * libm::erfc(-z);
        density += weight * (scale * (-z * z).exp());
    };
    let weight = match weights {
        None => {
            parts.iter().for_each(|part| add(part, 1.0));
            0.5 / parts.len() as f64
        }
        Some(weights) => {
            parts.iter().zip(weights).for_each(|(part, weight)| add(part, *weight));
            0.5
        }
    };
    (weight * below, weight * std::f64::consts::FRAC_2_SQRT_PI * density)
}

/// The integral of `f` by Simpson's rule over an even number of intervals, `h/3 (f_0 + 4 f_1 + 2 f_2 + 4 f_3 + … + f_n)`.
fn simpson(from: f64, to: f64, intervals: usize, f: impl Fn(f64) -> f64) -> f64 {
    let step = (to - from) / intervals as f64;
    let inner = (1..intervals).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * f(from + i as f64 * step));
    step / 3.0 * (f(from) + inner.sum::<f64>() + f(to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{Gaussian, Heteroscedastic};

    #[test]
    fn quantiles_of_a_normal_are_right_far_into_the_tails() {
        let mixture = Mixture { mean: &[3.0], variance: &[0.75], width: 1, weights: None };
        let likelihood = Gaussian::new(0.25, 1);
        // Φ⁻¹ to more digits than needed.
        for (level, z) in
            [(1e-9, -5.997_807_015_008_182), (0.025, -1.959_963_984_540_054), (0.9, 1.281_551_565_544_600_4)]
        {
            let found = mixture.quantile(&likelihood, 0, level);
            assert!((found - (3.0 + z)).abs() < 1e-9, "{level}: {found}");
        }
    }

    #[test]
    fn quantiles_of_a_mixture_invert_its_distribution_function() {
        let mean: Vec<f64> = (0..50).map(|s| f64::from(s * s % 37) * 0.3).collect();
        let variance: Vec<f64> = (0..50).map(|s| 1e-3 + f64::from(s % 7)).collect();
        let mixture = Mixture { mean: &mean, variance: &variance, width: 1, weights: None };
        let likelihood = Gaussian::new(1e-3, 1);
        for level in [1e-12, 1e-4, 0.025, 0.3, 0.5, 0.9, 0.999, 1.0 - 1e-9] {
            let back = mixture.cumulative(&likelihood, 0, mixture.quantile(&likelihood, 0, level));
            assert!((back - level).abs() <= 1e-12 * level.min(1.0 - level) + 1e-16, "{level}: {back}");
        }
    }

    #[test]
    fn what_cannot_be_computed_has_no_density() {
        let mixture = Mixture { mean: &[0.0, f64::NAN], variance: &[0.1, 0.1], width: 1, weights: None };
        assert!(mixture.log_density(&Gaussian::new(0.1, 1), &[0.0]).is_nan());
    }

    #[test]
    fn quantiles_of_two_far_parts_lie_in_either_and_between() {
        let mixture = Mixture { mean: &[-1e6, 1e6], variance: &[1e-4, 1e-4], width: 1, weights: None };
        let likelihood = Gaussian::new(1e-4, 1);
        assert!((mixture.quantile(&likelihood, 0, 0.25) + 1e6).abs() < 1e-3);
        assert!((mixture.quantile(&likelihood, 0, 0.75) - 1e6).abs() < 1e-3);
        assert!(mixture.quantile(&likelihood, 0, 0.5).abs() <= 1e6);
    }

    #[test]
    fn the_score_of_one_gaussian_is_the_known_formula() {
        let mixture = Mixture { mean: &[1.0], variance: &[3.0], width: 1, weights: None };
        // σ (z (2 Φ(z) − 1) + 2 φ(z) − 1/√π) at σ = 2, z = ½.
        let expected = 2.0 * (0.5 * 0.382_924_922_548_026 + 2.0 * 0.352_065_326_764_299_5 - 0.564_189_583_547_756_3);
        let found = mixture.crps(&Gaussian::new(1.0, 1), 0, 2.0);
        assert!((found - expected).abs() < 1e-14, "{found} {expected}");
    }

    #[test]
    fn the_score_by_pairs_is_the_integral() {
        let mixture = Mixture { mean: &[-1.0, 0.3, 2.0], variance: &[0.2, 0.05, 1.0], width: 1, weights: None };
        let likelihood = Gaussian::new(0.1, 1);
        for y in [-4.0, 0.2, 1.0, 7.0] {
            let (by_pairs, integral) =
                (mixture.crps(&likelihood, 0, y), mixture.crps_by_integration(&likelihood, 0, y));
            assert!((by_pairs - integral).abs() < 1e-6, "{y}: {by_pairs} {integral}");
        }
    }

    #[test]
    fn parts_of_equal_weights_are_parts_without_and_a_part_twice_is_one_of_twice_the_weight() {
        let likelihoods: [Box<dyn Likelihood>; 2] =
            [Box::new(Gaussian::new(0.1, 1)), Box::new(Heteroscedastic::new(0.1, 1))];
        for likelihood in &likelihoods {
            let width = likelihood.latent_width();
            let repeat = |each: [f64; 3]| -> Vec<f64> { each.iter().flat_map(|v| vec![*v; width]).collect() };
            let (mean, variance) = (repeat([-1.0, 0.3, 2.0]), repeat([0.2, 0.05, 1.0]));
            let plain = Mixture { mean: &mean, variance: &variance, width, weights: None };
            let weighted = Mixture { weights: Some(&[1.0 / 3.0; 3]), ..plain };
            let twice: Vec<f64> = [&mean[..], &mean[width..2 * width]].concat();
            let spread: Vec<f64> = [&variance[..], &variance[width..2 * width]].concat();
            let twice = Mixture { mean: &twice, variance: &spread, width, weights: None };
            let heavier = Mixture { weights: Some(&[0.25, 0.5, 0.25]), ..plain };
            let answers = |mixture: Mixture<'_>| {
                let (mut m, mut v, mut noise) = ([0.0], [0.0], [0.0]);
                mixture.moments_of_y(&**likelihood, &mut m, &mut v);
                mixture.noise_variance(&**likelihood, &mut noise);
                let density = mixture.log_density(&**likelihood, &[0.7]);
                let rest = (mixture.crps(&**likelihood, 0, 0.7), mixture.quantile(&**likelihood, 0, 0.2));
                [m[0], v[0], noise[0], density, mixture.cumulative(&**likelihood, 0, 0.7), rest.0, rest.1]
            };
            for (one, other) in [(plain, weighted), (twice, heavier)] {
                for (a, b) in answers(one).into_iter().zip(answers(other)) {
                    assert!((a - b).abs() < 1e-12, "{a} {b}");
                }
            }
            let integral = heavier.crps_by_integration(&**likelihood, 0, 0.7);
            assert!((heavier.crps(&**likelihood, 0, 0.7) - integral).abs() < 1e-6);
        }
    }

    #[test]
    fn the_density_of_hopeless_targets_stays_finite() {
        let mixture = Mixture { mean: &[0.0, 1.0], variance: &[0.1, 0.1], width: 1, weights: None };
        let found = mixture.log_density(&Gaussian::new(0.1, 1), &[1e3]);
        assert!(found.is_finite() && found < -1e6, "{found}");
    }
}
