//! The arguments of `deepgp serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use deepgp::PredictSettings;
use deepgp_io::ModelFile;
use deepgp_io::table::{Missing, Schema};

use super::value::choice::{MISSING_IN_NEW_TABLES, choice, draws_of};
use super::value::duration::Seconds;
use super::value::limits::{self, within};
use crate::model::device::{DEVICES, Device};
use crate::serve::Limits;
use crate::terminal::output::Voice;

/// The arguments of `deepgp serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// A file that `deepgp fit` wrote
    pub model: PathBuf,
    /// Where to listen; port 0 is any that is free. On another address than this machine's own, whoever reaches it may ask: there is no password
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "HOST:PORT")]
    pub address: String,
    /// How much a request may ask for.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// Samples of the hidden layers behind each prediction
    #[arg(long, default_value_t = PredictSettings::default().samples, value_parser = within(limits::SAMPLES))]
    pub samples: usize,
    /// Seeds the samples of requests without a seed of their own
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
    /// To whom the command talks. With `--json` the object is printed when the server is ready.
    #[command(flatten)]
    pub voice: Voice,
}

/// How much a request may ask for, and how many may ask.
#[derive(Args, Clone, Copy, Debug)]
pub struct LimitOptions {
    /// The longest body of a request, in MiB
    #[arg(long, default_value_t = 4, value_parser = within(1..=1024), value_name = "MIB")]
    pub max_body: usize,
    /// The most rows of a request
    #[arg(long, default_value_t = 10_000, value_parser = within(1..=10_000_000), value_name = "ROWS")]
    pub max_rows: usize,
    /// The longest that a request may take: to come, and to be answered; such as 30s or 2m
    #[arg(long, default_value_t = Seconds(30.0), value_name = "TIME")]
    pub request_time: Seconds,
    /// The most connections at once; beyond, the one that has kept us waiting the longest is closed
    #[arg(long, default_value_t = 128, value_parser = within(1..=10_000))]
    pub connections: usize,
}

impl ServeArgs {
    /// The library's settings of the predictions.
    pub fn settings(&self) -> PredictSettings {
        PredictSettings {
            samples: self.samples,
            seed: self.seed,
            threads: self.threads,
            draws: draws_of(self.balanced),
        }
    }

    /// The columns that a model reads, with missing values treated as these options say.
    pub fn schema(&self, file: &ModelFile) -> Schema {
        Schema { missing: self.missing.unwrap_or(file.schema.missing), ..file.schema.clone() }
    }
}

impl LimitOptions {
    /// The limits in bytes, rows and time.
    pub fn limits(self) -> Limits {
        // More than a year is as good as for ever.
        let time = Duration::from_secs_f64(self.request_time.0.min(3e7));
        Limits { body: self.max_body << 20, rows: self.max_rows, time, connections: self.connections }
    }
}
