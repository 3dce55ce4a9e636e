//! Destinations of a table's lines: a file, or standard output.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use deepgp_io::atomic::AtomicFile;

use super::output::{Reader, print};

/// Where the lines of a table go.
#[derive(Debug)]
pub enum Sink {
    /// A file, which appears under this path when it is whole.
    File(AtomicFile, PathBuf),
    /// Standard output.
    Standard,
}

impl Sink {
    /// Opens the file, or standard output where there is no path.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        Ok(match path {
            None => Self::Standard,
            Some(path) => {
                let file = AtomicFile::create(path).with_context(|| format!("cannot write {}", path.display()))?;
                Self::File(file, path.into())
            }
        })
    }

    /// Writes a text, and tells whether anybody still reads.
    pub fn write(&mut self, text: &str) -> Result<Reader> {
        match self {
            Self::File(file, path) => {
                file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
                Ok(Reader::There)
            }
            Self::Standard => print(text.as_bytes()),
        }
    }

    /// Puts the file, now whole, in its place.
    pub fn finish(self) -> Result<()> {
        match self {
            Self::File(file, path) => file.commit().with_context(|| format!("cannot write {}", path.display())),
            Self::Standard => Ok(()),
        }
    }
}
