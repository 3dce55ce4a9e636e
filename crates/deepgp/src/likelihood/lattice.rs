//! Expectations under a Gaussian as sums over a lattice: the trapezoidal rule, which for smooth functions on the whole line converges faster
//! than any power of its step.
//!
//! With `f = m + √v z` and lattice points `z_i = i c`,
//!
//! ```text
//! E g(f) ≈ Σ_i c φ(z_i) g(m + √v z_i)
//! ```
//!
//! The step `c` is halved until it is fine enough, for the Gaussian and for `g`. Between halvings it does not change, so that the slopes of the
//! sum are sums of slopes: `∂m = Σ c φ g'` and `∂v = Σ c φ g' z_i / 2√v`. Over a Gaussian so narrow that `g` hardly bends, four Gauss–Hermite
//! nodes do as well.
//!
//! Where `p(y | f)` is much narrower than the Gaussian, or far out in its tail, few terms of `E p^α` count, and these are not where `z` is
//! near 0. If `ℓ = log p` is concave in `f`, so is `h(z) = α ℓ(m + √v z) − z²/2`, which then has one mode: found by Newton's method, it says
//! where to begin and how fine the lattice must be, and the sum goes outwards from there until nothing more comes.

use std::f64::consts::TAU;

/// The largest step `c`: the error for a Gaussian of width 1 is `2 exp(−2π²/c²)`, 5e-11.
const LARGEST_STEP: f64 = 0.9;
/// The `z` beyond which a Gaussian has nothing that counts: 3e-12 of its mass.
const REACH: f64 = 7.0;
/// The deviation below which four nodes do, in units of the resolution.
const NARROW: f64 = 0.25;
/// The Gauss–Hermite rule of four nodes, for Gaussians over which a function hardly bends: nodes and weights.
pub(super) const FOUR_NODES: [(f64, f64); 4] = [
    (-2.334_414_218_338_977, 0.045_875_854_768_068_49),
    (-0.741_963_784_302_725_9, 0.454_124_145_231_931_5),
    (0.741_963_784_302_725_9, 0.454_124_145_231_931_5),
    (2.334_414_218_338_977, 0.045_875_854_768_068_49),
];
/// The most halvings of the step where the whole Gaussian is summed over.
const MOST_HALVINGS: u32 = 6;
/// The difference of logarithms below the largest term at which a sum ends.
const NEGLIGIBLE: f64 = 32.0;
/// The most rounds of Newton's method.
const ROUNDS: usize = 200;
/// The most terms on one side of the mode.
const MOST_TERMS: i64 = 4000;

/// A log density `ℓ(f)` with its first two derivatives in `f`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jet {
    /// The value `ℓ`.
    pub value: f64,
    /// The slope `ℓ'`.
    pub slope: f64,
    /// The curvature `ℓ''`, not positive.
    pub curvature: f64,
}

/// The log density `ℓ(f) = log p(y | f)` of one observation as a function of `f`, concave.
pub trait Curve {
    /// Value, slope and curvature at `f`.
    fn at(&self, f: f64) -> Jet;

    /// Adds `share` times `∂ℓ/∂θ` at `f` to `theta`, in the order of the likelihood's parameters; `slope` is `ℓ'` there.
    fn add_slopes(&self, f: f64, slope: f64, share: f64, theta: &mut [f64]);
}

/// An expectation under `N(f; m, v)` with its slopes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expectation {
    /// The expectation, or its logarithm.
    pub value: f64,
    /// The slope in `m`.
    pub mean: f64,
    /// The slope in `v`.
    pub variance: f64,
}

