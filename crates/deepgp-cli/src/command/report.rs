//! `deepgp report`: writes a report on a model, as a page and as pictures.

use std::path::PathBuf;

use anyhow::Result;
use deepgp_io::ModelFile;

use crate::arguments::ReportArgs;
use crate::arguments::paths;
use crate::model::notes::sentences;
use crate::model::rows;
use crate::model::scores::{self, Scores};
use crate::report::content::{ReportSources, gather};
use crate::report::{write_page, write_pictures};
use crate::terminal::abandon::Abandonable;
use crate::terminal::output::{self, Outcome};
use crate::terminal::waiting::Waiting;

/// Writes the report on a model, scored on its test rows or on another table.
pub fn report(args: ReportArgs) -> Result<Outcome> {
    let ReportArgs { model, table, out, pictures, formats, sampling, voice } = args;
    paths::check_distinct(&[("the model", Some(&model)), ("the table", table.as_ref()), ("--out", Some(&out))])?;
    let mut file = ModelFile::load(&model)?;
    // The table of the fit is read although nobody named it here; it may be the one that was.
    let of_fit = file.record.data.table().map(|table| PathBuf::from(&table.path));
    paths::check_distinct(&[("the table of the fit", of_fit.as_ref()), ("--out", Some(&out))])?;
    paths::check_writable(&out)?;
    let gathering = Abandonable::new(move || output::say(voice, "interrupted: nothing was written"));
    let training =
        rows::of_fit(&file, &[], sampling.limits.limits(), voice).and_then(|all| rows::split_of_fit(&file, &all));
    let mut notes = Vec::new();
    if let Err(reason) = &training {
        notes.push(format!("{}: {reason:#}", missing_without_rows(&file, table.is_some())));
    }
    let (train, own_test) = training.map_or((None, None), |split| (Some(split.train), split.test));
    let test = match &table {
        None => own_test,
        Some(path) => {
            let (rows, more) =
                rows::to_score(&file, &sampling.schema(&file), (path, sampling.read_options()), train.as_ref(), voice)?;
            notes.extend(sentences(&more));
            Some(rows)
        }
    };
    output::notes(voice, &notes);
    sampling.device.place(&mut file.regressor.model, voice)?;
    let settings = sampling.settings();
    let scored = match &test {
        None => None,
        Some(test) => match Scores::with(&file, train.as_ref(), &test.data, settings, voice)? {
            None => {
                output::say(voice, "interrupted: nothing was written");
                return Ok(Outcome::Interrupted);
            }
            scored => scored,
        },
    };
    let sources = ReportSources {
        scored: scored.as_ref(),
        positions: test.as_ref().map(|rows| &rows.positions[..]),
        table: table.as_deref(),
        train: train.as_ref(),
        settings,
        notes,
    };
    let shown = Waiting::new(voice, "drawing the report");
    let content = gather(&file, &sources)?;
    drop((shown, gathering));
    write_page(&content, &out)?;
    output::say(voice, &format!("report: {}", out.display()));
    if let Some(folder) = pictures {
        let count = write_pictures(&content, &folder, &formats)?;
        output::say(voice, &format!("{count} pictures: {}", folder.display()));
    }
    if voice.json {
        output::json(
            &serde_json::json!({ "report": out.display().to_string(), "version": env!("CARGO_PKG_VERSION") }),
        )?;
    }
    Ok(Outcome::Done)
}

/// What a report lacks where the rows of the fit are not there any more; `other` says whether it is on another table.
fn missing_without_rows(file: &ModelFile, other: bool) -> &'static str {
    match (scores::are_of_fit(file), file.record.test) {
        _ if other => "there are no baselines in the report",
        (true, _) => "the scores are those that the fit took down, and there are no pictures of predictions",
        (false, Some(_)) => "there are neither scores nor pictures of predictions",
        (false, None) => "the training rows are not drawn beside the inducing inputs",
    }
}
