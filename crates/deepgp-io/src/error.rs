//! Every way in which a file can fail to be read, and what to do about it.
//!
//! Each message begins with the file, and then says where in it: `line` in text, `row` in binary formats, both from 1.

use std::path::{Path, PathBuf};

use crate::memory::TooLarge;
use crate::table::{Expanded, Place};

/// What a cell of a column of dates must be.
pub(crate) const DATE: &str = "a date, YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, with an offset such as +01:00 or without";

/// The most problems of a file that a message shows.
const MOST_SHOWN: usize = 50;

/// What this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Something a user can cause. Each message says what is wrong, with the numbers, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Processes that read a table together did not come to an end together.
    #[error(transparent)]
    Processes(#[from] deepgp::Error),

    /// The operating system would not give the file.
    #[error("{}: the file cannot be read: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: std::io::Error,
    },

    /// The file was cut short.
    #[error("{}: the file ends too early ({what}); copy or download it again", path.display())]
    EndsEarly {
        /// The file.
        path: PathBuf,
        /// What is not there.
        what: String,
    },

    /// The bytes contradict the format.
    #[error("{}: the file is damaged ({what}); copy or download it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What contradicts it.
        what: String,
    },

    /// The file is not the same as before.
    #[error("{}: the file changed while it was read ({what}); leave it alone until the run is over", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What changed.
        what: String,
    },

    /// The file is sound, but holds something that is not read here.
    #[error("{}: {what}; {advice}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it holds.
        what: String,
        /// What to do.
        advice: String,
    },

    /// Text in an encoding that is not known.
    #[error("{}, line {line}: the text is neither UTF-8 nor Windows-1252; save the table as UTF-8", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
    },

    /// A quote without its pair.
    #[error(
        "{}, line {line}: a quote opens in this record and never closes; close it, or write two quotes for one that is \
         part of the text",
        path.display()
    )]
    OpenQuote {
        /// The file.
        path: PathBuf,
        /// Line at which the record begins, from 1.
        line: u64,
    },

    /// Numbers with points and numbers with commas.
    #[error(
        "{}: numbers have both points and commas ({point}, {comma}), so one of them separates thousands: write numbers with \
         one decimal mark and nothing else",
        path.display()
    )]
    DecimalMarks {
        /// The file.
        path: PathBuf,
        /// The first number with a point, and its place.
        point: String,
        /// The first number with a comma, and its place.
        comma: String,
    },

    /// A record that cannot be one.
    #[error(
        "{}, line {line}: the record is longer than {limit} bytes; look for a quote that never closes, or whether this \
         is a table at all",
        path.display()
    )]
    LongRecord {
        /// The file.
        path: PathBuf,
        /// Line at which the record begins, from 1.
        line: u64,
        /// The longest that is read.
        limit: usize,
    },

    /// More columns than a table may have.
    #[error(
        "{}: the table has more than {limit} columns; look whether it is one at all, and allow more with --max-columns",
        path.display()
    )]
    ManyColumns {
        /// The file.
        path: PathBuf,
        /// The most columns.
        limit: usize,
    },

    /// A cell that is longer than one may be.
    #[error(
        "{}, line {line}: a cell is longer than {limit} bytes; look for a quote that never closes, or allow more with --max-cell",
        path.display()
    )]
    LongCell {
        /// The file.
        path: PathBuf,
        /// Line at which the record begins, from 1.
        line: u64,
        /// The most bytes.
        limit: usize,
    },

    /// A compressed file that holds far more than its size.
    #[error(
        "{}: the file of {file} holds a table of more than {most}, so it may not be what it seems; if it is, unpack it, or allow more \
         with --max-expansion {times}",
        path.display()
    )]
    Expands {
        /// The file.
        path: PathBuf,
        /// Its size, in words.
        file: String,
        /// The most that it may hold, in words.
        most: String,
        /// A multiple of its size that would be more.
        times: u64,
    },

    /// Rows that become more numbers than a file of that size may.
    #[error(
        "{}: its rows of {inputs} inputs become more than {limit} numbers, far more than its size ({file}) lets expect; leave \
         columns of many categories out with --ignore, or allow more with --max-expansion {times}",
        path.display()
    )]
    ManyNumbers {
        /// The file.
        path: PathBuf,
        /// The inputs of a row.
        inputs: usize,
        /// The most numbers.
        limit: u64,
        /// The size of the file, in words.
        file: String,
        /// A multiple of its size that would be more.
        times: u64,
    },

    /// Columns with more different values than are kept.
    #[error(
        "{}: its columns have more different values than are kept of a file of its size ({file}), {limit} of them; leave columns of \
         many different texts out with --ignore, or allow more with --max-expansion {times}",
        path.display()
    )]
    ManyValues {
        /// The file.
        path: PathBuf,
        /// The most bytes that are kept, in words.
        limit: String,
        /// The size of the file, in words.
        file: String,
        /// A multiple of its size that would be more.
        times: u64,
    },

    /// There is not the memory for it.
    #[error("{}: {cause}", path.display())]
    NoMemory {
        /// The file.
        path: PathBuf,
        /// What there is, and what it takes.
        cause: TooLarge,
    },

    /// A record that is longer or shorter than the first.
    #[error(
        "{}, line {line}: expected {expected} fields, as in the first record, found {found}; mend the line, or quote \
         fields that hold the delimiter",
        path.display()
    )]
    Fields {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Fields of the first record.
        expected: usize,
        /// Fields of this one.
        found: usize,
    },

    /// There is nothing in the file.
    #[error("{}: the file is empty; a table needs rows", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },

    /// There are columns, but no rows.
    #[error("{}: the table has columns but no rows; check the program that wrote it", path.display())]
    NoRows {
        /// The file.
        path: PathBuf,
    },

    /// Several problems, each an error of its own.
    #[error("{}: {}", path.display(), several(path, errors))]
    Several {
        /// The file.
        path: PathBuf,
        /// The problems, at least two.
        errors: Vec<Error>,
    },

    /// No input is left, as all would be left out.
    #[error(
        "{}: no input is left: {columns} only tell rows apart or are empty; keep one that says more with --keep-column COLUMN",
        path.display()
    )]
    AllLeftOut {
        /// The file.
        path: PathBuf,
        /// The columns.
        columns: String,
    },

    /// A column that is asked for is not there.
    #[error("{}: there is no column `{name}`, which is {role}; {known}", path.display())]
    UnknownColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// What it is asked for.
        role: &'static str,
        /// Those there are, and the likely one.
        known: String,
    },

    /// A row of a program's, which has names of its own, lacks one that the model uses.
    #[error(
        "{}, {place}: there is no `{column}`; {known}; give each row all columns that the model uses, and null where one is not known",
        path.display()
    )]
    LacksColumn {
        /// What the rows are called.
        path: PathBuf,
        /// The row.
        place: Place,
        /// The name.
        column: String,
        /// Those there are, and the likely one.
        known: String,
    },

    /// A value of a program's that no cell can have.
    #[error("{}, {place}, column `{column}`: the cell is {what}; give a number, a text, true, false or null", path.display())]
    NoCell {
        /// What the rows are called.
        path: PathBuf,
        /// The row.
        place: Place,
        /// The column.
        column: String,
        /// What the value is.
        what: &'static str,
    },

    /// A table without names has another number of columns than at fitting.
    #[error(
        "{}: the columns have no names, so they go by position, and must be the {expected} that the model was fitted \
         on{without_targets}; found {found}",
        path.display()
    )]
    Positions {
        /// The file.
        path: PathBuf,
        /// Columns at fitting.
        expected: usize,
        /// How many would do, too.
        without_targets: String,
        /// Columns of this table.
        found: usize,
    },

    /// A column is asked for in two ways.
    #[error("{}: column `{name}` is {first} and {second}; keep one of the two", path.display())]
    Roles {
        /// The file.
        path: PathBuf,
        /// The column.
        name: String,
        /// One way.
        first: &'static str,
        /// The other.
        second: &'static str,
    },

    /// There is nothing to learn.
    #[error("{}: no target column is named; name one of {known}", path.display())]
    NoTargets {
        /// The file.
        path: PathBuf,
        /// The columns there are.
        known: String,
    },

    /// There is nothing to learn from.
    #[error("{}: {}", path.display(), no_inputs(*columns))]
    NoInputs {
        /// The file.
        path: PathBuf,
        /// How many there are.
        columns: usize,
    },

    /// Text among numbers.
    #[error(
        "{}, {place}, column `{column}`: \"{value}\" is not a number, but {numbers} of the column's {cells} cells are; \
         mend it, or name the column with --categorical",
        path.display()
    )]
    Mixed {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// The text.
        value: String,
        /// Cells that are numbers.
        numbers: u64,
        /// Cells that are not missing.
        cells: u64,
    },

    /// Something else among dates.
    #[error(
        "{}, {place}, column `{column}`: \"{value}\" is not {DATE}, but {dates} of the column's {cells} cells are; mend \
         it, or name the column with --categorical",
        path.display()
    )]
    MixedDates {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// The cell.
        value: String,
        /// Cells that are dates.
        dates: u64,
        /// Cells that are not missing.
        cells: u64,
    },

    /// A cell has a value that its column cannot take.
    #[error("{}, {place}, column `{column}`: \"{value}\" is not {expected}; {advice}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// The cell.
        value: String,
        /// What it should be.
        expected: &'static str,
        /// What to do.
        advice: &'static str,
    },

    /// A target has too many different values to be classes.
    #[error(
        "{}: the target `{column}` has {classes}; {advice}",
        path.display()
    )]
    ManyClasses {
        /// The file.
        path: PathBuf,
        /// The target.
        column: String,
        /// How many different values there are, in how many rows, one of them, and how many may be classes.
        classes: String,
        /// What to do.
        advice: String,
    },

    /// A target of classes or counts has one value.
    #[error(
        "{}: the target `{column}` is \"{value}\" in all {rows} rows, so there is nothing to learn; {advice}",
        path.display()
    )]
    OneValue {
        /// The file.
        path: PathBuf,
        /// The target.
        column: String,
        /// Its value.
        value: String,
        /// Cells that are not missing.
        rows: u64,
        /// What to do.
        advice: String,
    },

    /// A target of classes or counts is one of several targets.
    #[error(
        "{}: the target `{column}` is one of classes or counts, which are predicted one target at a time; name no other --target",
        path.display()
    )]
    SeveralTargets {
        /// The file.
        path: PathBuf,
        /// The target.
        column: String,
    },

    /// A table has a class that the model was not fitted to.
    #[error(
        "{}, {place}, column `{column}`: \"{value}\" is no class that the model knows, which are {known}; leave such rows out, or fit \
         the model to a table that has them",
        path.display()
    )]
    UnknownClass {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// The target.
        column: String,
        /// The label.
        value: String,
        /// Those that the model knows.
        known: String,
    },

    /// A column with nothing in it.
    #[error("{}: column `{column}` has no value in any of {rows} rows; {advice}", path.display())]
    AllMissing {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Rows that were looked at.
        rows: u64,
        /// What to do.
        advice: String,
    },

    /// Cells of a column that says something about rows are not what they should be.
    #[error(
        "{}, column `{column}`: {count} {} not {expected}: {named}; {advice}",
        path.display(),
        if *count == 1 { "cell is" } else { "cells are" }
    )]
    Cells {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// How many there are.
        count: u64,
        /// What they should be.
        expected: &'static str,
        /// Some of them, each with its place.
        named: String,
        /// What to do.
        advice: &'static str,
    },

    /// No row counts.
    #[error("{}: column `{column}` is 0 in every row, so no row would count; name another --weights", path.display())]
    AllWeightsZero {
        /// The file.
        path: PathBuf,
        /// The column of weights.
        column: String,
    },

    /// Inputs are the same in every row, and are refused, or there are no others.
    #[error("{}", constant_inputs(*count, cells, *all))]
    ConstantInputs {
        /// How many there are.
        count: usize,
        /// Their names, and what each is in every row.
        cells: String,
        /// Whether no other inputs are left.
        all: bool,
    },

    /// Missing cells, where none are allowed.
    #[error("{}, {place}, column `{column}`: the cell is missing{others}; {advice}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// How many more there are, if that is known.
        others: String,
        /// What to do.
        advice: &'static str,
    },

    /// No row is complete.
    #[error(
        "{}: each of the {rows} rows would be left out for a missing cell; leave columns out with --ignore, or fill \
         cells in with --missing mean",
        path.display()
    )]
    NothingKept {
        /// The file.
        path: PathBuf,
        /// How many there are.
        rows: u64,
    },
}

