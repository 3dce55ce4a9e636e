//! The arguments of `deepgp tune`.

use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{Arg, Args, Id};
use deepgp::search::SearchMetric;

use super::fit_options::FitOptions;
use super::value::choice::choice;
use super::value::share::share;
use super::value::stdio_path;
use crate::terminal::output::Voice;

/// Names of the metrics, [`SearchMetric`].
pub const METRICS: &[&str] = &["crps", "log-likelihood", "rmse", "mae", "log-loss", "brier", "accuracy", "deviance"];

/// The arguments of `deepgp tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// CSV or TSV (also gzipped), Parquet, NPY or NPZ
    #[arg(value_parser = stdio_path::table())]
    pub table: PathBuf,
    /// Read options of the fits from a TOML file, under the names of the flags. A flag given here replaces the file's value
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The score that judges [default: crps of numbers, log-loss of classes, log-likelihood of counts]
    #[arg(long, value_parser = choice::<SearchMetric>(METRICS), help_heading = "Search")]
    pub metric: Option<SearchMetric>,
    /// Try so many settings, those of `fit` among them, instead of as many as --time-limit leaves time for: then nothing depends on the clock
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Search")]
    pub candidates: Option<u32>,
    /// Try these values of a setting and no others, e.g. kernel=matern32,matern52; give it again for others. A setting whose own flag is given stays
    /// as it says
    #[arg(long, value_name = "SETTING=VALUES", help_heading = "Search")]
    pub search: Vec<String>,
    /// The share of the rows that judges, of those that are not for testing; --folds judges by all of them in turn
    #[arg(long, default_value = "0.25", value_parser = share, help_heading = "Search")]
    pub selection: f64,
    /// Settings to try at once [default: 1 on the CPU; several on a GPU, which one does not fill]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = "Search")]
    pub jobs: Option<u16>,
    /// Start over although there is another search, or an unfinished fit
    #[arg(long)]
    pub overwrite: bool,
    /// The options of the fits.
    #[command(flatten)]
    pub options: FitOptions,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}

/// The argument of a fit's folds as that of a search: they judge settings, beside test rows that judge the result.
pub fn folds_that_judge(arg: Arg) -> Arg {
    arg.conflicts_with(Resettable::<Id>::Reset)
        .help("Judge settings by so many folds in place of --selection: each is fitted to all folds but one and judged by that one, so many times")
}
