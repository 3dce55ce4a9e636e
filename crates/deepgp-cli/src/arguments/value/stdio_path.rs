//! `-` in place of a file: to many programs it is standard input or output, and never a file of that name.

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};

/// Whether standard input or output is meant.
pub fn is_meant(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The place of a table, which is read more than once, and so cannot come through a pipe.
pub fn table() -> impl TypedValueParser<Value = PathBuf> {
    refusing("a table cannot come from standard input, as it is read more than once: save it to a file first".into())
}

/// The place of `what`, which takes the place of a file when it is whole, and so cannot be printed.
pub fn file(what: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    refusing(format!("{what} cannot go to standard output: name a file"))
}

fn refusing(advice: String) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| if is_meant(&path) { Err(advice.clone()) } else { Ok(path) })
}