/// Hands every lattice point `z` that matters and its weight to `each`, for functions of `m + deviation z` that bend over lengths of
/// `resolution`.
fn over_gaussian(deviation: f64, resolution: f64, mut each: impl FnMut(f64, f64)) {
    if deviation <= NARROW * resolution {
        return FOUR_NODES.iter().for_each(|(z, weight)| each(*z, *weight));
    }
    let (mut step, mut halvings) = (LARGEST_STEP, 0);
    while step * deviation > resolution && halvings < MOST_HALVINGS {
        (step, halvings) = (0.5 * step, halvings + 1);
    }
    // exp(−(i + 1)² c²/2) = exp(−i² c²/2) · exp(−c²/2) · exp(−i c²).
    let half = (-0.5 * step * step).exp();
    let (mut weight, mut ratio) = (step / TAU.sqrt(), half);
    each(0.0, weight);
    for i in 1..=(REACH / step) as u32 + 1 {
        weight *= ratio;
        ratio *= half * half;
        each(f64::from(i) * step, weight);
        each(f64::from(i) * -step, weight);
    }
}

/// The expectation `E g(f)` for `f ~ N(mean, variance)`, where `g` bends over lengths of `resolution`.
pub(super) fn expect(mean: f64, variance: f64, resolution: f64, g: impl Fn(f64) -> f64) -> f64 {
    let (deviation, mut sum) = (variance.sqrt(), 0.0);
    over_gaussian(deviation, resolution, |z, weight| sum += weight * g(mean + deviation * z));
    sum
}

/// The expectation `E ℓ(f)` with its slopes; those in the parameters are written to `theta`, unless it is empty.
pub(super) fn expected_log_density(
    curve: &impl Curve,
    mean: f64,
    variance: f64,
    resolution: f64,
    theta: &mut [f64],
) -> Expectation {
    let (deviation, mut sum, mut slope_times_z) = (variance.sqrt(), Expectation::default(), 0.0);
    theta.fill(0.0);
    over_gaussian(deviation, resolution, |z, weight| {
        let f = mean + deviation * z;
        let Jet { value, slope, .. } = curve.at(f);
        sum.value += weight * value;
        sum.mean += weight * slope;
        slope_times_z += weight * slope * z;
        if !theta.is_empty() {
            curve.add_slopes(f, slope, weight, theta);
        }
    });
    sum.variance = half_over(slope_times_z, deviation);
    sum
}

/// The logarithm `log E exp α ℓ(f)` with its slopes; those in the parameters are written to `theta`, unless it is empty.
pub(super) fn log_expected_power(
    curve: &impl Curve,
    power: f64,
    mean: f64,
    variance: f64,
    resolution: f64,
    theta: &mut [f64],
) -> Expectation {
    let deviation = variance.sqrt();
    let (mode, width) = mode(curve, power, mean, deviation);
    let mut step = LARGEST_STEP;
    while step > LARGEST_STEP * width || step * deviation > resolution {
        step *= 0.5;
    }
    let first = (mode / step).round();
    let at = |i: i64| {
        let z = (first + i as f64) * step;
        let jet = curve.at(mean + deviation * z);
        (z, power * jet.value - 0.5 * z * z, jet.slope)
    };
    let (_, highest, _) = at(0);
    let (mut total, mut slopes, mut slopes_times_z) = (0.0, 0.0, 0.0);
    theta.fill(0.0);
    for side in [-1, 1] {
        for i in i64::from(side == 1)..MOST_TERMS {
            let (z, log, slope) = at(side * i);
            let share = (log - highest).exp();
            total += share;
            slopes += share * slope;
            slopes_times_z += share * slope * z;
            if !theta.is_empty() {
                curve.add_slopes(mean + deviation * z, slope, share, theta);
            }
            // Not a number is not negligible, but an end all the same.
            if log.is_nan() || log - highest < -NEGLIGIBLE {
                break;
            }
        }
    }
    let factor = power / total;
    theta.iter_mut().for_each(|own| *own *= factor);
    Expectation {
        value: highest + (total * step / TAU.sqrt()).ln(),
        mean: factor * slopes,
        variance: half_over(factor * slopes_times_z, deviation),
    }
}