impl Error {
    /// What an error while reading bytes says about the file.
    pub(crate) fn from_io(path: &Path, cause: std::io::Error) -> Self {
        use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        if let Some(expanded) = cause.get_ref().and_then(|inner| inner.downcast_ref::<Expanded>()) {
            return expanded.of(path);
        }
        match cause.kind() {
            UnexpectedEof => Self::EndsEarly { path: path.into(), what: "there is more to come".into() },
            // Decoders say so; the operating system does not, of a file that it has opened.
            InvalidData | InvalidInput => Self::damaged(path, cause),
            _ => Self::Read { path: path.into(), cause },
        }
    }

    /// The column that a cell of which is wrong, if it is one of those errors.
    pub(crate) fn column(&self) -> Option<&String> {
        match self {
            Self::Value { column, .. } => Some(column),
            _ => None,
        }
    }

    /// Fails with all of these errors of a file, if there are any.
    pub(crate) fn together(path: &Path, mut errors: Vec<Self>) -> Result<()> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Several { path: path.into(), errors }),
        }
    }

    /// The bytes contradict the format.
    pub(crate) fn damaged(path: &Path, what: impl ToString) -> Self {
        Self::Damaged { path: path.into(), what: what.to_string() }
    }
}

/// The problems, one below the other.
fn several(path: &Path, errors: &[Error]) -> String {
    // The file is named once.
    let begin = path.display().to_string();
    let line = |error: &Error| {
        let text = error.to_string();
        let rest = text.strip_prefix(&begin).map_or(&text[..], |rest| rest.trim_start_matches([':', ',', ' ']));
        format!("\n  - {rest}")
    };
    let more = match errors.len().saturating_sub(MOST_SHOWN) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    format!("{} problems:{}{more}", errors.len(), errors.iter().take(MOST_SHOWN).map(line).collect::<String>())
}

/// That so many inputs never vary, and what helps.
fn constant_inputs(count: usize, cells: &str, all: bool) -> String {
    let (noun, them) = if count == 1 { ("an input column is", "it") } else { ("input columns are", "them") };
    let advice = if all {
        "no input is left: give a table in which one varies, or take a column that was left out with --keep-column"
            .to_owned()
    } else {
        format!("leave {them} out with --ignore COLUMN or --constant drop, or keep {them} with --constant keep")
    };
    format!("{noun} the same in every row ({cells}), so nothing can be learnt from {them}: {advice}")
}

/// That all of so many columns are used up.
fn no_inputs(columns: usize) -> String {
    match columns {
        1 => "its only column is the target, so there is no input; give a table with more columns".into(),
        _ => format!("all {columns} columns are targets or ignored, so no input is left; ignore fewer"),
    }
}
