//! The commands of `deepgp data`, and their arguments.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::value::duration::Seconds;
use crate::data::{Mirror, RECIPES};
use crate::terminal::output::Voice;

/// The commands of `deepgp data`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Download tables, check them, and write each as NAME.csv.gz, with the target last, in the column `y`
    #[command(
        after_help = "Example:\n  deepgp data fetch kin8nm protein --out data\n  deepgp fit data/kin8nm.csv.gz --target y --test 0.2"
    )]
    Fetch(FetchArgs),
    /// Tell what can be fetched, from where, and under what terms
    #[command(after_help = "Example:\n  deepgp data list")]
    List(ListArgs),
}

/// The arguments of `deepgp data fetch`.
#[derive(Args, Debug)]
pub struct FetchArgs {
    /// Which tables
    #[arg(required = true, value_name = "NAME",
          value_parser = clap::builder::PossibleValuesParser::new(RECIPES.iter().map(|recipe| recipe.name)))]
    pub names: Vec<String>,
    /// The folder for them; a table that is there is not downloaded again
    #[arg(long, default_value = "data")]
    pub out: PathBuf,
    /// Download again what is there, and replace it
    #[arg(long)]
    pub force: bool,
    /// A mirror, or a folder, that has the sources' files under their own names; what comes from it is checked just the same
    #[arg(long, value_name = "URL|FOLDER")]
    pub from: Option<Mirror>,
    /// Give up on an address when nothing has come for this time, e.g. 10s, 2m
    #[arg(long, default_value = "30s")]
    pub timeout: Seconds,
    /// To whom the command talks.
    #[command(flatten)]
    pub voice: Voice,
}

/// The arguments of `deepgp data list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Print one JSON object; where the command fails, it has `error` and `exit_code`
    #[arg(long)]
    pub json: bool,
}
