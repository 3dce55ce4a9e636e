//! The rational quadratic: a mixture of squared exponentials over lengthscales.

use super::stationary::{Profile, Stationary};
use crate::numeric::real::Real;
use crate::settings::KernelChoice;

/// The profile of the rational quadratic, `g(r²) = (1 + r² / 2α)^−α`; it tends to `exp(−½ r²)` as `α` grows.
#[derive(Clone, Copy, Debug)]
pub struct RationalQuadraticProfile {
    /// The shape `α`: small for a wide mixture of lengthscales.
    pub alpha: f64,
}

impl Profile for RationalQuadraticProfile {
    const NAME: &'static str = "rational-quadratic";
    const CHOICE: Option<KernelChoice> = Some(KernelChoice::RationalQuadratic);
    const SHAPED: bool = true;

    /// `g = exp(−α ln(1 + r² / 2α))`.
    #[inline(always)]
    fn value<T: Real>(&self, r2: T) -> T {
        (T::of(-self.alpha) * (T::of(0.5 / self.alpha) * r2).ln_1p()).exp_decay()
    }

    /// `g' = −½ g / (1 + r² / 2α)`.
    #[inline(always)]
    fn slope<T: Real>(&self, r2: T, value: T) -> T {
        T::of(-0.5) * value / (T::ONE + T::of(0.5 / self.alpha) * r2)
    }

    fn shape(&mut self) -> Option<(&'static str, &mut f64)> {
        Some(("alpha", &mut self.alpha))
    }

    /// With `u = r²/2α`: `∂g/∂α = g (u / (1 + u) − ln(1 + u))`, small by cancellation where `α` is large.
    #[inline(always)]
    fn shape_slope<T: Real>(&self, r2: T, value: T) -> T {
        let u = T::of(0.5 / self.alpha) * r2;
        value * (u / (T::ONE + u) - u.ln_1p())
    }
}

/// The rational quadratic kernel, `σ² (1 + r² / 2α)^−α`, with one lengthscale for each input.
pub type RationalQuadratic = Stationary<RationalQuadraticProfile>;

impl RationalQuadratic {
    /// A rational quadratic of variance `σ²`, lengthscales `ℓ`, one for each input, and shape `α`.
    pub fn new(variance: f64, lengthscales: Vec<f64>, alpha: f64) -> Self {
        Self { variance, lengthscales, profile: RationalQuadraticProfile { alpha } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tends_to_the_squared_exponential_in_both_precisions() {
        for alpha in [1e4, 1e8, 1e12, 1e17] {
            let profile = RationalQuadraticProfile { alpha };
            let (wide, narrow) = (profile.value(1.0f64), profile.value(1.0f32));
            assert!((wide - (-0.5f64).exp()).abs() < 0.1 / alpha + 1e-15, "{alpha}: {wide}");
            assert!((narrow - (-0.5f32).exp()).abs() < 0.1 / alpha as f32 + 2e-6, "{alpha}: {narrow}");
        }
        // ∂g/∂α ≈ −g r⁴ / 8 α².
        let slope = RationalQuadraticProfile { alpha: 1e3 }.shape_slope(1.0f64, (-0.5f64).exp());
        assert!((slope / (-(-0.5f64).exp() / 8e6) - 1.0).abs() < 1e-3, "{slope}");
    }
}
