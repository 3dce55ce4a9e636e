//! Expected absolute values of Gaussians, of which the continuous ranked probability score of a mixture is made.
//!
//! A mixture of `S` parts has `S (S − 1) / 2` differences of two of them: with 100 samples and the elementary functions one by one, they
//! took more time than the 100 samples' way through the layers. [`between_many`] therefore takes them in vectors.

use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;

/// The number of parts from which on their differences are taken in vectors. Of fewer, sums keep the bits of version 0.1.
const MANY: usize = 16;

/// The expectation `E|X|` of a Gaussian `X ~ N(mean, v)`: `√v · (2 φ(z) + z (2 Φ(z) − 1))` with `z = mean / √v`.
pub(crate) fn mean_absolute(mean: f64, variance: f64) -> f64 {
    let deviation = variance.sqrt();
    let z = mean / deviation;
    let density = (-0.5 * z * z).exp() * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
    deviation * (density + z * libm::erf(z * std::f64::consts::FRAC_1_SQRT_2))
}

/// The sum `½ Σ_s Σ_t E|X_s − X_t|` over independent Gaussians of these means and variances, each part's difference from a copy of itself
/// included.
pub(crate) fn absolute_differences(parts: &[(f64, f64)]) -> f64 {
    if parts.len() >= MANY {
        let from_copies: f64 = parts.iter().map(|&(_, v)| 0.5 * mean_absolute(0.0, v + v)).sum();
        return from_copies + between_many(parts, None);
    }
    let mut sum = 0.0;
    for (s, &(m, v)) in parts.iter().enumerate() {
        let later: f64 = parts[s + 1..].iter().map(|&(other, own)| mean_absolute(m - other, v + own)).sum();
        sum += 0.5 * mean_absolute(0.0, v + v) + later;
    }
    sum
}

/// The sum `½ Σ_s Σ_t ω_s ω_t E|X_s − X_t|` over independent Gaussians of these means, variances and weights: [`absolute_differences`]
/// where parts weigh differently.
pub(crate) fn weighted_differences(parts: &[(f64, f64)], weights: &[f64]) -> f64 {
    let from_copies: f64 = parts.iter().zip(weights).map(|(&(_, v), w)| 0.5 * w * w * mean_absolute(0.0, v + v)).sum();
    from_copies + between_many(parts, Some(weights))
}

/// The sum `Σ_{s<t} ω_s ω_t E|X_s − X_t|`, in vectors over `s`: the pairs `(s, s + k mod S)` for `k` from 1 to `S/2`. With as many parts as twice
/// `k`, each pair comes twice, and counts half. Without weights every pair counts 1.
fn between_many(parts: &[(f64, f64)], weights: Option<&[f64]>) -> f64 {
    let count = parts.len();
    // Twice in a row, so that a shifted copy is a slice.
    let twice = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> { parts.iter().chain(parts).map(of).collect() };
    let (mean, variance) = (twice(|part| part.0), twice(|part| part.1));
    let weights: Vec<f64> = weights.map_or_else(Vec::new, |own| [own, own].concat());
    let mut sums = vec![0.0; count];
    vectorised(
        #[inline(always)]
        || {
            let own = (&mean[..count], &variance[..count]);
            for shift in 1..=count / 2 {
                let weight = if 2 * shift == count { 0.5 } else { 1.0 };
                let other = (&mean[shift..shift + count], &variance[shift..shift + count]);
                let pairs = sums.iter_mut().zip(own.0).zip(own.1).zip(other.0.iter().zip(other.1));
                match weights.get(shift..shift + count) {
                    None => {
                        for (((to, m), v), (n, w)) in pairs {
                            *to += weight * mean_absolute_of((m - n).abs(), (v + w).sqrt());
                        }
                    }
                    Some(weights) => {
                        for ((((to, m), v), (n, w)), share) in pairs.zip(weights) {
                            *to += weight * share * mean_absolute_of((m - n).abs(), (v + w).sqrt());
                        }
                    }
                }
            }
        },
    );
    match weights.get(..count) {
        None => sums.iter().sum(),
        Some(weights) => sums.iter().zip(weights).map(|(sum, weight)| sum * weight).sum(),
    }
}

