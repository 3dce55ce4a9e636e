//! Delimited text as a table, plain or compressed with gzip.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use super::content::Content;
use super::csv::Records;
use super::cut::Lines;
use super::dialect::Dialect;
use super::limits::{Allowance, Bounded};
use super::together::first;
use super::{Cell, Note, Rows, names};
use crate::error::{Error, Result};

/// The text of a file, unpacked if it is compressed.
pub(super) fn open(content: &Content, gzip: bool) -> Result<Box<dyn BufRead + Send>> {
    let bytes = content.reader()?;
    // A compressed file may be several, one after the other.
    if !gzip {
        return Ok(Box::new(bytes));
    }
    let text = Bounded::new(MultiGzDecoder::new(bytes), Allowance::new(content.limits(), content.length()));
    Ok(Box::new(BufReader::with_capacity(1 << 16, text)))
}

/// Some lines of a text that is not compressed.
fn open_lines(content: &Content, lines: &Lines) -> Result<Box<dyn BufRead + Send>> {
    let mut bytes = content.reader()?;
    bytes.seek(SeekFrom::Start(lines.from)).map_err(|cause| Error::from_io(content.path(), cause))?;
    Ok(Box::new(bytes.take(lines.to - lines.from)))
}

/// Where something was first seen in a text: the line, and what stands there.
type Seen = Option<(u64, String)>;

/// What reading a text found beside its records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Text {
    /// The first line that is not UTF-8, and was read as Windows-1252.
    recoded: Option<u64>,
    /// The first number with a point, and the first with a comma, in a column that is used: they cannot both be decimal marks.
    point: Seen,
    comma: Seen,
}

impl Text {
    /// Fails if there are two decimal marks.
    fn check(&self, path: &Path) -> Result<()> {
        let (Some((line, point)), Some((other, comma))) = (&self.point, &self.comma) else { return Ok(()) };
        Err(Error::DecimalMarks {
            path: path.into(),
            point: format!("\"{point}\" in line {line}"),
            comma: format!("\"{comma}\" in line {other}"),
        })
    }
}

/// What reading the texts of a table found beside their records, by the number of the file, from 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Texts(BTreeMap<u64, Text>);

impl Texts {
    /// The same of a table that is a file of another one.
    pub(super) fn of_file(self, file: u64) -> Self {
        Self(self.0.into_values().map(|text| (file, text)).collect())
    }

    /// What the records that come next add.
    pub(super) fn then(&mut self, next: Self) {
        for (file, Text { recoded, point, comma }) in next.0 {
            let own = self.0.entry(file).or_default();
            first(&mut own.recoded, recoded);
            first(&mut own.point, point);
            first(&mut own.comma, comma);
        }
    }

    /// What a person should know of it.
    pub(super) fn notes(&self) -> Vec<Note> {
        self.0.values().filter_map(|text| text.recoded).map(|line| Note::NotUtf8 { line }).collect()
    }

    /// Fails if a file has two decimal marks; `path` gives its name.
    pub(super) fn check<'a>(&self, path: impl Fn(u64) -> &'a Path) -> Result<()> {
        self.0.iter().try_for_each(|(file, text)| text.check(path(*file)))
    }
}

/// Rows of delimited text.
pub(super) struct TextRows {
    records: Records<Box<dyn BufRead + Send>>,
    path: PathBuf,
    /// Of each column, whether anybody looks at it.
    used: Vec<bool>,
    decimal_comma: bool,
    found: Text,
    /// Whether all lines are read; else the others decide, too, on the decimal mark.
    whole: bool,
}

impl TextRows {
    /// The rows of all lines, or of some; a header is skipped. Every column is read, but only what is in the used ones must make sense.
    pub(super) fn new(content: &Content, dialect: Dialect, used: Vec<bool>, lines: Option<&Lines>) -> Result<Self> {
        let path = content.path();
        let (text, before) = match lines {
            None => (open(content, dialect.gzip)?, 0),
            Some(lines) => (open_lines(content, lines)?, lines.before),
        };
        let mut records = Records::new(text, path.into(), dialect.delimiter, content.limits()).behind(before);
        if dialect.header && before == 0 {
            records.next()?;
        }
        let (decimal_comma, path, whole) = (dialect.decimal_comma(), path.into(), lines.is_none());
        Ok(Self { records, path, used, decimal_comma, found: Text::default(), whole })
    }
}

impl Rows for TextRows {
    fn next(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>> {
        cells.clear();
        let Some(line) = self.records.next()? else { return Ok(None) };
        if self.records.len() != self.used.len() {
            let (expected, found) = (self.used.len(), self.records.len());
            return Err(Error::Fields { path: self.path.clone(), line, expected, found });
        }
        for (field, used) in self.records.fields().zip(&self.used) {
            let cell = Cell::parse(field, self.decimal_comma);
            if self.decimal_comma && *used && matches!(cell, Cell::Number(_)) {
                let seen = [('.', &mut self.found.point), (',', &mut self.found.comma)];
                for (_, first) in seen.into_iter().filter(|(mark, _)| field.contains(*mark)) {
                    first.get_or_insert_with(|| (line, names::shorten(field.trim())));
                }
            }
            cells.push(cell);
        }
        if self.whole {
            self.found.check(&self.path)?;
        }
        Ok(Some(line))
    }

    fn written(&self, column: usize) -> Cow<'_, str> {
        self.records.field(column).trim().into()
    }

    fn texts(&self) -> Texts {
        let found = Text { recoded: self.records.recoded(), ..self.found.clone() };
        Texts(BTreeMap::from([(0, found)]))
    }
}
