//! Summaries of a model and its scores for scripts: the JSON of `--json`.

use deepgp::{Score, ValidationScore};
use deepgp_io::{Baseline, ModelFile, RowSample, Subject};
use serde_json::{Map, Value, json};

use super::score::Scored;
use super::units;

/// The values of a score: one number, or an object with one for each target where there are several.
fn by_target(values: &[f64], targets: &[String]) -> Value {
    match values {
        [one] => json!(one),
        several => Value::Object(targets.iter().cloned().zip(several.iter().map(|v| json!(v))).collect()),
    }
}

/// A score on so many rows, in the targets' units.
pub fn score(score: &Score, rows: usize, targets: &[String]) -> Value {
    let each = |values: &[f64]| by_target(values, targets);
    json!({
        "rows": rows,
        "log_likelihood": score.log_likelihood,
        "rmse": each(&score.rmse),
        "mae": each(&score.mae),
        "crps": each(&score.crps),
        "coverage_50": each(&score.coverage_50),
        "coverage_90": each(&score.coverage_90),
        "coverage_95": each(&score.coverage_95),
    })
}

/// A baseline's score, with the sample of training rows that it was learnt from, if it was not all of them.
fn with_sample(mut score: Value, baseline: Baseline) -> Value {
    if let (Value::Object(score), Some(RowSample { rows, of })) = (&mut score, baseline.sample()) {
        score.insert("training_rows".into(), json!({ "sampled": rows, "of": of }));
    }
    score
}

/// The score of the model as `test`, and those of the baselines as `baselines`.
pub fn scores(scored: &Scored, targets: &[String]) -> Map<String, Value> {
    let (mut out, mut baselines) = (Map::new(), Map::new());
    for own in &scored.scores {
        let shown = score(&own.score, scored.rows(), targets);
        match own.of {
            Subject::Model { .. } => out.insert("test".into(), shown),
            Subject::Baseline(baseline) => baselines.insert(baseline.name(), with_sample(shown, baseline)),
        };
    }
    if !baselines.is_empty() {
        out.insert("baselines".into(), Value::Object(baselines));
    }
    out
}

/// The step whose parameters the model has, if validation rows chose it, with their score in the targets' units.
pub fn kept(file: &ModelFile) -> Option<Value> {
    let score_name = match file.record.settings.train.validation_score {
        ValidationScore::LogDensity => "validation_log_likelihood",
        ValidationScore::Crps => "validation_crps",
    };
    units::kept(file).map(|(step, score)| json!({ "step": step, score_name: score }))
}
