//! The arguments of `deepgp fit` and `deepgp resume`.

use std::path::PathBuf;

use clap::Args;

use super::fit_options::FitOptions;
use super::table_limits::TableLimitOptions;
use super::value::choice::choice;
use super::value::duration::{CheckpointInterval, Seconds};
use super::value::stdio_path;
use crate::fit::rows_in::{PLACES, RowsIn};
use crate::model::device::{DEVICES, Device};
use crate::terminal::output::Voice;

/// The arguments of `deepgp fit`.
#[derive(Args, Debug)]
pub struct FitArgs {
    /// CSV or TSV (also gzipped), Parquet, NPY or NPZ; several files of the same columns are one table, in this order
    #[arg(value_parser = stdio_path::table(), required = true, value_name = "TABLE")]
    pub tables: Vec<PathBuf>,
    /// Read options from a TOML file, under the names of the flags; all but the table, --config, --overwrite, --json and --quiet can be there. A
    /// flag given here replaces the file's value, a list as a whole
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Start from the parameters of a model, with its columns, sizes and units: the table has the same columns
    #[arg(long, value_name = "MODEL")]
    pub init: Option<PathBuf>,
    /// Start over although there is a checkpoint of an unfinished fit
    #[arg(long)]
    pub overwrite: bool,
    /// The options that a configuration file can hold too.
    #[command(flatten)]
    pub options: FitOptions,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}

/// The arguments of `deepgp resume`.
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The checkpoint that a fit left, or a finished model: that needs --steps or --time-limit
    #[arg(value_name = "CHECKPOINT")]
    pub from: PathBuf,
    /// The table, if it is no longer where it was; give it again for each of several files, in their order
    #[arg(long, value_parser = stdio_path::table())]
    pub table: Vec<PathBuf>,
    /// Where the model goes [default: where the fit would have put it, if that is beside the checkpoint, or in place of the finished model]
    #[arg(long, value_parser = stdio_path::file("a model"))]
    pub out: Option<PathBuf>,
    /// Steps in all, those already made included; of a finished model, further ones [default: as in the fit]
    #[arg(long)]
    pub steps: Option<u64>,
    /// Be done after about this time, reading, scores and report included, e.g. 90s, 10m, 2h
    #[arg(long)]
    pub time_limit: Option<Seconds>,
    /// Save the state every so often: a time (30s, 5m) or a number of steps
    #[arg(long)]
    pub checkpoint_every: Option<CheckpointInterval>,
    /// Threads to work with; 0 for all
    #[arg(long)]
    pub threads: Option<usize>,
    /// Where to compute [default: as in the fit]; on another device than before, last digits differ
    #[arg(long, value_parser = choice::<Device>(DEVICES))]
    pub device: Option<Device>,
    /// Where rows are kept: in memory, or on disk in a file beside the checkpoint; auto is memory if they fit there
    #[arg(long, value_parser = choice::<RowsIn>(PLACES), default_value = "auto")]
    pub rows_in: RowsIn,
    /// Also write a report as a web page
    #[arg(long, value_name = "FILE", value_parser = stdio_path::file("a report"))]
    pub report: Option<PathBuf>,
    /// How large the table may be.
    #[command(flatten)]
    pub limits: TableLimitOptions,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}
