//! Parquet: columns in row groups, read a batch of rows at a time.
//!
//! Columns are read through the column readers, not record by record: that way each physical type becomes a cell in one
//! place, and the few types that the record reader would give up on are texts.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use parquet::basic::Encoding;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::content::{Content, Reader};
use super::cut::Groups;
use super::limits::{Allowance, Expanded, LEAST_CELL};
use super::parquet_pages::{Budget, Pages};
use super::parquet_type::{Meaning, Value};
use super::{Cell, Rows, names};
use crate::error::{Error, Result};

/// Rows that are decoded at once, at most, and cells: of wide tables fewer rows.
const BATCH: usize = 1024;
const BATCH_CELLS: usize = 1 << 20;

fn fault(path: &Path, fault: ParquetError) -> Error {
    match fault {
        ParquetError::EOF(what) => Error::EndsEarly { path: path.into(), what },
        ParquetError::NYI(what) => Error::Unsupported {
            path: path.into(),
            what,
            advice: "save the table as CSV, or with other settings".into(),
        },
        ParquetError::External(cause) => match cause.downcast_ref::<Expanded>() {
            Some(expanded) => expanded.of(path),
            None => Error::damaged(path, cause),
        },
        other => Error::damaged(path, other),
    }
}

/// Runs `read`, and makes an error of a panic: the Parquet library panics over some damaged files, where a count or an
/// offset is negative, say. Nothing that `read` was changing may be used after that.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    EXPECTED.set(true);
    let done = catch_unwind(AssertUnwindSafe(read));
    EXPECTED.set(false);
    done.unwrap_or_else(|_| Err(Error::damaged(path, "its parts contradict each other")))
}

