//! A model beside simpler ones on rows with known targets.

use anyhow::Result;
use deepgp::{Assessment, Dataset, PredictSettings, Score, baseline};
use deepgp_io::{ModelFile, ScoreRecord};

use crate::device;
use crate::text::{number, percent, table as aligned};

/// How many neighbours vote.
const NEIGHBOURS: usize = 10;
/// The names of the simpler models.
pub const BASELINES: [&str; 3] = ["10 nearest neighbours", "linear regression", "the mean"];

/// Rows with known targets, what the model says of them, and how simpler models do.
#[derive(Clone, Debug)]
pub struct Scored<'a> {
    /// The rows.
    pub data: &'a Dataset,
    /// The model, row by row.
    pub model: Assessment,
    /// The model's score and the baselines'.
    pub scores: Vec<ScoreRecord>,
}

impl<'a> Scored<'a> {
    /// Scores on `test`; the baselines learn from `train`, if it is there.
    pub fn new(file: &ModelFile, train: Option<&Dataset>, test: &'a Dataset, threads: usize) -> Result<Self> {
        let settings = PredictSettings { threads, ..PredictSettings::default() };
        Self::with(file, train, test, settings)
    }

    /// The same with other settings of the prediction.
    pub fn with(
        file: &ModelFile,
        train: Option<&Dataset>,
        test: &'a Dataset,
        settings: PredictSettings,
    ) -> Result<Self> {
        let predictor = file.regressor.predictor(settings).map_err(device::explain)?;
        let model = predictor.assess(test)?;
        let name = if file.regressor.model.layers().len() == 1 { "sparse GP" } else { "deep GP" };
        let mut scores = vec![ScoreRecord { name: name.into(), score: Score::new(test.y().view(), &model) }];
        if let Some(train) = train {
            scores.extend(baselines(train, test, settings.threads)?);
        }
        Ok(Self { data: test, model, scores })
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.data.len()
    }

    /// What a file can keep: numbers that JSON has.
    pub fn records(&self) -> Vec<ScoreRecord> {
        let finite = |record: &&ScoreRecord| {
            let Score { log_likelihood, rmse, mae, crps, .. } = &record.score;
            log_likelihood.is_finite() && [rmse, mae, crps].iter().all(|all| all.iter().all(|v| v.is_finite()))
        };
        self.scores.iter().filter(finite).cloned().collect()
    }
}

/// What a model has to beat on `test`, learnt from `train`: from the best to the plainest, as a rule.
pub fn baselines(train: &Dataset, test: &Dataset, threads: usize) -> deepgp::Result<Vec<ScoreRecord>> {
    let neighbours = baseline::nearest_neighbours(train, test, NEIGHBOURS, threads)?;
    let all = [neighbours, baseline::linear(train, test)?, baseline::mean(train, test)?];
    let record =
        |(name, own): (&str, Assessment)| ScoreRecord { name: name.into(), score: Score::new(test.y().view(), &own) };
    Ok(BASELINES.into_iter().zip(all).map(record).collect())
}

/// Test rows that are enough to judge intervals by.
const ENOUGH_ROWS: usize = 30;
/// Intervals that should hold nine of ten rows and hold fewer than this are told of.
const TOO_FEW: f64 = 0.8;

/// What is worth telling of scores on so many rows, the model's before the others': intervals that are too narrow, and a simpler model that does better.
pub fn remarks(scores: &[ScoreRecord], rows: usize, targets: &[String]) -> Vec<String> {
    let [model, simpler @ ..] = scores else { return Vec::new() };
    let share = |(target, held): (&String, &f64)| {
        let narrow = rows >= ENOUGH_ROWS && *held < TOO_FEW;
        narrow.then(|| {
            format!("`{target}`: the 90 % intervals hold {} of the test rows: they are too narrow", percent(*held))
        })
    };
    let mut all: Vec<String> = targets.iter().zip(&model.score.coverage_90).filter_map(share).collect();
    let best = simpler.iter().max_by(|a, b| a.score.log_likelihood.total_cmp(&b.score.log_likelihood));
    if let Some(best) = best.filter(|best| best.score.log_likelihood > model.score.log_likelihood) {
        let (theirs, ours) = (number(best.score.log_likelihood), number(model.score.log_likelihood));
        all.push(format!("{} does better on the test rows: a log likelihood of {theirs} against {ours}", best.name));
    }
    all
}

/// All scores, a line for each model, and for each target where there are several.
pub fn table(scored: &Scored, targets: &[String]) -> String {
    record_table(&scored.scores, targets)
}

/// The same of scores that a file has kept.
pub fn record_table(scores: &[ScoreRecord], targets: &[String]) -> String {
    let head = ["", "log likelihood", "RMSE", "MAE", "CRPS", "in 90 %", "in 95 %"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for ScoreRecord { name, score } in scores {
        for (p, target) in targets.iter().enumerate() {
            let (label, likelihood) = match (targets.len(), p) {
                (1, _) => (name.clone(), number(score.log_likelihood)),
                (_, 0) => (format!("{name}: {target}"), format!("{} (joint)", number(score.log_likelihood))),
                _ => (format!("{name}: {target}"), String::new()),
            };
            let [rmse, mae, crps] = [score.rmse[p], score.mae[p], score.crps[p]].map(number);
            let [in_90, in_95] = [score.coverage_90[p], score.coverage_95[p]].map(percent);
            rows.push(vec![label, likelihood, rmse, mae, crps, in_90, in_95]);
        }
    }
    aligned(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_intervals_and_better_simple_models_are_told_of() {
        let record = |name: &str, log_likelihood: f64, coverage: f64| {
            let one = || vec![coverage];
            let score = Score {
                log_likelihood,
                rmse: one(),
                mae: one(),
                crps: one(),
                coverage_50: one(),
                coverage_90: one(),
                coverage_95: one(),
            };
            ScoreRecord { name: name.into(), score }
        };
        let told = |scores: &[ScoreRecord], rows| remarks(scores, rows, &["y".into()]);
        let bad =
            [record("deep GP", -5.249, 0.494), record("linear regression", -3.801, 0.9), record("the mean", -4.0, 0.9)];
        let [narrow, better] = &told(&bad, 40)[..] else { panic!("two remarks") };
        assert!(narrow.contains("`y`") && narrow.contains("49.4 %") && narrow.contains("too narrow"), "{narrow}");
        assert!(better.contains("linear regression") && better.contains("-3.801 against -5.249"), "{better}");
        assert_eq!(told(&bad, 10).len(), 1, "too few rows to judge intervals by");
        assert!(told(&[record("deep GP", 1.0, 0.9), record("the mean", 0.0, 0.9)], 40).is_empty());
    }
}
