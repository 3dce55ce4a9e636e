//! Likelihoods as model files describe them: without parameters.

use super::form::{MOST_CLASSES, START_DEGREES, START_DISPERSION};
use super::{
    Bernoulli, Gaussian, Heteroscedastic, Likelihood, Link, NegativeBinomial, Ordered, Poisson, Softmax, StudentT,
};

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
    /// Two classes, [`Bernoulli`].
    Bernoulli {
        /// The function that makes probabilities.
        link: Link,
    },
    /// Several classes, [`Softmax`].
    Softmax {
        /// The number of classes.
        classes: usize,
    },
    /// Classes that have an order, [`Ordered`].
    Ordered {
        /// The number of classes.
        classes: usize,
    },
    /// Counts, [`Poisson`].
    Poisson,
    /// Counts that vary more, [`NegativeBinomial`].
    NegativeBinomial,
}

impl LikelihoodDescription {
    /// The number of latent functions that the likelihood reads: to be compared with a model before anything of that size is allocated.
    pub fn latent_width(self) -> usize {
        match self {
            Self::Gaussian { outputs } | Self::StudentT { outputs } => outputs,
            Self::Heteroscedastic { outputs } => outputs.saturating_mul(2),
            Self::Softmax { classes } => classes,
            Self::Bernoulli { .. } | Self::Ordered { .. } | Self::Poisson | Self::NegativeBinomial => 1,
        }
    }

    /// The likelihood, at parameters that are still to be set. There are no more classes than there can be, whatever a file claims.
    pub fn build(self) -> Box<dyn Likelihood> {
        let alike = |classes: usize| vec![1.0 / classes.clamp(2, MOST_CLASSES) as f64; classes.clamp(2, MOST_CLASSES)];
        match self {
            Self::Gaussian { outputs } => Box::new(Gaussian::new(1.0, outputs)),
            Self::Heteroscedastic { outputs } => Box::new(Heteroscedastic::new(1.0, outputs)),
            Self::StudentT { outputs } => Box::new(StudentT::new(1.0, START_DEGREES, outputs)),
            Self::Bernoulli { link } => Box::new(Bernoulli { link, level: 0.0 }),
            Self::Softmax { classes } => Box::new(Softmax::new(&alike(classes))),
            Self::Ordered { classes } => Box::new(Ordered::new(&alike(classes))),
            Self::Poisson => Box::new(Poisson { level: 0.0 }),
            Self::NegativeBinomial => Box::new(NegativeBinomial { level: 0.0, dispersion: START_DISPERSION }),
        }
    }
}