thread_local! {
    static EXPECTED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether a panic on this thread would become an [`Error`]: a program that prints panics need not print this one.
pub fn panic_is_expected() -> bool {
    EXPECTED.get()
}

fn open(content: &Content) -> Result<Box<dyn FileReader>> {
    let path = content.path();
    let io = |cause| Error::from_io(path, cause);
    let (mut input, mut end) = (content.reader()?, [0; 4]);
    // The smallest file there can be has twelve bytes; the last four are the same as the first.
    let whole = input.length().map_err(io)? >= 12 && {
        input.seek(SeekFrom::End(-4)).map_err(io)?;
        input.read_exact(&mut end).map_err(io)?;
        &end == b"PAR1"
    };
    if !whole {
        return Err(Error::EndsEarly { path: path.into(), what: "the footer of a Parquet file is not there".into() });
    }
    // Its readers go where they need to by themselves.
    let parse = || -> std::result::Result<Box<dyn FileReader>, ParquetError> {
        Ok(match input {
            Reader::Memory(bytes) => Box::new(SerializedFileReader::new(bytes.into_inner())?),
            Reader::Disk(file) => Box::new(SerializedFileReader::new(file.into_inner())?),
        })
    };
    guarded(path, || parse().map_err(|other| fault(path, other)))
}

/// Names of the columns. Fails if one is nested, or there are no rows.
pub(super) fn names(content: &Content) -> Result<Vec<String>> {
    let (path, reader) = (content.path(), open(content)?);
    let names = columns(path, &*reader)?;
    let rows: i64 =
        reader.metadata().row_groups().iter().map(|group| group.num_rows().max(0)).fold(0, i64::saturating_add);
    if rows == 0 {
        return Err(Error::NoRows { path: path.into() });
    }
    Ok(names)
}

/// The number of rows and bytes of each row group.
pub(super) fn row_groups(content: &Content) -> Result<Vec<(u64, u64)>> {
    let reader = open(content)?;
    let size = |number: i64| number.max(0) as u64;
    let groups = reader.metadata().row_groups().iter();
    Ok(groups.map(|group| (size(group.num_rows()), size(group.compressed_size()))).collect())
}

fn columns(path: &Path, reader: &dyn FileReader) -> Result<Vec<String>> {
    let schema = reader.metadata().file_metadata().schema_descr();
    let unsupported =
        |what: String, advice: &str| Err(Error::Unsupported { path: path.into(), what, advice: advice.into() });
    if schema.num_columns() == 0 {
        return unsupported("the Parquet file has no columns".into(), "check the program that wrote it");
    }
    let mut names = Vec::new();
    for column in schema.columns() {
        let parts = column.path().parts();
        if parts.len() > 1 || column.max_rep_level() > 0 || column.max_def_level() > 1 {
            let name = parts.first().map(|name| names::shorten(name)).unwrap_or_default();
            return unsupported(format!("column `{name}` is nested"), "save the table without it");
        }
        names.push(column.name().to_string());
    }
    Ok(names)
}

/// Rows of a file.
pub(super) struct ParquetRows {
    path: PathBuf,
    reader: Box<dyn FileReader>,
    /// Row groups that are not begun yet.
    groups: Range<usize>,
    /// Rows of this group that are not decoded yet.
    remaining: usize,
    columns: Vec<Column>,
    /// Rows that are decoded, and those of them that were given.
    decoded: usize,
    given: usize,
    row: u64,
    /// What the file may still hold.
    allowance: Allowance,
    /// What its pages may still hold.
    budget: Arc<Mutex<Budget>>,
}

struct Column {
    reader: ColumnReader,
    meaning: Meaning,
    nullable: bool,
    /// Whether a text may be a part of the one before and a few bytes more, so that a small page holds long texts.
    has_prefixes: bool,
    /// Those that are decoded; `None` where there is nothing.
    values: Vec<Option<Value>>,
}

impl ParquetRows {
    /// The rows of all row groups, or of some; the columns must have these names still.
    pub(super) fn new(content: &Content, expected: &[String], some: Option<&Groups>) -> Result<Self> {
        let (path, reader) = (content.path(), open(content)?);
        if columns(path, &*reader)? != expected {
            return Err(Error::Changed { path: path.into(), what: "its columns have other names".into() });
        }
        let (groups, row) = match some {
            Some(Groups { numbers, before }) => (numbers.clone(), *before),
            None => (0..reader.num_row_groups(), 0),
        };
        Ok(Self {
            path: path.into(),
            reader,
            groups,
            remaining: 0,
            columns: Vec::new(),
            decoded: 0,
            given: 0,
            row,
            allowance: Allowance::new(content.limits(), content.length()),
            budget: Budget::new(content)?,
        })
    }

    /// Decodes the next rows; false at the end of the file.
    fn decode(&mut self) -> Result<bool> {
        let fault = |other| fault(&self.path, other);
        while self.remaining == 0 {
            let Some(number) = self.groups.next() else { return Ok(false) };
            let group = self.reader.get_row_group(number).map_err(fault)?;
            let rows = group.metadata().num_rows();
            self.remaining =
                usize::try_from(rows).map_err(|_| Error::damaged(&self.path, format!("a row group of {rows} rows")))?;
            self.columns.clear();
            for (index, column) in group.metadata().schema_descr().columns().iter().enumerate() {
                let pages = group.get_column_page_reader(index).map_err(fault)?;
                let chunk = group.metadata().column(index);
                let has_prefixes = chunk.encodings().any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY);
                let pages = Pages::new(pages, chunk, has_prefixes, &self.budget);
                self.columns.push(Column {
                    reader: get_column_reader(column.clone(), Box::new(pages)),
                    meaning: Meaning::of(column),
                    nullable: column.max_def_level() > 0,
                    has_prefixes,
                    values: Vec::new(),
                });
            }
        }
        let rows = self.remaining.min(BATCH).min((BATCH_CELLS / self.columns.len().max(1)).max(1));
        let mut room = self.allowance.clone();
        for column in &mut self.columns {
            column.values = column.read(rows, &mut room).map_err(fault)?;
            let found = column.values.len();
            if found != rows {
                let what = format!("a row group ends {} rows too early", self.remaining - found.min(rows));
                return Err(Error::damaged(&self.path, what));
            }
        }
        (self.decoded, self.given) = (rows, 0);
        self.remaining -= rows;
        Ok(true)
    }
}

