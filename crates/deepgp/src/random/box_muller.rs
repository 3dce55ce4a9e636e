//! Two standard normals from two uniform numbers, in code that vectorises.
//!
//! Box and Muller (1958): if `u` and `v` are uniform on (0, 1), `√(-2 ln u) cos 2πv` and `√(-2 ln u) sin 2πv` are
//! independent standard normals. The logarithm, cosine and sine are polynomials without branches, so a loop over many
//! pairs becomes vector instructions: about 40 of arithmetic, a division and a square root for a vector of pairs. They
//! use nothing but operations that IEEE 754 rounds correctly, so a pair has the same bits in a vector and alone.
//!
//! Each normal is within 4 units in the last place. The sine and cosine of the computer's library are further off near
//! their zeros, because they are handed `2πv` after it has been rounded; here `v` is reduced first, which is exact.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, TAU};

/// Two standard normals, `[√(-2 ln u) cos 2πv, √(-2 ln u) sin 2πv]`, for `u` and `v` in (0, 1].
#[inline(always)]
pub(crate) fn normal_pair(u: f64, v: f64) -> [f64; 2] {
    let radius = (-2.0 * ln(u)).sqrt();
    let [cos, sin] = cos_sin_of_turns(v);
    [radius * cos, radius * sin]
}

/// The logarithm `ln x` for normal `x > 0`: `x = 2ⁿ (1 + f)` with `√½ ≤ 1 + f < √2`, so `ln x = n ln 2 + ln(1 + f)`.
///
/// With `s = f / (2 + f)`, `ln(1 + f) = 2 atanh s = 2s + s r`, where `r = Σₖ 2 s²ᵏ / (2k + 1)` from `k = 1`. As
/// `2s = f - s f`, this is `f - s (f - r)`, whose leading term `f` is exact: the relative error stays small when `x` is
/// close to 1. `|s| < 0.172`, so that the series, cut after `k = 9`, changes `ln(1 + f)` by less than 3e-17 of itself.
#[inline(always)]
fn ln(x: f64) -> f64 {
    const ATANH: [f64; 9] =
        [2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0];
    const MANTISSA: u64 = (1 << 52) - 1;
    const SMALLEST: u64 = FRAC_1_SQRT_2.to_bits();
    const TWO_52: f64 = (1u64 << 52) as f64;
    // Moves √½ to 1, so that the exponent becomes `n`; the mantissa is then moved back.
    let shifted = x.to_bits().wrapping_add(1f64.to_bits() - SMALLEST);
    let f = f64::from_bits((shifted & MANTISSA) + SMALLEST) - 1.0;
    // The biased exponent as the last digits of a number near 2⁵²: a conversion that every vector unit has.
    let n = f64::from_bits((shifted >> 52) | TWO_52.to_bits()) - (TWO_52 + 1023.0);
    let s = f / (2.0 + f);
    let square = s * s;
    let r = square * polynomial(&ATANH, square);
    n.mul_add(LN_2, s.mul_add(r - f, f))
}

/// Cosine and sine of `v` turns, `[cos 2πv, sin 2πv]` for `0 ≤ v ≤ 1`: a rotation by `q = round(4v)` quarter turns, and one by
/// `|v - q/4| ≤ 1/8`.
///
/// The remainder is exact. Its sine and cosine are Taylor series in the angle `|x| ≤ π/4`, cut after `x¹⁷` and `x¹⁶`,
/// where they are within 1e-19 and 2e-18.
#[inline(always)]
fn cos_sin_of_turns(v: f64) -> [f64; 2] {
    const SIN: [f64; 8] = [
        1.0 / 355_687_428_096_000.0, // 1/17!, and so on to 1/3!
        -1.0 / 1_307_674_368_000.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 39_916_800.0,
        1.0 / 362_880.0,
        -1.0 / 5_040.0,
        1.0 / 120.0,
        -1.0 / 6.0,
    ];
    const COS: [f64; 8] = [
        1.0 / 20_922_789_888_000.0, // 1/16!, and so on to 1/2!
        -1.0 / 87_178_291_200.0,
        1.0 / 479_001_600.0,
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -1.0 / 2.0,
    ];
    // Adding 1.5 · 2⁵² rounds, and leaves `q` in the low bits.
    const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
    let shifted = v.mul_add(4.0, ROUND);
    let q = shifted.to_bits();
    let x = TAU * (shifted - ROUND).mul_add(-0.25, v);
    let square = x * x;
    let sin = (x * square).mul_add(polynomial(&SIN, square), x);
    let cos = square.mul_add(polynomial(&COS, square), 1.0);
    // Rotated by q quarter turns, (cos, sin) is (cos, sin), (-sin, cos), (-cos, -sin), (sin, -cos).
    let (horizontal, vertical) = if q & 1 == 0 { (cos, sin) } else { (sin, cos) };
    let negate_if_bit_1 = |value: f64, bits: u64| f64::from_bits(value.to_bits() ^ ((bits & 2) << 62));
    [negate_if_bit_1(horizontal, q.wrapping_add(1)), negate_if_bit_1(vertical, q)]
}

