//! A table's file: its format, its columns, and its rows as often as they are asked for.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::detect::{self, Format};
use super::dialect::{self, Dialect, Sample};
use super::{Note, Place, Rows, names, npy, npz, parquet, text};
use crate::error::{Error, Result};

/// A file that holds a table.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    layout: Layout,
    names: Vec<String>,
    notes: Vec<Note>,
}

#[derive(Clone, Debug)]
enum Layout {
    Text(Dialect),
    Parquet,
    Npy,
    Npz,
}

impl Source {
    /// Finds out the format of the file from its bytes, and the names of its columns.
    ///
    /// - Delimited text, plain or compressed with gzip: the delimiter is one of `,` `;` tab `|`; fields may be quoted; a
    ///   byte order mark and `\r\n` are fine, and blank lines are skipped; where `;` delimits, `3,14` is a number. If
    ///   the first record is no header, columns are called `c1`, `c2`, …. A column of ISO dates is seconds since 1970, UTC.
    /// - Parquet with columns that are not nested. Decimals are numbers; dates and timestamps are seconds since 1970, times
    ///   seconds since midnight. Bytes that are no text become hexadecimal text.
    /// - NumPy arrays (`.npy`) with one or two axes; columns are called `c1`, `c2`, ….
    /// - NumPy archives (`.npz`) whose arrays have as many rows each. A column is called by its array's name, followed by
    ///   its position, from 1, if the array has several.
    ///
    /// Fails if there are no rows, or two columns have one name.
    pub fn open(path: &Path) -> Result<Self> {
        let mut notes = Vec::new();
        let (layout, names) = match detect::format(path)? {
            format @ (Format::Text | Format::Gzip) => {
                let gzip = format == Format::Gzip;
                let sample = Sample::read(path, &mut text::open(path, gzip)?)?;
                if let Some(inside) = detect::binary(|magic| gzip && sample.starts_with(magic)) {
                    let what = format!("the file is {inside} compressed with gzip");
                    return Err(Error::Unsupported { path: path.into(), what, advice: "decompress it first".into() });
                }
                let (dialect, names, found) = dialect::detect(path, &sample, gzip)?;
                notes = found;
                (Layout::Text(dialect), names)
            }
            Format::Parquet => (Layout::Parquet, parquet::names(path)?),
            Format::Npy => (Layout::Npy, npy::names(path)?),
            Format::Zip => (Layout::Npz, npz::names(path)?),
        };
        names::distinct(path, &names)?;
        Ok(Self { path: path.into(), layout, names, notes })
    }

    /// The names of the columns, all different.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns that `asked` names: with commas between them, one name may be several, unless a column is called so.
    pub fn named(&self, asked: &[String]) -> Vec<String> {
        names::several(&self.names, asked)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What opening the file found worth knowing.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Whether the names are but positions: `c1`, `c2`, ….
    pub fn is_unnamed(&self) -> bool {
        matches!(self.layout, Layout::Text(Dialect { header: false, .. }) | Layout::Npy)
    }

    /// Whether it is delimited text.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.layout, Layout::Text(_))
    }

    /// The records from the first one on. Each call reads the file anew.
    pub fn rows(&self) -> Result<Box<dyn Rows>> {
        self.rows_using(vec![true; self.names.len()])
    }

    /// The same for somebody who looks at some columns only: what the others hold must not stop them.
    pub(super) fn rows_using(&self, used: Vec<bool>) -> Result<Box<dyn Rows>> {
        Ok(match self.layout {
            Layout::Text(dialect) => Box::new(text::TextRows::new(&self.path, dialect, used)?),
            Layout::Parquet => Box::new(parquet::ParquetRows::new(&self.path, &self.names)?),
            Layout::Npy => npy::rows(&self.path, self.names.len())?,
            Layout::Npz => npz::rows(&self.path, &self.names)?,
        })
    }

    /// Where a record with this number is.
    pub fn place(&self, number: u64) -> Place {
        match self.layout {
            Layout::Text(_) => Place::Line(number),
            _ => Place::Row(number),
        }
    }

    /// The SHA-256 digest of the file's bytes in hexadecimal, read a piece at a time.
    pub fn sha256(&self) -> Result<String> {
        let mut file = File::open(&self.path).map_err(|cause| Error::from_io(&self.path, cause))?;
        let mut digest = Sha256::new();
        let mut piece = vec![0; 1 << 16];
        loop {
            let length = file.read(&mut piece).map_err(|cause| Error::from_io(&self.path, cause))?;
            if length == 0 {
                return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
            }
            digest.update(&piece[..length]);
        }
    }
}
