//! What looks at the validation rows take: found out with a few of them before training, so that a fit with little time looks at fewer.
//!
//! There is a look before the first step, one every so many steps, and calibration after the last, which asks for the density of each row some thirty
//! times. None of them can be cut short.

use anyhow::Result;
use deepgp::likelihood::Outcomes;
use deepgp::{Dataset, FitSettings, PredictSettings, TrainSettings, Training, ValidationScore};

use super::time_limit::TimeLimit;
use crate::model::device;
use crate::model::scoring_costs::seconds_a_row;

/// The share of the time that is left for training that one look may take.
const SHARE_OF_LOOK: f64 = 0.03;
/// The share of that time that calibration may take.
const SHARE_OF_CALIBRATION: f64 = 0.06;
/// The least number of validation rows, whatever the time.
const FEWEST_ROWS: usize = 200;

/// The seconds that a row takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValidationCosts {
    /// In a look.
    look: f64,
    /// In calibration.
    calibration: f64,
}

impl ValidationCosts {
    /// What a row costs, by the time that a few take now; `None` if no rows are held out.
    fn measure(training: &Training, settings: &FitSettings) -> Result<Option<Self>> {
        let Some(rows) = training.held_out() else { return Ok(None) };
        let (train, model) = (settings.train, training.model());
        let TrainSettings { validation_samples: samples, seed, threads, .. } = train;
        let predict = PredictSettings { samples, seed, threads, ..PredictSettings::default() };
        let predictor = model.predictor(predict).map_err(device::explain)?;
        let judge = train.validation_score.suiting(model.likelihood().outcomes());
        let look = seconds_a_row(rows, |some: &Dataset| match judge {
            ValidationScore::Crps => predictor.crps(some, some.y().view()).map(|_| ()),
            ValidationScore::LogDensity => predictor.log_density(some, some.y().view()).map(|_| ()),
        })?;
        let calibrates = settings.calibrate && model.likelihood().outcomes() != Outcomes::Counts;
        let calibrate = |some: &Dataset| training.calibrated(training.regressor().clone(), some).map(|_| ());
        let calibration = if calibrates { seconds_a_row(rows, calibrate)? } else { 0.0 };
        Ok(Some(Self { look, calibration }))
    }

    /// The number of rows that there is time for in a training of so many seconds.
    fn rows_within(self, seconds: f64) -> usize {
        let of = |share: f64, each: f64| share * seconds / each.max(f64::MIN_POSITIVE);
        let rows = of(SHARE_OF_LOOK, self.look).min(of(SHARE_OF_CALIBRATION, self.calibration));
        // As many as there are, if that is more than a number can say.
        (rows as usize).max(FEWEST_ROWS)
    }
}

impl TimeLimit {
    /// The training with no more validation rows than there is time for, and the limit that knows what calibration with them takes.
    pub fn with_validation(self, training: Training, settings: &mut FitSettings) -> Result<(Self, Training)> {
        let Some(costs) = ValidationCosts::measure(&training, settings)? else { return Ok((self, training)) };
        let rows = costs.rows_within(self.left_to_train()).min(settings.train.validation_rows);
        let training = if training.held_out().is_some_and(|held_out| rows < held_out.len()) {
            settings.train.validation_rows = rows;
            training.with_validation_rows(rows)?
        } else {
            training
        };
        Ok((self.with_calibration(costs), training))
    }

    /// The limit of a training whose validation rows are given, like [`TimeLimit::with_validation`]'s.
    pub fn with_given_validation(self, training: &Training, settings: &FitSettings) -> Result<Self> {
        Ok(ValidationCosts::measure(training, settings)?.map_or(self, |costs| self.with_calibration(costs)))
    }

    fn with_calibration(self, costs: ValidationCosts) -> Self {
        self.with_looks_of_calibration(costs.calibration / costs.look.max(f64::MIN_POSITIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_as_there_is_time_for() {
        let costs = ValidationCosts { look: 1e-4, calibration: 3e-4 };
        // A hundred seconds: 3 s are 30,000 rows for a look, 6 s are 20,000 for calibration.
        assert_eq!(costs.rows_within(100.0), 20_000);
        assert_eq!(ValidationCosts { calibration: 0.0, ..costs }.rows_within(100.0), 30_000);
        assert_eq!((costs.rows_within(0.0), costs.rows_within(1.0)), (FEWEST_ROWS, FEWEST_ROWS));
        let free = ValidationCosts { look: 0.0, calibration: 0.0 };
        assert_eq!(free.rows_within(f64::INFINITY), usize::MAX);
    }
}
