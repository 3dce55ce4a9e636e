//! Records of delimited text, as RFC 4180 has them: fields may be quoted, and then hold delimiters, line ends and,
//! doubled, quotes.
//!
//! Reading by lines, rather than by bytes, is what makes every message name the right line: blank ones, `\r\n` and line
//! ends inside quotes all count. It is also what finds a quote that never closes.

use std::borrow::Cow;
use std::io::{BufRead, Read};
use std::path::PathBuf;

use super::limits::TableLimits;
use super::windows_1252;
use crate::error::{Error, Result};

/// A record longer than this is not one: most likely a quote is open.
pub(super) const LONGEST_RECORD: usize = 64 << 20;

/// Reads one record after the other.
pub(super) struct Records<R> {
    input: R,
    path: PathBuf,
    delimiter: char,
    limits: TableLimits,
    /// Lines read so far.
    line: u64,
    buffer: Vec<u8>,
    fields: Fields,
    /// The first line that is not UTF-8.
    recoded: Option<u64>,
}

/// The fields of one record, one after the other in `text`.
#[derive(Default)]
struct Fields {
    text: String,
    ends: Vec<usize>,
    /// Inside a quoted field.
    open: bool,
}

/// What a line does to the record that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// The record ends with it.
    Completes,
    /// The record goes on: a quote is open.
    Continues,
    /// The record has more fields than a table may have columns.
    ManyColumns,
    /// A field is longer than one may be.
    LongCell,
}

impl<R: BufRead> Records<R> {
    /// Records of `input`, which came from `path`.
    pub(super) fn new(input: R, path: PathBuf, delimiter: char, limits: TableLimits) -> Self {
        Self { input, path, delimiter, limits, line: 0, buffer: Vec::new(), fields: Fields::default(), recoded: None }
    }

    /// The same records, of which so many lines come before the first.
    pub(super) fn behind(self, lines: u64) -> Self {
        Self { line: lines, ..self }
    }

    /// Goes to the next record and returns the line at which it begins, from 1. Blank lines are skipped.
    pub(super) fn next(&mut self) -> Result<Option<u64>> {
        self.fields.text.clear();
        self.fields.ends.clear();
        self.fields.open = false;
        let mut begin = self.line + 1;
        loop {
            self.buffer.clear();
            let limit = LONGEST_RECORD - self.fields.text.len().min(LONGEST_RECORD);
            let mut limited = self.input.by_ref().take(limit as u64 + 1);
            let length =
                limited.read_until(b'\n', &mut self.buffer).map_err(|cause| Error::from_io(&self.path, cause))?;
            if length == 0 && self.fields.open {
                return Err(Error::OpenQuote { path: self.path.clone(), line: begin });
            }
            if length == 0 {
                return Ok(None);
            }
            if length > limit {
                return Err(Error::LongRecord { path: self.path.clone(), line: begin, limit: LONGEST_RECORD });
            }
            self.line += 1;
            let line = match std::str::from_utf8(&self.buffer) {
                Ok(line) => Cow::Borrowed(line),
                Err(_) => {
                    self.recoded.get_or_insert(self.line);
                    let decoded = windows_1252::decode(&self.buffer);
                    Cow::Owned(decoded.ok_or_else(|| Error::Encoding { path: self.path.clone(), line: self.line })?)
                }
            };
            let line = &*line;
            let line = if self.line == 1 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
            if !self.fields.open {
                if line.trim_matches(|c| is_blank(c, self.delimiter) || c == '\r' || c == '\n').is_empty() {
                    continue;
                }
                begin = self.line;
            }
            match self.fields.add_line(line, self.delimiter, self.limits) {
                Line::Completes => return Ok(Some(begin)),
                Line::Continues => {}
                Line::ManyColumns => {
                    return Err(Error::ManyColumns { path: self.path.clone(), limit: self.limits.columns });
                }
                Line::LongCell => {
                    return Err(Error::LongCell { path: self.path.clone(), line: begin, limit: self.limits.cell });
                }
            }
        }
    }

    /// The first line that is not UTF-8, and was read as Windows-1252.
    pub(super) fn recoded(&self) -> Option<u64> {
        self.recoded
    }

    /// How many fields the record has.
    pub(super) fn len(&self) -> usize {
        self.fields.ends.len()
    }

