//! The header of a NumPy array: `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }` after a few bytes that
//! give its version and length.

use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};

/// Headers longer than this are damaged: those of numbers take about a hundred bytes.
const LONGEST: u32 = 1 << 16;

/// Arrays with more columns than this are damaged, or no tables.
const MOST_COLUMNS: usize = 1 << 20;

/// What kind of numbers an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Boolean,
    Signed,
    Unsigned,
    Float,
}

/// What an array holds, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) item: Item,
    /// Bytes of one number.
    pub(super) size: usize,
    pub(super) big_endian: bool,
    /// Column after column, rather than row after row.
    pub(super) fortran: bool,
    pub(super) rows: usize,
    /// One or more.
    pub(super) columns: usize,
    /// Where the numbers begin.
    pub(super) begin: u64,
}

impl Header {
    /// Reads a header; `what` names the array in messages.
    pub(super) fn read(path: &Path, what: &str, input: &mut dyn Read) -> Result<Self> {
        let mut read = |length: usize| {
            let mut bytes = vec![0; length];
            input.read_exact(&mut bytes).map(|()| bytes).map_err(|cause| Error::from_io(path, cause))
        };
        let damaged = |fault: &str| Error::damaged(path, format!("{what}: {fault}"));
        let begin = read(8)?;
        if !begin.starts_with(b"\x93NUMPY") {
            return Err(damaged("it does not begin as a NumPy array does"));
        }
        let (digits, length) = match begin[6] {
            1 => (2, read(2)?),
            2 | 3 => (4, read(4)?),
            version => return Err(damaged(&format!("version {version} of the format is unknown"))),
        };
        let length = length.iter().rev().fold(0, |number: u32, byte| number << 8 | u32::from(*byte));
        if length > LONGEST {
            return Err(damaged(&format!("a header of {length} bytes")));
        }
        let text = read(length as usize)?;
        let text = std::str::from_utf8(&text).map_err(|_| damaged("the header is no text"))?;
        let header = Description::parse(text).ok_or_else(|| damaged("the header cannot be understood"))?;
        header.resolve(path, what, 8 + digits + u64::from(length))
    }

    /// Bytes of all numbers together.
    pub(super) fn length(&self) -> u64 {
        // `resolve` made sure that this fits.
        self.rows as u64 * self.columns as u64 * self.size as u64
    }
}

/// The three entries of the header.
#[derive(Debug, PartialEq)]
struct Description {
    descr: String,
    fortran: bool,
    shape: Vec<u64>,
}

