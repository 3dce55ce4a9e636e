//! The arguments of `deepgp predict` and `deepgp evaluate`, and how rows are predicted wherever a model predicts some.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use deepgp::{Precision, PredictSettings};
use deepgp_io::ModelFile;
use deepgp_io::table::{Header, Missing, ReadOptions, Schema};

use super::table_limits::TableLimitOptions;
use super::value::choice::{HEADERS, MISSING_IN_NEW_TABLES, PRECISIONS, choice, draws_of};
use super::value::limits::{self, within};
use super::value::stdio_path;
use crate::model::device::{DEVICES, Device};
use crate::terminal::output::Voice;

/// The arguments of `deepgp predict`.
#[derive(Args, Debug)]
pub struct PredictArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// The rows to predict; it may be larger than memory. `-` is standard input, in any of the formats, which is kept in memory
    pub table: PathBuf,
    /// Where predictions go, as CSV, with tabs as .tsv, or as .parquet; `-` is standard output [default: standard output]
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Write a column of the table, such as an id, beside the predictions; several with commas, or give it again
    #[arg(long, value_name = "COLUMN")]
    pub keep: Vec<String>,
    /// For spreadsheets: put an apostrophe before texts that they would run as formulas, those that begin with =, +, -, @, a tab or a line
    /// break. Numbers stay as they are
    #[arg(long)]
    pub safe_csv: bool,
    /// Quantiles to add, between 0 and 1
    #[arg(long, value_delimiter = ',', value_name = "LEVELS")]
    pub quantiles: Vec<f64>,
    /// Central intervals to add, as columns such as lower0.9 and upper0.9: levels between 0 and 1, several with commas
    #[arg(long = "interval", value_delimiter = ',', value_name = "LEVELS")]
    pub intervals: Vec<f64>,
    /// Draws of the target to add, as columns. Each is right for a row by itself; for sums or differences of rows add --joint
    #[arg(long, default_value_t = 0, value_parser = within(limits::DRAWS))]
    pub draws: usize,
    /// Draw all rows together, each column from one function; up to 2000 rows
    #[arg(long)]
    pub joint: bool,
    /// Numbers of the work on rows: those of the fit, or mixed, about twice as fast (docs/performance.md says what it costs), or f64 [default:
    /// as in the fit]
    #[arg(long, value_parser = choice::<Precision>(PRECISIONS))]
    pub precision: Option<Precision>,
    /// How the rows are predicted.
    #[command(flatten)]
    pub sampling: PredictionOptions,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}

/// The arguments of `deepgp evaluate`.
#[derive(Args, Debug)]
pub struct EvaluateArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// Rows with known targets
    #[arg(value_parser = stdio_path::table())]
    pub table: PathBuf,
    /// How the rows are predicted.
    #[command(flatten)]
    pub sampling: PredictionOptions,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}

/// How rows of a table are predicted: samples, seed, threads, device, missing values.
#[derive(Args, Clone, Copy, Debug)]
pub struct PredictionOptions {
    /// Samples of the hidden layers behind each prediction
    #[arg(long, default_value_t = PredictSettings::default().samples, value_parser = within(limits::SAMPLES))]
    pub samples: usize,
    /// Seeds the samples
    #[arg(long, default_value_t = PredictSettings::default().seed)]
    pub seed: u64,
    /// Whether samples are balanced against each other; deepgp 0.1 had --samples 100 --balanced=false
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true",
          default_value_t = true)]
    pub balanced: bool,
    /// Threads to work with; 0 for all
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Where to compute
    #[arg(long, default_value = "auto", value_parser = choice::<Device>(DEVICES))]
    pub device: Device,
    /// What to do with missing values [default: as in the fit]
    #[arg(long, value_parser = choice::<Missing>(MISSING_IN_NEW_TABLES))]
    pub missing: Option<Missing>,
    /// Whether the first line of a text names the columns; with none they are called c1, c2, …
    #[arg(long, default_value = "auto", value_parser = choice::<Header>(HEADERS))]
    pub header: Header,
    /// How large the table may be.
    #[command(flatten)]
    pub limits: TableLimitOptions,
}

impl PredictionOptions {
    /// The library's settings of the prediction.
    pub fn settings(self) -> PredictSettings {
        PredictSettings {
            samples: self.samples,
            seed: self.seed,
            threads: self.threads,
            draws: draws_of(self.balanced),
        }
    }

    /// How the table is read.
    pub fn read_options(self) -> ReadOptions {
        ReadOptions { header: self.header, limits: self.limits.limits() }
    }

    /// The columns that a model reads, with missing values treated as these options say.
    pub fn schema(self, file: &ModelFile) -> Schema {
        Schema { missing: self.missing.unwrap_or(file.schema.missing), ..file.schema.clone() }
    }
}
