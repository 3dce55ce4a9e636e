//! Output of commands: text for people on standard error, one JSON object for scripts on standard output.

use std::fmt::Display;
use std::io::Write;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

/// To whom a command talks: people, scripts, or nobody.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Voice {
    /// Print one JSON object on standard output; everything for people goes to standard error
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl Voice {
    /// The voice of what says nothing.
    pub const SILENT: Self = Self { json: false, quiet: true };
}

/// How a command ended, if it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command did all that was asked for.
    Done,
    /// Somebody stopped the command; what there was is saved.
    Interrupted,
}

/// Writes a line to standard error. A closed terminal or pipe is no reason to lose a run, so that errors are ignored.
pub fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes text to standard error that stays on its line and is soon overwritten.
pub fn show(text: &str) {
    let mut terminal = std::io::stderr();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

/// Writes a line to standard error, unless the command is to be quiet.
pub fn say(voice: Voice, text: &str) {
    if !voice.quiet {
        tell(text);
    }
}

/// Writes each note to standard error, unless the command is to be quiet.
pub fn notes(voice: Voice, notes: &[impl Display]) {
    for note in notes {
        say(voice, &format!("note: {note}"));
    }
}

/// Writes a JSON object to standard output, on a line of its own.
pub fn json(value: &Value) -> Result<Reader> {
    print(format!("{value}\n").as_bytes())
}

/// Whether anybody still reads standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Somebody reads on.
    There,
    /// The reader has closed the pipe, which is no error: they have had enough.
    Gone,
}

/// Writes bytes to standard output, and tells whether anybody still reads it.
pub fn print(bytes: &[u8]) -> Result<Reader> {
    let mut out = std::io::stdout();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error).context("cannot write to standard output"),
        Ok(()) => Ok(Reader::There),
    }
}
