//! The scores of a model on the test rows of a split, as lines of journals have them.

use deepgp::Score;
use serde::{Deserialize, Serialize};

/// The scores of a model on test rows, in the target's units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestScores {
    /// Mean log density of the test rows.
    pub test_log_likelihood: f64,
    /// Root mean squared error on the test rows.
    pub test_rmse: f64,
    /// Mean continuous ranked probability score of the test rows.
    pub test_crps: f64,
    /// The share of the test rows in their central 95 % interval.
    pub test_coverage_95: f64,
}

impl From<&Score> for TestScores {
    /// The scores of a model with one target.
    fn from(score: &Score) -> Self {
        Self {
            test_log_likelihood: score.log_likelihood,
            test_rmse: score.rmse[0],
            test_crps: score.crps[0],
            test_coverage_95: score.coverage_95[0],
        }
    }
}
