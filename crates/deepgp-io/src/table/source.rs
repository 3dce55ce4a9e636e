//! A table's file: its format, its columns, and its rows as often as they are asked for.

use std::io::BufRead;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::content::{Content, LARGEST_KEPT};
use super::detect::{self, Format};
use super::dialect::{self, Dialect, Sample};
use super::{Note, Place, Rows, names, npy, npz, parquet, text};
use crate::error::{Error, Result};

/// A file that holds a table.
#[derive(Clone, Debug)]
pub struct Source {
    content: Content,
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
    /// The bytes of a file of up to 256 MiB are read now, and kept: whatever happens to the file then, all that is asked of
    /// the source is about these bytes. A larger one is read anew whenever its rows or its digest are asked for.
    ///
    /// Fails if there are no rows, or two columns have one name.
    pub fn open(path: &Path) -> Result<Self> {
        Self::of(Content::open(path, LARGEST_KEPT)?)
    }

    /// The same for somebody who goes through the rows but once, or asks for the names alone: no bytes are kept, whatever
    /// the size of the file, which is read anew whenever its rows or its digest are asked for.
    pub fn open_streamed(path: &Path) -> Result<Self> {
        Self::of(Content::open(path, 0)?)
    }

    /// The table that these bytes are.
    fn of(content: Content) -> Result<Self> {
        let (path, mut notes) = (content.path(), Vec::new());
        let (layout, names) = match detect::format(&content)? {
            format @ (Format::Text | Format::Gzip) => {
                let gzip = format == Format::Gzip;
                let sample = Sample::read(path, &mut text::open(&content, gzip)?)?;
                if let Some(inside) = detect::binary(|magic| gzip && sample.starts_with(magic)) {
                    let what = format!("the file is {inside} compressed with gzip");
                    return Err(Error::Unsupported { path: path.into(), what, advice: "decompress it first".into() });
                }
                let (dialect, names, found) = dialect::detect(path, &sample, gzip)?;
                notes = found;
                (Layout::Text(dialect), names)
            }
            Format::Parquet => (Layout::Parquet, parquet::names(&content)?),
            Format::Npy => (Layout::Npy, npy::names(&content)?),
            Format::Zip => (Layout::Npz, npz::names(&content)?),
        };
        names::distinct(path, &names)?;
        Ok(Self { content, layout, names, notes })
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
        self.content.path()
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

    /// The records from the first one on.
    pub fn rows(&self) -> Result<Box<dyn Rows>> {
        self.rows_using(vec![true; self.names.len()])
    }

    /// The same for somebody who looks at some columns only: what the others hold must not stop them.
    pub(super) fn rows_using(&self, used: Vec<bool>) -> Result<Box<dyn Rows>> {
        Ok(match self.layout {
            Layout::Text(dialect) => Box::new(text::TextRows::new(&self.content, dialect, used)?),
            Layout::Parquet => Box::new(parquet::ParquetRows::new(&self.content, &self.names)?),
            Layout::Npy => npy::rows(&self.content, self.names.len())?,
            Layout::Npz => npz::rows(&self.content, &self.names)?,
        })
    }

    /// Where a record with this number is.
    pub fn place(&self, number: u64) -> Place {
        match self.layout {
            Layout::Text(_) => Place::Line(number),
            _ => Place::Row(number),
        }
    }

    /// The SHA-256 digest of the file's bytes in hexadecimal.
    pub fn sha256(&self) -> Result<String> {
        let (mut bytes, mut digest) = (self.content.reader()?, Sha256::new());
        loop {
            let piece = bytes.fill_buf().map_err(|cause| Error::from_io(self.path(), cause))?;
            let length = piece.len();
            if length == 0 {
                return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
            }
            digest.update(piece);
            bytes.consume(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Schema, Wanted};

    #[test]
    fn a_file_beyond_the_limit_is_read_anew_by_each_pass() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let wanted = Wanted { targets: vec!["y".into()], ..Wanted::default() };
        let levels_and_digest = |source: &Source| {
            let (schema, _) = Schema::scan(source, &wanted).unwrap();
            (schema.feature_names(), source.sha256().unwrap())
        };
        for (limit, kept) in [(20, true), (19, false)] {
            std::fs::write(&path, "x,y\nred,1\nred,2\n").unwrap();
            let before = levels_and_digest(&Source::open(&path).unwrap());
            std::fs::write(&path, "x,y\nred,1\nblue,2\n\n\n\n").unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().len(), 20);
            let source = Source::of(Content::open(&path, limit).unwrap()).unwrap();
            let opened = levels_and_digest(&source);
            assert_eq!(opened.0, ["x=blue", "x=red"]);
            std::fs::write(&path, "x,y\nred,1\nred,2\n").unwrap();
            assert_eq!(levels_and_digest(&source), if kept { opened } else { before });
        }
    }
}
