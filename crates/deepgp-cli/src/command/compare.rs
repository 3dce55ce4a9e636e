//! `deepgp compare`: tells which of two models is better on the same rows, by how much, and where.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use deepgp_io::ModelFile;
use deepgp_io::table::TableLimits;
use serde_json::json;

use crate::arguments::{CompareArgs, paths};
use crate::model::comparison::{self, Comparison};
use crate::model::disagreement::{self, Disagreement};
use crate::model::notes::sentences;
use crate::model::rows::{self, PlacedRows};
use crate::model::scores;
use crate::terminal::abandon::Abandonable;
use crate::terminal::output::{self, Outcome, Voice};
use crate::terminal::text::count;
use crate::terminal::visible::line;

/// Compares two models on the rows of a table, or on those that both held out, and prints by how much their scores differ, and where.
pub fn compare(args: CompareArgs) -> Result<Outcome> {
    let CompareArgs { first, second, table, sampling, voice } = args;
    let _interruptible = Abandonable::new(move || output::say(voice, "interrupted"));
    let load = |path: &PathBuf| ModelFile::load(path);
    let (mut own, mut other) = (load(&first)?, load(&second)?);
    comparison::check_targets(&own, &other)?;
    let mut notes = Vec::new();
    let (read, of) = match &table {
        Some(path) => {
            let mut read = |file: &ModelFile| -> Result<PlacedRows> {
                let (rows, more) =
                    rows::to_score(file, &sampling.schema(file), (path, sampling.read_options()), None, voice)?;
                let new = more.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>();
                notes.extend(new);
                Ok(rows)
            };
            ([read(&own)?, read(&other)?], format!("of {}", paths::file_name(path)))
        }
        None => {
            (held_out_by_both(&own, &other, sampling.limits.limits(), voice)?, "that neither model has seen".into())
        }
    };
    output::notes(voice, &notes);
    let [rows, others] = comparison::common_rows(&read[0], &read[1], &own.schema.targets)?;
    for file in [&mut own, &mut other] {
        sampling.device.place(&mut file.regressor.model, voice)?;
    }
    let Some(found) = Comparison::new([&own, &other], [&rows.data, &others.data], sampling.settings(), voice)? else {
        return Ok(Outcome::Interrupted);
    };
    let apart = Disagreement::new(&own, &rows.data, &rows.positions, &found.gains);
    if voice.json {
        output::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "first": first.display().to_string(),
            "second": second.display().to_string(),
            "table": table.as_ref().map(|path| path.display().to_string()),
            "rows": rows.data.len(),
            "scores": comparison::json(&found.differences),
            "where": disagreement::json(&apart),
            "notes": sentences(&notes),
            "seeds": { "scores": sampling.seed },
        }))?;
        return Ok(Outcome::Done);
    }
    let names = names([&first, &second]);
    output::print_text(&format!(
        "On {}{} {}:\n\n{}\nWhere the log density of {} is higher (above 0) or lower (below 0) than that of {}:\n\n{}",
        count(rows.data.len(), "row"),
        scores::weighted_by(&rows.data, &own),
        line(&of),
        comparison::table(&found.differences, &names),
        names[1],
        names[0],
        disagreement::in_words(&apart),
    ))?;
    Ok(Outcome::Done)
}

/// The rows of the table that both models were fitted to which each held out.
fn held_out_by_both(
    first: &ModelFile,
    second: &ModelFile,
    limits: TableLimits,
    voice: Voice,
) -> Result<[PlacedRows; 2]> {
    let table = |file: &ModelFile| file.record.data.table().map(|table| table.sha256.clone());
    if table(first) != table(second) {
        bail!("the models were not fitted to the same table: name one with known targets to compare them on");
    }
    let held_out = |file: &ModelFile| -> Result<PlacedRows> {
        let all = rows::of_fit(file, &[], limits, voice)
            .context("name a table with known targets to compare the models on")?;
        let none = "a model held no test rows out: name a table with known targets to compare them on";
        rows::split_of_fit(file, &all)?.test.context(none)
    };
    Ok([held_out(first)?, held_out(second)?])
}

/// What to call the two models: by their file names, or by their paths where these are the same.
fn names(paths: [&Path; 2]) -> [String; 2] {
    let [first, second] = paths.map(paths::file_name);
    let all = if first == second { paths.map(|path| path.display().to_string()) } else { [first, second] };
    all.map(|name| line(&name).into_owned())
}
