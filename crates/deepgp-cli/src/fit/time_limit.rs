//! The time that a command may take: `--time-limit` counts from its beginning, and training leaves room for what follows it.
//!
//! ```text
//! 0 ── reading ── inducing inputs ── a few rows are scored ── training ──────────── scoring ── report ── limit
//!                                                                      └── room ────────────────────────┘
//! ```
//!
//! Room is left for scoring all test rows and for the report, as long as training has half of the time that is left when it begins. If all of
//! them would take longer, as many are scored as there is time for when training has ended, at random. Inducing inputs that are not chosen
//! after a part of the time are rows at random, and a table that is not read in time is an error.

use std::time::{Duration, Instant};

use anyhow::Result;
use deepgp::noise::{Key, Purpose};
use deepgp::{Dataset, Regressor};
use deepgp_io::Note;

use crate::model::rows::PlacedRows;
use crate::model::scoring_costs::ScoringCosts;
use crate::report;

/// The factor on the time that scoring is expected to take: a machine may be busier later, and files are written too.
const MARGIN: f64 = 1.2;
/// The least number of test rows that are scored, whatever the time.
const FEWEST_ROWS: usize = 200;
/// The share of the time that is left in which inducing inputs are to be chosen.
const SHARE_OF_START: f64 = 0.4;
/// The seconds of more than a century: a longer limit is none.
const LONGEST: f64 = 4e9;

/// A limit on the time of a command.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    /// The moment when the command began.
    started: Instant,
    /// Seconds after which the command is to be done.
    seconds: f64,
    /// Seconds after which training is to end.
    training: f64,
    /// What scoring costs, if there are rows to score.
    scoring: Option<ScoringCosts>,
    /// Whether there is a report to write.
    report: bool,
    /// How many times as long as a look at the validation rows calibration with them takes, after the last step.
    looks_of_calibration: f64,
}

impl TimeLimit {
    /// The limit of a command that began at `started`, with nothing to do after training.
    pub fn new(started: Instant, seconds: f64) -> Self {
        Self { started, seconds, training: seconds, scoring: None, report: false, looks_of_calibration: 1.0 }
    }

    /// The limit of a training that ends with a calibration which takes so many times as long as a look at the validation rows.
    pub fn with_looks_of_calibration(self, looks_of_calibration: f64) -> Self {
        Self { looks_of_calibration, ..self }
    }

    /// How many times as long as a look at the validation rows calibration with them takes.
    pub fn looks_of_calibration(&self) -> f64 {
        self.looks_of_calibration
    }

    /// Seconds after which the command is to be done, from its beginning.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The moment at which the command is to be done.
    pub fn end(&self) -> Instant {
        self.started + Duration::from_secs_f64(self.seconds.clamp(0.0, LONGEST))
    }

    /// The seconds that are left for training, and for what comes before it.
    pub fn left_to_train(&self) -> f64 {
        (self.training - self.elapsed()).max(0.0)
    }

    /// Whether training is to end rather than to make a step that takes so many seconds.
    pub fn is_up(&self, ahead: f64) -> bool {
        self.left_to_train() <= ahead
    }

    /// The moment until which the inducing inputs of a model may be chosen that is begun now: a share of the time that is left.
    pub fn start_of_training(&self) -> Instant {
        Instant::now() + Duration::from_secs_f64((SHARE_OF_START * self.left_to_train()).min(LONGEST))
    }

