//! How a text writes its table: the delimiter, and whether the first record is a header.
//!
//! Both are found out from the beginning of the file.
//!
//! The delimiter is the one of `,` `;` tab `|` for which most records have as many fields as the first, where those are
//! two or more; among equals the one that makes more cells numbers, and then the one that makes more fields. If none
//! makes two fields, there is one column.
//!
//! The first record is a header if one of its cells is text while the first cell below it, missing ones aside, is a
//! number or a date, or if all its cells are text. A date over a date is no header.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cell::is_marker;
use super::csv::Records;
use super::limits::TableLimits;
use super::{Cell, Note, date, names};
use crate::error::{Error, Result};

/// Delimiters that are looked for.
const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];
pub(super) const DELIMITERS_IN_WORDS: &str = "a comma, a semicolon, a tab or `|`";

/// Records that are looked at, and fields after which no more records are: wide tables need few.
const RECORDS: usize = 100;
const FIELDS: usize = 1 << 19;

/// Columns without a name that are told of one by one.
const TOLD_EACH: usize = 10;

/// Bytes and lines of text that are enough to judge by; both must be there, unless the file ends or is not a table.
const SAMPLE_BYTES: usize = 1 << 18;
const SAMPLE_LINES: usize = 20;
const LARGEST_SAMPLE: usize = 1 << 26;

/// Whether the first record of a text names the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Header {
    /// It does if it looks like it.
    #[default]
    Auto,
    /// It does.
    First,
    /// It does not: columns are called by their positions.
    None,
}

/// How a text writes its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Between fields.
    pub(super) delimiter: char,
    /// The first record holds the names of the columns.
    pub(super) header: bool,
    /// The text is compressed.
    pub(super) gzip: bool,
}

impl Dialect {
    /// Where `;` delimits, a comma may be a decimal one: `3,14`.
    pub(super) fn decimal_comma(self) -> bool {
        decimal_comma(self.delimiter)
    }
}

fn decimal_comma(delimiter: char) -> bool {
    delimiter == ';'
}

/// The beginning of a text, and whether that is all of it.
pub(super) struct Sample {
    bytes: Vec<u8>,
    whole: bool,
    /// How large the table may be.
    limits: TableLimits,
}

impl Sample {
    /// Reads enough to judge by.
    pub(super) fn read(path: &Path, input: &mut impl Read, limits: TableLimits) -> Result<Self> {
        let (mut bytes, mut lines) = (Vec::new(), 0);
        while (bytes.len() < SAMPLE_BYTES || lines < SAMPLE_LINES) && bytes.len() < LARGEST_SAMPLE {
            let begin = bytes.len();
            let read =
                input.by_ref().take(1 << 16).read_to_end(&mut bytes).map_err(|cause| Error::from_io(path, cause))?;
            if read == 0 {
                return Ok(Self { bytes, whole: true, limits });
            }
            lines += bytes[begin..].iter().filter(|byte| **byte == b'\n').count();
        }
        Ok(Self { bytes, whole: false, limits })
    }

    /// Whether it begins with these bytes.
    pub(super) fn starts_with(&self, bytes: &[u8]) -> bool {
        self.bytes.starts_with(bytes)
    }

    /// The records, as far as they can be read with this delimiter, and what stopped them.
    fn records(&self, path: &Path, delimiter: char) -> (Vec<Vec<String>>, Option<Error>) {
        let mut reader = Records::new(&self.bytes[..], path.into(), delimiter, self.limits);
        let (mut records, mut fields) = (Vec::new(), 0);
        let fault = loop {
            match reader.next() {
                Ok(Some(_)) => {
                    fields += reader.len();
                    records.push(reader.fields().map(|field| field.trim().to_string()).collect());
                }
                Ok(None) => {
                    // The last one may be cut.
                    if !self.whole && records.len() > 1 {
                        records.pop();
                    }
                    break None;
                }
                Err(fault) => break Some(fault),
            }
            if records.len() == RECORDS || (records.len() > 1 && fields > FIELDS) {
                break None;
            }
        };
        (records, fault)
    }
}

