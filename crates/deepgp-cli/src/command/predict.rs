//! `deepgp predict`: predicts the rows of a table, a chunk at a time.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use deepgp::{JOINT_ROWS, Mat};
use deepgp_io::table::{Source, Targets};
use deepgp_io::{ModelFile, chunks};
use serde_json::json;

use crate::arguments::PredictArgs;
use crate::arguments::paths;
use crate::arguments::usage::Usage;
use crate::arguments::value::stdio_path;
use crate::model::notes::sentences;
use crate::model::prediction_table::{Answers, PredictionColumns};
use crate::model::{device, non_finite};
use crate::terminal::abandon::Abandonable;
use crate::terminal::interrupt;
use crate::terminal::output::{self, Outcome, Reader};
use crate::terminal::sink::{self, CellText, Sink};
use crate::terminal::stage::{Extent, Stage};
use crate::terminal::text::count;

/// The endings of formats that predictions are not written in.
const OTHER_FORMATS: [&str; 3] = ["npy", "npz", "gz"];

/// Predicts the rows of a table, and writes a line for each.
pub fn predict(mut args: PredictArgs) -> Result<Outcome> {
    args.out = args.out.filter(|path| !stdio_path::is_meant(path));
    check(&args)?;
    let PredictArgs {
        model,
        table,
        out,
        keep,
        safe_csv,
        quantiles,
        intervals,
        draws,
        joint,
        precision,
        sampling,
        voice,
    } = args;
    let opening = Abandonable::new(move || output::say(voice, "interrupted: nothing was written"));
    let mut file = ModelFile::load(&model)?;
    let schema = sampling.schema(&file);
    // One pass over the rows, a chunk at a time: nothing is gained by keeping the file in memory.
    let source = if stdio_path::is_meant(&table) {
        Source::read_with(Path::new("standard input"), &mut io::stdin().lock(), sampling.read_options())?
    } else {
        Source::open_streamed_with(&table, sampling.read_options())?
    };
    let keep = source.named(&keep);
    let answers = Answers::of(&file);
    let (keep, targets, quantiles) = (&keep[..], &schema.targets[..], &quantiles[..]);
    let intervals = &intervals[..];
    let columns = PredictionColumns { keep, targets, quantiles, intervals, draws, joint, answers };
    columns.check()?;
    if let (true, Some(exposure)) = (joint, &schema.exposure) {
        bail!(Usage(format!(
            "--joint: rows with an exposure, here `{exposure}`, are not drawn together: leave it out"
        )));
    }
    let mut encoder = schema.encoder(&source, Targets::Unneeded)?.carrying(keep)?;
    if let Some(precision) = precision {
        file.regressor.model = file.regressor.model.clone().with_precision(precision);
    }
    sampling.device.place(&mut file.regressor.model, voice)?;
    let predictor = file.regressor.predictor(sampling.settings()).map_err(device::explain)?;
    // The levels are checked before anything is written.
    let no_rows = Mat::zeros(0, schema.width());
    if !quantiles.is_empty() {
        predictor.quantiles(no_rows.view(), quantiles)?;
    }
    if !intervals.is_empty() {
        predictor.intervals(no_rows.view(), intervals)?;
    }
    let rows_at_once = if joint {
        JOINT_ROWS + 1
    } else {
        chunks::rows_at_once(sampling.samples.saturating_add(draws), schema.width())
    };
    let mut stage = Stage::new(voice, "predicting", Extent::UnknownRows);
    let mut next = encoder.next_chunk(rows_at_once)?;
    drop(opening);
    if joint && next.as_ref().is_some_and(|chunk| chunk.read > JOINT_ROWS as u64) {
        bail!("--joint draws up to {JOINT_ROWS} rows together, and {} has more: cut it", table.display());
    }
    let cells_are = if safe_csv { CellText::Safe } else { CellText::Plain };
    let mut sink = Sink::open(out.as_deref(), &columns.kinds(), cells_are)?;
    let (mut rows, mut predicted) = (0, 0);
    while let Some(chunk) = next {
        if interrupt::asked() {
            let nothing = if out.is_some() { ": nothing was written" } else { "" };
            output::say(voice, &format!("interrupted after {}{nothing}", count(rows as usize, "row")));
            return Ok(Outcome::Interrupted);
        }
        let predictions = columns.predictions_of(&predictor, &chunk)?;
        if let Some((row, column, value)) = columns.first_non_finite(&predictor, &predictions) {
            let (place, cause) = (chunk.kept[row] + 1, non_finite::cause(&file, chunk.x.row(row)));
            let table = source.path().display();
            bail!("{table}, row {place} (counted from 1, without a header): `{column}` would be {value}: {cause}");
        }
        let cells = columns.cells(&chunk, rows, &predictions);
        if sink.write(&cells)? == Reader::Gone {
            return Ok(Outcome::Done);
        }
        rows += chunk.read;
        predicted += chunk.kept.len() as u64;
        stage.show(rows);
        next = encoder.next_chunk(rows_at_once)?;
    }
    sink.finish()?;
    drop(stage);
    let notes = encoder.notes();
    output::notes(voice, &notes);
    if let Some(path) = &out {
        let empty = if predicted < rows { " (the others have empty cells)" } else { "" };
        output::say(voice, &format!("{predicted} of {rows} rows predicted{empty}: {}", path.display()));
    }
    if voice.json {
        output::json(&json!({
            "rows": rows,
            "predicted": predicted,
            "out": out.map(|path| path.display().to_string()),
            "columns": columns.names(),
            "notes": sentences(&notes),
            "version": env!("CARGO_PKG_VERSION"),
        }))?;
    }
    Ok(Outcome::Done)
}

/// Fails if the arguments contradict each other.
fn check(args: &PredictArgs) -> Result<()> {
    let PredictArgs { model, table, out, draws, joint, safe_csv, voice, .. } = args;
    if *joint && *draws == 0 {
        bail!(Usage("--joint is how to draw: say how often with --draws".into()));
    }
    if out.is_none() && voice.json {
        bail!(Usage(
            "--json prints on standard output, where predictions would go: name a file for them with --out".into()
        ));
    }
    let other = |path: &&PathBuf| OTHER_FORMATS.iter().any(|known| path.extension().is_some_and(|own| own == *known));
    if let Some(path) = out.as_ref().filter(other) {
        let path = path.display();
        bail!(Usage(format!(
            "--out {path}: predictions are written as CSV, TSV or Parquet, so give the file a name that ends in .csv, .tsv or .parquet"
        )));
    }
    if *safe_csv && out.as_deref().is_some_and(sink::is_parquet) {
        bail!(Usage("--safe-csv is for text, and --out is Parquet, of which nothing is run: leave it out".into()));
    }
    paths::check_distinct(&[("the model", Some(model)), ("the table", Some(table)), ("--out", out.as_ref())])
}
