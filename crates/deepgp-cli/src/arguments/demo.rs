//! The arguments of `deepgp demo`.

use std::path::PathBuf;

use clap::Args;

use crate::terminal::output::Voice;

/// The arguments of `deepgp demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// The folder for report, models and table
    #[arg(long, default_value = "deepgp-demo")]
    pub out: PathBuf,
    /// Threads to work with; 0 for all
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}