/// The dialect, the names of the columns, and what is worth knowing about them.
pub(super) fn detect(
    path: &Path,
    sample: &Sample,
    gzip: bool,
    header: Header,
) -> Result<(Dialect, Vec<String>, Vec<Note>)> {
    if sample.bytes.contains(&b'\r') && !sample.bytes.contains(&b'\n') {
        let what = "the lines end with carriage returns alone".into();
        return Err(Error::Unsupported {
            path: path.into(),
            what,
            advice: "save the table with other line ends".into(),
        });
    }
    let judged = DELIMITERS.map(|delimiter| {
        let (records, _) = sample.records(path, delimiter);
        (merit(&records, delimiter), delimiter)
    });
    let best = judged.into_iter().filter_map(|(merit, delimiter)| Some((merit?, delimiter)));
    let delimiter = best.max_by(|(a, _), (b, _)| a.total_cmp(b)).map_or(',', |(_, delimiter)| delimiter);

    let (mut records, fault) = sample.records(path, delimiter);
    if records.is_empty() {
        return Err(fault.unwrap_or_else(|| Error::Empty { path: path.into() }));
    }
    let asked = header;
    let header = match asked {
        Header::Auto => has_header(&records, delimiter),
        Header::First => true,
        Header::None => false,
    };
    if header && records.len() == 1 && sample.whole && fault.is_none() {
        return Err(Error::NoRows { path: path.into() });
    }
    let columns = records[0].len();
    let mut notes = Vec::new();
    let names = if header { name(records.swap_remove(0), &mut notes) } else { names::by_position(columns) };
    if !header && asked == Header::Auto {
        notes.push(Note::NoHeader { columns });
    }
    Ok((Dialect { delimiter, header, gzip }, names, notes))
}

/// How well a delimiter explains the records; `None` if it does not occur in the first.
struct Merit {
    /// Share of records with as many fields as the first.
    even: f64,
    /// Share of cells that are numbers.
    numbers: f64,
    fields: usize,
}

impl Merit {
    fn total_cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_shares = self.even.total_cmp(&other.even).then(self.numbers.total_cmp(&other.numbers));
        by_shares.then(self.fields.cmp(&other.fields))
    }
}

fn merit(records: &[Vec<String>], delimiter: char) -> Option<Merit> {
    let fields = records.first().map(Vec::len).filter(|fields| *fields > 1)?;
    let share = |part: usize, all: usize| part as f64 / all as f64;
    let even = records.iter().filter(|record| record.len() == fields).count();
    let cells = records.iter().flatten();
    let numbers = cells.clone().filter(|cell| matches!(parse(cell, delimiter), Cell::Number(_))).count();
    Some(Merit { even: share(even, records.len()), numbers: share(numbers, cells.count()), fields })
}

/// What a field means; words that may stand for nothing say nothing here.
fn parse(field: &str, delimiter: char) -> Cell {
    match Cell::parse(field, decimal_comma(delimiter)) {
        Cell::Text(text) if is_marker(&text) => Cell::Missing,
        cell => cell,
    }
}

/// Whether the first record names the columns.
fn has_header(records: &[Vec<String>], delimiter: char) -> bool {
    let is_text = |field: &String| matches!(parse(field, delimiter), Cell::Text(_));
    let below = |column: usize| {
        let fields = records[1..].iter().filter_map(move |record| record.get(column));
        fields.map(|field| parse(field, delimiter)).find(|cell| *cell != Cell::Missing)
    };
    let columns = || 0..records[0].len();
    let over_date = |column: &usize| matches!(below(*column), Some(Cell::Text(text)) if date::seconds(&text).is_some());
    let is_date = |column: &usize| date::seconds(&records[0][*column]).is_some();
    let over_value = |column: usize| {
        let over_number = matches!(below(column), Some(Cell::Number(_)));
        is_text(&records[0][column]) && (over_number || (over_date(&column) && !is_date(&column)))
    };
    let all_text = records[0].iter().all(is_text) && !columns().any(|column| is_date(&column) && over_date(&column));
    columns().any(over_value) || all_text
}

