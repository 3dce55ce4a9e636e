//! The Matérn kernels of order 1/2, 3/2 and 5/2: functions that are 0, 1 and 2 times differentiable.

use super::stationary::{Profile, Stationary};
use crate::numeric::real::Real;
use crate::settings::KernelChoice;

/// `g(r²) = exp(−r)`.
#[derive(Clone, Copy, Debug)]
pub struct Half;

impl Profile for Half {
    const NAME: &'static str = "matern-1/2";
    const CHOICE: Option<KernelChoice> = Some(KernelChoice::Matern12);
    const KINK: bool = true;

    #[inline(always)]
    fn value<T: Real>(&self, r2: T) -> T {
        (-r2.root()).exp_decay()
    }

    /// `−g / 2r`. There is no slope at the kink; the mean of all directions, 0, is used.
    #[inline(always)]
    fn slope<T: Real>(&self, r2: T, value: T) -> T {
        if r2 > T::ZERO { T::of(-0.5) * value / r2.root() } else { T::ZERO }
    }
}

/// `g(r²) = (1 + √3 r) exp(−√3 r)`.
#[derive(Clone, Copy, Debug)]
pub struct ThreeHalves;

impl Profile for ThreeHalves {
    const NAME: &'static str = "matern-3/2";
    const CHOICE: Option<KernelChoice> = Some(KernelChoice::Matern32);

    #[inline(always)]
    fn value<T: Real>(&self, r2: T) -> T {
        let s = (T::of(3.0) * r2).root();
        (T::ONE + s) * (-s).exp_decay()
    }

    /// `−3/2 exp(−√3 r)`.
    #[inline(always)]
    fn slope<T: Real>(&self, r2: T, _value: T) -> T {
        T::of(-1.5) * (-(T::of(3.0) * r2).root()).exp_decay()
    }
}

/// `g(r²) = (1 + √5 r + 5/3 r²) exp(−√5 r)`.
#[derive(Clone, Copy, Debug)]
pub struct FiveHalves;

impl Profile for FiveHalves {
    const NAME: &'static str = "matern-5/2";
    const CHOICE: Option<KernelChoice> = Some(KernelChoice::Matern52);

    #[inline(always)]
    fn value<T: Real>(&self, r2: T) -> T {
        let s = (T::of(5.0) * r2).root();
        (T::ONE + s + T::of(5.0 / 3.0) * r2) * (-s).exp_decay()
    }

    /// `−5/6 (1 + √5 r) exp(−√5 r)`.
    #[inline(always)]
    fn slope<T: Real>(&self, r2: T, _value: T) -> T {
        let s = (T::of(5.0) * r2).root();
        T::of(-5.0 / 6.0) * (T::ONE + s) * (-s).exp_decay()
    }
}

/// Matérn 1/2, the exponential kernel: rough functions.
pub type Matern12 = Stationary<Half>;
/// Matérn 3/2.
pub type Matern32 = Stationary<ThreeHalves>;
/// Matérn 5/2.
pub type Matern52 = Stationary<FiveHalves>;

impl Matern12 {
    /// `σ²` and `ℓ`.
    pub fn new(variance: f64, lengthscales: Vec<f64>) -> Self {
        Self { variance, lengthscales, profile: Half }
    }
}

impl Matern32 {
    /// `σ²` and `ℓ`.
    pub fn new(variance: f64, lengthscales: Vec<f64>) -> Self {
        Self { variance, lengthscales, profile: ThreeHalves }
    }
}

impl Matern52 {
    /// `σ²` and `ℓ`.
    pub fn new(variance: f64, lengthscales: Vec<f64>) -> Self {
        Self { variance, lengthscales, profile: FiveHalves }
    }
}