/// The polynomial `c₀ xᴺ⁻¹ + … + c_{N-1}`, by Horner's rule.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let mut sum = coefficients[0];
    for c in &coefficients[1..] {
        sum = sum.mul_add(x, *c);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::noise::{Key, Purpose};

    /// Many uniform numbers, and those next to where something changes: 0, 1, √½ 2ⁿ and the eighths of a turn.
    fn numbers() -> Vec<f64> {
        let key = Key::new(4, Purpose::Simulate);
        let mut out: Vec<f64> = (0..200_000).map(|i| key.uniform([i, 0, 0, 0])).collect();
        let step = 0.5f64.powi(54);
        for k in 0..1_000 {
            let k = f64::from(k);
            out.extend([(2.0 * k + 1.0) * step, 1.0 - k * step]);
            out.extend((1..8).flat_map(|eighths| [-k, k].map(|k| f64::from(eighths) / 8.0 + k * step)));
        }
        for n in 0..53 {
            let power = 0.5f64.powi(n);
            out.extend([power, (power * FRAC_1_SQRT_2).next_down(), power * FRAC_1_SQRT_2]);
        }
        out
    }

    #[test]
    fn ln_is_that_of_the_library_within_two_ulp_even_next_to_one() {
        assert_eq!(ln(1.0), 0.0);
        for u in numbers().into_iter().filter(|&u| u != 1.0) {
            assert!((ln(u) / u.ln() - 1.0).abs() <= 2.0 * f64::EPSILON, "at {u:e}: {} and {}", ln(u), u.ln());
        }
    }

    #[test]
    fn cos_and_sin_are_those_of_the_library() {
        for v in numbers() {
            let found = cos_sin_of_turns(v);
            // As the library has it from the rounded angle, which is off by up to 7e-16.
            let (sin, cos) = (TAU * v).sin_cos();
            // And up to its sign, from the exact distance to the nearest zero; those of the sine are at 0, ½ and 1.
            let turns_from_zero_of_sin = v - (2.0 * v).round() / 2.0;
            let turns_from_zero_of_cos = 0.25 - turns_from_zero_of_sin.abs();
            let exact = [turns_from_zero_of_cos, turns_from_zero_of_sin].map(|turns| (TAU * turns).sin().abs());
            for (found, (rough, exact)) in found.into_iter().zip([cos, sin].into_iter().zip(exact)) {
                assert!((found - rough).abs() < 1e-15, "at {v:e}: {found:e} and {rough:e}");
                assert!((found.abs() - exact).abs() <= 2.0 * f64::EPSILON * exact, "at {v:e}: {found:e} and {exact:e}");
            }
        }
    }

    #[test]
    fn a_pair_is_what_box_and_muller_wrote() {
        let numbers = numbers();
        for (&u, &v) in numbers.iter().zip(numbers.iter().rev()) {
            let radius = (-2.0 * u.ln()).sqrt();
            let (sin, cos) = (TAU * v).sin_cos();
            for (found, expected) in normal_pair(u, v).into_iter().zip([radius * cos, radius * sin]) {
                assert!((found - expected).abs() <= 2e-15 * radius, "at {u:e}, {v:e}: {found:e} and {expected:e}");
            }
        }
    }
}