/// Names of the header; a column without one is called by its position. Many of them are told of in one note.
fn name(mut names: Vec<String>, notes: &mut Vec<Note>) -> Vec<String> {
    let unnamed: Vec<usize> = (0..names.len()).filter(|column| names[*column].is_empty()).collect();
    for &column in &unnamed {
        names[column] = names::at_position(column + 1);
    }
    let note = |column: &usize| {
        let position = column + 1;
        Note::UnnamedColumn { position, column: names[*column].clone(), may_number_rows: position == 1 }
    };
    notes.extend(unnamed.iter().take(TOLD_EACH).map(note));
    let more: Vec<String> = unnamed.iter().skip(TOLD_EACH).map(|column| names[*column].clone()).collect();
    if !more.is_empty() {
        notes.push(Note::MoreUnnamedColumns { columns: more });
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(text: &str) -> Result<(char, bool, Vec<String>, Vec<String>)> {
        let sample = Sample { bytes: text.into(), whole: true, limits: TableLimits::default() };
        let (dialect, names, notes) = detect(Path::new("t.csv"), &sample, false, Header::Auto)?;
        Ok((dialect.delimiter, dialect.header, names, notes.iter().map(Note::to_string).collect()))
    }

    fn found(text: &str) -> (char, bool) {
        let (delimiter, header, ..) = dialect(text).unwrap();
        (delimiter, header)
    }

    #[test]
    fn delimiters_are_found() {
        assert_eq!(found("a,b\n1,2\n"), (',', true));
        assert_eq!(found("a;b\n1,5;2,5\n"), (';', true));
        assert_eq!(found("1,5;2,5\n3,5;4,5\n"), (';', false));
        assert_eq!(found("x,y,z\n1,a;b,3\n4,c;d,6\n"), (',', true));
        assert_eq!(found("a b\tc\n1,5\t2\n"), ('\t', true));
        assert_eq!(found("a|b\n\"x|,y\"|2\n\"z\"|3\n"), ('|', true));
        assert_eq!(found("a,b\n1,2,3\n"), (',', true));
        assert_eq!(found("text\nhello, world\nfine\n"), (',', true));
    }

    #[test]
    fn headers_are_found() {
        assert!(found("a,b\n,\n1,2\n").1, "cells that are missing say nothing");
        assert!(found("id,2019,2020\n7,1,2\n").1, "a text over a number");
        assert!(found("colour,size\nred,small\n").1, "text alone");
        assert!(!found("1,2\n3,4\n").1);
        assert!(!found("1,red\n2,blue\n").1);
        assert!(!found("NA,red\n3,blue\n").1);
        assert!(!found("true,1\nfalse,2\n").1);
        assert!(!found("5\n").1, "one column, one row");
        assert!(found("day,7\n2024-01-01,a\n").1, "a text over a date");
        assert!(found("2024-01-01,2024-01-02\n1,2\n").1, "a date over a number");
        assert!(!found("2024-01-01,red\n2024-01-02,blue\n").1, "a date over a date");
    }

    #[test]
    fn columns_without_names_are_called_by_position() {
        let (_, _, names, notes) = dialect(",a\n0,1\n").unwrap();
        assert_eq!(
            (names, notes),
            (
                vec!["c1".into(), "a".into()],
                vec!["column 1 has no name, so it is called `c1`; if it only numbers the rows, leave it out with --ignore c1".to_string()]
            )
        );
        let (_, _, names, notes) = dialect("1,2\n").unwrap();
        assert_eq!(names, ["c1", "c2"]);
        assert!(notes[0].contains("no header") && notes[0].contains("`c1` to `c2`"));
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        let message = |text| dialect(text).unwrap_err().to_string();
        assert_eq!(message(""), "t.csv: the file is empty; a table needs rows");
        assert_eq!(message("\n \n"), "t.csv: the file is empty; a table needs rows");
        assert!(message("a,b\n").contains("has columns but no rows"));
        assert!(message("a,b\r1,2\r").contains("carriage returns alone"));
    }

    #[test]
    fn a_record_that_the_sample_cuts_is_not_judged() {
        let limits = TableLimits::default();
        let cut = |text: &str| Sample { bytes: text.into(), whole: false, limits }.records(Path::new("t"), ',').0.len();
        assert_eq!((cut("a,b\n1,2\n3"), cut("a,b\n1,2\n"), cut("a,b")), (2, 1, 1));
    }
}