impl Rows for ParquetRows {
    fn next(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>> {
        cells.clear();
        if self.given == self.decoded {
            let path = self.path.clone();
            let decoded = guarded(&path, || self.decode());
            if !matches!(decoded, Ok(true)) {
                // Whatever was left half-way is not to be read again.
                (self.groups, self.remaining) = (0..0, 0);
                (self.decoded, self.given) = (0, 0);
                return decoded.map(|_| None);
            }
        }
        cells.extend(self.columns.iter().map(|column| match &column.values[self.given] {
            Some(value) => column.meaning.cell(value),
            None => Cell::Missing,
        }));
        let text = |cell: &Cell| match cell {
            Cell::Text(text) => text.len() as u64,
            Cell::Missing | Cell::Number(_) | Cell::Boolean(_) | Cell::Date(_) => 0,
        };
        let size = cells.iter().map(|cell| LEAST_CELL + text(cell)).sum();
        self.allowance.take(size).map_err(|expanded| expanded.of(&self.path))?;
        self.given += 1;
        self.row += 1;
        Ok(Some(self.row))
    }

    fn written(&self, column: usize) -> Cow<'_, str> {
        let Column { values, meaning, .. } = &self.columns[column];
        values[self.given - 1].as_ref().map_or("".into(), |value| meaning.text(value).into())
    }
}

impl Column {
    /// The next values, as many as `rows` if there are that many; texts that are put together take from `room`.
    fn read(&mut self, rows: usize, room: &mut Allowance) -> std::result::Result<Vec<Option<Value>>, ParquetError> {
        if !self.has_prefixes {
            return self.decode(rows);
        }
        let mut values = Vec::new();
        while values.len() < rows {
            let Some(value) = self.decode(1)?.pop() else { break };
            if let Some(Value::Bytes(text)) = &value {
                room.take(text.len() as u64).map_err(|expanded| ParquetError::External(Box::new(expanded)))?;
            }
            values.push(value);
        }
        Ok(values)
    }

    /// The next values at once.
    fn decode(&mut self, rows: usize) -> std::result::Result<Vec<Option<Value>>, ParquetError> {
        let nullable = self.nullable;
        match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => batch(reader, rows, nullable, Value::Boolean),
            ColumnReader::Int32ColumnReader(reader) => {
                batch(reader, rows, nullable, |value| Value::Integer(value.into(), (value as u32).into()))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                batch(reader, rows, nullable, |value| Value::Integer(value, value as u64))
            }
            ColumnReader::Int96ColumnReader(reader) => {
                batch(reader, rows, nullable, |value| Value::Integer(value.to_micros(), value.to_micros() as u64))
            }
            ColumnReader::FloatColumnReader(reader) => batch(reader, rows, nullable, Value::Single),
            ColumnReader::DoubleColumnReader(reader) => batch(reader, rows, nullable, Value::Double),
            ColumnReader::ByteArrayColumnReader(reader) => batch(reader, rows, nullable, Value::Bytes),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                batch(reader, rows, nullable, |value| Value::Bytes(value.into()))
            }
        }
    }
}

/// Values of a column; where it is nullable, a definition level of 0 says that there is none.
fn batch<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    nullable: bool,
    value: impl Fn(T::T) -> Value,
) -> std::result::Result<Vec<Option<Value>>, ParquetError> {
    let (mut levels, mut stored) = (Vec::new(), Vec::new());
    reader.read_records(rows, Some(&mut levels), None, &mut stored)?;
    let mut values = stored.into_iter().map(value);
    Ok(if nullable {
        levels.iter().map(|level| if *level > 0 { values.next() } else { None }).collect()
    } else {
        values.map(Some).collect()
    })
}
