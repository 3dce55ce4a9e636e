//! What a model has to beat, on the same splits: the mean, linear regression and nearest neighbours.

use std::path::Path;

use anyhow::Result;
use deepgp::{Assessment, Dataset, Score, baseline};
use serde::{Deserialize, Serialize};

use super::cell::TEST;
use super::results::{Keyed, Results};

/// How many neighbours vote.
const NEIGHBOURS: usize = 10;

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
    type Baseline<'a> = Box<dyn Fn(&Dataset, &Dataset) -> deepgp::Result<Assessment> + 'a>;
    let neighbours = format!("{NEIGHBOURS} nearest neighbours");
    let all: [(&str, Baseline<'_>); 3] = [
        ("the mean", Box::new(baseline::mean)),
        ("linear regression", Box::new(baseline::linear)),
        (&neighbours, Box::new(|train, test| baseline::nearest_neighbours(train, test, NEIGHBOURS, threads))),
    ];
    for split in 0..splits {
        for (name, make) in &all {
            let (dataset, model) = (dataset.to_string(), name.to_string());
            if results.has(&(dataset.clone(), model.clone(), split)) {
                continue;
            }
            let (train, test) = data.split(TEST, split)?;
            let score = Score::new(test.y().view(), &make(&train, &test)?);
            let (test_log_likelihood, test_rmse) = (score.log_likelihood, score.rmse[0]);
            let line = BaselineLine { dataset, model, split, test_log_likelihood, test_rmse };
            told(&line);
            results.add(line)?;
        }
    }
    Ok(())
}
