//! The choice of a kernel by name, with the parameters at which it starts.

use crate::kernel::{Kernel, Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential};

/// The shape `α` at which a rational quadratic starts.
const RATIONAL_QUADRATIC_ALPHA: f64 = 1.0;

/// The choice of one of the kernels that come with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum KernelChoice {
    /// The squared exponential, which is the paper's: smooth functions.
    SquaredExponential,
    /// The Matérn kernel of order 1/2: continuous functions without a slope.
    Matern12,
    /// The Matérn kernel of order 3/2: functions that are once differentiable.
    Matern32,
    /// The Matérn kernel of order 5/2: functions that are twice differentiable.
    Matern52,
    /// The rational quadratic: a mixture of squared exponentials over lengthscales.
    RationalQuadratic,
}

impl KernelChoice {
    /// The kernel as it starts over standardised inputs of this width: variance 1, lengthscales `√width`.
    pub fn start(self, width: usize) -> Box<dyn Kernel> {
        let lengthscales = vec![(width as f64).sqrt(); width];
        match self {
            Self::SquaredExponential => Box::new(SquaredExponential::new(1.0, lengthscales)),
            Self::Matern12 => Box::new(Matern12::new(1.0, lengthscales)),
            Self::Matern32 => Box::new(Matern32::new(1.0, lengthscales)),
            Self::Matern52 => Box::new(Matern52::new(1.0, lengthscales)),
            Self::RationalQuadratic => Box::new(RationalQuadratic::new(1.0, lengthscales, RATIONAL_QUADRATIC_ALPHA)),
        }
    }
}
