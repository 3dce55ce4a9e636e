//! The mean of numbers, whatever their order and whoever adds them up: of a table in one piece or in many, to the same bit.
//!
//! A double is a whole number of up to 53 bits times a power of two that is `2⁻¹⁰⁷⁴` or more. So all of them add up exactly, in digits of 32 bits:
//!
//! ```text
//! Σ = 2⁻¹⁰⁷⁴ Σ_i limbs_i 2^(32 (lowest + i)),     mean = round(Σ / count)
//! ```
//!
//! A limb has room for the carries of 2³⁰ additions. A column's numbers are of a few sizes, and take three to six limbs. Cost: three additions a number.

use serde::{Deserialize, Serialize};

/// The bits of a limb when nothing is to be carried.
const LIMB: usize = 32;
const MASK: i64 = (1 << LIMB) - 1;
/// The power of two of the smallest number.
const LEAST: i32 = -1074;
/// Additions after which carries are settled.
const SETTLED_EVERY: u32 = 1 << 30;

/// A sum that is exact, and how many numbers it is of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ExactMean {
    count: u64,
    /// The place of the first limb.
    lowest: usize,
    limbs: Vec<i64>,
    /// Additions since carries were settled.
    pending: u32,
}

impl ExactMean {
    /// One more number, which is finite.
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7FF) as usize, bits & ((1 << 52) - 1));
        // The power of two of the smallest numbers is that of the next larger ones, and their first bit is 0.
        let (shift, whole) = if exponent == 0 { (0, fraction) } else { (exponent - 1, fraction | 1 << 52) };
        if whole == 0 {
            return;
        }
        let (place, mut digits) = (shift / LIMB, u128::from(whole) << (shift % LIMB));
        self.reach(place, place + 3);
        for limb in &mut self.limbs[place - self.lowest..][..3] {
            let digit = digits as i64 & MASK;
            *limb += if value < 0.0 { -digit } else { digit };
            digits >>= LIMB;
        }
        self.pending += 1;
        if self.pending == SETTLED_EVERY {
            self.settle();
        }
    }

    /// Adds the numbers of another sum.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.count += other.count;
        if other.limbs.is_empty() {
            return;
        }
        other.settle();
        self.settle();
        self.reach(other.lowest, other.lowest + other.limbs.len());
        for (to, from) in self.limbs[other.lowest - self.lowest..].iter_mut().zip(&other.limbs) {
            *to += from;
        }
        self.pending = 1;
    }

    /// The mean; 0 of nothing.
    pub(super) fn mean(&self) -> f64 {
        let mut sum = self.clone();
        sum.settle();
        let negative = sum.limbs.last().is_some_and(|limb| *limb < 0);
        if negative {
            sum.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            sum.settle();
        }
        // As on paper, from the first digit on, and as far behind the last as the digits of a double go.
        let (mut rest, count) = (0, u128::from(self.count.max(1)));
        let digits: Vec<u128> = sum
            .limbs
            .iter()
            .rev()
            .copied()
            .chain([0; 3])
            .map(|limb| {
                let dividend = rest << LIMB | limb as u128;
                rest = dividend % count;
                dividend / count
            })
            .collect();
        let Some(first) = digits.iter().position(|digit| *digit > 0) else { return 0.0 };
        let digit = |at: usize| digits.get(first + at).copied().unwrap_or(0);
        // Of what comes after three digits it matters only whether there is any.
        let more = rest > 0 || digits.iter().skip(first + 3).any(|digit| *digit > 0);
        let leading = digit(0) << (2 * LIMB) | digit(1) << LIMB | digit(2) | u128::from(more);
        let place = (sum.lowest + sum.limbs.len() - 1 - first) as i32 - 2;
        let magnitude = scaled(leading as f64, LIMB as i32 * place + LEAST);
        if negative { -magnitude } else { magnitude }
    }

    /// Makes room for limbs from one place to another.
    fn reach(&mut self, from: usize, to: usize) {
        if self.limbs.is_empty() {
            self.lowest = from;
        }
        if from < self.lowest {
            self.limbs.splice(0..0, std::iter::repeat_n(0, self.lowest - from));
            self.lowest = from;
        }
        if self.lowest + self.limbs.len() < to {
            self.limbs.resize(to - self.lowest, 0);
        }
    }

    /// Carries: all limbs but the last are then digits, and the last has the sign of the sum.
    fn settle(&mut self) {
        let mut carry = 0;
        let last = self.limbs.len().saturating_sub(1);
        for (at, limb) in self.limbs.iter_mut().enumerate() {
            *limb += carry;
            // A last limb of few bits stays as it is, so that a sum below 0 does not grow by a limb each time.
            carry = if at == last && limb.abs() <= MASK { 0 } else { *limb >> LIMB };
            *limb -= carry << LIMB;
        }
        if carry != 0 {
            self.limbs.push(carry);
        }
        // A last limb of 0 hides the sign of those before it.
        while self.limbs.last() == Some(&0) {
            self.limbs.pop();
        }
        self.pending = 0;
    }
}

