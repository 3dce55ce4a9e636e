//! The files of a report: its page, and its pictures.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use deepgp::{Dataset, PredictSettings};
use deepgp_io::{ModelFile, atomic};

use super::content::{ReportSources, gather};
use super::{Report, page, pictures};
use crate::model::scores::Scores;
use crate::picture;

/// The report on a model that has just been fitted, with the threads of the fit; `positions` are those of the scored rows in its table.
pub fn of_fit(
    file: &ModelFile,
    scored: Option<&Scores<'_>>,
    train: Option<&Dataset>,
    positions: Option<&[u64]>,
) -> Result<Report> {
    let settings = PredictSettings { threads: file.record.settings.train.threads, ..PredictSettings::default() };
    let sources = ReportSources { scored, positions, table: None, train, settings, notes: Vec::new() };
    gather(file, &sources)
}

/// Writes the page of a report.
pub fn write_page(content: &Report, path: &Path) -> Result<()> {
    atomic::write(path, page(content).as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes each picture of a report in each of `formats`, `svg` or `png`; returns the number of files.
pub fn write_pictures(content: &Report, folder: &Path, formats: &[String]) -> Result<usize> {
    let writing = || format!("cannot write to {}", folder.display());
    fs::create_dir_all(folder).with_context(writing)?;
    let mut count = 0;
    for (stem, svg) in pictures(content) {
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
