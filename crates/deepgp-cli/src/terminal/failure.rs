//! How a command that failed says so: in words on standard error, and with `--json` also as an object on standard output.

use std::process::ExitCode;

use serde_json::json;

use super::output;

/// In what way a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The command was called in a wrong way.
    WrongUse,
    /// Something else went wrong.
    Failed,
}

impl Failure {
    /// The exit code; that of wrong use is clap's own.
    pub fn code(self) -> u8 {
        match self {
            Self::WrongUse => 2,
            Self::Failed => 1,
        }
    }

    /// The name for scripts.
    fn name(self) -> &'static str {
        match self {
            Self::WrongUse => "usage",
            Self::Failed => "failure",
        }
    }

    /// Tells what went wrong to scripts, if one listens; people have been told.
    pub fn exit(self, message: &str, json: bool) -> ExitCode {
        if json {
            let error = json!({ "message": message, "kind": self.name() });
            let object = json!({ "version": env!("CARGO_PKG_VERSION"), "error": error, "exit_code": self.code() });
            // Whether anybody reads it changes nothing.
            let _ = output::json(&object);
        }
        ExitCode::from(self.code())
    }
}
