//! Output of commands: text for people on standard error, one JSON object for scripts on standard output.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{IsTerminal, Write};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use super::{standard_output, visible};

/// To whom a command talks: people, scripts, or nobody.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Voice {
    /// Print one JSON object on standard output; everything for people goes to standard error. Where the command fails, the object has `error`,
    /// with a `message` and a `kind` (usage or failure), and `exit_code`
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

/// Writes a line, or several, to standard error, with control characters written out. A closed terminal or pipe is no reason to lose a run, so that errors are ignored.
pub fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", visible::lines(text));
}

/// Takes what stands in the last line of the terminal away, such as a progress bar.
pub fn clear_line() {
    let mut terminal = std::io::stderr();
    let _ = terminal.write_all(b"\r\x1b[2K").and_then(|()| terminal.flush());
}

/// Writes a line to standard error, unless the command is to be quiet.
pub fn say(voice: Voice, text: &str) {
    if !voice.quiet {
        tell(text);
    }
}

/// Writes each note to standard error, each on one line, unless the command is to be quiet.
pub fn notes(voice: Voice, notes: &[impl Display]) {
    for note in notes {
        say(voice, &visible::line(&format!("note: {note}")));
    }
}

/// Writes a JSON object to standard output, on a line of its own.
pub fn json(value: &Value) -> Result<Reader> {
    print(format!("{}\n", visible::json(value.to_string())).as_bytes())
}

/// Whether anybody still reads standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Somebody reads on.
    There,
    /// The reader has closed the pipe, which is no error: they have had enough.
    Gone,
}

/// Writes text for people to standard output, with control characters written out.
pub fn print_text(text: &str) -> Result<Reader> {
    print(visible::lines(text).as_bytes())
}

/// Writes lines of a table to standard output: to other programs as they are, to a terminal with control characters written out.
pub fn print_table(lines: &str) -> Result<Reader> {
    print(table_for(std::io::stdout().is_terminal(), lines).as_bytes())
}

/// The lines of a table for a terminal, or for another program.
fn table_for(terminal: bool, lines: &str) -> Cow<'_, str> {
    if terminal { visible::lines(lines) } else { Cow::Borrowed(lines) }
}

/// Fails if the command was started without a standard output (`>&-`).
pub fn check_open() -> Result<()> {
    ensure!(standard_output::is_open(), "cannot write to standard output: it is closed");
    Ok(())
}

/// Writes bytes to standard output, and tells whether anybody still reads it. Fails if there is none, or it is full.
pub fn print(bytes: &[u8]) -> Result<Reader> {
    check_open()?;
    let mut out = std::io::stdout();
    unless_reader_is_gone(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Whether anybody still reads standard output, by how writing to it went.
pub fn unless_reader_is_gone(written: std::io::Result<()>) -> Result<Reader> {
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error).context("cannot write to standard output"),
        Ok(()) => Ok(Reader::There),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_changed_for_a_terminal_alone() {
        let lines = "a\x1b[2J,b\n";
        assert_eq!((table_for(false, lines), table_for(true, lines)), (lines.into(), "a\\u{1b}[2J,b\n".into()));
    }
}
