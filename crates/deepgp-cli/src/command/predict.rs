//! `deepgp predict`: a table in, its predictions out, a chunk of rows at a time.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use deepgp::{JOINT_ROWS, Mat, UserPredictor};
use deepgp_io::atomic::AtomicFile;
use deepgp_io::table::{Chunk, Source, Targets};
use deepgp_io::{ModelFile, chunks};
use serde_json::json;

use crate::arguments::PredictArgs;
use crate::arguments::paths;
use crate::arguments::usage::Usage;
use crate::arguments::value::stdio_path;
use crate::model::device;
use crate::model::notes::sentences;
use crate::terminal::delimited::Delimiter;
use crate::terminal::interrupt;
use crate::terminal::output::{self, Outcome, Reader};

/// Endings that promise what is not written.
const OTHER_FORMATS: [&str; 4] = ["parquet", "npy", "npz", "gz"];

/// Predicts.
pub fn predict(mut args: PredictArgs) -> Result<Outcome> {
    args.out = args.out.filter(|path| !stdio_path::is_meant(path));
    check(&args)?;
    let PredictArgs { model, table, out, keep, quantiles, draws, joint, sampling, voice } = args;
    let mut file = ModelFile::load(&model)?;
    let schema = sampling.schema(&file);
    // One pass over the rows, a chunk at a time: nothing is gained by keeping the file in memory.
    let source = Source::open_streamed(&table)?;
    let keep = source.named(&keep);
    let columns = Columns { keep: &keep, targets: &schema.targets, quantiles: &quantiles, draws, joint };
    columns.check()?;
    let mut encoder = schema.encoder(&source, Targets::Unneeded)?.carrying(&keep)?;
    sampling.device.place(&mut file.regressor.model, voice)?;
    let predictor = file.regressor.predictor(sampling.settings()).map_err(device::explain)?;
    // The levels are checked before anything is written.
    predictor.quantiles(Mat::zeros(0, schema.width()).view(), &quantiles)?;
    let rows_at_once =
        if joint { JOINT_ROWS + 1 } else { chunks::rows_at_once(sampling.samples.saturating_add(draws)) };
    let live = !voice.quiet && io::stderr().is_terminal();
    let delimiter = Delimiter::of(out.as_deref());
    interrupt::listen();
    let mut next = encoder.next_chunk(rows_at_once)?;
    if joint && next.as_ref().is_some_and(|chunk| chunk.read > JOINT_ROWS as u64) {
        bail!("--joint draws up to {JOINT_ROWS} rows together, and {} has more: cut it", table.display());
    }
    let mut sink = Sink::open(out.as_deref())?;
    let (mut rows, mut predicted) = (0, 0);
    sink.write(&delimiter.line(columns.names().iter().map(String::as_str)))?;
    while let Some(chunk) = next {
        if interrupt::asked() {
            output::say(voice, if out.is_some() { "interrupted: nothing was written" } else { "interrupted" });
            return Ok(Outcome::Interrupted);
        }
        let text = lines(&chunk, rows, &columns.answers(&predictor, &chunk.x)?, delimiter);
        if sink.write(&text)? == Reader::Gone {
            return Ok(Outcome::Done);
        }
        rows += chunk.read;
        predicted += chunk.kept.len() as u64;
        if live && rows > chunks::MOST_ROWS as u64 {
            output::show(&format!("\r{rows} rows "));
        }
        next = encoder.next_chunk(rows_at_once)?;
    }
    sink.finish()?;
    if live && rows > chunks::MOST_ROWS as u64 {
        output::show(&format!("\r{:30}\r", ""));
    }
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

/// Fails if the arguments cannot be meant.
fn check(args: &PredictArgs) -> Result<()> {
    let PredictArgs { model, table, out, draws, joint, voice, .. } = args;
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
            "--out {path}: predictions are written as CSV or TSV, so give the file a name that ends in .csv or .tsv"
        )));
    }
    paths::check_distinct(&[("the model", Some(model)), ("the table", Some(table)), ("--out", out.as_ref())])
}

/// What is asked of each row.
#[derive(Debug)]
struct Columns<'a> {
    keep: &'a [String],
    targets: &'a [String],
    quantiles: &'a [f64],
    draws: usize,
    /// Whether each draw is of all rows together.
    joint: bool,
}

