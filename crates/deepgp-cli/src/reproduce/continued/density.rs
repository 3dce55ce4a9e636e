//! The densities that models are compared with: one noise for all rows, as the paper has it, and noise that follows the inputs.

use deepgp::{FitSettings, LikelihoodForm, ObjectiveForm, TransformChoice};
use serde::{Deserialize, Serialize};

/// The density of a row's target given the last layer, with the objective that trains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Density {
    /// One Gaussian noise for all rows, by the evidence lower bound, on targets as they are: the paper's.
    OneNoise,
    /// Noise that follows the inputs, by the objective that suits it, on targets that are bent where `deepgp fit` would: its defaults.
    InputDependent,
}

/// The names of [`Density`]'s variants on the command line.
pub const DENSITIES: &[&str] = &["one-noise", "input-dependent"];

impl Density {
    /// Both densities, in the order of the tables.
    pub const ALL: [Self; 2] = [Self::OneNoise, Self::InputDependent];

    /// The density's name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneNoise => "one-noise",
            Self::InputDependent => "input-dependent",
        }
    }

    /// The density in words, for legends and tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::OneNoise => "one noise, ELBO",
            Self::InputDependent => "noise by inputs",
        }
    }

    /// Changes the likelihood, the objective and the transform of the target to this density's, and nothing else.
    pub fn apply(self, settings: &mut FitSettings) {
        let (likelihood, objective, transform) = match self {
            Self::OneNoise => (LikelihoodForm::GAUSSIAN, Some(ObjectiveForm::Elbo), TransformChoice::None),
            Self::InputDependent => (LikelihoodForm::HETEROSCEDASTIC, None, TransformChoice::Auto),
        };
        settings.model.likelihood = likelihood;
        settings.train.objective = objective;
        settings.transform_target = transform;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_the_papers_and_the_other_the_defaults() {
        for (density, name) in Density::ALL.into_iter().zip(DENSITIES) {
            assert_eq!((serde_json::to_value(density).unwrap(), density.name()), ((*name).into(), *name));
        }
        let of = |density: Density| {
            let mut settings = FitSettings::default();
            density.apply(&mut settings);
            settings
        };
        assert_eq!(of(Density::InputDependent), FitSettings::default());
        let (one, plain) = (of(Density::OneNoise), FitSettings::plain());
        assert_eq!((one.model, one.train.objective), (plain.model, plain.train.objective));
        assert_eq!(one.transform_target, plain.transform_target);
        let default = FitSettings::default().train;
        assert_eq!((one.train.learning_rate, one.train.schedule), (default.learning_rate, default.schedule));
    }
}
