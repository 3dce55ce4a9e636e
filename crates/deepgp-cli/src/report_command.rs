//! `deepgp report`: scores a model, and writes the page on it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use deepgp::{Dataset, PredictSettings};
use deepgp_io::{ModelFile, atomic};

use crate::args::ReportArgs;
use crate::output::{self, Outcome};
use crate::paths::file_name;
use crate::report::{self, Report};
use crate::report_content::gather;
use crate::score::Scored;
use crate::{paths, picture, rows};

/// Writes a report, and its pictures if they are asked for.
pub fn report(args: ReportArgs) -> Result<Outcome> {
    let ReportArgs { model, table, out, pictures, formats, sampling, voice } = args;
    paths::check_distinct(&[("the model", Some(&model)), ("the table", table.as_ref()), ("--out", Some(&out))])?;
    let mut file = ModelFile::load(&model)?;
    // The table of the fit is read although nobody named it here; it may be the one that was.
    let of_fit = PathBuf::from(&file.record.table.path);
    paths::check_distinct(&[("the table of the fit", Some(&of_fit)), ("--out", Some(&out))])?;
    paths::check_writable(&out)?;
    // The table of the fit is needed for its test rows and for the baselines; without it the report is shorter.
    let training = rows::of_fit(&file, None)
        .and_then(|data| rows::split(&data, file.record.test, file.record.settings.train.seed));
    if let Err(reason) = &training {
        output::say(voice, &format!("note: there are no baselines in the report: {reason:#}"));
    }
    let (train, own_test) = training.map_or((None, None), |(train, test)| (Some(train), test));
    let (test, notes) = match &table {
        None => (own_test, Vec::new()),
        Some(path) => {
            let (data, notes) = rows::to_score(&file, &sampling.schema(&file), path)?;
            (Some(data), notes)
        }
    };
    output::notes(voice, &notes);
    sampling.device.place(&mut file.regressor, voice)?;
    let settings = sampling.settings();
    let scored = test.as_ref().map(|test| Scored::with(&file, train.as_ref(), test, settings)).transpose()?;
    let on = match (&table, &scored) {
        (Some(path), Some(scored)) => Some(format!("{} rows of {}", scored.rows(), file_name(path))),
        _ => None,
    };
    let mut content = gather(&file, scored.as_ref(), train.as_ref(), on, settings)?;
    // Who reads the page has not seen what was said here: that scores flatter the model, for one.
    content.notes.extend(notes);
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

/// Writes the report on a model that has just been fitted, with the threads of the fit.
pub fn write(file: &ModelFile, scored: Option<&Scored>, train: Option<&Dataset>, path: &Path) -> Result<()> {
    let settings = PredictSettings { threads: file.record.settings.train.threads, ..PredictSettings::default() };
    write_page(&gather(file, scored, train, None, settings)?, path)
}

fn write_page(content: &Report, path: &Path) -> Result<()> {
    atomic::write(path, report::page(content).as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

fn write_pictures(content: &Report, folder: &Path, formats: &[String]) -> Result<usize> {
    let writing = || format!("cannot write to {}", folder.display());
    fs::create_dir_all(folder).with_context(writing)?;
    let mut count = 0;
    for (stem, svg) in report::pictures(content) {
        for format in formats {
            let path = folder.join(format!("{stem}.{format}"));
            let bytes = match format.as_str() {
                "png" => picture::png(&svg).map_err(|reason| anyhow!("{}: {reason}", path.display()))?,
                _ => svg.clone().into_bytes(),
            };
            atomic::write(&path, &bytes).with_context(writing)?;
            count += 1;
        }
    }
    Ok(count)
}
