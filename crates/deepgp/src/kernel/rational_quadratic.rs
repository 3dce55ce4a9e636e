//! The rational quadratic: a mixture of squared exponentials over lengthscales.

use super::stationary::{Profile, Stationary};
use crate::real::Real;
use crate::settings::KernelChoice;

/// `g(r²) = (1 + r² / 2α)^−α`; tends to `exp(−½ r²)` as `α` grows.
#[derive(Clone, Copy, Debug)]
pub struct Mixture {
    /// `α`: small for a wide mixture.
    pub alpha: f64,
}

impl Profile for Mixture {
    const NAME: &'static str = "rational-quadratic";
    const CHOICE: Option<KernelChoice> = Some(KernelChoice::RationalQuadratic);
    const SHAPED: bool = true;

    #[inline(always)]
    fn value<T: Real>(&self, r2: T) -> T {
        (T::of(-self.alpha) * (T::ONE + T::of(0.5 / self.alpha) * r2).ln()).exp_decay()
    }

    /// `−½ g / (1 + r² / 2α)`.
    #[inline(always)]
    fn slope<T: Real>(&self, r2: T, value: T) -> T {
        T::of(-0.5) * value / (T::ONE + T::of(0.5 / self.alpha) * r2)
    }

    fn shape(&mut self) -> Option<(&'static str, &mut f64)> {
        Some(("alpha", &mut self.alpha))
    }

    /// With `b = 1 + r²/2α`: `∂g/∂α = g (1 − 1/b − ln b)`.
    #[inline(always)]
    fn shape_slope<T: Real>(&self, r2: T, value: T) -> T {
        let b = T::ONE + T::of(0.5 / self.alpha) * r2;
        value * (T::ONE - T::ONE / b - b.ln())
    }
}

/// The rational quadratic with one lengthscale for each input.
pub type RationalQuadratic = Stationary<Mixture>;

impl RationalQuadratic {
    /// `σ²`, `ℓ` and `α`.
    pub fn new(variance: f64, lengthscales: Vec<f64>, alpha: f64) -> Self {
        Self { variance, lengthscales, profile: Mixture { alpha } }
    }
}
