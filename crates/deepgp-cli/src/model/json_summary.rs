//! Summaries of a model and its scores for scripts: the JSON of `--json`.

use deepgp::Score;
use deepgp_io::ModelFile;
use serde_json::{Value, json};

use super::units::{self, Judge};

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

/// The step whose parameters the model has, if validation rows chose it, with their score in the targets' units.
pub fn kept(file: &ModelFile) -> Option<Value> {
    let score_name = match units::judge(file) {
        Judge::LogDensity => "validation_log_likelihood",
        Judge::LogLoss => "validation_log_loss",
        Judge::Crps => "validation_crps",
    };
    units::kept(file).map(|(step, score)| json!({ "step": step, score_name: score }))
}