    /// The fields of the record.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        let begins = std::iter::once(0).chain(self.fields.ends.iter().copied());
        begins.zip(&self.fields.ends).map(|(begin, &end)| &self.fields.text[begin..end])
    }

    /// One of them.
    pub(super) fn field(&self, index: usize) -> &str {
        let begin = if index == 0 { 0 } else { self.fields.ends[index - 1] };
        &self.fields.text[begin..self.fields.ends[index]]
    }
}

/// Whether a quote is open behind a line with its end, before which one was `open` or not. Costs next to nothing where there is no quote.
pub(super) fn is_open_behind(line: &[u8], delimiter: char, open: bool) -> bool {
    if !line.contains(&b'"') {
        return open;
    }
    let limits = TableLimits { columns: usize::MAX, cell: usize::MAX, expansion: None };
    let mut fields = Fields { open, ..Fields::default() };
    // What is no UTF-8 is neither a quote nor a delimiter in Windows-1252.
    fields.add_line(&String::from_utf8_lossy(line), delimiter, limits) == Line::Continues
}

impl Fields {
    /// Adds a line with its end to the record, as far as the limits let it, and says what that does.
    fn add_line(&mut self, line: &str, delimiter: char, limits: TableLimits) -> Line {
        let mut rest = line;
        if !self.open {
            rest = self.begin_field(rest, delimiter);
        }
        loop {
            if self.open {
                let Some(quote) = rest.find('"') else {
                    self.text.push_str(rest);
                    return if self.is_long(limits) { Line::LongCell } else { Line::Continues };
                };
                self.text.push_str(&rest[..quote]);
                rest = &rest[quote + 1..];
                match rest.strip_prefix('"') {
                    Some(after) => {
                        self.text.push('"');
                        rest = after;
                    }
                    None => self.open = false,
                }
            } else {
                let Some(end) = rest.find(delimiter) else {
                    let rest = rest.strip_suffix('\n').unwrap_or(rest);
                    self.text.push_str(rest.strip_suffix('\r').unwrap_or(rest));
                    let long = self.is_long(limits);
                    self.ends.push(self.text.len());
                    return match (long, self.ends.len() > limits.columns) {
                        (true, _) => Line::LongCell,
                        (false, true) => Line::ManyColumns,
                        (false, false) => Line::Completes,
                    };
                };
                self.text.push_str(&rest[..end]);
                if self.is_long(limits) {
                    return Line::LongCell;
                }
                self.ends.push(self.text.len());
                if self.ends.len() > limits.columns {
                    return Line::ManyColumns;
                }
                rest = self.begin_field(&rest[end + delimiter.len_utf8()..], delimiter);
            }
        }
    }

    /// Whether the field that is not ended yet is longer than one may be.
    fn is_long(&self, limits: TableLimits) -> bool {
        self.text.len() - self.ends.last().copied().unwrap_or(0) > limits.cell
    }

    /// Opens a quoted field if there is one; blanks before the quote are not part of it.
    fn begin_field<'a>(&mut self, rest: &'a str, delimiter: char) -> &'a str {
        let quoted = rest.trim_start_matches(|c| is_blank(c, delimiter)).strip_prefix('"');
        self.open = quoted.is_some();
        quoted.unwrap_or(rest)
    }
}

