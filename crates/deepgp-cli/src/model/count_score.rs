//! Scores of a model of counts, beside those of baselines.

use anyhow::Result;
use deepgp::baseline::{self, PoissonRegression};
use deepgp::{CountAssessment, CountScore, Dataset, PredictSettings};
use deepgp_io::note::ScoredRows;
use deepgp_io::{Baseline, ModelFile, Note, ScoreRecord, Subject};
use serde_json::{Value, json};

use super::score::{ENOUGH_ROWS, TOO_FEW, by_model, of_model, sample};
use crate::terminal::output::Voice;
use crate::terminal::text::{number, percent, table as aligned};
use crate::terminal::waiting::Waiting;

/// A model's predictions on rows with known counts, with its score and the baselines'.
#[derive(Clone, Debug)]
pub struct ScoredCounts<'a> {
    /// The rows with known counts.
    pub data: &'a Dataset,
    /// The model's predictive distribution at the count of each row.
    pub model: CountAssessment,
    /// The model's score first, then the baselines'.
    pub scores: Vec<ScoreRecord<CountScore>>,
}

impl<'a> ScoredCounts<'a> {
    /// Scores a model and the baselines on `test`; the baselines learn from `train`, and are left out without it. `None` if somebody
    /// interrupted it.
    pub fn new(
        file: &ModelFile,
        train: Option<&Dataset>,
        test: &'a Dataset,
        settings: PredictSettings,
        voice: Voice,
    ) -> Result<Option<Self>> {
        let Some(parts) = by_model(&file.regressor, test, settings, voice, |own, rows| own.assess_counts(rows))? else {
            return Ok(None);
        };
        let score = |own: &CountAssessment| CountScore::new(test.y().view(), own, test.weights());
        let model = joined(parts);
        let mut scores = vec![of_model(file, score(&model)?)];
        if let Some(train) = train {
            let _shown = Waiting::new(voice, "scoring Poisson regression");
            let regression = PoissonRegression::new(train)?;
            for (own, assessment) in [
                (Baseline::PoissonRegression { among: sample(regression.learnt_from()) }, regression.assess(test)?),
                (Baseline::MeanCount, baseline::mean_count(train, test)?),
            ] {
                scores.push(ScoreRecord { of: Subject::Baseline(own), score: score(&assessment)? });
            }
        }
        Ok(Some(Self { data: test, model, scores }))
    }

    /// The scores that a model file can keep: those whose numbers JSON has.
    pub fn records(&self) -> Vec<ScoreRecord<CountScore>> {
        let finite = |record: &&ScoreRecord<CountScore>| {
            let CountScore { log_score, deviance, rmse, mae, .. } = &record.score;
            [log_score, deviance, rmse, mae].iter().all(|own| own.is_finite())
        };
        self.scores.iter().filter(finite).cloned().collect()
    }
}

/// The assessments of parts of some rows as one of all these rows.
fn joined(parts: Vec<CountAssessment>) -> CountAssessment {
    let nothing = CountAssessment { mean: vec![], below: vec![], up_to: vec![], log_mass: vec![], zero: vec![] };
    parts.into_iter().fold(nothing, |mut all, part| {
        all.mean.extend(part.mean);
        all.below.extend(part.below);
        all.up_to.extend(part.up_to);
        all.log_mass.extend(part.log_mass);
        all.zero.extend(part.zero);
        all
    })
}

/// Remarks on scores on `count` of `rows`: intervals that are too narrow, and a baseline that does better than the model. Intervals of counts
/// hold more than their share, so wide ones are not told of.
pub fn remarks(scores: &[ScoreRecord<CountScore>], rows: &ScoredRows, count: usize, target: &str) -> Vec<Note> {
    let simpler = scores.iter().filter_map(|record| Some((record.of.baseline()?, record.score.log_score)));
    let best = simpler.max_by(|a, b| a.1.total_cmp(&b.1));
    let Some(model) = scores.iter().find(|record| record.of.is_model()) else {
        return best.map(|_| Note::NoScores { rows: rows.clone() }).into_iter().collect();
    };
    let CountScore { log_score, coverage_90, .. } = model.score;
    let mut all = Vec::new();
    if count >= ENOUGH_ROWS && coverage_90 < TOO_FEW {
        let (target, held, rows) = (target.to_string(), coverage_90.into(), rows.clone());
        all.push(Note::IntervalsTooNarrow { target, level: 90, held, rows });
    }
    if let Some((baseline, theirs)) = best.filter(|(_, theirs)| *theirs > log_score || log_score.is_nan()) {
        all.push(Note::BeatenBy { baseline, model: log_score.into(), theirs: theirs.into(), rows: rows.clone() });
    }
    all
}

/// A table of scores: a line for each model.
pub fn table(scores: &[ScoreRecord<CountScore>]) -> String {
    aligned(&cells(scores))
}

/// The cells of the table of scores: a heading, and a row for each model.
pub fn cells(scores: &[ScoreRecord<CountScore>]) -> Vec<Vec<String>> {
    let head = ["", "log score", "deviance", "RMSE", "MAE", "in 50 %", "in 90 %", "in 95 %"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for ScoreRecord { of, score } in scores {
        let CountScore { log_score, deviance, rmse, mae, coverage_50, coverage_90, coverage_95 } = *score;
        let numbers = [log_score, deviance, rmse, mae].map(number);
        let shares = [coverage_50, coverage_90, coverage_95].map(percent);
        rows.push([&[of.to_string()][..], &numbers, &shares].concat());
    }
    rows
}

/// A score on so many rows for scripts.
pub fn json(score: &CountScore, rows: usize) -> Value {
    json!({
        "rows": rows,
        "log_score": score.log_score,
        "deviance": score.deviance,
        "rmse": score.rmse,
        "mae": score.mae,
        "coverage_50": score.coverage_50,
        "coverage_90": score.coverage_90,
        "coverage_95": score.coverage_95,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(of: Subject, log_score: f64, coverage_90: f64) -> ScoreRecord<CountScore> {
        let score = CountScore {
            log_score,
            deviance: 1.0,
            rmse: 1.0,
            mae: 1.0,
            coverage_50: 0.99,
            coverage_90,
            coverage_95: coverage_90,
        };
        ScoreRecord { of, score }
    }

    #[test]
    fn narrow_intervals_and_better_baselines_are_told_of() {
        let (model, mean) = (Subject::Model { deep: false }, Subject::Baseline(Baseline::MeanCount));
        let told = |scores: &[ScoreRecord<CountScore>], count| -> Vec<String> {
            remarks(scores, &ScoredRows::Test, count, "y").iter().map(Note::to_string).collect()
        };
        let bad = told(&[record(model, -3.0, 0.5), record(mean, -2.0, 0.9)], 40);
        assert!(bad[0].contains("intervals hold 50.0 %") && bad[1].contains("beaten by the mean count"), "{bad:?}");
        assert!(told(&[record(model, -1.0, 1.0), record(mean, -2.0, 0.9)], 40).is_empty());
        assert!(told(&[record(mean, -2.0, 0.9)], 40)[0].contains("no scores that are numbers"));
        let data = Dataset::new(deepgp::Mat::zeros(1, 1), deepgp::Mat::zeros(1, 1)).unwrap();
        let all = vec![record(model, f64::NEG_INFINITY, 0.9), record(mean, -2.0, 0.9)];
        assert_eq!(ScoredCounts { data: &data, model: joined(Vec::new()), scores: all }.records().len(), 1);
    }
}
