//! `deepgp evaluate`: scores a model on rows with known targets.

use anyhow::Result;
use deepgp_io::ModelFile;
use serde_json::{Value, json};

use crate::arguments::EvaluateArgs;
use crate::model::rows;
use crate::model::scores::Scores;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::count;

/// Scores a model on the rows of a table, and prints the scores.
pub fn evaluate(args: EvaluateArgs) -> Result<Outcome> {
    let EvaluateArgs { model, table, sampling, voice } = args;
    let mut file = ModelFile::load(&model)?;
    let schema = sampling.schema(&file);
    let (rows, notes) = rows::to_score(&file, &schema, &table, None, voice)?;
    output::notes(voice, &notes);
    sampling.device.place(&mut file.regressor.model, voice)?;
    let Some(scored) = Scores::with(&file, None, &rows.data, sampling.settings(), voice)? else {
        return Ok(Outcome::Interrupted);
    };
    if voice.json {
        let mut summary = json!({ "version": env!("CARGO_PKG_VERSION"), "model": model.display().to_string() });
        if let Value::Object(summary) = &mut summary {
            summary.extend(scored.json(&file));
        }
        output::json(&summary)?;
    } else {
        let text = format!("{}\n{}", count(scored.data().len(), "row"), scored.table(&file));
        output::print(text.as_bytes())?;
    }
    Ok(Outcome::Done)
}
