//! The paper's kernel: `k(x, z) = σ² exp(−½ r²)`.

use super::stationary::{Profile, Stationary};
use crate::numeric::real::Real;
use crate::settings::KernelChoice;

/// `g(r²) = exp(−½ r²)`.
#[derive(Clone, Copy, Debug)]
pub struct Gaussian;

impl Profile for Gaussian {
    const NAME: &'static str = "squared-exponential";
    const CHOICE: Option<KernelChoice> = Some(KernelChoice::SquaredExponential);
    const SLOPE_FROM_VALUE: bool = true;

    #[inline(always)]
    fn value<T: Real>(&self, r2: T) -> T {
        (T::of(-0.5) * r2).exp_decay()
    }

    #[inline(always)]
    fn slope<T: Real>(&self, _r2: T, value: T) -> T {
        T::of(-0.5) * value
    }
}

/// The squared exponential with one lengthscale for each input.
pub type SquaredExponential = Stationary<Gaussian>;

impl SquaredExponential {
    /// `σ²` and `ℓ`.
    pub fn new(variance: f64, lengthscales: Vec<f64>) -> Self {
        Self { variance, lengthscales, profile: Gaussian }
    }
}
