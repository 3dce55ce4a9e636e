//! The arguments of `deepgp compare`.

use std::path::PathBuf;

use clap::Args;

use super::predict::PredictionOptions;
use super::value::stdio_path;
use crate::terminal::output::Voice;

/// The arguments of `deepgp compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// A file that `deepgp fit` wrote
    pub first: PathBuf,
    /// Another one, that predicts the same target
    pub second: PathBuf,
    /// Rows with known targets to compare them on [default: the rows of the table of the fit that both held out]
    #[arg(value_parser = stdio_path::table())]
    pub table: Option<PathBuf>,
    /// How the rows are predicted.
    #[command(flatten)]
    pub sampling: PredictionOptions,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}
