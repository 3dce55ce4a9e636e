//! What a model has to beat, on the same splits: the mean, linear regression and nearest neighbours.

use anyhow::Result;
use deepgp_io::ScoreRecord;
use serde::{Deserialize, Serialize};

use crate::model::score;
use crate::reproduce::runs::journal::{Journal, Keyed};
use crate::reproduce::runs::setup::Setup;

/// One baseline on one split. Scores are in the target's units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineLine {
    /// `kin8nm`, `protein` or `molecules`.
    pub dataset: String,
    /// Which baseline.
    pub model: String,
    /// The number of the split.
    pub split: u64,
    /// Mean log density of the test rows.
    pub test_log_likelihood: f64,
    /// Root mean squared error there.
    pub test_rmse: f64,
}

impl Keyed for BaselineLine {
    type Key = (String, String, u64);

    fn key(&self) -> Self::Key {
        (self.dataset.clone(), self.model.clone(), self.split)
    }
}

/// Makes what is missing of a dataset's baselines, until the lab closes; calls `told` on each.
pub fn fill(
    journal: &mut Journal<BaselineLine>,
    dataset: &str,
    splits: u64,
    setup: &Setup,
    mut told: impl FnMut(&BaselineLine),
) -> Result<()> {
    for split in (0..splits).take_while(|_| !setup.is_stopping()) {
        if score::BASELINES.iter().all(|own| journal.has(&(dataset.into(), own.to_string(), split))) {
            continue;
        }
        let (train, test) = setup.split(dataset, split)?;
        for ScoreRecord { of, score } in score::baselines(&train, &test, setup.threads)? {
            let line = BaselineLine {
                dataset: dataset.into(),
                model: of.to_string(),
                split,
                test_log_likelihood: score.log_likelihood,
                test_rmse: score.rmse[0],
            };
            if !journal.has(&line.key()) {
                told(&line);
                journal.add(line)?;
            }
        }
    }
    Ok(())
}
