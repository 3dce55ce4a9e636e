//! The time that a command may take: `--time-limit` counts from its beginning, and training leaves room for what follows it.

use std::time::Instant;

use anyhow::Result;
use deepgp::{Dataset, Regressor};

use crate::model::score;

/// The factor on the time that scoring is expected to take: a machine may be busier later, and files are written too.
const MARGIN: f64 = 1.25;

/// A limit on the time of a command.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    /// The moment when the command began.
    started: Instant,
    /// Seconds after which the command is to be done.
    seconds: f64,
    /// Seconds after which training is to end.
    training: f64,
}

impl TimeLimit {
    /// The limit of a command that began at `started`, with nothing to do after training.
    pub fn new(started: Instant, seconds: f64) -> Self {
        Self { started, seconds, training: seconds }
    }

    /// Whether training is to end.
    pub fn is_up(&self) -> bool {
        self.started.elapsed().as_secs_f64() >= self.training
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

    /// The limit with room of so many seconds after training, which has at least half of the time that is left `now`.
    fn with_room(self, room: f64, now: f64) -> Self {
        Self { training: (self.seconds - room).max(0.5 * (now + self.seconds)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_leaves_room_but_has_half_of_the_time() {
        let limit = TimeLimit::new(Instant::now(), 60.0);
        assert_eq!(limit.training, 60.0);
        assert_eq!(limit.with_room(12.0, 4.0).training, 48.0);
        assert_eq!(limit.with_room(500.0, 4.0).training, 32.0);
        // The time was up before training began: the first step is the last one.
        assert!(limit.with_room(5.0, 70.0).training < 70.0);
        assert!(!limit.is_up() && TimeLimit::new(Instant::now(), 0.0).is_up());
    }
}
