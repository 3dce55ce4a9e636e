//! What likelihoods of counts share: a rate that does not overflow, the distribution function, and draws.
//!
//! Poisson and negative binomial have the mean `exp f`, and for both `−∂F(k | f)/∂f = (k + 1) p(k + 1 | f)`: as a function of `f`, this is a
//! density, of width `w = √(1/(k + 1) + 1/r)` around `ln(k + 1)` (`r` is the dispersion, infinite for Poisson). So there are two ways to the
//! distribution function under `f ~ N(m, v)`, and each is smooth where the other is not:
//!
//! ```text
//! P(Y ≤ k) = E F(k | f)                                      over the Gaussian, where √v ≤ w/2
//!          = ∫ (k + 1) p(k + 1 | f) Φ((f − m)/√v) df         over that density, where √v is larger
//! ```
//!
//! (The first needs an incomplete gamma or beta function at every point, and so the second is taken somewhat earlier than it must.)

use super::lattice::{Curve, expect};
use crate::numeric::normal;
use crate::numeric::root_finding::smallest_count;

/// The exponent up to which a rate is `exp`; from there on it goes on along the tangent.
const LARGEST_EXPONENT: f64 = 40.0;
/// The largest exponent of a predicted mean, and the largest variance of its logarithm: no square of it overflows.
const LARGEST_MOMENT: f64 = 150.0;
/// The step of a sum in units of the width of the narrowest of its factors.
const STEP: f64 = 0.5;
/// The most steps of the sum over a density on one side.
const MOST_STEPS: u32 = 1000;

/// The rate `exp x` and its slope. Beyond `x = 40` the rate goes on along its tangent: there it is so far from any count that only the way back
/// matters, and no number overflows on it.
pub(super) fn rate(x: f64) -> (f64, f64) {
    let slope = x.min(LARGEST_EXPONENT).exp();
    (slope * (1.0 + (x - LARGEST_EXPONENT).max(0.0)), slope)
}

/// The mean `E exp x` and the variance of `exp x` for `x ~ N(mean, variance)`: `exp(m + v/2)` and its square times `exp(v) − 1`.
pub(super) fn moments_of_rate(mean: f64, variance: f64) -> (f64, f64) {
    let expected = (mean + 0.5 * variance).min(LARGEST_MOMENT).exp();
    (expected, expected * expected * variance.min(LARGEST_MOMENT).exp_m1())
}

/// The distribution function `P(Y ≤ at)` of a count, where `x = level + f ~ N(mean, variance)`: `given` is `F(k | x)`, `next` the log density
/// of `k + 1` as a function of `x`, and `dispersion` the `r` above.
pub(super) fn cumulative<C: Curve>(
    at: f64,
    mean: f64,
    variance: f64,
    dispersion: f64,
    given: impl Fn(f64, f64) -> f64,
    next: impl Fn(f64) -> C,
) -> f64 {
    if at < 0.0 {
        return 0.0;
    }
    let k = at.floor();
    let width = (1.0 / (k + 1.0) + 1.0 / dispersion).sqrt();
    let deviation = variance.sqrt();
    if deviation <= 0.5 * width {
        return expect(mean, variance, STEP * width, |x| given(k, x)).clamp(0.0, 1.0);
    }
    let (curve, middle, step) = (next(k + 1.0), (k + 1.0).ln(), STEP * width.min(deviation));
    let term = |x: f64| (curve.at(x).value + middle).exp() * normal::cumulative((x - mean) / deviation);
    let mut sum = term(middle);
    for side in [-step, step] {
        for i in 1..=MOST_STEPS {
            let own = term(middle + f64::from(i) * side);
            sum += own;
            if own <= 1e-17 * sum {
                break;
            }
        }
    }
    (step * sum).clamp(0.0, 1.0)
}

/// The smallest count at which the distribution function `F(k | x)` of a count of this mean and variance reaches `level`.
pub(super) fn quantile_given(level: f64, mean: f64, variance: f64, given: impl Fn(f64) -> f64) -> f64 {
    smallest_count(level, mean + variance.sqrt() * normal::quantile(level.clamp(1e-15, 1.0 - 1e-15)), given)
}
