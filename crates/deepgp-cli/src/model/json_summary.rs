//! Summaries of a model and its scores for scripts: the JSON of `--json`.

use deepgp::Score;
use deepgp_io::{ModelFile, Note};
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

/// The names of the columns that the fit left out by itself: such as never vary, tell rows apart, or are empty.
pub fn left_out(file: &ModelFile) -> Vec<&String> {
    let mut names = Vec::new();
    for note in &file.record.notes {
        if let Note::ConstantColumns { columns } = note {
            names.extend(columns);
        } else if let Note::ColumnLeftOut { column, .. } = note {
            names.push(column);
        }
    }
    names
}

/// The settings of the fit. What becomes of columns that never vary is the command's to say, before the library sees any: see [`left_out`].
pub fn settings(file: &ModelFile) -> Value {
    let mut settings = json!(file.record.settings);
    if let Value::Object(all) = &mut settings {
        all.remove("constant_columns");
    }
    settings
}
