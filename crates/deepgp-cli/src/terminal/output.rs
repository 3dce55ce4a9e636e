//! What commands say: to people on standard error, to scripts as one JSON object on standard output.

use std::fmt::Display;
use std::io::Write;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

/// How to talk.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Voice {
    /// Print one JSON object on standard output; everything for people goes to standard error
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// How a command ended, if it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All was done.
    Done,
    /// Somebody stopped it; what there was is saved.
    Interrupted,
}

/// Tells people, if somebody still listens: a closed terminal or pipe is no reason to lose a run.
pub fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Shows people something that is soon overwritten, on the line where they are.
pub fn show(text: &str) {
    let mut terminal = std::io::stderr();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

/// Tells people who want to be told.
pub fn say(voice: Voice, text: &str) {
    if !voice.quiet {
        tell(text);
    }
}

/// Tells people what is worth knowing.
pub fn notes(voice: Voice, notes: &[impl Display]) {
    for note in notes {
        say(voice, &format!("note: {note}"));
    }
}

/// Tells a script.
pub fn json(value: &Value) -> Result<Reader> {
    print(format!("{value}\n").as_bytes())
}

/// Who reads standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Somebody.
    There,
    /// Nobody any more, which is no error: they have had enough.
    Gone,
}

/// Writes to standard output.
pub fn print(bytes: &[u8]) -> Result<Reader> {
    let mut out = std::io::stdout();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error).context("cannot write to standard output"),
        Ok(()) => Ok(Reader::There),
    }
}
