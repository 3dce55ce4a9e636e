//! How large a table may be, compared with its file: what a few bytes may claim takes neither minutes nor gigabytes.
//!
//! | | limit | raised by |
//! |---|---|---|
//! | columns | 50,000 | `--max-columns` |
//! | a cell of text | 1 MiB | `--max-cell` |
//! | a compressed file's table as text | 16 MiB; of files of 1 MiB or more 100 times the file | `--max-expansion` |
//! | numbers that it becomes, and different values that are kept | in proportion to the file, as below | `--max-expansion` |
//!
//! A table of a binary format is as large as its text would be, at two bytes or more a cell. Columns in memory have no limits: they are there.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::dialect::Header;
use crate::error::{Error, Result};
use crate::words::bytes;

/// The bytes of text that any file may hold, however small it is.
const LEAST_TEXT: u64 = 16 << 20;
/// A file of so many bytes or more is no small one: it may hold more text, in proportion.
const SMALL_FILE: u64 = 1 << 20;
/// The text of a file that is no small one, as a multiple of it.
const EXPANSION: u64 = 100;
/// The numbers that the rows of any file may become, and how many there may be for each byte of it.
const LEAST_NUMBERS: u64 = 14 << 20;
const NUMBERS_A_BYTE: u64 = 32;
/// The bytes of different values that are kept of any file, and how many there may be for each byte of it.
const LEAST_VALUES: u64 = 80 << 20;
const VALUES_A_BYTE: u64 = 16;
/// The least bytes of a cell as text, with its delimiter.
pub(super) const LEAST_CELL: u64 = 2;

/// The limits of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableLimits {
    /// The most columns.
    pub columns: usize,
    /// The most bytes of one cell of text.
    pub cell: usize,
    /// How many times as large as its file a table may be; `None` for what the size of the file allows.
    pub expansion: Option<u64>,
}

impl Default for TableLimits {
    fn default() -> Self {
        Self { columns: 50_000, cell: 1 << 20, expansion: None }
    }
}

impl TableLimits {
    /// The most bytes that the text of a compressed file of so many bytes may have.
    pub(super) fn text(&self, file: u64) -> u64 {
        match self.expansion {
            Some(times) => LEAST_TEXT.max(file.saturating_mul(times)),
            None if file < SMALL_FILE => LEAST_TEXT,
            None => file.saturating_mul(EXPANSION),
        }
    }

    /// The most numbers that the rows of a file of so many bytes may become.
    pub(super) fn numbers(&self, file: u64) -> u64 {
        LEAST_NUMBERS.max(file.saturating_mul(self.expansion.unwrap_or(0).max(NUMBERS_A_BYTE)))
    }

    /// The most bytes of different values that may be kept of a file of so many bytes.
    pub(super) fn values(&self, file: u64) -> u64 {
        LEAST_VALUES.max(file.saturating_mul(self.expansion.unwrap_or(0).max(VALUES_A_BYTE)))
    }

    /// Fails if there are more columns than there may be.
    pub(super) fn check_columns(&self, path: &Path, columns: usize) -> Result<()> {
        if columns <= self.columns {
            return Ok(());
        }
        Err(Error::ManyColumns { path: path.into(), limit: self.columns })
    }
}

/// How a file is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether the first record of a text names the columns.
    pub header: Header,
    /// How large the table may be.
    pub limits: TableLimits,
}

impl From<Header> for ReadOptions {
    fn from(header: Header) -> Self {
        Self { header, ..Self::default() }
    }
}

/// What is left of the text that a file may hold.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    file: u64,
    most: u64,
    left: u64,
}

impl Allowance {
    /// All that a file of so many bytes may hold.
    pub(super) fn new(limits: TableLimits, file: u64) -> Self {
        let most = limits.text(file);
        Self { file, most, left: most }
    }

    /// Takes bytes of text from what is left; fails if that is less.
    pub(super) fn take(&mut self, count: u64) -> std::result::Result<(), Expanded> {
        match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Expanded { file: self.file, most: self.most }),
        }
    }
}

/// The table of a file is larger than it may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expanded {
    file: u64,
    most: u64,
}

impl Expanded {
    /// The error of the file at `path`.
    pub(crate) fn of(self, path: &Path) -> Error {
        let times = (self.most / self.file.max(1) + 1).saturating_mul(10);
        Error::Expands { path: path.into(), file: bytes(self.file), most: bytes(self.most), times }
    }
}

impl fmt::Display for Expanded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hold more than {}", bytes(self.file), bytes(self.most))
    }
}

impl std::error::Error for Expanded {}

/// A decoder that gives no more than it may.
pub(super) struct Bounded<R> {
    input: R,
    allowance: Allowance,
}

impl<R> Bounded<R> {
    pub(super) fn new(input: R, allowance: Allowance) -> Self {
        Self { input, allowance }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.allowance.take(read as u64).map_err(io::Error::other)?;
        Ok(read)
    }
}

/// All bytes of a reader that may not end, as long as there is memory for them.
pub(super) fn read_all(name: &Path, reader: &mut dyn Read) -> Result<Vec<u8>> {
    /// The first bytes are not asked for: so many are always there, and asking takes longer than reading them.
    const FIRST: u64 = 1 << 20;
    const AT_ONCE: u64 = 16 << 20;
    let (mut all, mut at_once) = (Vec::new(), FIRST);
    loop {
        let read = Read::take(&mut *reader, at_once).read_to_end(&mut all);
        if (read.map_err(|cause| Error::from_io(name, cause))? as u64) < at_once {
            return Ok(all);
        }
        at_once = AT_ONCE;
        // The bytes, which may be copied once more as their memory grows, and the numbers that they become.
        let needed = 2 * (all.len() as u64 + at_once);
        crate::memory::check("reading it", needed, "save the table to a file, which need not fit in memory")
            .map_err(|cause| Error::NoMemory { path: name.into(), cause })?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_hold_little_and_large_ones_in_proportion_unless_somebody_says_so() {
        let limits = TableLimits::default();
        assert_eq!([0, 1 << 10, 1 << 19].map(|file| limits.text(file)), [16 << 20; 3]);
        assert_eq!(limits.text(10 << 20), 1000 << 20);
        let raised = TableLimits { expansion: Some(200), ..limits };
        assert_eq!([1 << 10, 1 << 20].map(|file| raised.text(file)), [16 << 20, 200 << 20]);
        assert!(
            raised.numbers(10 << 20) > limits.numbers(10 << 20) && raised.values(10 << 20) > limits.values(1 << 20)
        );
        assert!(raised.text(u64::MAX) == u64::MAX && raised.numbers(u64::MAX) == u64::MAX);
    }

    #[test]
    fn a_decoder_ends_where_it_has_given_all_that_it_may() {
        let mut text = Vec::new();
        let limits = TableLimits::default();
        let bounded = |input: io::Take<io::Repeat>| Bounded::new(input, Allowance::new(limits, 100));
        bounded(io::repeat(b',').take(LEAST_TEXT)).read_to_end(&mut text).unwrap();
        let error = bounded(io::repeat(b',').take(LEAST_TEXT + 1)).read_to_end(&mut text).unwrap_err();
        let message = Error::from_io(Path::new("t.csv.gz"), error).to_string();
        assert!(message.starts_with("t.csv.gz: the file of 100 bytes holds a table of more than 16 MiB"), "{message}");
    }
}
