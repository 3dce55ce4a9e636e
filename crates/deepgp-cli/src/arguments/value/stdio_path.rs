//! Paths where `-` may stand for standard input or output, as in many programs.

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};

/// Whether a path stands for standard input or output.
pub fn is_meant(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A parser of the path of a table. A table is read more than once, and so cannot come through a pipe.
pub fn table() -> impl TypedValueParser<Value = PathBuf> {
    refusing("a table cannot come from standard input, as it is read more than once: save it to a file first".into())
}

/// A parser of the path of an output file, called `what` in errors. It takes its place when it is whole, and so cannot
/// be printed.
pub fn file(what: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    refusing(format!("{what} cannot go to standard output: name a file"))
}

/// A parser of paths that refuses `-` with this advice.
fn refusing(advice: String) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| if is_meant(&path) { Err(advice.clone()) } else { Ok(path) })
}
