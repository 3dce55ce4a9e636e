//! What a report shows of a model of counts.

use deepgp::{CountAssessment, CountScore};
use deepgp_io::ScoreRecord;

/// A model of counts: its scores, and what it said of the scored rows.
#[derive(Debug, Clone)]
pub struct CountReport {
    /// The scores of the model first, then those of baselines; empty if nothing was scored.
    pub scores: Vec<ScoreRecord<CountScore>>,
    /// The predictions on the scored rows, if they are there.
    pub rows: Option<CountRows>,
}

/// Predictions of counts beside what was observed.
#[derive(Debug, Clone)]
pub struct CountRows {
    /// The observed count of each row.
    pub y: Vec<f64>,
    /// The predictive distribution at the observed count of each row.
    pub model: CountAssessment,
    /// How often each count was observed, and how often the model expects it.
    pub frequencies: Vec<Frequency>,
    /// The number of rows that the frequencies are of: all, or a sample of them.
    pub counted: usize,
    /// The rows whose counts the model held least likely, from the least likely on.
    pub hardest: Vec<HardCount>,
}

/// How many rows have a count from one to another, and how many should by the predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frequency {
    /// The least of these counts.
    pub from: f64,
    /// The largest of these counts; `None` if all from the least on are meant.
    pub to: Option<f64>,
    /// The number of rows that have one.
    pub observed: f64,
    /// The number of rows that are expected to have one: the sum of their probabilities.
    pub expected: f64,
    /// The standard deviation of that number by chance.
    pub deviation: f64,
}

/// A row whose count the model held unlikely.
#[derive(Debug, Clone, Copy)]
pub struct HardCount {
    /// The number of the row in its table, from 1.
    pub number: u64,
    /// The observed count.
    pub y: f64,
    /// The predicted mean.
    pub mean: f64,
    /// The central 95 % interval.
    pub interval: (f64, f64),
    /// The probability of the observed count.
    pub probability: f64,
}

impl CountReport {
    /// The score of the model, if it was scored.
    pub(super) fn of_model(&self) -> Option<&CountScore> {
        self.scores.iter().find(|record| record.of.is_model()).map(|record| &record.score)
    }
}
