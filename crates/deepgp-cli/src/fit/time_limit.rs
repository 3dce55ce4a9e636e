//! The time that a command may take: `--time-limit` counts from its beginning, and training leaves room for what follows it.
//!
//! ```text
//! 0 ── reading ── inducing inputs ── a few rows are scored ── training ──────────── scoring ── limit
//!                                                                      └── room ──────────────┘
//! ```
//!
//! Room is left for scoring all test rows, as long as training has half of the time that is left when it begins. If all of them would take
//! longer, as many are scored as there is time for, at random.

use std::time::Instant;

use anyhow::Result;
use deepgp::noise::{Key, Purpose};
use deepgp::{Dataset, Regressor};
use deepgp_io::Note;

use crate::model::rows::PlacedRows;
use crate::model::score;

/// The factor on the time that scoring is expected to take: a machine may be busier later, and files are written too.
const MARGIN: f64 = 1.25;
/// The least number of test rows that are scored, whatever the time.
const FEWEST_ROWS: usize = 1000;

/// A limit on the time of a command.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    /// The moment when the command began.
    started: Instant,
    /// Seconds after which the command is to be done.
    seconds: f64,
    /// Seconds after which training is to end.
    training: f64,
    /// The share of the test rows that there is time to score.
    scored: f64,
}

impl TimeLimit {
    /// The limit of a command that began at `started`, with nothing to do after training.
    pub fn new(started: Instant, seconds: f64) -> Self {
        Self { started, seconds, training: seconds, scored: 1.0 }
    }

    /// The seconds that are left for training, and for what comes before it.
    pub fn left_to_train(&self) -> f64 {
        (self.training - self.started.elapsed().as_secs_f64()).max(0.0)
    }

    /// Whether training is to end.
    pub fn is_up(&self) -> bool {
        self.left_to_train() == 0.0
    }

    /// The limit with room after training for scoring on `test`, beside baselines learnt from `train`. A few rows are scored
    /// now to find out how long all will take.
    pub fn with_scoring(
        self,
        regressor: &Regressor,
        train: &Dataset,
        test: Option<&Dataset>,
        threads: usize,
    ) -> Result<Self> {
        let Some(test) = test else { return Ok(self) };
        let scoring = MARGIN * score::expected_seconds(regressor, train, test, threads)?;
        Ok(self.with_room(scoring, self.started.elapsed().as_secs_f64()))
    }

    /// The limit with room for so many seconds of scoring, or for half of the time that is left `now`, if that is less.
    fn with_room(self, scoring: f64, now: f64) -> Self {
        let room = scoring.min(0.5 * (self.seconds - now).max(0.0));
        Self { training: self.seconds - room, scored: room / scoring, ..self }
    }

    /// The test rows that there is time to score, with a note that says how many, if that is not all of `test`.
    pub fn rows_to_score(&self, test: &PlacedRows) -> Result<Option<(PlacedRows, Note)>> {
        let of = test.data.len();
        let rows = ((self.scored * of as f64) as usize).max(FEWEST_ROWS);
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

    #[test]
    fn training_leaves_room_but_has_half_of_the_time() {
        let limit = TimeLimit::new(Instant::now(), 60.0);
        let parts = |limit: TimeLimit| (limit.training, limit.scored);
        assert_eq!(parts(limit), (60.0, 1.0));
        assert_eq!(parts(limit.with_room(12.0, 4.0)), (48.0, 1.0));
        assert_eq!(parts(limit.with_room(280.0, 4.0)), (32.0, 0.1));
        // The time was up before training began: the first step is the last one.
        assert_eq!(parts(limit.with_room(5.0, 70.0)), (60.0, 0.0));
        assert!(!limit.is_up() && TimeLimit::new(Instant::now(), 0.0).is_up());
    }

    #[test]
    fn as_many_rows_are_scored_as_there_is_time_for() {
        let column = || Mat::from_fn(5000, 1, |i, _| i as f64);
        let test = PlacedRows { data: Dataset::new(column(), column()).unwrap(), positions: (0..5000).collect() };
        let limit = TimeLimit::new(Instant::now(), 60.0);
        assert!(limit.with_room(10.0, 0.0).rows_to_score(&test).unwrap().is_none());
        for (scoring, rows) in [(60.0, 2500), (1e9, FEWEST_ROWS)] {
            let (some, note) = limit.with_room(scoring, 0.0).rows_to_score(&test).unwrap().unwrap();
            assert_eq!((some.data.len(), note), (rows, Note::ScoredOnSample { rows, of: 5000 }));
            // From all over the table, in its order, and the same again.
            assert!((some.data.y().as_slice().iter().sum::<f64>() / rows as f64 - 2500.0).abs() < 150.0);
            assert!(some.data.y().as_slice().is_sorted());
            assert!((0..rows).all(|i| some.data.y()[(i, 0)] == some.positions[i] as f64));
            assert_eq!(limit.with_room(scoring, 0.0).rows_to_score(&test).unwrap().unwrap().0.data, some.data);
        }
    }
}
