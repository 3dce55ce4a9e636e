//! The choice of a likelihood: as settings make it, with starting values, and as a model file describes it, without parameters.

use super::student_t::LEAST_DEGREES;
use super::{Gaussian, Heteroscedastic, Likelihood, NOISE_FLOOR, StudentT};
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
    /// Gaussian noise that follows the inputs, [`Heteroscedastic`].
    Heteroscedastic {
        /// The noise variance at the start, the same everywhere, in units of the target's variance; at least 1e-6.
        noise: f64,
    },
    /// Student's t, [`StudentT`].
    StudentT {
        /// The squared scale at the start, in units of the target's variance; at least 1e-6.
        noise: f64,
        /// The degrees of freedom at the start, more than 2.
        degrees: f64,
    },
}

/// The noise variance at which likelihoods start, in units of the target's variance.
const START_NOISE: f64 = 0.5;
/// The degrees of freedom at which Student's t starts: tails that a few outliers can lift.
const START_DEGREES: f64 = 5.0;

impl Default for LikelihoodForm {
    fn default() -> Self {
        Self::HETEROSCEDASTIC
    }
}

impl LikelihoodForm {
    /// One Gaussian noise at its usual start.
    pub const GAUSSIAN: Self = Self::Gaussian { noise: START_NOISE };
    /// Heteroscedastic noise at its usual start.
    pub const HETEROSCEDASTIC: Self = Self::Heteroscedastic { noise: START_NOISE };
    /// Student's t at its usual start.
    pub const STUDENT_T: Self = Self::StudentT { noise: START_NOISE, degrees: START_DEGREES };

    /// The noise variance at the start.
    pub fn noise(self) -> f64 {
        match self {
            Self::Gaussian { noise } | Self::Heteroscedastic { noise } | Self::StudentT { noise, .. } => noise,
        }
    }

    /// The same choice with another noise variance at the start.
    pub fn with_noise(self, noise: f64) -> Self {
        match self {
            Self::Gaussian { .. } => Self::Gaussian { noise },
            Self::Heteroscedastic { .. } => Self::Heteroscedastic { noise },
            Self::StudentT { degrees, .. } => Self::StudentT { noise, degrees },
        }
    }

    /// Fails if a starting value is impossible.
    pub fn check(self) -> Result<()> {
        let noise = self.noise();
        if !(noise >= NOISE_FLOOR && noise.is_finite()) {
            let requirement = "a number of at least 1e-6";
            return Err(Error::Setting { name: "noise", value: format!("{noise:?}"), requirement });
        }
        match self {
            Self::StudentT { degrees, .. } if !(degrees > LEAST_DEGREES && degrees.is_finite()) => {
                let requirement = "a number above 2, where the variance is finite";
                Err(Error::Setting { name: "degrees of freedom", value: format!("{degrees:?}"), requirement })
            }
            Self::Gaussian { .. } | Self::Heteroscedastic { .. } | Self::StudentT { .. } => Ok(()),
        }
    }

    /// The likelihood at its starting values, for so many targets.
    pub fn start(self, targets: usize) -> Box<dyn Likelihood> {
        match self {
            Self::Gaussian { noise } => Box::new(Gaussian::new(noise, targets)),
            Self::Heteroscedastic { noise } => Box::new(Heteroscedastic::new(noise, targets)),
            Self::StudentT { noise, degrees } => Box::new(StudentT::new(noise, degrees, targets)),
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
    /// Gaussian noise that follows the inputs, [`Heteroscedastic`].
    Heteroscedastic {
        /// The number of targets.
        outputs: usize,
    },
    /// Student's t, [`StudentT`].
    StudentT {
        /// The number of targets.
        outputs: usize,
    },
}

impl LikelihoodDescription {
    /// The number of latent functions that the likelihood reads: to be compared with a model before anything of that size is allocated.
    pub fn latent_width(self) -> usize {
        match self {
            Self::Gaussian { outputs } | Self::StudentT { outputs } => outputs,
            Self::Heteroscedastic { outputs } => outputs.saturating_mul(2),
        }
    }

    /// The likelihood, at parameters that are still to be set.
    pub fn build(self) -> Box<dyn Likelihood> {
        match self {
            Self::Gaussian { outputs } => Box::new(Gaussian::new(1.0, outputs)),
            Self::Heteroscedastic { outputs } => Box::new(Heteroscedastic::new(1.0, outputs)),
            Self::StudentT { outputs } => Box::new(StudentT::new(1.0, START_DEGREES, outputs)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likelihood_is_built_again_from_its_description() {
        let forms = [LikelihoodForm::GAUSSIAN, LikelihoodForm::HETEROSCEDASTIC, LikelihoodForm::STUDENT_T];
        for (form, name) in forms.into_iter().zip(["gaussian", "heteroscedastic", "student-t"]) {
            let first = form.start(2);
            let description = first.description().unwrap();
            let again = description.build();
            assert_eq!(
                (again.name(), again.observed_width(), again.description()),
                (name.into(), 2, Some(description))
            );
            assert_eq!(
                (again.latent_width(), description.latent_width()),
                (first.latent_width(), first.latent_width())
            );
            assert_eq!(form.with_noise(0.1).noise(), 0.1);
            assert!(form.check().is_ok() && form.with_noise(0.0).check().is_err());
        }
        assert!(LikelihoodForm::StudentT { noise: 0.5, degrees: 2.0 }.check().is_err());
    }
}
