//! The choice of a likelihood: as settings make it, with starting values, and as a model file describes it, without parameters.

use super::{Gaussian, Likelihood, NOISE_FLOOR};
use crate::error::{Error, Result};

/// The choice of one of the library's likelihoods, with the starting values of its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum LikelihoodForm {
    /// Gaussian noise, [`Gaussian`].
    Gaussian {
        /// The noise variance at the start, in units of the target's variance; at least 1e-6. Half by default: from far below, early
        /// stopping would end a fit of noisy data before the noise has come up, with intervals that are much too narrow.
        noise: f64,
    },
}

impl Default for LikelihoodForm {
    fn default() -> Self {
        Self::Gaussian { noise: 0.5 }
    }
}

impl LikelihoodForm {
    /// Fails if a starting value is impossible.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Gaussian { noise } if noise >= NOISE_FLOOR && noise.is_finite() => Ok(()),
            Self::Gaussian { noise } => {
                let requirement = "a number of at least 1e-6";
                Err(Error::Setting { name: "noise", value: format!("{noise:?}"), requirement })
            }
        }
    }

    /// The likelihood at its starting values, for so many targets.
    pub fn start(self, targets: usize) -> Box<dyn Likelihood> {
        match self {
            Self::Gaussian { noise } => Box::new(Gaussian::new(noise, targets)),
        }
    }
}

/// One of the library's likelihoods without its parameters: enough to build it again and then set them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum LikelihoodDescription {
    /// Gaussian noise, [`Gaussian`].
    Gaussian {
        /// The number of targets.
        outputs: usize,
    },
}

impl LikelihoodDescription {
    /// The number of latent functions that the likelihood reads: to be compared with a model before anything of that size is allocated.
    pub fn latent_width(self) -> usize {
        match self {
            Self::Gaussian { outputs } => outputs,
        }
    }

    /// The likelihood, at parameters that are still to be set.
    pub fn build(self) -> Box<dyn Likelihood> {
        match self {
            Self::Gaussian { outputs } => Box::new(Gaussian::new(1.0, outputs)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likelihood_is_built_again_from_its_description() {
        let description = LikelihoodForm::default().start(2).description().unwrap();
        let again = description.build();
        assert_eq!(
            (again.name(), again.observed_width(), again.description()),
            ("gaussian".into(), 2, Some(description))
        );
    }
}