/// Blanks say nothing, unless they are the delimiter.
fn is_blank(c: char, delimiter: char) -> bool {
    (c == ' ' || c == '\t') && c != delimiter
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &[u8], delimiter: char) -> Result<Vec<(u64, Vec<String>)>> {
        let mut records = Records::new(text, "t.csv".into(), delimiter, TableLimits::default());
        let mut all = Vec::new();
        while let Some(line) = records.next()? {
            assert_eq!(records.len(), records.fields().count());
            assert!(records.fields().enumerate().all(|(index, field)| field == records.field(index)));
            all.push((line, records.fields().map(String::from).collect()));
        }
        Ok(all)
    }

    fn owned(records: &[(u64, &[&str])]) -> Vec<(u64, Vec<String>)> {
        records.iter().map(|(line, fields)| (*line, fields.iter().map(|field| field.to_string()).collect())).collect()
    }

    #[test]
    fn quotes_blank_lines_and_line_ends_are_understood() {
        let text = "\u{feff}a,b\r\n\r\n  \n1, \"x, \"\"y\"\"\r\nz\" \n5\" pipe,\n,\"\"";
        let expected =
            owned(&[(1, &["a", "b"]), (4, &["1", "x, \"y\"\r\nz "]), (6, &["5\" pipe", ""]), (7, &["", ""])]);
        assert_eq!(read(text.as_bytes(), ',').unwrap(), expected);
    }

    #[test]
    fn a_line_of_tabs_is_a_record_only_if_tabs_delimit() {
        assert_eq!(read(b"a\tb\n\t\n", '\t').unwrap().len(), 2);
        assert_eq!(read(b"a,b\n\t\n", ',').unwrap().len(), 1);
    }

    #[test]
    fn faults_are_told_with_their_line() {
        let message = |text: &[u8]| read(text, ',').unwrap_err().to_string();
        assert!(message(b"a,b\n\n1,\"2\n3,4\n").starts_with("t.csv, line 3: a quote opens"));
        assert!(
            message(b"a,b\n1,\"x\n\xff\x81\"\n")
                .starts_with("t.csv, line 3: the text is neither UTF-8 nor Windows-1252")
        );
        let endless = [b"a,b\n1,".to_vec(), vec![b'x'; LONGEST_RECORD]].concat();
        assert!(message(&endless).starts_with("t.csv, line 2: the record is longer than 67108864 bytes"));
        let quoted = [b"a,b\n1,\"".to_vec(), b"xxxxxxxxxxxxxxx\n".repeat((1 << 16) + 1)].concat();
        assert!(message(&quoted).starts_with("t.csv, line 2: a cell is longer than 1048576 bytes"));
    }

    #[test]
    fn columns_and_cells_have_limits() {
        let limits = TableLimits { columns: 3, cell: 4, expansion: None };
        let last = |text: &str| {
            let mut records = Records::new(text.as_bytes(), "t.csv".into(), ',', limits);
            loop {
                match records.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => return String::new(),
                    Err(error) => return error.to_string(),
                }
            }
        };
        assert_eq!(last("a,b,c\n1,2,3\n"), "");
        for many in ["a,b,c,d\n", "a,b,c,\n", ",,,,,,", "a,b,c\n1,2,3\n\"1\",2,3,4"] {
            assert!(last(many).contains("more than 3 columns") && last(many).contains("--max-columns"), "{many}");
        }
        assert_eq!(
            last("abcd,\"ab\ncd\"\n"),
            "t.csv, line 1: a cell is longer than 4 bytes; look for a quote that never closes, \
                    or allow more with --max-cell"
        );
        for long in ["a\nabcde,1\n", "a\n1,abcde", "a\n1,\"abcde\",2\n", "a\n1,\"ab\ncdef\n"] {
            assert!(last(long).starts_with("t.csv, line 2: a cell is longer than 4 bytes"), "{long}: {}", last(long));
        }
    }

    #[test]
    fn text_that_is_not_utf_8_is_windows_1252() {
        let mut records =
            Records::new(&b"city,y\nK\xf6ln,1\nBrno,2\n\x80 5,3\n"[..], "t.csv".into(), ',', TableLimits::default());
        let mut cities = Vec::new();
        while records.next().unwrap().is_some() {
            cities.push(records.field(0).to_string());
        }
        assert_eq!((cities, records.recoded()), (["city", "Köln", "Brno", "€ 5"].map(String::from).into(), Some(2)));
    }

    proptest! {
        /// Another reader is the judge. Blanks are left out: this one lets a quote follow them, the other does not.
        #[test]
        fn records_agree_with_another_reader(text in "[ab,\"\n]{0,60}") {
            let mut other = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let expected: Vec<Vec<String>> =
                other.records().map(|record| record.unwrap().iter().map(String::from).collect()).collect();
            // The other reader closes an open quote at the end of the file, without a word.
            let closed = match read(text.as_bytes(), ',') {
                Err(Error::OpenQuote { .. }) => text + "\"",
                _ => text,
            };
            let records: Vec<_> = read(closed.as_bytes(), ',').unwrap().into_iter().map(|(_, fields)| fields).collect();
            prop_assert_eq!(records, expected);
        }
    }
}
