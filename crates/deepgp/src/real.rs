//! The two precisions a block of rows can be computed in, and the exponential both share.
//!
//! `M × M` work, sums and the optimiser are always `f64`; [`Real`] is what the row-wise code is generic over.

use crate::kernel::{Evaluate, Kernel};

/// `f32` or `f64`.
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
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The number nearest to `value`.
    fn of(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// Square root.
    fn root(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// The larger of two numbers; `self` where `other` is NaN.
    fn at_least(self, other: Self) -> Self;
    /// `exp(x)` for `x ≤ 0`, and 0 where it would fall below 1e-18, which keeps denormal numbers out of every
    /// kernel matrix: with them an `f32` Cholesky ran 23 times slower. A polynomial that vectorises; within 2 ulp.
    fn exp_decay(self) -> Self;
    /// A kernel as the evaluator of this precision.
    fn evaluator(kernel: &dyn Kernel) -> &dyn Evaluate<Self>;
}

/// `ln 1e-18`: where [`Real::exp_decay`] becomes 0.
const SMALLEST_EXPONENT: f64 = -41.446_531_673_892_82;

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn root(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f64::ln(self)
    }
    #[inline(always)]
    fn at_least(self, other: Self) -> Self {
        if self < other { other } else { self }
    }
    /// `exp x = 2ⁿ exp r` with `n = round(x / ln 2)`: adding `1.5·2⁵²` rounds, and leaves `n` in the low bits.
    #[inline(always)]
    fn exp_decay(self) -> Self {
        const ROUND: f64 = 6_755_399_441_055_744.0;
        const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
        const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
        // 1/k!, k = 13 … 2: the first term left out is below 5e-18 on |r| ≤ ½ ln 2.
        const TAYLOR: [f64; 12] = [
            1.0 / 6_227_020_800.0,
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
        ];
        let x = self.at_least(SMALLEST_EXPONENT);
        let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUND);
        let n = shifted - ROUND;
        let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
        let mut p = TAYLOR[0];
        for c in &TAYLOR[1..] {
            p = p.mul_add(r, *c);
        }
        let p = (p * r).mul_add(r, r) + 1.0;
        let power = f64::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 52));
        if self < SMALLEST_EXPONENT { 0.0 } else { power }
    }
    fn evaluator(kernel: &dyn Kernel) -> &dyn Evaluate<Self> {
        kernel
    }
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn root(self) -> Self {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f32::ln(self)
    }
    #[inline(always)]
    fn at_least(self, other: Self) -> Self {
        if self < other { other } else { self }
    }
    #[inline(always)]
    fn exp_decay(self) -> Self {
        const ROUND: f32 = 12_582_912.0;
        const LN_2_HIGH: f32 = 0.693_359_4;
        const LN_2_LOW: f32 = -2.121_944_4e-4;
        const TAYLOR: [f32; 6] = [1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5];
        let x = self.at_least(SMALLEST_EXPONENT as f32);
        let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
        let n = shifted - ROUND;
        let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
        let mut p = TAYLOR[0];
        for c in &TAYLOR[1..] {
            p = p.mul_add(r, *c);
        }
        let p = (p * r).mul_add(r, r) + 1.0;
        let power = f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23));
        if self < SMALLEST_EXPONENT as f32 { 0.0 } else { power }
    }
    fn evaluator(kernel: &dyn Kernel) -> &dyn Evaluate<Self> {
        kernel
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
    fn exp_decay_hands_on_nan() {
        assert!(f64::NAN.exp_decay().is_nan() && f32::NAN.exp_decay().is_nan());
    }
}