impl Description {
    /// Reads a Python dictionary with these entries; `None` if it is none.
    fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| {
            let after = [format!("'{key}'"), format!("\"{key}\"")]
                .iter()
                .find_map(|quoted| text.find(quoted.as_str()).map(|at| &text[at + quoted.len()..]))?;
            Some(after.trim_start().strip_prefix(':')?.trim_start())
        };
        let descr = value("descr")?;
        let descr = match descr.chars().next()? {
            // A type with fields is a list; it is shown as it stands.
            quote @ ('\'' | '"') => descr[1..].split(quote).next()?,
            _ => descr.split_inclusive(']').next()?,
        };
        let fortran = value("fortran_order")?;
        let fortran = match (fortran.starts_with("True"), fortran.starts_with("False")) {
            (false, false) => return None,
            (fortran, _) => fortran,
        };
        let (shape, _) = value("shape")?.strip_prefix('(')?.split_once(')')?;
        let axes = shape.split(',').map(|axis| axis.trim().trim_end_matches('L')).filter(|axis| !axis.is_empty());
        let shape = axes.map(|axis| axis.parse().ok()).collect::<Option<_>>()?;
        Some(Self { descr: descr.into(), fortran, shape })
    }

    /// Checks that this is a table of numbers.
    fn resolve(self, path: &Path, what: &str, begin: u64) -> Result<Header> {
        let unsupported = |fault: String, advice: &str| Error::Unsupported {
            path: path.into(),
            what: format!("{what} {fault}"),
            advice: advice.into(),
        };
        let kind = self.descr.trim_start_matches(['<', '>', '|', '=']);
        let (item, size) = match kind {
            "b1" | "?" => (Item::Boolean, 1),
            "i1" | "i2" | "i4" | "i8" => (Item::Signed, kind[1..].parse().unwrap_or(8)),
            "u1" | "u2" | "u4" | "u8" => (Item::Unsigned, kind[1..].parse().unwrap_or(8)),
            "f2" | "f4" | "f8" => (Item::Float, kind[1..].parse().unwrap_or(8)),
            _ => {
                let fault = format!("has elements of type {}", super::names::shorten(&self.descr));
                return Err(unsupported(fault, "save it as numbers, with astype(float)"));
            }
        };
        let (rows, columns) = match self.shape[..] {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => {
                let fault = format!("has {} axes", self.shape.len());
                return Err(unsupported(fault, "a table has one or two: reshape it"));
            }
        };
        if columns == 0 || columns > MOST_COLUMNS as u64 {
            let advice = format!("a table has between 1 and {MOST_COLUMNS}");
            return Err(unsupported(format!("has {columns} columns"), &advice));
        }
        let bytes = columns.checked_mul(size as u64).and_then(|row| rows.checked_mul(row));
        // Half of what could be counted leaves room for sums.
        match (bytes.filter(|bytes| *bytes < isize::MAX as u64), usize::try_from(rows)) {
            (Some(_), Ok(rows)) => Ok(Header {
                item,
                size,
                big_endian: self.descr.starts_with('>'),
                fortran: self.fortran,
                rows,
                columns: columns as usize,
                begin,
            }),
            _ => Err(Error::damaged(path, format!("{what}: {rows} x {columns} numbers are too many to be true"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str) -> Result<Header> {
        let bytes = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
        Header::read(Path::new("t.npy"), "the array", &mut &bytes[..])
    }

    fn message(header: &str) -> String {
        read(header).unwrap_err().to_string()
    }

    #[test]
    fn headers_are_read() {
        let header = read("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   \n").unwrap();
        let expected = Header {
            item: Item::Float,
            size: 8,
            big_endian: false,
            fortran: false,
            rows: 3,
            columns: 4,
            begin: 10 + 63,
        };
        assert_eq!(header, expected);
        let header = read("{\"shape\":(5,),\"fortran_order\":True,\"descr\":\">i2\"}").unwrap();
        assert!(header.big_endian && header.fortran && header.item == Item::Signed);
        assert_eq!((header.size, header.rows, header.columns), (2, 5, 1));
    }

    #[test]
    fn later_versions_have_longer_lengths() {
        let text = b"{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }";
        for version in [2, 3] {
            let bytes = [&b"\x93NUMPY"[..], &[version, 0], &(text.len() as u32).to_le_bytes(), text].concat();
            let header = Header::read(Path::new("t.npy"), "the array", &mut &bytes[..]).unwrap();
            assert_eq!((header.item, header.rows, header.begin), (Item::Boolean, 2, 12 + text.len() as u64));
        }
        let bytes = [&b"\x93NUMPY\x02\x00"[..], &u32::MAX.to_le_bytes()].concat();
        let error = Header::read(Path::new("t.npy"), "the array", &mut &bytes[..]).unwrap_err().to_string();
        assert!(error.contains("a header of 4294967295 bytes"), "{error}");
        let error = Header::read(Path::new("t.npy"), "the array", &mut &b"\x93NUMPY\x09\x00"[..]).unwrap_err();
        assert!(error.to_string().contains("version 9"));
    }

    #[test]
    fn what_is_no_table_of_numbers_is_refused() {
        let with = |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
        assert!(message(&with("'<c16'", "(3,)")).contains("the array has elements of type <c16; save it as numbers"));
        assert!(message(&with("[('a', '<f8')]", "(3,)")).contains("has elements of type [('a', '<f8')]"));
        assert!(message(&with("'<f8'", "(3, 4, 5)")).contains("has 3 axes"));
        assert!(message(&with("'<f8'", "()")).contains("has 0 axes"));
        assert!(message(&with("'<f8'", "(3, 0)")).contains("has 0 columns"));
        assert!(message(&with("'<f8'", "(0, 99999999999)")).contains("has 99999999999 columns"));
        assert!(message(&with("'<f8'", "(9999999999999999999, 4)")).contains("too many to be true"));
        assert!(message(&with("'<f8'", "(-3,)")).contains("cannot be understood"));
        assert!(message("{'descr': '<f8', 'shape': (3,)}").contains("cannot be understood"));
        assert!(message("{'descr").contains("cannot be understood"));
    }
}
