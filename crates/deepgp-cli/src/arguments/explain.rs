//! The arguments of `deepgp explain`.

use std::path::PathBuf;

use clap::Args;

use super::predict::PredictionOptions;
use super::value::stdio_path;
use crate::terminal::output::Voice;

/// The arguments of `deepgp explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// Rows to explain predictions of; they need no targets [default: the table of the fit]
    #[arg(value_parser = stdio_path::table())]
    pub table: Option<PathBuf>,
    /// How the rows are predicted.
    #[command(flatten)]
    pub sampling: PredictionOptions,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}
