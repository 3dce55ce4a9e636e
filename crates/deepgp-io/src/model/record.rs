//! What a model file remembers of its making.

use deepgp::{FitSettings, Score};
use serde::{Deserialize, Serialize};

/// The table a model was fitted to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRecord {
    /// Where it was.
    pub path: String,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Rows that were used.
    pub rows: usize,
}

/// How good it was on rows that training never saw, beside simpler models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreRecord {
    /// `model`, or the baseline's name.
    pub name: String,
    /// The score, in the targets' units.
    pub score: Score,
}

/// How a model came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The table.
    pub table: TableRecord,
    /// All settings of the fit.
    pub settings: FitSettings,
    /// The share of rows held out for testing, if any.
    pub test: Option<f64>,
    /// Steps of the optimiser so far.
    pub steps: u64,
    /// Seconds of training so far.
    pub train_seconds: f64,
    /// The bound at the last step.
    pub elbo: Option<f64>,
    /// Why training ended; nothing in a checkpoint.
    pub stop: Option<String>,
    /// When, in seconds since 1970.
    pub written: u64,
    /// Which deepgp wrote it.
    pub version: String,
    /// Test rows.
    pub test_rows: usize,
    /// Scores on them, the model's and the baselines', those that are numbers.
    pub scores: Vec<ScoreRecord>,
    /// What is worth telling: more jitter than asked for, steps rolled back, rows dropped.
    pub notes: Vec<String>,
    /// Where the model goes when it is done.
    pub out: String,
    /// How often the state is saved, as on the command line.
    pub checkpoint_every: String,
    /// Where it was to be computed, as on the command line; nothing in files that are older than the choice.
    #[serde(default)]
    pub device: String,
    /// Samples of the mixture in Python's predictions; nothing in files of other makers.
    #[serde(default)]
    pub prediction_samples: Option<usize>,
    /// Steps of earlier runs that this one went on from, with fresh minibatches.
    #[serde(default)]
    pub steps_before: u64,
}