/// [`mean_absolute`] for a mean that is not negative, without a branch: `m + σ · 2 φ(z) (1 − z Q(z)/φ(z))` with `z = m / σ`, where `Q` is
/// the upper tail of a standard normal. The bracket is [`TAIL`] over `(1 + z)²`. Relative error below 1e-15.
#[inline(always)]
fn mean_absolute_of(mean: f64, deviation: f64) -> f64 {
    // Beyond, the second summand is 0, and so it is where z is no number.
    let z = (mean / deviation).min(FARTHEST);
    let density = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2 * (-0.5 * z * z).exp_decay();
    let t = (z - 4.0) / (z + 4.0);
    let mut tail = TAIL[0];
    for c in &TAIL[1..] {
        tail = tail.mul_add(t, *c);
    }
    mean + deviation * (density * tail / ((1.0 + z) * (1.0 + z)))
}

/// The `z` up to which [`TAIL`] holds; there `exp(−z²/2)` is below 1e-18, and is 0 to [`Real::exp_decay`].
const FARTHEST: f64 = 9.2;

/// The polynomial in `t = (z − 4) / (z + 4)`, highest power first, that is `(1 + z)² (1 − z Q(z)/φ(z))` to 4e-16 for `z` from 0 to 9.2:
/// Chebyshev's interpolation, computed with forty digits.
const TAIL: [f64; 20] = [
    6.433_159_179_992_234e-7,
    5.336_770_156_190_31e-6,
    1.652_095_382_803_296e-5,
    1.338_032_544_823_735_3e-5,
    -4.527_266_581_085_124e-5,
    -8.230_350_459_692_216e-5,
    1.743_592_928_353_896_3e-4,
    4.265_475_528_547_694e-4,
    -8.821_298_579_418_012e-4,
    -1.935_841_328_600_224_3e-3,
    5.832_594_218_992_204_6e-3,
    4.677_619_782_443_502e-3,
    -3.889_109_069_163_497_5e-2,
    5.608_289_352_732_684e-2,
    2.711_766_443_764_83e-2,
    -2.212_615_063_879_986_9e-1,
    3.535_472_764_768_347_6e-1,
    -1.726_817_083_459_953_3e-1,
    -3.468_644_384_456_98e-1,
    1.334_761_708_643_932_7,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::simd::baseline;
    use crate::testing::uniform;

    #[test]
    fn the_polynomial_is_the_formula() {
        for i in 0..200_000 {
            let (mean, deviation) = (f64::from(i) * 1e-4, 0.7);
            let (found, expected) = (mean_absolute_of(mean, deviation), mean_absolute(mean, deviation * deviation));
            assert!((found / expected - 1.0).abs() < 4.0 * f64::EPSILON, "{mean}: {found} {expected}");
        }
        assert_eq!(mean_absolute_of(3.0, 0.0), 3.0);
        assert_eq!((mean_absolute_of(0.0, 0.0), mean_absolute_of(1e300, 1e-300)), (0.0, 1e300));
        assert!(mean_absolute_of(f64::NAN, 1.0).is_nan() && mean_absolute_of(1.0, f64::NAN).is_nan());
    }

    /// Means and variances of so many parts.
    fn parts(count: usize) -> Vec<(f64, f64)> {
        let numbers = uniform(count, 2, count as u64);
        (0..count).map(|s| (3.0 * numbers[(s, 0)], 1.01 + numbers[(s, 1)])).collect()
    }

    #[test]
    fn differences_in_vectors_are_those_one_by_one() {
        for count in [MANY - 1, MANY, MANY + 1, 100, 137] {
            let parts = parts(count);
            let each = |a: &(f64, f64), b: &(f64, f64)| 0.5 * mean_absolute(a.0 - b.0, a.1 + b.1);
            let expected: f64 = parts.iter().flat_map(|a| parts.iter().map(move |b| each(a, b))).sum();
            let found = absolute_differences(&parts);
            assert!((found / expected - 1.0).abs() < 1e-14, "{count}: {found} {expected}");
        }
    }

    #[test]
    fn vectors_of_any_length_give_the_same_bits() {
        let parts = parts(100);
        assert_eq!(absolute_differences(&parts), baseline::run(|| absolute_differences(&parts)));
    }
}
