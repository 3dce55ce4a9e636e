//! The distribution function of a mixture of Gaussians at many values at once, in vectors over the values.
//!
//! Integrals of the distribution function ask for it at a hundred values or more of each row, each a sum over up to a thousand parts: by
//! `erfc` one by one, that took more time than the rows' way through the layers.

use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;

/// A part of a mixture of Gaussians.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The weight; the weights of all parts sum to 1.
    pub weight: f64,
}

/// The distribution function `Σ_s ω_s Φ((v − m_s) / σ_s)` at each of `values`. Error below 1e-15.
pub(super) fn distribution_at(values: &[f64], parts: &[Part]) -> Vec<f64> {
    let mut sums = vec![0.0; values.len()];
    vectorised(
        #[inline(always)]
        || {
            for &Part { mean, deviation, weight } in parts {
                let scale = 1.0 / deviation;
                for (sum, v) in sums.iter_mut().zip(values) {
                    *sum += weight * standard_cumulative((v - mean) * scale);
                }
            }
        },
    );
    sums
}

/// The distribution function `Φ` of the standard normal, without a branch: `φ(z) ·` [`TAIL`] `/ (1 + z)` beyond `z` on the side where there is
/// less, for `z = |x|`.
#[inline(always)]
fn standard_cumulative(x: f64) -> f64 {
    let z = x.abs().min(FARTHEST);
    let density = 0.5 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2 * (-0.5 * z * z).exp_decay();
    let t = (z - 4.0) / (z + 4.0);
    let mut tail = TAIL[0];
    for c in &TAIL[1..] {
        tail = tail.mul_add(t, *c);
    }
    let beyond = density * tail / (1.0 + z);
    if x < 0.0 { beyond } else { 1.0 - beyond }
}

/// The `z` up to which [`TAIL`] holds; there `exp(−z²/2)` is below 1e-18, and is 0 to [`Real::exp_decay`].
pub const FARTHEST: f64 = 9.2;

/// The polynomial in `t = (z − 4) / (z + 4)`, highest power first, that is `(1 + z) Q(z) / φ(z)` for `z` from 0 to 9.2, where `Q` is the upper
/// tail of a standard normal: Chebyshev's interpolation, computed with sixty digits.
pub const TAIL: [f64; 20] = [
    -1.650_772_590_888_320_3e-8,
    -2.497_427_752_434_815_7e-8,
    3.750_117_255_811_201_7e-7,
    1.576_396_238_311_044_9e-6,
    9.465_212_242_073_82e-7,
    -6.675_280_027_457_525e-6,
    -8.638_537_155_452_264e-6,
    3.417_822_306_415_282e-5,
    5.327_933_921_349_584e-5,
    -2.202_156_848_217_834_3e-4,
    -2.367_033_514_715_309_4e-4,
    1.741_848_523_439_765e-3,
    -7.159_508_156_460_39e-4,
    -1.253_910_359_555_936e-2,
    4.495_912_907_536_770_6e-2,
    -8.070_800_967_997_346e-2,
    7.169_048_120_142_12e-2,
    3.509_188_023_475_988_4e-2,
    -2.423_996_705_218_076_6e-1,
    1.183_261_914_567_803_4,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::simd::baseline;

    #[test]
    fn the_polynomial_is_the_distribution_function() {
        for i in -130_000..130_000 {
            let x = f64::from(i) * 1e-4;
            let (found, expected) = (standard_cumulative(x), 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2));
            assert!((found - expected).abs() < 1e-15, "{x}: {found} {expected}");
        }
        assert_eq!((standard_cumulative(-1e300), standard_cumulative(f64::INFINITY)), (0.0, 1.0));
        assert!(standard_cumulative(f64::NAN).is_nan() || standard_cumulative(f64::NAN) <= 1.0);
    }

    #[test]
    fn a_mixture_is_the_sum_of_its_parts_and_vectors_of_any_length_give_the_same_bits() {
        let parts: Vec<Part> = (1..40)
            .map(|s| Part { mean: f64::from(s) * 0.1, deviation: 0.03 * f64::from(s), weight: f64::from(s) / 780.0 })
            .collect();
        let values: Vec<f64> = (0..101).map(|i| f64::from(i) * 0.07 - 2.0).collect();
        let found = distribution_at(&values, &parts);
        for (v, found) in values.iter().zip(&found) {
            let own = |part: &Part| 0.5 * part.weight * libm::erfc((part.mean - v) / part.deviation / 2.0f64.sqrt());
            let expected: f64 = parts.iter().map(own).sum();
            assert!((found - expected).abs() < 1e-14, "{v}: {found} {expected}");
        }
        assert_eq!(found, baseline::run(|| distribution_at(&values, &parts)));
    }
}
