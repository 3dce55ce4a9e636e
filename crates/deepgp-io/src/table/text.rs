//! Delimited text as a table, plain or compressed with gzip.

use std::borrow::Cow;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use flate2::bufread::MultiGzDecoder;

use super::content::Content;
use super::csv::Records;
use super::dialect::Dialect;
use super::limits::{Allowance, Bounded};
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

/// Rows of delimited text.
pub(super) struct TextRows {
    records: Records<Box<dyn BufRead + Send>>,
    path: PathBuf,
    /// Of each column, whether anybody looks at it.
    used: Vec<bool>,
    decimal_comma: bool,
    /// Where a number with a point, and one with a comma, was first seen in a column that is used: they cannot both be decimal marks.
    point: Option<(u64, String)>,
    comma: Option<(u64, String)>,
}

impl TextRows {
    /// From the first row on; a header is skipped. Every column is read, but only what is in the used ones must make sense.
    pub(super) fn new(content: &Content, dialect: Dialect, used: Vec<bool>) -> Result<Self> {
        let path = content.path();
        let mut records = Records::new(open(content, dialect.gzip)?, path.into(), dialect.delimiter, content.limits());
        if dialect.header {
            records.next()?;
        }
        let (decimal_comma, path) = (dialect.decimal_comma(), path.into());
        Ok(Self { records, path, used, decimal_comma, point: None, comma: None })
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
                let seen = [('.', &mut self.point), (',', &mut self.comma)];
                for (_, first) in seen.into_iter().filter(|(mark, _)| field.contains(*mark)) {
                    first.get_or_insert_with(|| (line, names::shorten(field.trim())));
                }
            }
            cells.push(cell);
        }
        match (&self.point, &self.comma) {
            (Some((line, point)), Some((other, comma))) => Err(Error::DecimalMarks {
                path: self.path.clone(),
                point: format!("\"{point}\" in line {line}"),
                comma: format!("\"{comma}\" in line {other}"),
            }),
            _ => Ok(Some(line)),
        }
    }

    fn written(&self, column: usize) -> Cow<'_, str> {
        self.records.field(column).trim().into()
    }

    fn notes(&self) -> Vec<Note> {
        self.records.recoded().map(|line| Note::NotUtf8 { line }).into_iter().collect()
    }
}
