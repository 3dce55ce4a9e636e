//! The transform of Yeo and Johnson (2000): a power of the distance from an origin, other powers on its two sides.
//!
//! With `u = (y − origin) / scale`,
//!
//! ```text
//! z = ((1 + u)^λ − 1) / λ               for u ≥ 0        ln(1 + u)       at λ = 0
//! z = −((1 − u)^(2−λ) − 1) / (2 − λ)    for u < 0        −ln(1 − u)      at λ = 2
//! dz/du = (1 + |u|)^(±(λ − 1))
//! ```
//!
//! `λ = 1` changes nothing, `λ < 1` draws in what is large. It is kept between 0 and 2: beyond, the transform would not reach all numbers,
//! and a Gaussian of `z` would be none of `y`. The unit is the target's standard deviation and the origin is 0 or the target's mean, so that
//! a change of units changes nothing.

use crate::numeric::golden_section::maximise;
use crate::random::noise::{Key, Purpose};

/// The transform of Yeo and Johnson of one target, `z = YJ_λ((y − origin) / scale)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "stored::Parameters"))]
pub struct YeoJohnson {
    /// The power `λ`, from 0 to 2.
    lambda: f64,
    /// The value that the transform bends around.
    origin: f64,
    /// The unit of distances from the origin; positive.
    scale: f64,
}

/// The number of times that the search for `λ` narrows its interval by the golden ratio: to 1e-9 of its length.
const ROUNDS: usize = 44;
/// The most values that the power is found by: its standard error is then about a hundredth.
const MOST_VALUES: usize = 20_000;

impl YeoJohnson {
    /// The transform of this power, origin and unit; `None` unless `λ` is between 0 and 2, the unit positive and all three finite.
    pub fn new(lambda: f64, origin: f64, scale: f64) -> Option<Self> {
        let possible = (0.0..=2.0).contains(&lambda) && origin.is_finite() && scale.is_finite() && scale > 0.0;
        possible.then_some(Self { lambda, origin, scale })
    }

    /// The power, the origin and the unit of distances.
    pub fn parameters(&self) -> [f64; 3] {
        [self.lambda, self.origin, self.scale]
    }

    /// The transform of greatest likelihood, as if transformed values were Gaussian: `Σ_n ω_n (ln T'(y_n) − ½ ln s²)` with the variance `s²`
    /// of transformed values. `λ` is found by golden sections for either origin, of very many values by [`MOST_VALUES`] of them at random.
    pub(super) fn fit(values: &[f64], weight: impl Fn(usize) -> f64) -> Self {
        if values.len() > MOST_VALUES {
            let mut some = Key::new(0, Purpose::Split).permutation(values.len(), 7);
            some.truncate(MOST_VALUES);
            let sample: Vec<f64> = some.iter().map(|i| values[*i as usize]).collect();
            return Self::fit_to_all(&sample, |i| weight(some[i] as usize));
        }
        Self::fit_to_all(values, weight)
    }

    /// [`YeoJohnson::fit`] by all values.
    fn fit_to_all(values: &[f64], weight: impl Fn(usize) -> f64) -> Self {
        let average = |of: &dyn Fn(f64) -> f64| {
            let (mut sum, mut total) = (0.0, 0.0);
            for (i, v) in values.iter().enumerate() {
                sum += weight(i) * of(*v);
                total += weight(i);
            }
            sum / total
        };
        let mean = average(&|v| v);
        let scale = average(&|v| (v - mean).powi(2)).sqrt();
        let likelihood = |own: &Self| {
            let center = average(&|v| own.forward(v));
            let variance = average(&|v| (own.forward(v) - center).powi(2));
            average(&|v| own.log_slope(v)) - 0.5 * variance.ln()
        };
        let best = |origin: f64| {
            let at = |lambda: f64| likelihood(&Self { lambda, origin, scale });
            let lambda = maximise(0.0, 2.0, ROUNDS, at);
            (Self { lambda, origin, scale }, at(lambda))
        };
        let (around_zero, around_mean) = (best(0.0), best(mean));
        if around_zero.1 > around_mean.1 { around_zero.0 } else { around_mean.0 }
    }

    /// The distance of `y` from the origin, in the transform's unit.
    fn distance(&self, y: f64) -> f64 {
        (y - self.origin) / self.scale
    }

