//! What a likelihood has learnt, in the targets' units, while its model is trained and after. What that is, the likelihood says.

use std::ops::Range;

use deepgp::likelihood::{Likelihood, Quantity};
use deepgp::params::Constraint;
use deepgp::{Regressor, Scaling, TrainState};

/// The standard deviation of the first target's noise among these quantities; not a number where a likelihood has none.
pub fn noise_of_first_target(all: &[Quantity]) -> f64 {
    Quantity::find(all, "noise", Some(0)).unwrap_or(f64::NAN)
}

/// Reads off the raw parameters of a run what the likelihood has learnt so far.
#[derive(Clone, Debug)]
pub struct LikelihoodWatch {
    likelihood: Box<dyn Likelihood>,
    /// Where its parameters are among the raw ones, in its own order, and what makes values of them.
    places: Vec<(Range<usize>, Constraint)>,
    targets: Scaling,
}

impl LikelihoodWatch {
    /// For runs that begin with this model.
    pub fn new(regressor: &Regressor) -> Self {
        let parameters = regressor.model.parameters().into_iter();
        let places =
            parameters.filter(|own| own.name.starts_with("likelihood.")).map(|own| (own.range, own.constraint));
        Self {
            likelihood: regressor.model.likelihood().clone_box(),
            places: places.collect(),
            targets: regressor.standardiser.y.clone(),
        }
    }

    /// What the likelihood has learnt in this state.
    pub fn summary(&self, state: &TrainState) -> Vec<Quantity> {
        let mut likelihood = self.likelihood.clone();
        let mut places = self.places.iter();
        likelihood.visit(&mut |leaf| {
            if let Some((range, constraint)) = places.next() {
                for (value, raw) in leaf.values.iter_mut().zip(&state.now.raw[range.clone()]) {
                    *value = constraint.value(*raw);
                }
            }
        });
        likelihood.summary(&self.targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::{FitSettings, LikelihoodForm, Training, simulate};

    #[test]
    fn the_noise_is_that_of_the_model_in_the_users_units() {
        let data = simulate::step_curve(40, 1);
        let mut settings = FitSettings::default();
        settings.model.likelihood = LikelihoodForm::Gaussian { noise: 0.3 };
        let training = Training::new(&data, &settings).unwrap();
        let (regressor, state) = (training.regressor(), training.state());
        let expected = 0.3f64.sqrt() * regressor.standardiser.y.scale[0];
        for all in [LikelihoodWatch::new(regressor).summary(&state), regressor.likelihood_summary()] {
            assert_eq!(all.len(), 1);
            let found = noise_of_first_target(&all);
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
        assert!(noise_of_first_target(&[]).is_nan());
    }
}