impl Columns<'_> {
    /// Fails if two columns would have the same name.
    fn check(&self) -> Result<()> {
        for (index, level) in self.quantiles.iter().enumerate() {
            if self.quantiles[..index].contains(level) {
                bail!(Usage(format!("--quantiles {level}: give each level once")));
            }
        }
        let predicted = self.predicted();
        for (index, name) in self.keep.iter().enumerate() {
            if self.keep[..index].contains(name) {
                bail!(Usage(format!("--keep {name}: give each column once")));
            }
            if predicted.contains(name) {
                bail!(Usage(format!(
                    "--keep {name}: a column of the predictions is called so, too: rename it in the table"
                )));
            }
        }
        Ok(())
    }

    /// The columns of the table, then those of the predictions.
    fn names(&self) -> Vec<String> {
        [self.keep, &self.predicted()].concat()
    }

    /// `mean,std,f_std,q0.05,…,draw1,…`, after the target's name where there are several.
    fn predicted(&self) -> Vec<String> {
        let mut names = Vec::new();
        for target in self.targets {
            let mut add = |name: String| {
                names.push(if self.targets.len() == 1 { name } else { format!("{target}_{name}") });
            };
            for name in ["mean", "std", "f_std"] {
                add(name.into());
            }
            for level in self.quantiles {
                add(format!("q{level}"));
            }
            for draw in 1..=self.draws {
                add(format!("draw{draw}"));
            }
        }
        names
    }

    /// The numbers under the names of predictions, for each row of `x`.
    fn answers(&self, predictor: &UserPredictor<'_>, x: &Mat) -> Result<Mat> {
        let (levels, outputs) = (self.quantiles.len(), self.targets.len());
        let moments = predictor.moments(x.view())?;
        let quantiles =
            if levels > 0 { predictor.quantiles(x.view(), self.quantiles)? } else { Mat::zeros(x.nrows(), 0) };
        let draws = match (self.draws, self.joint && x.nrows() > 0) {
            (0, _) => Vec::new(),
            (draws, true) => predictor.joint_draws(x.view(), draws)?.y,
            (draws, false) => predictor.draws_of_y(x.view(), draws)?,
        };
        let width = 3 + levels + self.draws;
        Ok(Mat::from_fn(x.nrows(), outputs * width, |i, column| {
            let (p, own) = (column / width, column % width);
            match own {
                0 => moments.y.mean[(i, p)],
                1 => moments.y.variance[(i, p)].sqrt(),
                2 => moments.f.variance[(i, p)].sqrt(),
                _ if own < 3 + levels => quantiles[(i, p * levels + own - 3)],
                _ => draws[own - 3 - levels][(i, p)],
            }
        }))
    }
}

/// A line for each record that was read; where it could not be used, the cells of predictions are empty.
fn lines(chunk: &Chunk, first: u64, answers: &Mat, delimiter: Delimiter) -> String {
    let mut kept = chunk.kept.iter().enumerate().peekable();
    let carried = chunk.carried.len() / chunk.read.max(1) as usize;
    let mut text = String::new();
    for row in 0..chunk.read as usize {
        let cells: Vec<String> = match kept.next_if(|(_, at)| **at == first + row as u64) {
            Some((i, _)) => answers.row(i).iter().map(|v| v.to_string()).collect(),
            None => vec![String::new(); answers.ncols()],
        };
        let beside = &chunk.carried[row * carried..(row + 1) * carried];
        text += &delimiter.line(beside.iter().chain(&cells).map(String::as_str));
    }
    text
}

/// Where predictions go: to a file, which appears when all is done, or to standard output.
enum Sink {
    File(AtomicFile, PathBuf),
    Standard,
}

impl Sink {
    fn open(path: Option<&Path>) -> Result<Self> {
        Ok(match path {
            None => Self::Standard,
            Some(path) => {
                let file = AtomicFile::create(path).with_context(|| format!("cannot write {}", path.display()))?;
                Self::File(file, path.into())
            }
        })
    }

    fn write(&mut self, text: &str) -> Result<Reader> {
        match self {
            Self::File(file, path) => {
                file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
                Ok(Reader::There)
            }
            Self::Standard => output::print(text.as_bytes()),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::File(file, path) => file.commit().with_context(|| format!("cannot write {}", path.display())),
            Self::Standard => Ok(()),
        }
    }
}
