//! The arguments of `deepgp info`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `deepgp info`.
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// Print one JSON object; where the command fails, it has `error` and `exit_code`
    #[arg(long)]
    pub json: bool,
}
