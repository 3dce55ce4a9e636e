//! NumPy arrays: a header in the notation of Python, then numbers of one type.
//!
//! An array with two axes is a table, one with one axis a column. In C order rows follow each other and are read one at a
//! time; in Fortran order columns do, so the array is read whole.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::content::{Content, Reader};
use super::half::half_to_f64;
use super::npy_header::{Header, Item};
use super::{Cell, Rows, names};
use crate::error::{Error, Result};

impl Header {
    /// The bits that `bytes` hold, the lowest first.
    fn bits(&self, bytes: &[u8]) -> u64 {
        let mut little = [0; 8];
        little[..bytes.len()].copy_from_slice(bytes);
        if self.big_endian {
            little[..bytes.len()].reverse();
        }
        u64::from_le_bytes(little)
    }

    /// The number that `bytes` hold.
    fn decode(&self, bytes: &[u8]) -> Cell {
        let bits = self.bits(bytes);
        match (self.item, bytes.len()) {
            (Item::Boolean, _) => Cell::Boolean(bits != 0),
            (Item::Unsigned, _) => Cell::Number(bits as f64),
            (Item::Signed, size) => Cell::Number(signed(bits, size) as f64),
            (Item::Float, 2) => Cell::number(half_to_f64(bits as u16)),
            (Item::Float, 4) => Cell::number(f64::from(f32::from_bits(bits as u32))),
            (Item::Float, _) => Cell::number(f64::from_bits(bits)),
        }
    }

    /// The same to the last digit; nothing if it is NaN.
    fn written(&self, bytes: &[u8]) -> Cow<'static, str> {
        let bits = self.bits(bytes);
        match (self.item, bytes.len(), self.decode(bytes)) {
            (Item::Unsigned, ..) => bits.to_string().into(),
            (Item::Signed, size, _) => signed(bits, size).to_string().into(),
            (Item::Float, 4, Cell::Number(_)) => f32::from_bits(bits as u32).to_string().into(),
            (.., cell) => cell.label().unwrap_or_default().into_owned().into(),
        }
    }
}

/// The lowest `size` bytes as an integer with a sign, which shifting up and down again extends.
fn signed(bits: u64, size: usize) -> i64 {
    (bits << (64 - 8 * size)) as i64 >> (64 - 8 * size)
}

/// An array that is in memory, as its bytes.
pub(super) struct Array {
    header: Header,
    bytes: Vec<u8>,
}

impl Array {
    /// Reads the numbers, of which there must be as many as the header says.
    pub(super) fn read(path: &Path, header: Header, input: &mut dyn Read) -> Result<Self> {
        let mut bytes = Vec::new();
        let length =
            input.take(header.length() + 1).read_to_end(&mut bytes).map_err(|cause| Error::from_io(path, cause))?
                as u64;
        check_length(path, &header, length)?;
        Ok(Self { header, bytes })
    }

    /// Puts the cells of a row behind `cells`.
    fn row(&self, row: usize, cells: &mut Vec<Cell>) {
        cells.extend((0..self.header.columns).map(|column| self.header.decode(self.item(row, column))));
    }

    /// The bytes of one number.
    fn item(&self, row: usize, column: usize) -> &[u8] {
        let Header { rows, columns, size, .. } = self.header;
        let at = size * if self.header.fortran { column * rows + row } else { row * columns + column };
        &self.bytes[at..at + size]
    }
}

/// Fails unless there are as many bytes as the header says.
fn check_length(path: &Path, header: &Header, length: u64) -> Result<()> {
    let Header { rows, columns, .. } = header;
    let expected = header.length();
    if length < expected {
        let what = format!("{rows} x {columns} numbers take {expected} bytes, but there are {length}");
        return Err(Error::EndsEarly { path: path.into(), what });
    }
    if length > expected {
        return Err(Error::damaged(path, format!("there is more than {rows} x {columns} numbers")));
    }
    Ok(())
}

/// Opens a file and reads its header; the numbers come next.
fn open(content: &Content) -> Result<(Header, Reader)> {
    let (path, mut input) = (content.path(), content.reader()?);
    let length = input.length().map_err(|cause| Error::from_io(path, cause))?;
    let header = Header::read(path, "the array", &mut input)?;
    check_length(path, &header, length.saturating_sub(header.begin))?;
    Ok((header, input))
}