/// The `z` near which `h(z) = α ℓ(m + s z) − z²/2` is greatest, and the width `1/√−h''` there.
///
/// Where `h'(0)` is positive, the mode lies between 0 and `α s ℓ'(m)`, at which `ℓ'` has fallen and `h'` is negative; likewise if it is
/// negative. Newton's steps that lead out of what is left of this interval are replaced by its middle. A tenth of the width is near enough.
fn mode(curve: &impl Curve, power: f64, mean: f64, deviation: f64) -> (f64, f64) {
    let slopes = |z: f64| {
        let jet = curve.at(mean + deviation * z);
        (power * deviation * jet.slope - z, power * deviation * deviation * jet.curvature - 1.0)
    };
    let (mut at, (mut slope, mut curvature)) = (0.0, slopes(0.0));
    let (mut low, mut high) = (slope.min(0.0), slope.max(0.0));
    for _ in 0..ROUNDS {
        let step = -slope / curvature;
        // Not a number is never near.
        if step.abs() <= 0.1 / (-curvature).sqrt() || !slope.is_finite() {
            break;
        }
        at = if at + step > low && at + step < high { at + step } else { 0.5 * (low + high) };
        (slope, curvature) = slopes(at);
        if slope > 0.0 {
            low = at;
        } else {
            high = at;
        }
    }
    (at, 1.0 / (-curvature).sqrt())
}

/// The slope in `v` of a function of `m + √v z`: `sum / 2√v`; 0 where there is no variance.
fn half_over(sum: f64, deviation: f64) -> f64 {
    if deviation > 0.0 { 0.5 * sum / deviation } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::normal::log_normal;

    #[test]
    fn expectations_of_smooth_functions_are_exact() {
        for (mean, variance) in [(0.3, 1e-8), (-2.0, 0.4), (1.0, 30.0)] {
            let near = |found: f64, expected: f64| {
                assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} {expected}");
            };
            near(expect(mean, variance, 0.8, |_| 1.0), 1.0);
            near(expect(mean, variance, 0.8, |f| f * f), mean * mean + variance);
            near(expect(mean, variance, 0.5, |f| (0.7 * f).cos()), (-0.245 * variance).exp() * (0.7 * mean).cos());
        }
    }

    /// A Gaussian in `f`, of which all is known.
    struct Known {
        y: f64,
        noise: f64,
    }

    impl Curve for Known {
        fn at(&self, f: f64) -> Jet {
            let value = log_normal(self.y, f, self.noise);
            Jet { value, slope: (self.y - f) / self.noise, curvature: -1.0 / self.noise }
        }

        fn add_slopes(&self, f: f64, _: f64, share: f64, theta: &mut [f64]) {
            theta[0] += share * 0.5 * ((self.y - f).powi(2) / self.noise - 1.0) / self.noise;
        }
    }

    #[test]
    fn a_narrow_density_far_out_in_the_tail_is_found() {
        use crate::likelihood::normal::{self, PowerSlopes};
        for (y, noise) in [(0.4, 2.0), (30.0, 0.5), (-4.0, 1e-5), (1e4, 1e3)] {
            for (mean, variance) in [(0.1, 0.7), (3.0, 1e-6), (-8.0, 1e4)] {
                for power in [0.1, 1.0] {
                    let mut theta = [0.0];
                    let found =
                        log_expected_power(&Known { y, noise }, power, mean, variance, f64::INFINITY, &mut theta);
                    let expected = normal::log_expected_power(power, y, mean, variance, noise);
                    let slopes = PowerSlopes::new(power, y, mean, variance, noise);
                    let near = |a: f64, b: f64| {
                        assert!((a - b).abs() < 1e-7 * b.abs().max(1.0), "{y} {noise} {mean} {variance}: {a} {b}");
                    };
                    near(found.value, expected);
                    near(found.mean, slopes.mean);
                    near(found.variance, slopes.variance);
                    near(theta[0] * noise, slopes.log_noise);
                }
            }
        }
    }

    #[test]
    fn what_is_not_a_number_ends() {
        let found = log_expected_power(&Known { y: f64::NAN, noise: 1.0 }, 1.0, 0.0, 1.0, 1.0, &mut []);
        assert!(found.value.is_nan());
        assert!(log_expected_power(&Known { y: 1.0, noise: 1.0 }, 1.0, f64::NAN, 1.0, 1.0, &mut []).value.is_nan());
    }
}
