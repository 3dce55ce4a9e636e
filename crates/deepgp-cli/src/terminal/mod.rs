//! Talking to whoever started the command: text for people on standard error, JSON for scripts on standard output, and
//! the signals they send.

pub mod abandon;
pub mod date;
pub mod delimited;
pub mod explain;
pub mod failure;
pub mod interrupt;
mod line_pace;
pub mod output;
pub mod progress;
pub mod shell;
pub mod sink;
pub mod spreadsheet;
pub mod stage;
mod standard_output;
pub mod text;
pub mod visible;
pub mod waiting;