/// Names of the columns of a file: `c1`, `c2`, ….
pub(super) fn names(content: &Content) -> Result<Vec<String>> {
    let (header, _) = open(content)?;
    if header.rows == 0 {
        return Err(Error::NoRows { path: content.path().into() });
    }
    content.limits().check_columns(content.path(), header.columns)?;
    Ok(names::by_position(header.columns))
}

/// Rows of a file.
pub(super) fn rows(content: &Content, columns: usize) -> Result<Box<dyn Rows>> {
    let (path, (header, mut input)) = (content.path(), open(content)?);
    if header.columns != columns {
        let what = format!("it had {columns} columns and now has {}", header.columns);
        return Err(Error::Changed { path: path.into(), what });
    }
    if header.fortran {
        return Ok(Box::new(Arrays::new(path, vec![Array::read(path, header, &mut input)?])?));
    }
    Ok(Box::new(NpyRows { row: vec![0; header.columns * header.size], path: path.into(), header, input, next: 0 }))
}

/// Rows of an array in C order, one at a time.
struct NpyRows {
    path: PathBuf,
    header: Header,
    input: Reader,
    row: Vec<u8>,
    next: usize,
}

impl Rows for NpyRows {
    fn next(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>> {
        cells.clear();
        if self.next == self.header.rows {
            return Ok(None);
        }
        self.input.read_exact(&mut self.row).map_err(|cause| Error::from_io(&self.path, cause))?;
        cells.extend(self.row.chunks_exact(self.header.size).map(|bytes| self.header.decode(bytes)));
        self.next += 1;
        Ok(Some(self.next as u64))
    }

    fn written(&self, column: usize) -> Cow<'_, str> {
        let size = self.header.size;
        self.header.written(&self.row[column * size..(column + 1) * size])
    }
}

/// Rows of arrays that are in memory, side by side.
pub(super) struct Arrays {
    arrays: Vec<Array>,
    rows: usize,
    next: usize,
}

impl Arrays {
    /// Fails unless all have as many rows.
    pub(super) fn new(path: &Path, arrays: Vec<Array>) -> Result<Self> {
        let rows = arrays.first().map_or(0, |array| array.header.rows);
        if arrays.iter().any(|array| array.header.rows != rows) {
            return Err(Error::Changed { path: path.into(), what: "its arrays have other lengths".into() });
        }
        Ok(Self { arrays, rows, next: 0 })
    }
}

impl Rows for Arrays {
    fn next(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>> {
        cells.clear();
        if self.next == self.rows {
            return Ok(None);
        }
        for array in &self.arrays {
            array.row(self.next, cells);
        }
        self.next += 1;
        Ok(Some(self.next as u64))
    }

    fn written(&self, column: usize) -> Cow<'_, str> {
        let mut columns = self.arrays.iter().flat_map(|array| (0..array.header.columns).map(move |own| (array, own)));
        let (array, own) = columns.nth(column).expect("a column of the table");
        array.header.written(array.item(self.next - 1, own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(item: Item, big_endian: bool, bytes: &[u8]) -> Cell {
        let size = bytes.len();
        Header { item, size, big_endian, fortran: false, rows: 1, columns: 1, begin: 0 }.decode(bytes)
    }

    #[test]
    fn numbers_of_every_type_and_byte_order_are_decoded() {
        assert_eq!(decode(Item::Float, false, &2.5f64.to_le_bytes()), Cell::Number(2.5));
        assert_eq!(decode(Item::Float, true, &(-2.5f32).to_be_bytes()), Cell::Number(-2.5));
        assert_eq!(decode(Item::Float, true, &[0x3c, 0]), Cell::Number(1.0));
        assert_eq!(decode(Item::Float, false, &f32::NAN.to_le_bytes()), Cell::Missing);
        assert_eq!(decode(Item::Signed, false, &[0xff]), Cell::Number(-1.0));
        assert_eq!(decode(Item::Signed, true, &(-300i16).to_be_bytes()), Cell::Number(-300.0));
        assert_eq!(decode(Item::Signed, false, &i64::MIN.to_le_bytes()), Cell::Number(-(2f64.powi(63))));
        assert_eq!(decode(Item::Unsigned, false, &[0xff]), Cell::Number(255.0));
        assert_eq!(decode(Item::Unsigned, true, &70_000u32.to_be_bytes()), Cell::Number(70_000.0));
        assert_eq!(decode(Item::Boolean, false, &[1]), Cell::Boolean(true));
    }
}
