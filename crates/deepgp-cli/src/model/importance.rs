//! The importance of a table's columns to a model: how much of the variance of its predictions each has a part in.

use anyhow::Result;
use deepgp::{IMPORTANCE_SAMPLES, Importance, PredictSettings, View, importance, importance_rows};
use deepgp_io::ModelFile;
use serde_json::{Value, json};

use super::device;
use crate::terminal::output::Voice;
use crate::terminal::stage::{Extent, Stage};
use crate::terminal::text::{percent, table as aligned};

/// The importance of a table's columns to the predictions of one target.
#[derive(Clone, Debug)]
pub struct ColumnImportance {
    /// The target.
    pub target: String,
    /// The columns with their shares, the largest first.
    pub columns: Vec<(String, Importance)>,
}

/// The number of rows that stand for a table of so many, where a model reads so many columns.
pub fn rows_taken(rows: usize, columns: usize) -> usize {
    rows.min(importance_rows(columns))
}

/// The settings of prediction behind importance and dependence, where others were asked for.
pub fn settings(asked: PredictSettings) -> PredictSettings {
    PredictSettings { samples: asked.samples.min(IMPORTANCE_SAMPLES), ..asked }
}

/// The importance of each column of the table to the predictions of each target, on encoded rows. Classes are one target.
pub fn of_columns(
    file: &ModelFile,
    x: View<'_>,
    asked: PredictSettings,
    mut stage: Stage,
) -> Result<Vec<ColumnImportance>> {
    let predictor = file.regressor.predictor(settings(asked)).map_err(device::explain)?;
    let groups = file.schema.inputs_of_columns();
    let mut predicted = 0;
    let all = importance(x, &groups, importance_rows(groups.len()), asked.seed, |rows| {
        let answers = predictor.central(rows);
        predicted += rows.nrows() as u64;
        stage.show(predicted);
        answers
    })?;
    let of_target = |(target, shares): (&String, Vec<Importance>)| {
        let names = file.schema.inputs.iter().map(|column| column.name.clone());
        let mut columns: Vec<(String, Importance)> = names.zip(shares).collect();
        columns.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
        ColumnImportance { target: target.clone(), columns }
    };
    Ok(file.schema.targets.iter().zip(all).map(of_target).collect())
}

/// The display of that work.
pub fn stage(voice: Voice) -> Stage {
    Stage::new(voice, "explaining", Extent::UnknownRows)
}

/// A table of shares for people, with a heading if there are several targets.
pub fn table(all: &[ColumnImportance]) -> String {
    let of_target = |own: &ColumnImportance| {
        let mut rows = vec![["column", "share of the variance", "±"].map(String::from).to_vec()];
        rows.extend(
            own.columns.iter().map(|(name, found)| vec![name.clone(), percent(found.share), percent(found.error)]),
        );
        let head = if all.len() > 1 { format!("{}:\n", own.target) } else { String::new() };
        head + &aligned(&rows)
    };
    all.iter().map(of_target).collect::<Vec<String>>().join("\n")
}

/// The shares for scripts: for each target a list of columns, the most important first.
pub fn json(all: &[ColumnImportance]) -> Value {
    let of_column =
        |(name, found): &(String, Importance)| json!({ "column": name, "share": found.share, "error": found.error });
    let of_target =
        |own: &ColumnImportance| (own.target.clone(), Value::Array(own.columns.iter().map(of_column).collect()));
    Value::Object(all.iter().map(of_target).collect())
}
