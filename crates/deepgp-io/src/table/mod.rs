//! Tables: from a file to rows of numbers, in two passes over its bytes.
//!
//! ```text
//! file -> Content -> Source -> Rows -> Schema::scan       first pass: what each column is
//! columns in memory -/   \---> Rows -> Encoder -> Chunk   second pass: rows of numbers
//! ```
//!
//! [`Source::open`] finds out the format from the bytes, never from the name of the file: delimited text, plain or
//! compressed with gzip, Parquet, NumPy's `.npy` and `.npz`; [`Source::of_columns`] has columns in memory, [`Source::of_json_rows`] what a program sends. [`Rows`] gives one record at a time. [`Schema::scan`]
//! decides what each column is, and an [`Encoder`] turns records into matrices, a chunk at a time. The schema travels in
//! the model file, so that a later table is encoded in the same way, whatever the order of its columns.
//!
//! The bytes of a file of up to 256 MiB are read from disk once, when it is opened, and all passes work on them; so the
//! digest in a model file is that of the bytes that it was trained on. A larger file is read anew by each pass, and so is
//! one that is opened for a single pass ([`Source::open_streamed`]). No pass holds the rows of the table, so such a file may
//! be larger than memory; the exceptions are arrays in Fortran order and `.npz` archives, which are read whole.

mod cell;
mod codes;
mod column;
mod constant_inputs;
mod content;
mod csv;
mod cut;
mod cycles;
mod date;
mod detect;
mod dialect;
mod digest;
mod encode;
mod exact_mean;
mod first_different;
mod half;
mod json_rows;
mod level_means;
mod limits;
mod memory;
pub(crate) mod names;
mod npy;
mod npy_header;
mod npz;
mod parquet;
mod parquet_delta;
mod parquet_pages;
mod parquet_type;
mod parquet_writer;
mod random_split;
mod row_facts;
mod scan;
mod schema;
mod several;
mod source;
mod tally;
mod target;
mod text;
mod together;
mod windows_1252;
mod writing;
mod written_number;

pub(crate) use cell::mostly_digits;
pub use cell::{Cell, MISSING_MARKERS};
pub(crate) use column::PLAIN;
pub use constant_inputs::ConstantInputs;
pub use cycles::Cycle;
pub use dialect::Header;
pub use encode::{Chunk, Encoder};
pub use level_means::{LevelMeans, Settled};
pub(crate) use limits::Expanded;
pub use limits::{ReadOptions, TableLimits};
pub use memory::ColumnCells;
pub use names::by_position;
pub use parquet::panic_is_expected;
pub use parquet_writer::{CellKind, ParquetWriter};
pub use random_split::random_split_notes;
pub use row_facts::{RowColumns, RowFacts};
pub use schema::{InputColumn, Kind, Missing, Schema, Targets, Wanted};
pub use source::Source;
pub use target::{TargetKind, Task};
pub use text::Texts;
pub use writing::{DateOrder, Writing};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::error::Result;
pub use crate::note::Note;

/// The records of a table, one after the other.
pub trait Rows: Send {
    /// Puts the cells of the next record into `cells`, one for each column, and returns its number: the line in text, the
    /// row in binary formats, both from 1. `None` is the end. After an error there is nothing more to read.
    fn next(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>>;

    /// What stands in a column of the record that `next` has just given: text to the letter, blanks around a field aside,
    /// integers to the last digit, dates of binary formats as ISO dates; empty where there is nothing.
    fn written(&self, column: usize) -> Cow<'_, str>;

    /// What reading texts found so far, beside their records.
    fn texts(&self) -> Texts {
        Texts::default()
    }
}

/// Where a record is, as people count: from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// In text.
    Line(u64),
    /// In binary formats.
    Row(u64),
    /// In one of several files of text.
    LineOf {
        /// The file, from 1.
        file: u32,
        /// The line in it.
        line: u64,
    },
    /// In one of several files of binary formats.
    RowOf {
        /// The file, from 1.
        file: u32,
        /// The row in it.
        row: u64,
    },
}

impl Place {
    /// Whether it is one in a binary format.
    pub fn is_row(self) -> bool {
        matches!(self, Self::Row(_) | Self::RowOf { .. })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Row(number) => write!(f, "row {number}"),
            Self::LineOf { file, line } => write!(f, "line {line} of file {file}"),
            Self::RowOf { file, row } => write!(f, "row {row} of file {file}"),
        }
    }
}