/// A number times a power of two, in two steps, as one of them alone may be no double.
fn scaled(number: f64, power: i32) -> f64 {
    let two_to = |power: i32| f64::from_bits(((1023 + power) as u64) << 52);
    number * two_to(power / 2) * two_to(power - power / 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(numbers: &[f64]) -> ExactMean {
        let mut mean = ExactMean::default();
        numbers.iter().for_each(|number| mean.add(*number));
        mean
    }

    #[test]
    fn means_are_rounded_once() {
        for (numbers, expected) in [
            (&[][..], 0.0),
            (&[0.1], 0.1),
            (&[-0.1], -0.1),
            (&[1e16, 1.0, -1e16], 1.0 / 3.0),
            (&[f64::MAX, f64::MAX, f64::MAX], f64::MAX),
            (&[f64::MAX, -f64::MAX], 0.0),
            (&[f64::MIN_POSITIVE, f64::MAX, -f64::MAX, f64::MIN_POSITIVE], f64::MIN_POSITIVE / 2.0),
            (&[5e-324], 5e-324),
            (&[-1.0, 0.0, -2.0, 3.5], 0.125),
            (&[-3.0, 1.0], -1.0),
            (&[0.0, -0.0], 0.0),
        ] {
            assert_eq!(of(numbers).mean(), expected, "{numbers:?}");
        }
        // What rounding each sum would lose: 10 times 0.1 is 1.
        assert_eq!(of(&[0.1; 10]).mean(), 0.1);
    }

    #[test]
    fn carries_are_settled_in_time() {
        let mut sum = of(&[f64::from(u32::MAX); 3]);
        sum.pending = SETTLED_EVERY - 1;
        sum.add(f64::from(u32::MAX));
        assert_eq!((sum.pending, sum.mean()), (0, f64::from(u32::MAX)));
        let mut negative = of(&[-5.0]);
        for _ in 0..5 {
            negative.settle();
        }
        assert!(negative.limbs.len() < 5 && negative.mean() == -5.0, "{negative:?}");
    }

    proptest! {
        #[test]
        fn any_order_and_any_parts_give_the_same_bits(bits in proptest::collection::vec(any::<u64>(), 0..40), cut in 0usize..40) {
            let numbers: Vec<f64> = bits.into_iter().map(f64::from_bits).filter(|value| value.is_finite()).collect();
            let (front, back) = numbers.split_at(cut.min(numbers.len()));
            let mut merged = of(front);
            merged.merge(serde_json::from_str(&serde_json::to_string(&of(back)).unwrap()).unwrap());
            let reversed: Vec<f64> = numbers.iter().rev().copied().collect();
            let whole = of(&numbers).mean();
            prop_assert_eq!(merged.mean().to_bits(), whole.to_bits());
            prop_assert_eq!(of(&reversed).mean().to_bits(), whole.to_bits());
            // Of numbers of like size the mean is that of the plain sum but for rounding.
            let tame: Vec<f64> = numbers.iter().map(|value| value.to_bits() as f64 / 1e19 - 0.9).collect();
            let plain = tame.iter().sum::<f64>() / tame.len().max(1) as f64;
            prop_assert!((of(&tame).mean() - plain).abs() < 1e-14);
        }
    }
}
