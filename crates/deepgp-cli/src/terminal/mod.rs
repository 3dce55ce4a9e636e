//! Talking to whoever started the command: people on standard error, scripts on standard output, and the signals they send.

pub mod date;
pub mod delimited;
pub mod explain;
pub mod interrupt;
pub mod output;
pub mod progress;
pub mod shell;
pub mod text;
