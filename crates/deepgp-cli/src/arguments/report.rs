//! The arguments of `deepgp report`.

use std::path::PathBuf;

use clap::Args;

use super::predict::PredictionOptions;
use super::value::stdio_path;
use crate::terminal::output::Voice;

/// The arguments of `deepgp report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// Rows with known targets to score it on [default: the fit's own test rows, if the table is still there]
    #[arg(value_parser = stdio_path::table())]
    pub table: Option<PathBuf>,
    /// Where the page goes
    #[arg(long, default_value = "report.html", value_parser = stdio_path::file("a report"))]
    pub out: PathBuf,
    /// Also save the pictures in this folder
    #[arg(long, value_name = "FOLDER")]
    pub pictures: Option<PathBuf>,
    /// As what
    #[arg(long, value_delimiter = ',', default_value = "svg,png", requires = "pictures", value_parser = ["svg", "png"])]
    pub formats: Vec<String>,
    /// How the rows are predicted.
    #[command(flatten)]
    pub sampling: PredictionOptions,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}