    /// The transformed value.
    pub(super) fn forward(&self, y: f64) -> f64 {
        let u = self.distance(y);
        if u >= 0.0 { power(u, self.lambda) } else { -power(-u, 2.0 - self.lambda) }
    }

    /// The value of which `z` is the transform.
    pub(super) fn inverse(&self, z: f64) -> f64 {
        let u = if z >= 0.0 { root(z, self.lambda) } else { -root(-z, 2.0 - self.lambda) };
        self.origin + self.scale * u
    }

    /// The logarithm of the slope in `y`.
    pub(super) fn log_slope(&self, y: f64) -> f64 {
        let u = self.distance(y);
        u.signum() * (self.lambda - 1.0) * u.abs().ln_1p() - self.scale.ln()
    }
}

/// The transform as files store it, before it is checked.
#[cfg(feature = "serde")]
mod stored {
    use super::YeoJohnson;

    #[derive(serde::Deserialize)]
    pub(super) struct Parameters {
        lambda: f64,
        origin: f64,
        scale: f64,
    }

    impl TryFrom<Parameters> for YeoJohnson {
        type Error = &'static str;

        fn try_from(Parameters { lambda, origin, scale }: Parameters) -> Result<Self, Self::Error> {
            Self::new(lambda, origin, scale)
                .ok_or("a Yeo-Johnson transform needs a power from 0 to 2 and a positive scale")
        }
    }
}

/// The function `((1 + u)^p − 1) / p`, which is `ln(1 + u)` at `p = 0`, for `u ≥ 0`.
fn power(u: f64, p: f64) -> f64 {
    if p == 0.0 { u.ln_1p() } else { (p * u.ln_1p()).exp_m1() / p }
}

/// The inverse of [`power`]: `(1 + p z)^(1/p) − 1`.
fn root(z: f64, p: f64) -> f64 {
    if p == 0.0 { z.exp_m1() } else { ((p * z).ln_1p() / p).exp_m1() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::transform::tests::skewed;

    #[test]
    fn the_power_of_greatest_likelihood_is_that_of_a_scan() {
        let values = skewed();
        let found = YeoJohnson::fit(&values, |_| 1.0);
        let n = values.len() as f64;
        let likelihood = |own: &YeoJohnson| {
            let z: Vec<f64> = values.iter().map(|y| own.forward(*y)).collect();
            let mean = z.iter().sum::<f64>() / n;
            let variance = z.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / n;
            values.iter().map(|y| own.log_slope(*y)).sum::<f64>() / n - 0.5 * variance.ln()
        };
        let mean = values.iter().sum::<f64>() / n;
        for origin in [0.0, mean] {
            for lambda in (0..=200).map(|i| f64::from(i) / 100.0) {
                let other = YeoJohnson { lambda, origin, ..found };
                assert!(likelihood(&other) <= likelihood(&found) + 1e-12, "{other:?} {found:?}");
            }
        }
        assert!(found.lambda < 0.5, "{found:?}");
    }

    #[test]
    fn a_change_of_units_changes_nothing_and_weights_are_copies() {
        let values = skewed();
        let metres = YeoJohnson::fit(&values, |_| 1.0);
        let millimetres = YeoJohnson::fit(&values.iter().map(|v| 1000.0 * v).collect::<Vec<_>>(), |_| 1.0);
        assert!((metres.forward(1.7) - millimetres.forward(1700.0)).abs() < 1e-6, "{metres:?} {millimetres:?}");
        let copies: Vec<f64> = values.iter().enumerate().flat_map(|(i, v)| vec![*v; 1 + i % 3]).collect();
        let weighted = YeoJohnson::fit(&values, |i| (1 + i % 3) as f64);
        assert!((YeoJohnson::fit(&copies, |_| 1.0).forward(2.0) - weighted.forward(2.0)).abs() < 1e-6);
    }

    #[test]
    fn what_is_gaussian_stays_as_it_is() {
        let values: Vec<f64> = skewed().iter().map(|v| 50.0 + v.ln()).collect();
        let found = YeoJohnson::fit(&values, |_| 1.0);
        assert!((found.lambda - 1.0).abs() < 0.1, "{found:?}");
        assert!(YeoJohnson::new(2.1, 0.0, 1.0).is_none() && YeoJohnson::new(1.0, 0.0, 0.0).is_none());
    }
}
