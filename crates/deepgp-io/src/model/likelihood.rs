//! What a likelihood has learnt, in the targets' units. The one place that knows the Gaussian's parameter by its name.

use std::ops::Range;

use deepgp::params::Constraint;
use deepgp::{Regressor, Scaling, TrainState};

/// The Gaussian's parameter: noise variances of the standardised targets.
const NOISE_VARIANCES: &str = "likelihood.noise";
/// The name under which standard deviations of noise are told.
const NOISE: &str = "noise";

/// A number that tells people what a likelihood has learnt.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// What it is: `noise`, for the standard deviation of a Gaussian's noise.
    pub name: String,
    /// The target that it is of, from 0, if it is of one alone.
    pub output: Option<usize>,
    /// Its value, in the target's units.
    pub value: f64,
}

impl Quantity {
    /// The value of this name for this target among `all`, if it is there.
    pub fn find(all: &[Self], name: &str, output: Option<usize>) -> Option<f64> {
        all.iter().find(|own| own.name == name && own.output == output).map(|own| own.value)
    }

    /// The standard deviation of the first target's noise among `all`; not a number where a likelihood has none.
    pub fn first_noise(all: &[Self]) -> f64 {
        Self::find(all, NOISE, Some(0)).unwrap_or(f64::NAN)
    }
}

/// The quantities of a Gaussian with these noise variances of standardised targets: a standard deviation for each target.
fn of_gaussian(variances: impl Iterator<Item = f64>, targets: &Scaling) -> Vec<Quantity> {
    let each = variances.zip(&targets.scale).enumerate();
    each.map(|(output, (variance, scale))| Quantity {
        name: NOISE.into(),
        output: Some(output),
        value: variance.sqrt() * scale,
    })
    .collect()
}

/// What the likelihood of a model has learnt; nothing if it has no such numbers.
pub fn likelihood_summary(regressor: &Regressor) -> Vec<Quantity> {
    of_gaussian(noise_variances(regressor).into_iter(), &regressor.standardiser.y)
}

/// The variance that an observation of each target has beside that of the function, in squares of the target's units; nothing if the
/// likelihood is not Gaussian.
pub fn observation_noise(regressor: &Regressor) -> Vec<f64> {
    let scales = regressor.standardiser.y.scale.iter();
    noise_variances(regressor).iter().zip(scales).map(|(variance, scale)| variance * (scale * scale)).collect()
}

fn noise_variances(regressor: &Regressor) -> Vec<f64> {
    let parameters = regressor.model.parameters();
    parameters.into_iter().find(|own| own.name == NOISE_VARIANCES).map_or(Vec::new(), |own| own.values)
}

/// Reads off the raw parameters of a run what the likelihood has learnt so far.
#[derive(Clone, Debug)]
pub struct LikelihoodWatch {
    /// Where the noise variances are among the raw parameters, and what makes values of them.
    noise: Option<(Range<usize>, Constraint)>,
    targets: Scaling,
}

impl LikelihoodWatch {
    /// For runs that begin with this model.
    pub fn new(regressor: &Regressor) -> Self {
        let parameters = regressor.model.parameters();
        let noise = parameters.into_iter().find(|own| own.name == NOISE_VARIANCES);
        Self { noise: noise.map(|own| (own.range, own.constraint)), targets: regressor.standardiser.y.clone() }
    }

    /// What the likelihood has learnt in this state.
    pub fn summary(&self, state: &TrainState) -> Vec<Quantity> {
        let Some((range, constraint)) = &self.noise else { return Vec::new() };
        let variances = state.now.raw[range.clone()].iter().map(|raw| constraint.value(*raw));
        of_gaussian(variances, &self.targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::{FitSettings, simulate};

    #[test]
    fn the_noise_is_that_of_the_model_in_the_users_units() {
        let data = simulate::step_curve(40, 1);
        let settings = FitSettings::default();
        let regressor = Regressor::start(&data, &settings).unwrap();
        let state = regressor.begin(&data, &settings).unwrap();
        let expected = settings.model.noise.sqrt() * regressor.standardiser.y.scale[0];
        for all in [LikelihoodWatch::new(&regressor).summary(&state), likelihood_summary(&regressor)] {
            assert_eq!(all.len(), 1);
            let found = Quantity::first_noise(&all);
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
        let variance = observation_noise(&regressor)[0];
        assert!((variance / (expected * expected) - 1.0).abs() < 1e-9, "{variance} {expected}");
        assert!(Quantity::first_noise(&[]).is_nan());
    }
}
