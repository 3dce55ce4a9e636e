//! The choice of a likelihood as settings make it, with starting values.

use super::negative_binomial::LEAST_DISPERSION;
use super::start::{class_shares, log_rate};
use super::student_t::LEAST_DEGREES;
use super::{
    Bernoulli, Gaussian, Heteroscedastic, Likelihood, Link, NOISE_FLOOR, NegativeBinomial, Ordered, Outcomes, Poisson,
    Softmax, StudentT,
};
use crate::data::Dataset;
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
    /// Two classes, [`Bernoulli`].
    Bernoulli {
        /// The function that makes probabilities.
        link: Link,
    },
    /// Several classes, [`Softmax`].
    Softmax {
        /// The number of classes; `None` for as many as the largest class number says.
        classes: Option<usize>,
    },
    /// Classes that have an order, [`Ordered`].
    Ordered {
        /// The number of classes; `None` for as many as the largest class number says.
        classes: Option<usize>,
    },
    /// Counts, [`Poisson`].
    Poisson,
    /// Counts that vary more, [`NegativeBinomial`].
    NegativeBinomial {
        /// The dispersion at the start, above 0.001.
        dispersion: f64,
    },
}

/// The noise variance at which likelihoods start, in units of the target's variance.
const START_NOISE: f64 = 0.5;
/// The degrees of freedom at which Student's t starts: tails that a few outliers can lift.
pub(super) const START_DEGREES: f64 = 5.0;

