//! Transforms of targets: increasing functions `z = T(y)` under which a target is closer to Gaussian around its mean.
//!
//! Targets are transformed first and standardised then: `y → z = T(y) → (z − shift) / scale`. A transform is fitted to training rows, maps
//! its domain onto the whole real line, and has an exact inverse, so that quantiles and draws come back exactly, and a density comes back
//! with the slope of the transform, `ln p(y) = ln p(z) + ln T'(y)`:
//!
//! | | `z` | domain | fitted |
//! |---|---|---|---|
//! | [`Log`](TargetTransform::Log) | `ln y` | `y > 0` | nothing |
//! | [`Log1p`](TargetTransform::Log1p) | `ln(1 + y)` | `y > −1` | nothing |
//! | [`YeoJohnson`] | a power, either side of an origin | all numbers | the power, by maximum likelihood |
//! | [`Quantile`](TargetTransform::Quantile) | `Φ⁻¹(F(y))`, smoothed | all numbers | a [`MonotoneSpline`] |

mod choice;
mod quantile;
mod spline;
mod yeo_johnson;

pub use choice::TransformChoice;
pub(crate) use quantile::{FEWEST_VALUES, distinct_values};
pub use spline::{MOST_KNOTS, MonotoneSpline};
pub use yeo_johnson::YeoJohnson;

/// An increasing function of one target, fitted to its training rows.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum TargetTransform {
    /// The target stays as it is, `z = y`.
    #[default]
    Identity,
    /// The logarithm, `z = ln y`, of a positive target.
    Log,
    /// The logarithm of one more, `z = ln(1 + y)`, of a target above −1.
    Log1p,
    /// The transform of Yeo and Johnson, of any target.
    YeoJohnson(YeoJohnson),
    /// The normal score `z = Φ⁻¹(F(y))` of a target with distribution function `F`, smoothed.
    Quantile(MonotoneSpline),
}

impl TargetTransform {
    /// The choice that leads to this transform.
    pub fn choice(&self) -> TransformChoice {
        match self {
            Self::Identity => TransformChoice::None,
            Self::Log => TransformChoice::Log,
            Self::Log1p => TransformChoice::Log1p,
            Self::YeoJohnson(_) => TransformChoice::YeoJohnson,
            Self::Quantile(_) => TransformChoice::Quantile,
        }
    }

    /// The transformed value `T(y)`; `−∞` at and below the end of the domain.
    pub fn forward(&self, y: f64) -> f64 {
        match self {
            Self::Identity => y,
            Self::Log => y.max(0.0).ln(),
            Self::Log1p => y.max(-1.0).ln_1p(),
            Self::YeoJohnson(own) => own.forward(y),
            Self::Quantile(spline) => spline.forward(y),
        }
    }

    /// The value `y` of which `z` is the transform.
    pub fn inverse(&self, z: f64) -> f64 {
        match self {
            Self::Identity => z,
            Self::Log => z.exp(),
            Self::Log1p => z.exp_m1(),
            Self::YeoJohnson(own) => own.inverse(z),
            Self::Quantile(spline) => spline.inverse(z),
        }
    }

    /// The logarithm of the slope, `ln T'(y)`, for `y` in the domain: what a log density gains on its way back.
    pub fn log_slope(&self, y: f64) -> f64 {
        match self {
            Self::Identity => 0.0,
            Self::Log => -y.ln(),
            Self::Log1p => -y.ln_1p(),
            Self::YeoJohnson(own) => own.log_slope(y),
            Self::Quantile(spline) => spline.log_slope(y),
        }
    }

    /// Whether the transform has a value for `y`.
    pub fn contains(&self, y: f64) -> bool {
        self.choice().contains(y)
    }

    /// The transformed target in words, e.g. `ln price` where the target's name is `price`.
    pub fn of_name(&self, target: &str) -> String {
        match self {
            Self::Identity => target.into(),
            Self::Log => format!("ln {target}"),
            Self::Log1p => format!("ln(1 + {target})"),
            Self::YeoJohnson(_) => format!("the Yeo-Johnson transform of {target}"),
            Self::Quantile(_) => format!("the normal score of {target}"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::random::noise::{Key, Purpose};

    /// Numbers of a skewed distribution, `exp(0.8 ε)`, some 2000 of them.
    pub(crate) fn skewed() -> Vec<f64> {
        let key = Key::new(5, Purpose::Simulate);
        (0..1000).flat_map(|i| key.normals([i, 0, 0, 0])).map(|e| (0.8 * e).exp()).collect()
    }

    /// One transform of each kind, fitted to [`skewed`].
    pub(crate) fn all() -> Vec<TargetTransform> {
        let values = skewed();
        let choices = [
            TransformChoice::None,
            TransformChoice::Log,
            TransformChoice::Log1p,
            TransformChoice::YeoJohnson,
            TransformChoice::Quantile,
        ];
        choices.iter().map(|choice| choice.fit_column(0, &values, None).unwrap()).collect()
    }

    /// Values far below, within and far above the data, those that the transform has a value for.
    fn probes(transform: &TargetTransform) -> Vec<f64> {
        let all =
            [-1e6, -300.0, -2.0, -0.999, -0.3, -1e-9, 0.0, 1e-9, 1e-3, 0.1, 0.37, 1.0, 1.5, 2.5, 7.0, 20.0, 1e3, 1e9];
        all.into_iter().filter(|y| transform.contains(*y)).collect()
    }

    #[test]
    fn the_inverse_brings_every_value_back() {
        for transform in all() {
            for y in probes(&transform) {
                let back = transform.inverse(transform.forward(y));
                assert!((back - y).abs() <= 1e-13 * (1.0 + y.abs()), "{:?}: {y} {back}", transform.choice());
            }
            for z in [-5.0, -1.0, -1e-7, 0.0, 0.3, 2.0, 6.0, 25.0] {
                let back = transform.forward(transform.inverse(z));
                assert!((back - z).abs() <= 1e-12 * (1.0 + z.abs()), "{:?}: {z} {back}", transform.choice());
            }
        }
    }

    #[test]
    fn the_log_slope_is_that_of_central_differences() {
        for transform in all() {
            for y in probes(&transform).into_iter().filter(|y| y.abs() < 1e4 && y.abs() > 1e-6) {
                let h = 1e-6 * y.abs().min(1.0 + y).max(1e-3 * y.abs());
                let slope = (transform.forward(y + h) - transform.forward(y - h)) / (2.0 * h);
                let error = (transform.log_slope(y) - slope.ln()).abs();
                assert!(error < 1e-5, "{:?} at {y}: {} {}", transform.choice(), transform.log_slope(y), slope.ln());
            }
        }
    }

    #[test]
    fn every_transform_increases() {
        for transform in all() {
            let z: Vec<f64> = probes(&transform).iter().map(|y| transform.forward(*y)).collect();
            assert!(z.windows(2).all(|pair| pair[0] < pair[1]), "{:?}: {z:?}", transform.choice());
        }
    }

    #[test]
    fn the_end_of_a_domain_is_at_minus_infinity() {
        assert_eq!(TargetTransform::Log.forward(-3.0), f64::NEG_INFINITY);
        assert_eq!(TargetTransform::Log1p.forward(-1.0), f64::NEG_INFINITY);
        assert!(!TargetTransform::Log.contains(0.0) && TargetTransform::Log1p.contains(0.0));
    }
}
