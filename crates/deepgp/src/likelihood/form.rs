//! A likelihood without its parameters: enough to build it again and then set them.

use super::{Gaussian, Likelihood};

/// One of the library's likelihoods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum LikelihoodForm {
    /// Gaussian noise.
    Gaussian {
        /// How many targets there are.
        outputs: usize,
    },
}

impl LikelihoodForm {
    /// The likelihood at its starting parameters.
    pub fn start(self) -> Box<dyn Likelihood> {
        match self {
            Self::Gaussian { outputs } => Box::new(Gaussian::new(1.0, outputs)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likelihood_is_built_again_from_its_form() {
        let form = Gaussian::new(0.3, 2).form().unwrap();
        let again = form.start();
        assert_eq!((again.name(), again.observed_width(), again.form()), ("gaussian".into(), 2, Some(form)));
    }
}
