//! `deepgp`: from a table to a calibrated model, predictions and a report.
//!
//! Arguments to calls, results to text; the mathematics is in the library `deepgp`, files are in `deepgp-io`. Exit codes: 0 done,
//! 1 failed, 2 wrong use, 130 interrupted.

mod arguments;
mod benchmark;
mod command;
mod data;
mod fit;
mod html;
mod model;
mod picture;
mod report;
mod reproduce;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::usage;
use arguments::{Cli, Command};
use terminal::interrupt;
use terminal::output::{self, Outcome};

/// The exit code of a command that failed.
const FAILED: u8 = 1;
/// The exit code of wrong use, which is clap's own.
const WRONG_USE: u8 = 2;

fn main() -> ExitCode {
    quiet_expected_panics();
    let done = match Cli::parse().command {
        Command::Demo(args) => command::demo(args),
        Command::Fit(args) => command::fit(*args),
        Command::Resume(args) => command::resume(args),
        Command::Predict(args) => command::predict(args),
        Command::Evaluate(args) => command::evaluate(args),
        Command::Info(args) => command::info(&args),
        Command::Report(args) => command::report(args),
        Command::Benchmark(args) => command::benchmark(&args),
        Command::Reproduce(args) => command::reproduce(&args),
        Command::Data(command) => command::data(&command),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "deepgp", &mut script);
            output::print(&script).map(|_| Outcome::Done)
        }
    };
    match done {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Interrupted) => ExitCode::from(interrupt::EXIT_CODE),
        Err(error) => {
            let error = usage::in_words_of_flags(error);
            output::tell(&format!("error: {error:#}"));
            ExitCode::from(if error.is::<usage::Usage>() { WRONG_USE } else { FAILED })
        }
    }
}

/// Keeps panics quiet that the reader of tables turns into errors: some libraries panic on damaged files.
fn quiet_expected_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !deepgp_io::table::panic_is_expected() {
            usual(panic);
        }
    }));
}
