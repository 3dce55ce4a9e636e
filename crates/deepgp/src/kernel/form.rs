//! The form of a kernel, without its parameters: enough to build it again and then set them.

use super::{Combination, Kernel};
use crate::error::Result;
use crate::settings::KernelChoice;

/// The form of a kernel: one of the library's, or a combination of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum KernelForm {
    /// A kernel by itself.
    One(KernelChoice),
    /// The sum of kernels.
    Sum(Vec<Self>),
    /// The product of kernels.
    Product(Vec<Self>),
}

impl KernelForm {
    /// The kernel over inputs of this width, at its starting parameters.
    pub fn start(&self, width: usize) -> Result<Box<dyn Kernel>> {
        let all = |parts: &[Self]| parts.iter().map(|part| part.start(width)).collect::<Result<Vec<_>>>();
        Ok(match self {
            Self::One(choice) => choice.start(width),
            Self::Sum(parts) => Box::new(Combination::sum(all(parts)?)?),
            Self::Product(parts) => Box::new(Combination::product(all(parts)?)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Matern32, RationalQuadratic, SquaredExponential};

    #[test]
    fn a_kernel_is_built_again_from_its_form() {
        let one = |k: Box<dyn Kernel>| k;
        let inner = Combination::product(vec![
            one(Box::new(Matern32::new(0.5, vec![1.0, 2.0]))),
            one(Box::new(RationalQuadratic::new(1.0, vec![1.0, 2.0], 0.3))),
        ]);
        let parts = vec![one(Box::new(SquaredExponential::new(1.0, vec![3.0, 4.0]))), one(Box::new(inner.unwrap()))];
        let kernel = Combination::sum(parts).unwrap();
        let form = kernel.form().unwrap();
        let again = form.start(2).unwrap();
        assert_eq!((again.name(), again.input_width(), again.form()), (kernel.name(), 2, Some(form)));
    }
}
