//! `deepgp evaluate`: scores a model on rows with known targets.

use anyhow::Result;
use deepgp_io::note::ScoredRows;
use deepgp_io::{ModelFile, Note};
use serde_json::{Value, json};

use crate::arguments::{EvaluateArgs, paths};
use crate::model::notes::sentences;
use crate::model::rows;
use crate::model::scores::{self, Scores};
use crate::terminal::abandon::Abandonable;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::count;

/// Scores a model on the rows of a table, beside baselines that learn from the rows of the fit, and prints the scores with what should be known of
/// them.
pub fn evaluate(args: EvaluateArgs) -> Result<Outcome> {
    let EvaluateArgs { model, table, sampling, voice } = args;
    let _interruptible = Abandonable::new(move || output::say(voice, "interrupted"));
    let mut file = ModelFile::load(&model)?;
    let schema = sampling.schema(&file);
    let training =
        rows::of_fit(&file, &[], sampling.limits.limits(), voice).and_then(|all| rows::split_of_fit(&file, &all));
    let (train, unknown) = match training {
        Ok(split) => (Some(split.train), None),
        Err(reason) => (None, Some(Note::TrainingRowsUnknown { reason: format!("{reason:#}") })),
    };
    let (rows, mut notes) = rows::to_score(&file, &schema, (&table, sampling.read_options()), train.as_ref(), voice)?;
    notes.extend(unknown);
    output::notes(voice, &notes);
    sampling.device.place(&mut file.regressor.model, voice)?;
    let Some(scored) = Scores::with(&file, train.as_ref(), &rows.data, sampling.settings(), voice)? else {
        return Ok(Outcome::Interrupted);
    };
    let remarks = scored.remarks(&ScoredRows::Table { name: paths::file_name(&table) }, &file.schema.targets);
    output::notes(voice, &remarks);
    notes.extend(remarks);
    if voice.json {
        let mut summary = json!({ "version": env!("CARGO_PKG_VERSION"), "model": model.display().to_string() });
        if let Value::Object(summary) = &mut summary {
            summary.extend(scored.json(&file));
            summary.insert("notes".into(), json!(sentences(&notes)));
            summary.insert("seeds".into(), json!({ "scores": sampling.seed }));
        }
        output::json(&summary)?;
    } else {
        let weighted = scores::weighted_by(scored.data(), &file);
        let text = format!("{}{weighted}\n{}", count(scored.data().len(), "row"), scored.table(&file));
        output::print_text(&text)?;
    }
    Ok(Outcome::Done)
}
