//! The squared exponential, which is the paper's kernel: `k(x, z) = σ² exp(−½ r²)`.

use super::stationary::{Profile, Stationary};
use crate::numeric::real::Real;
use crate::settings::KernelChoice;

/// The profile of the squared exponential, `g(r²) = exp(−½ r²)`.
#[derive(Clone, Copy, Debug)]
pub struct SquaredExponentialProfile;

impl Profile for SquaredExponentialProfile {
    const NAME: &'static str = "squared-exponential";
    const CHOICE: Option<KernelChoice> = Some(KernelChoice::SquaredExponential);
    const SLOPE_FROM_VALUE: bool = true;

    #[inline(always)]
    fn value<T: Real>(&self, r2: T) -> T {
        (T::of(-0.5) * r2).exp_decay()
    }

    /// `g' = −½ g`.
    #[inline(always)]
    fn slope<T: Real>(&self, _r2: T, value: T) -> T {
        T::of(-0.5) * value
    }
}

/// The squared exponential kernel, `σ² exp(−½ r²)`, with one lengthscale for each input.
pub type SquaredExponential = Stationary<SquaredExponentialProfile>;

impl SquaredExponential {
    /// A squared exponential of variance `σ²` and lengthscales `ℓ`, one for each input.
    pub fn new(variance: f64, lengthscales: Vec<f64>) -> Self {
        Self { variance, lengthscales, profile: SquaredExponentialProfile }
    }
}
