//! Baselines on the grid's splits, which a model has to beat: the mean, linear regression and nearest neighbours.

use anyhow::Result;
use deepgp_io::ScoreRecord;
use serde::{Deserialize, Serialize};

use crate::model::score;
use crate::reproduce::runs::journal::{Journal, Keyed};
use crate::reproduce::runs::setup::Setup;
use crate::terminal::output::Voice;

/// The score of one baseline on one split, in the target's units: a line of `baselines.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineLine {
    /// The dataset's name, such as `kin8nm`.
    pub dataset: String,
    /// The baseline's name, such as `linear regression`.
    pub model: String,
    /// The number of the split.
    pub split: u64,
    /// Mean log density of the test rows.
    pub test_log_likelihood: f64,
    /// Root mean squared error on the test rows.
    pub test_rmse: f64,
}

impl Keyed for BaselineLine {
    type Key = (String, String, u64);

    fn key(&self) -> Self::Key {
        (self.dataset.clone(), self.model.clone(), self.split)
    }
}

/// Scores the baselines of a dataset that the journal lacks, until all runs are to stop; `announce` sees each score.
pub fn fill(
    journal: &mut Journal<BaselineLine>,
    dataset: &str,
    splits: u64,
    setup: &Setup,
    mut announce: impl FnMut(&BaselineLine),
) -> Result<()> {
    for split in (0..splits).take_while(|_| !setup.is_stopping()) {
        if score::BASELINES.iter().all(|own| journal.has(&(dataset.into(), own.name(), split))) {
            continue;
        }
        let (train, test) = setup.split(dataset, split)?;
        let Some(scores) = score::baselines(&train, &test, setup.threads, Voice::SILENT)? else { return Ok(()) };
        for ScoreRecord { of, score } in scores {
            let Some(baseline) = of.baseline() else { continue };
            let line = BaselineLine {
                dataset: dataset.into(),
                model: baseline.name(),
                split,
                test_log_likelihood: score.log_likelihood,
                test_rmse: score.rmse[0],
            };
            if !journal.has(&line.key()) {
                announce(&line);
                journal.add(line)?;
            }
        }
    }
    Ok(())
}
