//! The Matérn kernels of order 1/2, 3/2 and 5/2: functions that are 0, 1 and 2 times differentiable.

use super::stationary::{Profile, Stationary};
use crate::numeric::real::Real;
use crate::settings::KernelChoice;

/// The profile of Matérn 1/2, `g(r²) = exp(−r)`.
#[derive(Clone, Copy, Debug)]
pub struct Matern12Profile;

impl Profile for Matern12Profile {
    const NAME: &'static str = "matern-1/2";
    const CHOICE: Option<KernelChoice> = Some(KernelChoice::Matern12);
    const KINK: bool = true;

    #[inline(always)]
    fn value<T: Real>(&self, r2: T) -> T {
        (-r2.root()).exp_decay()
    }

    /// `g' = −g / 2r`. There is no slope at the kink; the mean of all directions, 0, is used.
    #[inline(always)]
    fn slope<T: Real>(&self, r2: T, value: T) -> T {
        if r2 > T::ZERO { T::of(-0.5) * value / r2.root() } else { T::ZERO }
    }
}

/// The profile of Matérn 3/2, `g(r²) = (1 + √3 r) exp(−√3 r)`.
#[derive(Clone, Copy, Debug)]
pub struct Matern32Profile;

impl Profile for Matern32Profile {
    const NAME: &'static str = "matern-3/2";
    const CHOICE: Option<KernelChoice> = Some(KernelChoice::Matern32);

    #[inline(always)]
    fn value<T: Real>(&self, r2: T) -> T {
        let s = (T::of(3.0) * r2).root();
        (T::ONE + s) * (-s).exp_decay()
    }

    /// `g' = −3/2 exp(−√3 r)`.
    #[inline(always)]
    fn slope<T: Real>(&self, r2: T, _value: T) -> T {
        T::of(-1.5) * (-(T::of(3.0) * r2).root()).exp_decay()
    }
}

/// The profile of Matérn 5/2, `g(r²) = (1 + √5 r + 5/3 r²) exp(−√5 r)`.
#[derive(Clone, Copy, Debug)]
pub struct Matern52Profile;

impl Profile for Matern52Profile {
    const NAME: &'static str = "matern-5/2";
    const CHOICE: Option<KernelChoice> = Some(KernelChoice::Matern52);

    #[inline(always)]
    fn value<T: Real>(&self, r2: T) -> T {
        let s = (T::of(5.0) * r2).root();
        (T::ONE + s + T::of(5.0 / 3.0) * r2) * (-s).exp_decay()
    }

    /// `g' = −5/6 (1 + √5 r) exp(−√5 r)`.
    #[inline(always)]
    fn slope<T: Real>(&self, r2: T, _value: T) -> T {
        let s = (T::of(5.0) * r2).root();
        T::of(-5.0 / 6.0) * (T::ONE + s) * (-s).exp_decay()
    }
}

/// The Matérn kernel of order 1/2, `σ² exp(−r)`: continuous functions without a slope.
pub type Matern12 = Stationary<Matern12Profile>;
/// The Matérn kernel of order 3/2, `σ² (1 + √3 r) exp(−√3 r)`: functions that are once differentiable.
pub type Matern32 = Stationary<Matern32Profile>;
/// The Matérn kernel of order 5/2, `σ² (1 + √5 r + 5/3 r²) exp(−√5 r)`: functions that are twice differentiable.
pub type Matern52 = Stationary<Matern52Profile>;

impl Matern12 {
    /// A Matérn 1/2 of variance `σ²` and lengthscales `ℓ`, one for each input.
    pub fn new(variance: f64, lengthscales: Vec<f64>) -> Self {
        Self { variance, lengthscales, profile: Matern12Profile }
    }
}

impl Matern32 {
    /// A Matérn 3/2 of variance `σ²` and lengthscales `ℓ`, one for each input.
    pub fn new(variance: f64, lengthscales: Vec<f64>) -> Self {
        Self { variance, lengthscales, profile: Matern32Profile }
    }
}

impl Matern52 {
    /// A Matérn 5/2 of variance `σ²` and lengthscales `ℓ`, one for each input.
    pub fn new(variance: f64, lengthscales: Vec<f64>) -> Self {
        Self { variance, lengthscales, profile: Matern52Profile }
    }
}
