//! `deepgp explain`: tells how much each column of a table matters to a model's predictions.

use std::path::PathBuf;

use anyhow::{Context, Result};
use deepgp_io::ModelFile;
use deepgp_io::table::{Header, ReadOptions, Source};
use serde_json::json;

use crate::arguments::{ExplainArgs, paths};
use crate::model::notes::sentences;
use crate::model::{importance, rows};
use crate::terminal::abandon::Abandonable;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::count;
use crate::terminal::visible::line;

/// Prints in how much of the variance of a model's predictions each column of a table has a part.
pub fn explain(args: ExplainArgs) -> Result<Outcome> {
    let ExplainArgs { model, table, sampling, voice } = args;
    let _interruptible = Abandonable::new(move || output::say(voice, "interrupted"));
    let mut file = ModelFile::load(&model)?;
    let (path, header) = match table {
        Some(path) => (path, sampling.header),
        None => {
            let of_fit =
                file.record.data.table().context("the model was fitted to no table: name one to explain it on")?;
            // Its columns had names if the model knows them by names.
            let header = if file.schema.positions.is_some() { Header::None } else { Header::First };
            (PathBuf::from(&of_fit.path), header)
        }
    };
    let source = Source::open_with(&path, ReadOptions { header, limits: sampling.limits.limits() })?;
    let (x, notes) = rows::inputs(&sampling.schema(&file), &source, rows::reading(voice))?;
    output::notes(voice, &notes);
    sampling.device.place(&mut file.regressor.model, voice)?;
    let found = importance::of_columns(&file, x.view(), sampling.settings(), importance::stage(voice))?;
    let taken = importance::rows_taken(x.nrows(), file.schema.inputs.len());
    if voice.json {
        output::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "model": model.display().to_string(),
            "table": path.display().to_string(),
            "rows": { "taken": taken, "of": x.nrows() },
            "importance": importance::json(&found),
            "notes": sentences(&notes),
            "seeds": { "importance": sampling.seed },
        }))?;
        return Ok(Outcome::Done);
    }
    let of = if taken < x.nrows() { format!(" of {}", x.nrows()) } else { String::new() };
    let name = line(&paths::file_name(&path)).into_owned();
    output::print_text(&format!(
        "What the predictions of {} depend on, by {}{of} of {name}:\n\n{}\n\
         A share is that of the variance of predictions in which a column has a part, by itself or with others (its total\n\
         Sobol index): what is lost if its cells are those of other rows. ± is one standard error.\n",
        line(&file.schema.targets.join(", ")),
        count(taken, "row"),
        importance::table(&found),
    ))?;
    Ok(Outcome::Done)
}
