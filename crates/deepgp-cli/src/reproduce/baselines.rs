//! What a model has to beat, on the same splits: the mean, linear regression and nearest neighbours.

use std::path::Path;

use anyhow::Result;
use deepgp::Dataset;
use deepgp_io::ScoreRecord;
use serde::{Deserialize, Serialize};

use super::cell::TEST;
use super::results::{Keyed, Results};
use crate::score;

/// How many there are.
const COUNT: usize = 3;

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

/// Makes what is missing of a dataset's baselines; calls `told` on each.
pub fn fill(
    path: &Path,
    dataset: &str,
    data: &Dataset,
    splits: u64,
    threads: usize,
    mut told: impl FnMut(&BaselineLine),
) -> Result<()> {
    let mut results = Results::<BaselineLine>::open(path)?;
    for split in 0..splits {
        if results.lines.iter().filter(|line| (line.dataset.as_str(), line.split) == (dataset, split)).count() == COUNT
        {
            continue;
        }
        let (train, test) = data.split(TEST, split)?;
        for ScoreRecord { name, score } in score::baselines(&train, &test, threads)? {
            let line = BaselineLine {
                dataset: dataset.into(),
                model: name,
                split,
                test_log_likelihood: score.log_likelihood,
                test_rmse: score.rmse[0],
            };
            if !results.has(&line.key()) {
                told(&line);
                results.add(line)?;
            }
        }
    }
    Ok(())
}
