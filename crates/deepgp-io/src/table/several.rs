//! One table in several files: the rows of one behind those of the other, in the order in which the files are named.
//!
//! All have the same columns, in any order. Each file is read as it is written: its format, delimiter and header are its own.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::PathBuf;

use super::text::Texts;
use super::{Cell, Place, Rows, Source, names};
use crate::error::{Error, Result};

/// The bits of a record's number that are its number in its file; those above are the file's.
const NUMBER_BITS: u32 = 40;

/// A file of a table.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The file.
    source: Source,
    /// Where in the file each column of the table is.
    columns: Vec<usize>,
}

impl Part {
    /// The file.
    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// The file, to be read in another way.
    pub(super) fn source_mut(&mut self) -> &mut Source {
        &mut self.source
    }
}

/// The parts of a table with the columns of the first file. Fails if another file has others, and names both.
pub(super) fn parts(sources: Vec<Source>) -> Result<Vec<Part>> {
    let (expected, is_text, decimal_comma) = match sources.first() {
        Some(first) => (first.names().to_vec(), first.is_text(), first.decimal_comma()),
        None => return Ok(Vec::new()),
    };
    let first = sources[0].path().display().to_string();
    let differs = |source: &Source, what: String| Error::Unsupported {
        path: source.path().into(),
        what,
        advice: format!("all files of a table have the columns of the first, {first}"),
    };
    let part = |source: Source| {
        let found = source.names();
        let missing: Vec<String> = expected.iter().filter(|name| !found.contains(name)).cloned().collect();
        let more: Vec<String> = found.iter().filter(|name| !expected.contains(name)).cloned().collect();
        if !missing.is_empty() {
            return Err(differs(&source, format!("it has no column {}", names::list(missing.iter()))));
        }
        if !more.is_empty() {
            return Err(differs(&source, format!("it has a further column {}", names::list(more.iter()))));
        }
        if source.is_text() != is_text {
            return Err(differs(&source, "it is of another kind: some are text, and some are not".into()));
        }
        if source.decimal_comma() != decimal_comma {
            return Err(differs(&source, "it has another decimal mark".into()));
        }
        let at = |name: &String| found.iter().position(|own| own == name).expect("it has all columns of the first");
        let columns = expected.iter().map(at).collect();
        Ok(Part { source, columns })
    };
    sources.into_iter().map(part).collect()
}

/// What messages call the files together.
pub(super) fn name_of(sources: &[Source]) -> PathBuf {
    match sources {
        [] => PathBuf::new(),
        [only] => only.path().into(),
        [first, rest @ ..] => format!("{} and {} more", first.path().display(), rest.len()).into(),
    }
}

/// Where a record with this number is.
pub(super) fn place(parts: &[Part], number: u64) -> Place {
    let file = (number >> NUMBER_BITS) as usize;
    match parts[file].source.place(number & ((1 << NUMBER_BITS) - 1)) {
        Place::Line(line) | Place::LineOf { line, .. } => Place::LineOf { file: file as u32 + 1, line },
        Place::Row(row) | Place::RowOf { row, .. } => Place::RowOf { file: file as u32 + 1, row },
    }
}

/// Fails if one of the files has changed since it was opened.
pub(super) fn check_unchanged(parts: &[Part]) -> Result<()> {
    parts.iter().try_for_each(|part| part.source.check_unchanged())
}

/// The bytes of all files.
pub(super) fn length(parts: &[Part]) -> u64 {
    parts.iter().filter_map(|part| part.source.limits()).map(|(_, bytes)| bytes).sum()
}

/// The records of all files.
pub(super) struct SeveralRows {
    /// The file that is read, from 0; `None` before the first.
    file: Option<u64>,
    current: Option<Box<dyn Rows>>,
    /// Where in the file that is read each column of the table is.
    columns: Vec<usize>,
    left: VecDeque<Part>,
    /// Which columns of the table are looked at.
    used: Vec<bool>,
    cells: Vec<Cell>,
    texts: Texts,
}

impl SeveralRows {
    /// From the first record of the first file on.
    pub(super) fn new(parts: &[Part], used: Vec<bool>) -> Self {
        let left = parts.iter().cloned().collect();
        Self { file: None, current: None, columns: Vec::new(), left, used, cells: Vec::new(), texts: Texts::default() }
    }

    /// Begins with the next file, if there is one.
    fn begin_next(&mut self) -> Result<bool> {
        self.texts = self.texts();
        self.current = None;
        let Some(Part { source, columns }) = self.left.pop_front() else { return Ok(false) };
        let mut used = vec![false; source.names().len()];
        columns.iter().zip(&self.used).for_each(|(at, own)| used[*at] = *own);
        self.current = Some(source.rows_using(used)?);
        self.columns = columns;
        self.file = Some(self.file.map_or(0, |file| file + 1));
        Ok(true)
    }
}

impl Rows for SeveralRows {
    fn next(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>> {
        cells.clear();
        loop {
            if let Some(rows) = &mut self.current
                && let Some(number) = rows.next(&mut self.cells)?
            {
                cells.extend(self.columns.iter().map(|at| std::mem::replace(&mut self.cells[*at], Cell::Missing)));
                return Ok(Some(self.file.unwrap_or(0) << NUMBER_BITS | number));
            }
            if !self.begin_next()? {
                return Ok(None);
            }
        }
    }

    fn written(&self, column: usize) -> Cow<'_, str> {
        self.current.as_ref().map_or("".into(), |rows| rows.written(self.columns[column]))
    }

    fn texts(&self) -> Texts {
        let mut texts = self.texts.clone();
        if let (Some(rows), Some(file)) = (&self.current, self.file) {
            texts.then(rows.texts().of_file(file));
        }
        texts
    }
}