    /// Seconds since the command began.
    fn elapsed(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// The limit with room after training for scoring on `test`, beside baselines learnt from `train`, and for a report if there is to be one.
    /// A few rows are scored now to find out how long all will take.
    pub fn with_scoring(
        self,
        regressor: &Regressor,
        train: &Dataset,
        test: Option<&Dataset>,
        threads: usize,
        report: bool,
    ) -> Result<Self> {
        let Some(test) = test else { return Ok(self) };
        let costs = ScoringCosts::measure(regressor, train, test, threads)?;
        Ok(self.with_room(costs, test.len(), report, self.elapsed()))
    }

    /// The limit with room for scoring so many rows at these costs, or for half of the time that is left `now`, if that is less.
    fn with_room(self, costs: ScoringCosts, rows: usize, report: bool, now: f64) -> Self {
        let planned = Self { scoring: Some(costs), report, ..self };
        let after = MARGIN * costs.seconds(rows, |rows| planned.reported(rows));
        let room = after.min(0.5 * (self.seconds - now).max(0.0));
        Self { training: self.seconds - room, ..planned }
    }

    /// The number of rows that a report on so many scored ones asks the model about again.
    fn reported(&self, rows: usize) -> usize {
        if self.report { report::predicted_rows(rows) } else { 0 }
    }

    /// The test rows that there is time to score a model on, with a note that says how many, if that is not all of `test`. A few rows are
    /// scored to find out how long one takes by now.
    pub fn rows_to_score(
        &self,
        regressor: &Regressor,
        test: &PlacedRows,
        threads: usize,
    ) -> Result<Option<(PlacedRows, Note)>> {
        let Some(costs) = self.scoring else { return Ok(None) };
        let now = Self { scoring: Some(costs.as_of_now(regressor, &test.data, threads)?), ..*self };
        now.rows_to_score_in(self.seconds - self.elapsed(), test)
    }

    /// The test rows that there is time to score in so many seconds, as [`TimeLimit::rows_to_score`] has it.
    fn rows_to_score_in(&self, left: f64, test: &PlacedRows) -> Result<Option<(PlacedRows, Note)>> {
        let (of, Some(costs)) = (test.data.len(), self.scoring) else { return Ok(None) };
        let rows = costs.rows_within(left / MARGIN, of, |rows| self.reported(rows)).max(FEWEST_ROWS);
        if rows >= of {
            return Ok(None);
        }
        let mut chosen = Key::new(0, Purpose::Split).permutation(of, 3);
        chosen.truncate(rows);
        chosen.sort_unstable();
        Ok(Some((test.gather(&chosen)?, Note::ScoredOnSample { rows, of })))
    }
}

#[cfg(test)]
mod tests {
    use deepgp::Mat;

    use super::*;

    /// Costs of `seconds` for 5000 rows.
    fn costs(seconds: f64) -> ScoringCosts {
        ScoringCosts { once: 0.0, prediction: 0.75 * seconds / 5000.0, baselines: 0.25 * seconds / 5000.0 }
    }

    #[test]
    fn training_leaves_room_but_has_half_of_the_time() {
        let limit = TimeLimit::new(Instant::now(), 60.0);
        let training = |seconds: f64, now: f64| limit.with_room(costs(seconds), 5000, false, now).training;
        assert_eq!(limit.training, 60.0);
        assert!((training(10.0, 4.0) - 48.0).abs() < 1e-9);
        assert_eq!(training(280.0, 4.0), 32.0);
        // The time was up before training began: the first step is the last one.
        assert_eq!(training(5.0, 70.0), 60.0);
        // A report asks the model again.
        assert!(limit.with_room(costs(10.0), 5000, true, 4.0).training < 46.0);
    }

    #[test]
    fn a_step_that_would_end_too_late_is_not_made() {
        let limit = TimeLimit::new(Instant::now(), 60.0);
        assert!(!limit.is_up(1.0) && limit.is_up(61.0) && TimeLimit::new(Instant::now(), 0.0).is_up(0.0));
        // Of what is left, a share is for where a model starts.
        let begun = Instant::now() - Duration::from_secs(10);
        let start = TimeLimit::new(begun, 60.0).start_of_training();
        assert!((start - begun).as_secs_f64() - 30.0 < 1.0 && start > begun + Duration::from_secs(29));
    }

    #[test]
    fn as_many_rows_are_scored_as_there_is_time_for() {
        let column = || Mat::from_fn(5000, 1, |i, _| i as f64);
        let test = PlacedRows { data: Dataset::new(column(), column()).unwrap(), positions: (0..5000).collect() };
        let limit = TimeLimit::new(Instant::now(), 60.0);
        let scored =
            |seconds: f64| limit.with_room(costs(seconds), 5000, false, 0.0).rows_to_score_in(30.0, &test).unwrap();
        assert!(scored(10.0).is_none());
        assert!(limit.rows_to_score_in(30.0, &test).unwrap().is_none(), "nobody knows what it costs");
        for (scoring, rows) in [(50.0, 2500), (1e9, FEWEST_ROWS)] {
            let (some, note) = scored(scoring).unwrap();
            assert_eq!((some.data.len(), note), (rows, Note::ScoredOnSample { rows, of: 5000 }));
            // From all over the table, in its order, and the same again.
            assert!((some.data.y().as_slice().iter().sum::<f64>() / rows as f64 - 2500.0).abs() < 400.0);
            assert!(some.data.y().as_slice().is_sorted());
            assert!((0..rows).all(|i| some.data.y()[(i, 0)] == some.positions[i] as f64));
            assert_eq!(scored(scoring).unwrap().0.data, some.data);
        }
    }
}
