//! The arguments of `deepgp export`.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use deepgp::PredictSettings;

use super::value::limits::{self, within};
use crate::terminal::output::Voice;

/// The arguments of `deepgp export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// Where the ONNX graph goes: encoded rows in, means and standard deviations out
    #[arg(long)]
    pub onnx: PathBuf,
    /// Samples of the hidden layers, which the graph has as constants
    #[arg(long, default_value_t = PredictSettings::default().samples, value_parser = within(limits::SAMPLES))]
    pub samples: usize,
    /// Seeds the samples
    #[arg(long, default_value_t = PredictSettings::default().seed)]
    pub seed: u64,
    /// Whether samples are balanced against each other; deepgp 0.1 had --samples 100 --balanced=false
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true",
          default_value_t = true)]
    pub balanced: bool,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}
