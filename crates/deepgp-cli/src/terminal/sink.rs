//! Destinations of a table's rows: a file of text, one of Parquet, or standard output.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use deepgp_io::atomic::AtomicFile;
use deepgp_io::table::{CellKind, ParquetWriter};

use super::delimited::Delimiter;
use super::output::{Reader, print_table};

/// Where the rows of a table go.
#[derive(Debug)]
pub enum Sink {
    /// A file of delimited text, which appears under this path when it is whole.
    Text(AtomicFile, PathBuf),
    /// A Parquet file, which appears under this path when it is whole.
    Parquet(Box<ParquetWriter<AtomicFile>>, PathBuf),
    /// Standard output.
    Standard,
}

impl Sink {
    /// Opens a table with these columns: the file, of a format that its name tells, or standard output where there is no path.
    pub fn open(path: Option<&Path>, columns: &[(String, CellKind)]) -> Result<Self> {
        let Some(path) = path else { return Self::Standard.with_header(None, columns) };
        let writing = || format!("cannot write {}", path.display());
        let file = AtomicFile::create(path).with_context(writing)?;
        if path.extension().is_some_and(|own| own.eq_ignore_ascii_case("parquet")) {
            let table = ParquetWriter::new(file, columns).with_context(writing)?;
            return Ok(Self::Parquet(Box::new(table), path.into()));
        }
        Self::Text(file, path.into()).with_header(Some(path), columns)
    }

    /// The same with the names of the columns as its first line.
    fn with_header(mut self, path: Option<&Path>, columns: &[(String, CellKind)]) -> Result<Self> {
        let line = Delimiter::of(path).line(columns.iter().map(|(name, _)| name.as_str()));
        self.write_text(&line)?;
        Ok(self)
    }

    /// Writes rows, and tells whether anybody still reads.
    pub fn write(&mut self, rows: &[Vec<String>]) -> Result<Reader> {
        let delimiter = match self {
            Self::Parquet(table, path) => {
                let written = rows.iter().try_for_each(|row| table.write_row(row));
                written.with_context(|| format!("cannot write {}", path.display()))?;
                return Ok(Reader::There);
            }
            Self::Text(_, path) => Delimiter::of(Some(path)),
            Self::Standard => Delimiter::of(None),
        };
        let lines: String = rows.iter().map(|row| delimiter.line(row.iter().map(String::as_str))).collect();
        self.write_text(&lines)
    }

    /// Writes lines of text.
    fn write_text(&mut self, text: &str) -> Result<Reader> {
        match self {
            Self::Text(file, path) => {
                file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
                Ok(Reader::There)
            }
            Self::Parquet(..) => Ok(Reader::There),
            Self::Standard => print_table(text),
        }
    }

    /// Puts the file, now whole, in its place.
    pub fn finish(self) -> Result<()> {
        let (written, path) = match self {
            Self::Text(file, path) => (file.commit(), path),
            Self::Parquet(table, path) => (table.finish().and_then(AtomicFile::commit), path),
            Self::Standard => return Ok(()),
        };
        written.with_context(|| format!("cannot write {}", path.display()))
    }
}
