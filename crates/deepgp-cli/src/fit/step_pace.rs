//! The pace of training: how long the next step will take, so that a time limit is kept and not just noticed.

use std::time::Instant;

use deepgp::likelihood::Outcomes;
use deepgp::{FitSettings, StepReport, Training};

/// How long steps and looks at the validation rows take, as training shows it.
#[derive(Clone, Copy, Debug)]
pub struct StepPace {
    /// The moment of the last report.
    last: Instant,
    /// Seconds of the last look at the validation rows.
    look: f64,
    /// The number of steps from one look to the next, if there are validation rows.
    look_every: Option<u64>,
    /// How many times as long as a look what follows the last step takes, with the same rows.
    looks_last: f64,
    /// Whether no step has been reported yet: there is a look before the first one.
    first: bool,
}

impl StepPace {
    /// The pace of a training with these settings that begins now, if calibration takes as long as so many looks.
    pub fn new(training: &Training, settings: &FitSettings, looks_of_calibration: f64) -> Self {
        let looks = training.held_out().is_some();
        let calibrates = match training.model().likelihood().outcomes() {
            // They say how sure predictions should be.
            Outcomes::Classes(_) | Outcomes::Real => looks && settings.calibrate,
            Outcomes::Counts => false,
        };
        let looks_last = if calibrates { looks_of_calibration } else { 0.0 };
        let look_every = looks.then_some(settings.train.validate_every);
        Self { last: Instant::now(), look: 0.0, look_every, looks_last, first: true }
    }

    /// The seconds that the next step will take, with all that must follow before training can end, by a step that was just reported.
    pub fn ahead(&mut self, report: &StepReport) -> f64 {
        let seconds = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        self.expect(report.step, report.seconds, report.validation.is_some(), seconds)
    }

    /// [`StepPace::ahead`] by a step that took `step_seconds` of the `seconds` since the last report.
    fn expect(&mut self, step: u64, step_seconds: f64, looked: bool, seconds: f64) -> f64 {
        if looked || (self.first && self.look_every.is_some()) {
            self.look = (seconds - step_seconds).max(0.0);
        }
        self.first = false;
        let looks = f64::from(u8::from(self.look_every.is_some_and(|every| (step + 1).is_multiple_of(every))));
        step_seconds + (looks + self.looks_last) * self.look
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_takes_longer_where_validation_rows_are_looked_at() {
        let start = StepPace { last: Instant::now(), look: 0.0, look_every: Some(50), looks_last: 0.0, first: true };
        let mut pace = start;
        // A look before the first step took two seconds.
        assert_eq!(pace.expect(1, 0.25, false, 2.25), 0.25);
        assert_eq!(pace.expect(48, 0.25, false, 0.25), 0.25);
        assert_eq!(pace.expect(49, 0.25, false, 0.25), 2.25);
        assert_eq!(pace.expect(50, 0.25, true, 3.25), 0.25);
        assert_eq!(pace.expect(99, 0.25, false, 0.5), 3.25);
        let mut calibrated = StepPace { looks_last: 3.0, ..start };
        assert_eq!(calibrated.expect(1, 0.25, false, 2.25), 6.25);
        let mut alone = StepPace { look_every: None, ..start };
        assert_eq!(alone.expect(49, 0.25, false, 9.0), 0.25);
    }
}
