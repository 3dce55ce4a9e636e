//! What the model says of one row: a mixture of Gaussians, seen through the likelihood.
//!
//! `1/S Σ_s N(f; μ_s, σ²_s)`, one part for each sample of the hidden layers. Its density is an average of densities, taken by
//! log-sum-exp; its quantiles invert the average of distribution functions.

use crate::likelihood::{Latent, Likelihood};

/// How often the bracket of a quantile may double.
const MAX_WIDENINGS: u32 = 60;
/// How often it may then be narrowed; every third time it halves.
const MAX_ROUNDS: u32 = 300;

/// The mixture at one row: `[S, P]` means and variances of the last layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixture<'a> {
    pub mean: &'a [f64],
    pub variance: &'a [f64],
    /// `P`.
    pub width: usize,
}

impl<'a> Mixture<'a> {
    fn parts(self) -> impl ExactSizeIterator<Item = Latent<'a>> {
        let chunks = self.mean.chunks_exact(self.width).zip(self.variance.chunks_exact(self.width));
        chunks.map(|(mean, variance)| Latent { mean, variance })
    }

    /// `S`.
    fn len(self) -> usize {
        self.mean.len() / self.width
    }

    /// Part `s`, counted round and round.
    pub fn part(self, s: usize) -> Latent<'a> {
        let start = s % self.len() * self.width;
        let range = start..start + self.width;
        Latent { mean: &self.mean[range.clone()], variance: &self.variance[range] }
    }

    /// Mean and variance of `f`.
    pub fn moments_of_f(self, mean: &mut [f64], variance: &mut [f64]) {
        self.moments(mean, variance, |part, m, v| {
            m.copy_from_slice(part.mean);
            v.copy_from_slice(part.variance);
        });
    }

    /// Mean and variance of `y`.
    pub fn moments_of_y(self, likelihood: &dyn Likelihood, mean: &mut [f64], variance: &mut [f64]) {
        self.moments(mean, variance, |part, m, v| likelihood.observed_moments(part, m, v));
    }

    /// `m = 1/S Σ m_s` and `v = 1/S Σ (v_s + (m_s − m)²)`.
    fn moments(self, mean: &mut [f64], variance: &mut [f64], of_part: impl Fn(Latent<'_>, &mut [f64], &mut [f64])) {
        let width = mean.len();
        let mut each = vec![0.0; 2 * width * self.len()];
        for (part, each) in self.parts().zip(each.chunks_exact_mut(2 * width)) {
            let (m, v) = each.split_at_mut(width);
            of_part(part, m, v);
        }
        let share = 1.0 / self.len() as f64;
        for p in 0..width {
            let parts = || each.chunks_exact(2 * width);
            let m = share * parts().map(|each| each[p]).sum::<f64>();
            mean[p] = m;
            variance[p] = share * parts().map(|each| each[width + p] + (each[p] - m).powi(2)).sum::<f64>();
        }
    }

    /// `log 1/S Σ_s p_s(y)`, jointly over the columns of `y`.
    pub fn log_density(self, likelihood: &dyn Likelihood, y: &[f64]) -> f64 {
        let each: Vec<f64> = self.parts().map(|part| likelihood.log_density(y, part)).collect();
        let largest = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !largest.is_finite() {
            return largest;
        }
        largest + (each.iter().map(|v| (v - largest).exp()).sum::<f64>() / each.len() as f64).ln()
    }

    /// `P(y_p ≤ at)`.
    pub fn cumulative(self, likelihood: &dyn Likelihood, p: usize, at: f64) -> f64 {
        self.parts().map(|part| likelihood.cumulative(p, at, part)).sum::<f64>() / self.len() as f64
    }

    /// Where the distribution function of `y_p` crosses `level`: bracketed, then false position with a bisection in between
    /// so that it always closes in.
    pub fn quantile(self, likelihood: &dyn Likelihood, p: usize, level: f64) -> f64 {
        let below = |at: f64| self.cumulative(likelihood, p, at) - level;
        let width = likelihood.observed_width();
        let (mut mean, mut variance) = (vec![0.0; width], vec![0.0; width]);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for part in self.parts() {
            likelihood.observed_moments(part, &mut mean, &mut variance);
            let reach = 4.0 * variance[p].sqrt();
            low = low.min(mean[p] - reach);
            high = high.max(mean[p] + reach);
        }
        let (mut at_low, mut at_high) = (below(low), below(high));
        for _ in 0..MAX_WIDENINGS {
            if at_low <= 0.0 && at_high >= 0.0 {
                break;
            }
            let reach = (high - low).max(f64::EPSILON * (1.0 + low.abs().max(high.abs())));
            (low, high) = (low - reach, high + reach);
            (at_low, at_high) = (below(low), below(high));
        }
        // Far in a tail the distribution function is tiny, and so must the error be.
        let close_enough = 1e-13 * level.min(1.0 - level);
        for round in 0..MAX_ROUNDS {
            if high - low <= 4.0 * f64::EPSILON * low.abs().max(high.abs()) {
                break;
            }
            let guess = low - at_low * (high - low) / (at_high - at_low);
            let at = if round % 3 == 2 || !(guess > low && guess < high) { 0.5 * (low + high) } else { guess };
            let value = below(at);
            if value.abs() <= close_enough {
                return at;
            }
            if value < 0.0 {
                (low, at_low) = (at, value);
            } else {
                (high, at_high) = (at, value);
            }
        }
        0.5 * (low + high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::Gaussian;

    #[test]
    fn quantiles_of_a_normal_are_right_far_into_the_tails() {
        let mixture = Mixture { mean: &[3.0], variance: &[0.75], width: 1 };
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
    fn quantiles_of_two_far_parts_lie_in_either_and_between() {
        let mixture = Mixture { mean: &[-1e6, 1e6], variance: &[1e-4, 1e-4], width: 1 };
        let likelihood = Gaussian::new(1e-4, 1);
        assert!((mixture.quantile(&likelihood, 0, 0.25) + 1e6).abs() < 1e-3);
        assert!((mixture.quantile(&likelihood, 0, 0.75) - 1e6).abs() < 1e-3);
        assert!(mixture.quantile(&likelihood, 0, 0.5).abs() <= 1e6);
    }

    #[test]
    fn the_density_of_hopeless_targets_stays_finite() {
        let mixture = Mixture { mean: &[0.0, 1.0], variance: &[0.1, 0.1], width: 1 };
        let found = mixture.log_density(&Gaussian::new(0.1, 1), &[1e3]);
        assert!(found.is_finite() && found < -1e6, "{found}");
    }
}
