//! Destinations of a table's rows: a file of text, one of Parquet, or standard output.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use deepgp_io::atomic::AtomicFile;
use deepgp_io::table::{CellKind, ParquetWriter};

use super::delimited::Delimiter;
use super::output::{Reader, print_table};
use super::spreadsheet;

/// How cells are written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellText {
    /// As they are.
    Plain,
    /// So that a spreadsheet runs none of them.
    Safe,
}

impl CellText {
    /// A line of these cells.
    fn line<'a>(self, delimiter: Delimiter, cells: impl Iterator<Item = &'a str>) -> String {
        match self {
            Self::Plain => delimiter.line(cells),
            Self::Safe => {
                let safe: Vec<Cow<'_, str>> = cells.map(spreadsheet::safe).collect();
                delimiter.line(safe.iter().map(|cell| &**cell))
            }
        }
    }
}

/// Whether a table at this path would be Parquet.
pub fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case("parquet"))
}

/// Where the rows of a table go, and how their cells are written.
#[derive(Debug)]
pub struct Sink {
    place: Place,
    cells: CellText,
}

/// Where the rows of a table go.
#[derive(Debug)]
enum Place {
    /// A file of delimited text, which appears under this path when it is whole.
    Text(AtomicFile, PathBuf),
    /// A Parquet file, which appears under this path when it is whole.
    Parquet(Box<ParquetWriter<AtomicFile>>, PathBuf),
    /// Standard output.
    Standard,
}

impl Sink {
    /// Opens a table with these columns: the file, of a format that its name tells, or standard output where there is no path.
    pub fn open(path: Option<&Path>, columns: &[(String, CellKind)], cells: CellText) -> Result<Self> {
        let at = |place| Self { place, cells };
        let Some(path) = path else { return at(Place::Standard).with_header(None, columns) };
        let writing = || format!("cannot write {}", path.display());
        let file = AtomicFile::create(path).with_context(writing)?;
        if is_parquet(path) {
            let table = ParquetWriter::new(file, columns).with_context(writing)?;
            return Ok(at(Place::Parquet(Box::new(table), path.into())));
        }
        at(Place::Text(file, path.into())).with_header(Some(path), columns)
    }

    /// The same with the names of the columns as its first line.
    fn with_header(mut self, path: Option<&Path>, columns: &[(String, CellKind)]) -> Result<Self> {
        let line = self.cells.line(Delimiter::of(path), columns.iter().map(|(name, _)| name.as_str()));
        self.write_text(&line)?;
        Ok(self)
    }

    /// Writes rows, and tells whether anybody still reads.
    pub fn write(&mut self, rows: &[Vec<String>]) -> Result<Reader> {
        let delimiter = match &mut self.place {
            Place::Parquet(table, path) => {
                let written = rows.iter().try_for_each(|row| table.write_row(row));
                written.with_context(|| format!("cannot write {}", path.display()))?;
                return Ok(Reader::There);
            }
            Place::Text(_, path) => Delimiter::of(Some(path)),
            Place::Standard => Delimiter::of(None),
        };
        let cells = self.cells;
        let lines: String = rows.iter().map(|row| cells.line(delimiter, row.iter().map(String::as_str))).collect();
        self.write_text(&lines)
    }

    /// Writes lines of text.
    fn write_text(&mut self, text: &str) -> Result<Reader> {
        match &mut self.place {
            Place::Text(file, path) => {
                file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
                Ok(Reader::There)
            }
            Place::Parquet(..) => Ok(Reader::There),
            Place::Standard => print_table(text),
        }
    }

    /// Puts the file, now whole, in its place.
    pub fn finish(self) -> Result<()> {
        let (written, path) = match self.place {
            Place::Text(file, path) => (file.commit(), path),
            Place::Parquet(table, path) => (table.finish().and_then(AtomicFile::commit), path),
            Place::Standard => return Ok(()),
        };
        written.with_context(|| format!("cannot write {}", path.display()))
    }
}
