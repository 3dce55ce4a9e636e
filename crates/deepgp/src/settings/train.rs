//! The settings of a training run.

use super::{Schedule, ValidationScore};
use crate::error::{Error, Result};
use crate::objective::ObjectiveForm;
use crate::train::optimiser::OptimiserForm;

/// The number of training rows below which a table is small, see [`learning_rate_for`].
pub const SMALL_TABLE: usize = 3000;

/// The learning rate for so many training rows where none is given. Small tables are fitted well before the last step, and the lower rate finds
/// the better place; large ones need the higher to get there at all.
pub const fn learning_rate_for(rows: usize) -> f64 {
    if rows < SMALL_TABLE { 0.015 } else { 0.02 }
}

/// The settings of a training run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TrainSettings {
    /// The number of steps of the optimiser.
    pub steps: u64,
    /// The most rows of a minibatch; all of them if there are fewer.
    pub batch_size: usize,
    /// The number of samples of the hidden layers for each row.
    pub samples: usize,
    /// The learning rate of the optimiser, before the schedule; `None` for what suits the number of rows, [`learning_rate_for`].
    pub learning_rate: Option<f64>,
    /// The schedule of the learning rate.
    pub schedule: Schedule,
    /// The factor on the KL: below 1 the prior counts for less.
    #[cfg_attr(feature = "serde", serde(default = "whole"))]
    pub kl_weight: f64,
    /// The number of steps over which the factor on the KL grows to its value; 0 for none, see [`TrainSettings::kl_weight_at`].
    pub kl_warm_up: u64,
    /// The number of steps between two validations, if there are validation rows.
    pub validate_every: u64,
    /// The number of validations without a better result after which training stops.
    pub patience: u32,
    /// The most held-out rows that a validation looks at; of more, so many at random. The mean log density of 10,000 has a standard error of about a
    /// hundredth, and differences between two looks at the same rows have far less.
    #[cfg_attr(feature = "serde", serde(default = "enough_rows"))]
    pub validation_rows: usize,
    /// The number of samples of the hidden layers in a validation.
    pub validation_samples: usize,
    /// The score by which validation rows judge.
    #[cfg_attr(feature = "serde", serde(default))]
    pub validation_score: ValidationScore,
    /// The seed of minibatches, noise and the hold-out.
    pub seed: u64,
    /// The number of threads to work on; 0 for all. No result depends on it.
    pub threads: usize,
    /// The objective that is maximised; `None` for what suits the likelihood, [`ObjectiveForm::suiting`].
    #[cfg_attr(feature = "serde", serde(default = "bound"))]
    pub objective: Option<ObjectiveForm>,
    /// The optimiser that moves the parameters.
    #[cfg_attr(feature = "serde", serde(default))]
    pub optimiser: OptimiserForm,
}

/// The usual number of held-out rows that a validation looks at, and that in files from before there was a choice.
const fn enough_rows() -> usize {
    10_000
}

/// The objective in files from before there was a choice.
#[cfg(feature = "serde")]
fn bound() -> Option<ObjectiveForm> {
    Some(ObjectiveForm::Elbo)
}

/// The factor on the KL in files from before there was one.
#[cfg(feature = "serde")]
fn whole() -> f64 {
    1.0
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            steps: 3000,
            batch_size: 10_000,
            samples: 1,
            learning_rate: None,
            schedule: Schedule::COSINE,
            kl_weight: 1.0,
            kl_warm_up: 0,
            validate_every: 50,
            patience: 30,
            validation_rows: enough_rows(),
            validation_samples: 20,
            validation_score: ValidationScore::Crps,
            seed: 0,
            threads: 0,
            objective: None,
            optimiser: OptimiserForm::Adam,
        }
    }
}

impl TrainSettings {
    /// Settings for the evidence lower bound at a constant learning rate, with validation rows that judge by their log density.
    pub fn plain() -> Self {
        Self {
            learning_rate: Some(0.01),
            schedule: Schedule::Constant,
            patience: 10,
            validation_score: ValidationScore::LogDensity,
            objective: Some(ObjectiveForm::Elbo),
            ..Self::default()
        }
    }

    /// The factor `κ` on the KL at `step`, from 0: over [`TrainSettings::kl_warm_up`] steps `W` it grows linearly to
    /// [`TrainSettings::kl_weight`] `β`, `κ(t) = β min(1, (t + 1) / W)`; without a warm-up it is `β`.
    pub fn kl_weight_at(&self, step: u64) -> f64 {
        match self.kl_warm_up {
            0 => self.kl_weight,
            over => self.kl_weight * ((step + 1) as f64 / over as f64).min(1.0),
        }
    }

    /// The number of minibatches in a pass over so many rows.
    pub fn batches(&self, rows: usize) -> usize {
        rows.div_ceil(self.batch_size.max(1))
    }

    /// Fails if a setting makes no sense.
    pub fn check(&self) -> Result<()> {
        let at_least_one = [
            ("batch_size", self.batch_size as u64),
            ("samples", self.samples as u64),
            ("validate_every", self.validate_every),
            ("patience", u64::from(self.patience)),
            ("validation_rows", self.validation_rows as u64),
            ("validation_samples", self.validation_samples as u64),
        ];
        for (name, value) in at_least_one {
            if value == 0 {
                return Err(Error::Setting { name, value: "0".into(), requirement: "at least 1" });
            }
        }
        let positive = |name, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err(Error::Setting { name, value: value.to_string(), requirement: "a positive number" })
            }
        };
        self.learning_rate.map_or(Ok(()), |rate| positive("learning_rate", rate))?;
        positive("kl_weight", self.kl_weight)?;
        self.objective.map_or(Ok(()), ObjectiveForm::check)?;
        match self.schedule {
            Schedule::Constant => Ok(()),
            Schedule::Cosine { last } if (0.0..=1.0).contains(&last) => Ok(()),
            Schedule::Cosine { last } => {
                let requirement = "between 0 and 1";
                Err(Error::Setting { name: "schedule: last", value: last.to_string(), requirement })
            }
            Schedule::Step { every: 0, .. } => {
                Err(Error::Setting { name: "schedule: every", value: "0".into(), requirement: "at least 1" })
            }
            Schedule::Step { factor, .. } => positive("schedule: factor", factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_make_no_sense_are_refused_by_name() {
        let refused = |change: fn(&mut TrainSettings)| {
            let mut settings = TrainSettings::default();
            change(&mut settings);
            settings.check().unwrap_err().to_string()
        };
        assert!(refused(|s| s.batch_size = 0).contains("`batch_size` is 0"));
        assert!(refused(|s| s.samples = 0).contains("`samples` is 0"));
        assert!(refused(|s| s.learning_rate = Some(-1.0)).contains("`learning_rate` is -1"));
        assert!(refused(|s| s.learning_rate = Some(f64::NAN)).contains("NaN"));
        assert!(refused(|s| s.schedule = Schedule::Cosine { last: 2.0 }).contains("schedule: last"));
        assert!(refused(|s| s.schedule = Schedule::Step { every: 0, factor: 0.5 }).contains("schedule: every"));
    }
}