/// The dispersion at which the negative binomial starts: a variance that is a little more than the mean.
pub(super) const START_DISPERSION: f64 = 10.0;
/// The most classes: with more, targets are likely no class numbers.
pub(super) const MOST_CLASSES: usize = 1000;

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
    /// Two classes under the probit.
    pub const PROBIT: Self = Self::Bernoulli { link: Link::Probit };
    /// Two classes under the logit.
    pub const LOGIT: Self = Self::Bernoulli { link: Link::Logit };
    /// As many classes as there are.
    pub const SOFTMAX: Self = Self::Softmax { classes: None };
    /// As many ordered classes as there are.
    pub const ORDERED: Self = Self::Ordered { classes: None };
    /// The negative binomial at its usual start.
    pub const NEGATIVE_BINOMIAL: Self = Self::NegativeBinomial { dispersion: START_DISPERSION };

    /// The noise variance at the start; `None` for a likelihood that has no noise.
    pub fn noise(self) -> Option<f64> {
        match self {
            Self::Gaussian { noise } | Self::Heteroscedastic { noise } | Self::StudentT { noise, .. } => Some(noise),
            Self::Bernoulli { .. }
            | Self::Softmax { .. }
            | Self::Ordered { .. }
            | Self::Poisson
            | Self::NegativeBinomial { .. } => None,
        }
    }

    /// The same choice with another noise variance at the start; `None` for a likelihood that has no noise.
    pub fn with_noise(self, noise: f64) -> Option<Self> {
        match self {
            Self::Gaussian { .. } => Some(Self::Gaussian { noise }),
            Self::Heteroscedastic { .. } => Some(Self::Heteroscedastic { noise }),
            Self::StudentT { degrees, .. } => Some(Self::StudentT { noise, degrees }),
            Self::Bernoulli { .. }
            | Self::Softmax { .. }
            | Self::Ordered { .. }
            | Self::Poisson
            | Self::NegativeBinomial { .. } => None,
        }
    }

    /// Fails if a starting value is impossible.
    pub fn check(self) -> Result<()> {
        if let Some(noise) = self.noise()
            && !(noise >= NOISE_FLOOR && noise.is_finite())
        {
            let requirement = "a number of at least 1e-6";
            return Err(Error::Setting { name: "noise", value: format!("{noise:?}"), requirement });
        }
        match self {
            Self::StudentT { degrees, .. } if !(degrees > LEAST_DEGREES && degrees.is_finite()) => {
                let requirement = "a number above 2, where the variance is finite";
                Err(Error::Setting { name: "degrees of freedom", value: format!("{degrees:?}"), requirement })
            }
            Self::NegativeBinomial { dispersion } if !(dispersion > LEAST_DISPERSION && dispersion.is_finite()) => {
                let requirement = "a number above 0.001";
                Err(Error::Setting { name: "dispersion", value: format!("{dispersion:?}"), requirement })
            }
            Self::Softmax { classes: Some(classes) } | Self::Ordered { classes: Some(classes) }
                if !(2..=MOST_CLASSES).contains(&classes) =>
            {
                Err(Error::Setting { name: "classes", value: classes.to_string(), requirement: "from 2 to 1000" })
            }
            Self::Gaussian { .. }
            | Self::Heteroscedastic { .. }
            | Self::StudentT { .. }
            | Self::Bernoulli { .. }
            | Self::Softmax { .. }
            | Self::Ordered { .. }
            | Self::Poisson
            | Self::NegativeBinomial { .. } => Ok(()),
        }
    }

    /// The likelihood at its starting values for so many targets of which nothing is known. Those of classes and counts have one target,
    /// whatever is asked for, and two classes if none are.
    pub fn start(self, targets: usize) -> Box<dyn Likelihood> {
        let alike = |classes: Option<usize>| vec![1.0 / classes.unwrap_or(2) as f64; classes.unwrap_or(2)];
        match self {
            Self::Gaussian { noise } => Box::new(Gaussian::new(noise, targets)),
            Self::Heteroscedastic { noise } => Box::new(Heteroscedastic::new(noise, targets)),
            Self::StudentT { noise, degrees } => Box::new(StudentT::new(noise, degrees, targets)),
            Self::Bernoulli { link } => Box::new(Bernoulli::new(link, 0.5)),
            Self::Softmax { classes } => Box::new(Softmax::new(&alike(classes))),
            Self::Ordered { classes } => Box::new(Ordered::new(&alike(classes))),
            Self::Poisson => Box::new(Poisson::new(1.0)),
            Self::NegativeBinomial { dispersion } => Box::new(NegativeBinomial::new(1.0, dispersion)),
        }
    }

    /// The likelihood at its starting values for the targets of `data`, in the user's units: classes start at their shares, and counts at
    /// their mean. Fails if a target is impossible.
    pub fn start_for(self, data: &Dataset) -> Result<Box<dyn Likelihood>> {
        self.check()?;
        let form = self.with_classes_of(data)?;
        let blank = form.start(data.y().ncols());
        if blank.observed_width() != data.y().ncols() {
            let expected = format!("1 column for the likelihood `{}`", blank.name());
            return Err(Error::Shape { what: "targets", expected, found: data.y().ncols().to_string() });
        }
        blank.check(data.y().view())?;
        let shares = || match blank.outcomes() {
            Outcomes::Classes(classes) => class_shares(data, classes),
            Outcomes::Real | Outcomes::Counts => Vec::new(),
        };
        Ok(match form {
            Self::Gaussian { .. } | Self::Heteroscedastic { .. } | Self::StudentT { .. } => blank,
            Self::Bernoulli { link } => Box::new(Bernoulli::new(link, shares()[1])),
            Self::Softmax { .. } => Box::new(Softmax::new(&shares())),
            Self::Ordered { .. } => Box::new(Ordered::new(&shares())),
            Self::Poisson => Box::new(Poisson { level: log_rate(data) }),
            Self::NegativeBinomial { dispersion } => Box::new(NegativeBinomial { level: log_rate(data), dispersion }),
        })
    }

    /// The same choice with the number of classes that the targets of `data` have, where it was not given. Fails if there are too many.
    fn with_classes_of(self, data: &Dataset) -> Result<Self> {
        let found = || {
            let largest = data.y().as_slice().iter().copied().fold(1.0, f64::max);
            if largest < MOST_CLASSES as f64 {
                return Ok(Some(largest as usize + 1));
            }
            let (what, expected) = ("class numbers", format!("numbers below {MOST_CLASSES}"));
            Err(Error::Shape { what, expected, found: largest.to_string() })
        };
        Ok(match self {
            Self::Softmax { classes: None } => Self::Softmax { classes: found()? },
            Self::Ordered { classes: None } => Self::Ordered { classes: found()? },
            Self::Gaussian { .. }
            | Self::Heteroscedastic { .. }
            | Self::StudentT { .. }
            | Self::Bernoulli { .. }
            | Self::Softmax { classes: Some(_) }
            | Self::Ordered { classes: Some(_) }
            | Self::Poisson
            | Self::NegativeBinomial { .. } => self,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likelihood_is_built_again_from_its_description() {
        for (form, name, targets) in [
            (LikelihoodForm::GAUSSIAN, "gaussian", 2),
            (LikelihoodForm::HETEROSCEDASTIC, "heteroscedastic", 2),
            (LikelihoodForm::STUDENT_T, "student-t", 2),
            (LikelihoodForm::PROBIT, "probit", 1),
            (LikelihoodForm::LOGIT, "logit", 1),
            (LikelihoodForm::SOFTMAX, "softmax", 1),
            (LikelihoodForm::Softmax { classes: Some(5) }, "softmax", 1),
            (LikelihoodForm::Ordered { classes: Some(5) }, "ordered", 1),
            (LikelihoodForm::Poisson, "poisson", 1),
            (LikelihoodForm::NEGATIVE_BINOMIAL, "negative-binomial", 1),
        ] {
            let first = form.start(targets);
            let description = first.description().unwrap();
            let again = description.build();
            assert_eq!(
                (again.name(), again.observed_width(), again.description()),
                (name.into(), targets, Some(description))
            );
            assert_eq!(
                (again.latent_width(), description.latent_width()),
                (first.latent_width(), first.latent_width())
            );
            let noisy = form.with_noise(0.1);
            assert_eq!(noisy.and_then(LikelihoodForm::noise), form.noise().map(|_| 0.1));
            assert!(form.check().is_ok() && form.with_noise(0.0).is_none_or(|none| none.check().is_err()));
        }
        assert!(LikelihoodForm::StudentT { noise: 0.5, degrees: 2.0 }.check().is_err());
    }

    #[test]
    fn classes_start_at_their_shares_and_counts_at_their_mean() {
        use crate::likelihood::Latent;
        use crate::numeric::mat::Mat;
        let data = |y: &[f64]| Dataset::new(Mat::zeros(y.len(), 1), Mat::column(y.to_vec())).unwrap();
        let y: Vec<f64> = [vec![0.0; 600], vec![2.0; 300], vec![1.0; 100]].concat();
        for form in [LikelihoodForm::SOFTMAX, LikelihoodForm::ORDERED] {
            let own = form.start_for(&data(&y)).unwrap();
            assert_eq!(own.outcomes(), Outcomes::Classes(3));
            let mut p = [0.0; 3];
            let width = own.latent_width();
            // An ordered latent function is expected to vary by 1.
            let variance = if width == 1 { 1.0 } else { 1e-9 };
            own.class_probabilities(Latent { mean: &vec![0.0; width], variance: &vec![variance; width] }, &mut p);
            for (found, expected) in p.iter().zip([0.6, 0.1, 0.3]) {
                assert!((found - expected).abs() < 2e-3, "{form:?}: {p:?}");
            }
        }
        let counts = data(&[0.0, 3.0, 12.0]);
        for form in [LikelihoodForm::Poisson, LikelihoodForm::NEGATIVE_BINOMIAL] {
            let (mut mean, mut variance) = ([0.0], [0.0]);
            let own = form.start_for(&counts).unwrap();
            own.observed_moments(Latent { mean: &[0.0], variance: &[0.0] }, &mut mean, &mut variance);
            assert!((mean[0] - 15.5 / 3.0).abs() < 1e-12, "{form:?}");
        }
    }

    #[test]
    fn targets_that_a_choice_cannot_have_are_refused() {
        use crate::numeric::mat::Mat;
        let data = |y: &[f64]| Dataset::new(Mat::zeros(y.len(), 1), Mat::column(y.to_vec())).unwrap();
        let message = |form: LikelihoodForm, data: &Dataset| form.start_for(data).unwrap_err().to_string();
        assert!(message(LikelihoodForm::PROBIT, &data(&[0.0, 2.0])).contains("row 1 is 2"));
        assert!(message(LikelihoodForm::SOFTMAX, &data(&[0.0, 0.5])).contains("row 1 is 0.5"));
        assert!(message(LikelihoodForm::SOFTMAX, &data(&[0.0, 1e9])).contains("numbers below 1000"));
        assert!(message(LikelihoodForm::Ordered { classes: Some(3) }, &data(&[0.0, 3.0])).contains("row 1 is 3"));
        assert!(message(LikelihoodForm::Softmax { classes: Some(1) }, &data(&[0.0])).contains("from 2 to 1000"));
        assert!(message(LikelihoodForm::Poisson, &data(&[-1.0])).contains("must be a count"));
        let two = Dataset::new(Mat::zeros(2, 1), Mat::zeros(2, 2)).unwrap();
        assert!(message(LikelihoodForm::Poisson, &two).contains("1 column for the likelihood `poisson`"));
        assert!(LikelihoodForm::NegativeBinomial { dispersion: 0.0 }.check().is_err());
    }
}
