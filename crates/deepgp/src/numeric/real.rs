//! The two precisions a block of rows can be computed in, and the exponential both share.
//!
//! [`Real`] is what the row-wise code is generic over. `M × M` work and the optimiser are always `f64`. Each of the (at most 16) partial
//! sums over rows is in the rows' precision, and they are added to one another in `f64`.

use crate::kernel::{Evaluate, Kernel};

/// A floating-point number, `f32` or `f64`.
pub trait Real:
    faer::traits::RealField
    + Copy
    + Default
    + PartialOrd
    + std::fmt::Debug
    + std::iter::Sum
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
    + std::ops::AddAssign
    + std::ops::SubAssign
    + std::ops::MulAssign
    + Send
    + Sync
    + 'static
{
    /// The number 0.
    const ZERO: Self;
    /// The number 1.
    const ONE: Self;
    /// Whether rounding at the size of squared norms is larger than a jitter.
    const ROUNDS_COARSELY: bool;
    /// The number nearest to `value`.
    fn of(value: f64) -> Self;
    /// The number as an `f64`, exactly.
    fn to_f64(self) -> f64;
    /// The square root.
    fn root(self) -> Self;
    /// The logarithm `ln(1 + x)`, exact for small `x` too.
    fn ln_1p(self) -> Self;
    /// The fused product and sum `self · factor + term`, rounded once.
    fn times_plus(self, factor: Self, term: Self) -> Self;
    /// The larger of two numbers; `self` where `other` is NaN.
    fn at_least(self, other: Self) -> Self;
    /// The exponential `exp(x)` for `x ≤ 0`, and 0 where it would fall below 1e-18, which keeps denormal numbers out of the
    /// matrix of every kernel but products: with them an `f32` Cholesky ran 23 times slower. A polynomial that vectorises; within 2 ulp.
    fn exp_decay(self) -> Self;
    /// The exponential of `x` moved into `[−87, 87]`, or `[−700, 700]` in `f64`. The same polynomial; within 2 ulp.
    fn exp_bounded(self) -> Self;
    /// A kernel as the evaluator of this precision.
    fn evaluator(kernel: &dyn Kernel) -> &dyn Evaluate<Self>;
}

/// The exponent below which [`Real::exp_decay`] is 0, `ln 1e-18`.
pub const SMALLEST_EXPONENT: f64 = -41.446_531_673_892_82;

/// Implements [`Real`] for one precision; the two differ in the exponential's constants.
macro_rules! real {
    ($real:ident, mantissa: $mantissa:literal, ln_2: $ln_2_high:literal + $ln_2_low:literal, terms: $terms:literal, largest: $largest:literal) => {
        impl Real for $real {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const ROUNDS_COARSELY: bool = $mantissa < 30;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }

            #[inline(always)]
            fn ln_1p(self) -> Self {
                self.ln_1p()
            }

            #[inline(always)]
            fn times_plus(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }

            #[inline(always)]
            fn at_least(self, other: Self) -> Self {
                if self < other { other } else { self }
            }

            #[inline(always)]
            fn exp_decay(self) -> Self {
                const SMALLEST: $real = SMALLEST_EXPONENT as $real;
                let power = self.at_least(SMALLEST).exp_bounded();
                if self < SMALLEST { 0.0 } else { power }
            }

            /// `exp x = 2ⁿ exp r` with `n = round(x / ln 2)`, `|r| ≤ ½ ln 2`. Adding `1.5 · 2^mantissa` rounds, and leaves `n`
            /// in the low bits, from where it is shifted into the exponent. `exp r` is its Taylor series.
            #[inline(always)]
            fn exp_bounded(self) -> Self {
                const ROUND: $real = 1.5 * (1u64 << $mantissa) as $real;
                const TAYLOR: [f64; $terms] = reciprocal_factorials();
                let x = self.at_least(-$largest);
                let x = if x > $largest { $largest } else { x };
                let shifted = x.mul_add(std::$real::consts::LOG2_E, ROUND);
                let n = shifted - ROUND;
                let r = n.mul_add(-$ln_2_low, n.mul_add(-$ln_2_high, x));
                let mut p = TAYLOR[0] as $real;
                for c in &TAYLOR[1..] {
                    p = p.mul_add(r, *c as $real);
                }
                let p = (p * r).mul_add(r, r) + 1.0;
                $real::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << $mantissa))
            }

            fn evaluator(kernel: &dyn Kernel) -> &dyn Evaluate<Self> {
                kernel
            }
        }
    };
}

/// The coefficients `1/k!` for `k = N + 1` down to 2: the Taylor series of the exponential beyond its first two terms.
const fn reciprocal_factorials<const N: usize>() -> [f64; N] {
    let mut out = [0.0; N];
    let (mut factorial, mut k) = (1.0, 2);
    while k <= N + 1 {
        factorial *= k as f64;
        out[N + 1 - k] = 1.0 / factorial;
        k += 1;
    }
    out
}

// `ln 2` in two parts, the first with zeros at its end, so that `n` times it is exact.
real!(f64, mantissa: 52, ln_2: 6.931_471_803_691_238e-1 + 1.908_214_929_270_587_7e-10, terms: 12, largest: 700.0);
real!(f32, mantissa: 23, ln_2: 0.693_359_4 + -2.121_944_4e-4, terms: 6, largest: 87.0);

/// Casts numbers to `f64`, exactly.
pub(crate) fn widen<T: Real>(from: &[T], to: &mut [f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.to_f64();
    }
}

/// Casts numbers from `f64`, each to the nearest.
pub(crate) fn narrow<T: Real>(from: &[f64], to: &mut [T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = T::of(*from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_decay_is_exp_within_two_ulp_and_zero_below_1e_18() {
        for i in 0..200_000 {
            let x = -41.44 * f64::from(i) / 200_000.0;
            assert!((x.exp_decay() / x.exp() - 1.0).abs() < 2.0 * f64::EPSILON, "f64 at {x}");
            let y = x as f32;
            assert!((y.exp_decay() / y.exp() - 1.0).abs() < 2.0 * f32::EPSILON, "f32 at {y}");
        }
        assert_eq!((0.0f64.exp_decay(), 0.0f32.exp_decay()), (1.0, 1.0));
        assert_eq!(((-41.45f64).exp_decay(), (-41.45f32).exp_decay()), (0.0, 0.0));
        assert_eq!(((-1e300f64).exp_decay(), f32::NEG_INFINITY.exp_decay()), (0.0, 0.0));
    }

    #[test]
    fn exp_bounded_is_exp_within_two_ulp_on_both_sides_and_never_overflows() {
        for i in 0..=200_000 {
            let x = f64::from(i - 100_000) / 100_000.0;
            assert!(((700.0 * x).exp_bounded() / (700.0 * x).exp() - 1.0).abs() < 2.0 * f64::EPSILON, "f64 at {x}");
            let y = 87.0 * x as f32;
            assert!((y.exp_bounded() / y.exp() - 1.0).abs() < 2.0 * f32::EPSILON, "f32 at {y}");
        }
        assert!(1e300f64.exp_bounded() < f64::MAX && f32::NEG_INFINITY.exp_bounded() > 0.0);
    }

    #[test]
    fn exponentials_hand_on_nan() {
        assert!(f64::NAN.exp_decay().is_nan() && f32::NAN.exp_decay().is_nan());
        assert!(f64::NAN.exp_bounded().is_nan() && f32::NAN.exp_bounded().is_nan());
    }
}
