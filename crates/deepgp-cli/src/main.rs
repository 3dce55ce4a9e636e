//! `deepgp`: from a table to a calibrated model, predictions and a report.
//!
//! Arguments to calls, results to text; the mathematics is in the library `deepgp`, files are in `deepgp-io`. Exit codes: 0 done,
//! 1 failed, 2 wrong use, 130 interrupted. With `--json` a failure, too, is one object on standard output.

mod arguments;
mod benchmark;
mod command;
mod data;
mod fit;
mod html;
mod model;
#[cfg(test)]
#[path = "../../../fuzz/src/mutation.rs"]
mod mutation;
mod picture;
mod processes;
mod report;
mod reproduce;
mod serve;
mod terminal;
mod tune;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Cli, Command};
use arguments::{unknown_option, usage};
use processes::Processes;
use terminal::failure::Failure;
use terminal::interrupt;
use terminal::output::{self, Outcome};

fn main() -> ExitCode {
    model::device::fill_all_queues();
    quiet_expected_panics();
    let command = match Cli::try_parse() {
        Ok(Cli { command }) => command,
        Err(error) => return refuse(error),
    };
    let json = command.is_for_scripts();
    interrupt::outlive_full_files();
    let open = if json { output::check_open() } else { Ok(()) };
    let processes = match Processes::begin() {
        Ok(processes) => processes,
        Err(error) => {
            processes::let_the_first_speak();
            return ExitCode::from(fail(error, json));
        }
    };
    match open.and_then(|()| run(command, &processes)) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Interrupted) => ExitCode::from(interrupt::EXIT_CODE),
        Err(error) => {
            processes.let_others_speak(&error);
            let code = fail(error, json && processes.is_first());
            processes.end(code);
            ExitCode::from(code)
        }
    }
}

/// Runs a command.
fn run(command: Command, processes: &Processes) -> anyhow::Result<Outcome> {
    if !matches!(command, Command::Fit(_) | Command::Resume(_)) {
        processes.check_alone("this command")?;
    }
    match command {
        Command::Demo(args) => command::demo(args),
        Command::Fit(args) => command::fit(*args, processes),
        Command::Tune(args) => command::tune(*args),
        Command::Resume(args) => command::resume(args, processes),
        Command::Predict(args) => command::predict(args),
        Command::Serve(args) => command::serve(args),
        Command::Export(args) => command::export(&args),
        Command::Evaluate(args) => command::evaluate(args),
        Command::Compare(args) => command::compare(args),
        Command::Explain(args) => command::explain(args),
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
    }
}

/// Tells what went wrong, and in what way; returns the exit code.
fn fail(error: anyhow::Error, json: bool) -> u8 {
    let error = usage::in_words_of_flags(error);
    let message = format!("{error:#}");
    output::tell(&format!("error: {}{message}", processes::name()));
    let failure = if error.is::<usage::Usage>() { Failure::WrongUse } else { Failure::Failed };
    failure.exit(&message, json);
    failure.code()
}

/// Tells why the command line cannot be read, or gives the help that it asks for.
fn refuse(error: clap::Error) -> ExitCode {
    let written: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    processes::let_the_first_speak();
    let error = unknown_option::with_tip(error, &Cli::command(), &written);
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    if !error.use_stderr() {
        // Help and version are what was asked for: somebody has to get them.
        return match output::check_open().and_then(|()| output::unless_reader_is_gone(printed)) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                output::tell(&format!("error: {error:#}"));
                ExitCode::from(Failure::Failed.code())
            }
        };
    }
    // What could not be read has no field that says to whom it talks.
    let json = written.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    let text = error.render().to_string();
    Failure::WrongUse.exit(text.trim_end().trim_start_matches("error: "), json)
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
