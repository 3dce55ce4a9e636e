//! Pages of a Parquet column, each looked at before the library makes room for it.
//!
//! A page says how much it holds, and the library reserves that much before it finds out: 2 GiB, if a file of a kilobyte says so. [`Pages`]
//! therefore reads each header by itself first, and takes what it claims from one allowance of all columns:
//!
//! ```text
//! column ─→ header │ data │ header │ data │ …
//!              ├ bytes, decompressed      at most [`BYTES_OF_TEXT`] for each byte of text that the table may have
//!              └ values                   [`LEAST_CELL`] each, and in a dictionary as many as memory takes
//! ```
//!
//! A header is a struct of Thrift's compact protocol: fields, each with a type and the distance of its number to the one before, and a zero at
//! the end. The library reads a known field as what it should be, whatever type it has; here any other type is damage, and so is a field out of
//! order, so that no header says one thing to the library and another to us.

use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;

use super::content::{Content, Reader};
use super::limits::{Allowance, LEAST_CELL};
use super::parquet_delta;
use crate::error::Error;

type Result<T> = std::result::Result<T, ParquetError>;

/// The most bytes of a page for a byte of text: a decimal of 16 bytes is a number, which counts as [`LEAST_CELL`].
const BYTES_OF_TEXT: u64 = 8;
/// What a value of a dictionary counts beside its bytes: it takes up to 32 bytes of memory.
const DICTIONARY_VALUE: u64 = 32 / BYTES_OF_TEXT;
/// Bytes that are read at once: a header, unless its statistics are long.
const USUAL_HEADER: usize = 256;

/// What all columns of a file share: its bytes, and what its pages may still hold.
pub(super) struct Budget {
    input: Reader,
    allowance: Allowance,
}

impl Budget {
    /// All that the pages of a file may hold.
    pub(super) fn new(content: &Content) -> std::result::Result<Arc<Mutex<Self>>, Error> {
        let input = content.reader()?.with_buffer(USUAL_HEADER);
        let allowance = Allowance::new(content.limits(), content.length());
        Ok(Arc::new(Mutex::new(Self { input, allowance })))
    }

    fn take(&mut self, text: u64) -> Result<()> {
        self.allowance.take(text).map_err(|expanded| ParquetError::External(Box::new(expanded)))
    }
}

/// The pages of one column of a row group, none of which holds more than it may.
pub(super) struct Pages {
    pages: Box<dyn PageReader>,
    budget: Arc<Mutex<Budget>>,
    /// Where the next header begins, and where the column ends.
    next: u64,
    end: u64,
    nullable: bool,
    has_prefixes: bool,
}

impl Pages {
    /// The library's `pages` of this column, which says whether texts share prefixes in some of them.
    pub(super) fn new(
        pages: Box<dyn PageReader>,
        column: &ColumnChunkMetaData,
        has_prefixes: bool,
        budget: &Arc<Mutex<Budget>>,
    ) -> Self {
        let (next, length) = column.byte_range();
        let nullable = column.column_descr().max_def_level() > 0;
        let budget = budget.clone();
        Self { pages, budget, next, end: next.saturating_add(length), nullable, has_prefixes }
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes from the allowance what the next page says that it holds. The library passes over pages of an index, which it never decompresses.
    fn look_ahead(&mut self) -> Result<()> {
        while self.next < self.end {
            let mut budget = self.budget();
            let header = Header::read(&mut budget.input, self.next, self.end)?;
            if header.kind != INDEX_PAGE {
                budget.take(header.decompressed.div_ceil(BYTES_OF_TEXT))?;
            }
            drop(budget);
            self.next += header.length + header.compressed;
            if header.kind != INDEX_PAGE {
                break;
            }
        }
        Ok(())
    }

    /// Takes from the allowance the values of a page, and fails if the lengths of its texts are more than its values.
    fn look_into(&self, page: &Page) -> Result<()> {
        let mut budget = self.budget();
        if let Page::DictionaryPage { num_values, .. } = page {
            return budget.take(u64::from(*num_values) * DICTIONARY_VALUE);
        }
        budget.take(u64::from(page.num_values()) * LEAST_CELL)?;
        let lists = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY if self.has_prefixes => 2,
            Encoding::DELTA_BYTE_ARRAY => return Err(damage("its encoding is not one of its column's")),
            _ => return Ok(()),
        };
        let values = values(page, self.nullable).ok_or_else(|| damage("its levels are not all there"))?;
        parquet_delta::check(values, lists, page.num_values())
            .ok_or_else(|| damage("it has more lengths of texts than values"))
    }
}

/// The bytes of a page after its levels.
fn values(page: &Page, nullable: bool) -> Option<&[u8]> {
    let after = match page {
        Page::DataPage { .. } if !nullable => 0,
        Page::DataPage { def_level_encoding: Encoding::RLE, buf, .. } => {
            4 + u32::from_le_bytes(*buf.first_chunk()?) as usize
        }
        // One bit for each value.
        Page::DataPage { num_values, .. } => num_values.div_ceil(8) as usize,
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            *def_levels_byte_len as usize + *rep_levels_byte_len as usize
        }
        Page::DictionaryPage { .. } => 0,
    };
    page.buffer().get(after..)
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.look_ahead()?;
        let page = self.pages.get_next_page()?;
        page.iter().try_for_each(|page| self.look_into(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    /// Every row is read, so no page is skipped.
    fn skip_next_page(&mut self) -> Result<()> {
        Err(ParquetError::NYI("skipping pages".into()))
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

fn damage(what: &str) -> ParquetError {
    ParquetError::General(format!("a page is damaged: {what}"))
}

/// What a page says of itself.
#[derive(Debug, PartialEq)]
struct Header {
    kind: i64,
    decompressed: u64,
    compressed: u64,
    /// The bytes of the header itself.
    length: u64,
}

/// The kind of a page that is part of an index.
const INDEX_PAGE: i64 = 1;

/// Types of the compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// The types of the fields 1, 2, … of a header: its kind, sizes, checksum, and one struct for each kind.
const FIELDS: [u8; 8] = [I32, I32, I32, I32, STRUCT, STRUCT, STRUCT, STRUCT];
/// The types of the fields of those structs: of data pages, index pages, dictionaries, and data pages of the second version.
const FIELDS_OF_KINDS: [&[u8]; 4] =
    [&[I32, I32, I32, I32, STRUCT], &[], &[I32, I32, TRUE], &[I32, I32, I32, I32, I32, I32, TRUE, STRUCT]];
/// How deep structs and lists may lie in each other.
const DEEPEST: usize = 16;

impl Header {
    /// The header that begins at `start`, of a column that ends at `end`.
    fn read(input: &mut (impl Read + Seek), start: u64, end: u64) -> Result<Self> {
        input.seek(SeekFrom::Start(start))?;
        let mut fields = Compact { input: input.by_ref().take(end - start) };
        let (mut numbers, mut last) = ([None; 4], 0);
        while let Some((field, kind)) = fields.next(&mut last, &FIELDS)? {
            match field {
                1..=4 => numbers[field - 1] = Some(fields.signed()?),
                5..=8 => fields.skip_struct(FIELDS_OF_KINDS[field - 5], DEEPEST)?,
                _ => fields.skip(kind, DEEPEST)?,
            }
        }
        let left = fields.input.limit();
        let [Some(kind), Some(decompressed), Some(compressed), _] = numbers else {
            return Err(damage("its header does not say how large it is"));
        };
        let size = |size: i64| u64::try_from(i32::try_from(size).ok()?).ok();
        match (size(decompressed), size(compressed)) {
            (Some(decompressed), Some(compressed)) if compressed <= left => {
                Ok(Self { kind, decompressed, compressed, length: end - start - left })
            }
            _ => Err(damage("it is larger than its column")),
        }
    }
}

/// A reader of the compact protocol, to the end of the bytes that may be read.
struct Compact<R> {
    input: std::io::Take<R>,
}

impl<R: Read> Compact<R> {
    fn byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn unsigned(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(damage("a number in its header does not end"))
    }

    fn signed(&mut self) -> Result<i64> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Number and type of the next field, after the field `last`; those of `known` have these types.
    fn next(&mut self, last: &mut i64, known: &[u8]) -> Result<Option<(usize, u8)>> {
        let byte = self.byte()?;
        let kind = byte & 0xf;
        if kind == 0 {
            return Ok(None);
        }
        let field = if byte >> 4 == 0 { self.signed()? } else { *last + i64::from(byte >> 4) };
        if field <= *last || field > i64::from(i16::MAX) {
            return Err(damage("the fields of its header are out of order"));
        }
        *last = field;
        let expected = known.get(field as usize - 1).copied();
        let kind = if kind == FALSE { TRUE } else { kind };
        if expected.is_some_and(|expected| expected != kind) {
            return Err(damage("a field of its header has another type"));
        }
        Ok(Some((field as usize, kind)))
    }

    fn pass(&mut self, count: u64) -> Result<()> {
        let passed = std::io::copy(&mut self.input.by_ref().take(count), &mut std::io::sink())?;
        if passed == count { Ok(()) } else { Err(damage("its header ends early")) }
    }

    fn skip_struct(&mut self, known: &[u8], depth: usize) -> Result<()> {
        let mut last = 0;
        while let Some((_, kind)) = self.next(&mut last, known)? {
            self.skip(kind, depth)?;
        }
        Ok(())
    }

    /// Passes over a value. Lists of truth values, of which the library and the protocol think differently, are in no header.
    fn skip(&mut self, kind: u8, depth: usize) -> Result<()> {
        let Some(depth) = depth.checked_sub(1) else { return Err(damage("its header is too deep")) };
        match kind {
            TRUE => Ok(()),
            BYTE => self.pass(1),
            I16 | I32 | I64 => self.unsigned().map(drop),
            DOUBLE => self.pass(8),
            UUID => self.pass(16),
            BINARY => {
                let length = self.unsigned()?;
                self.pass(length)
            }
            LIST | SET => {
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.unsigned()? } else { u64::from(byte >> 4) };
                (0..count).try_for_each(|_| self.skip_element(byte & 0xf, depth))
            }
            MAP => {
                let count = self.unsigned()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth)?;
                    self.skip_element(kinds & 0xf, depth)
                })
            }
            STRUCT => self.skip_struct(&[], depth),
            _ => Err(damage("its header has fields of no type")),
        }
    }

    fn skip_element(&mut self, kind: u8, depth: usize) -> Result<()> {
        if kind <= FALSE { Err(damage("its header lists truth values")) } else { self.skip(kind, depth) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::path::Path;

    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    /// A library that must not be asked for a page.
    struct Never;

    impl Iterator for Never {
        type Item = Result<Page>;

        fn next(&mut self) -> Option<Self::Item> {
            unreachable!("a page is decompressed")
        }
    }

    impl PageReader for Never {
        fn get_next_page(&mut self) -> Result<Option<Page>> {
            unreachable!("a page is decompressed")
        }

        fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
            Ok(None)
        }

        fn skip_next_page(&mut self) -> Result<()> {
            Ok(())
        }
    }

    /// A column of the bytes `content`.
    fn pages(content: &[u8]) -> Pages {
        let schema = parse_message_type("message t { REQUIRED BINARY a; }").unwrap();
        let column = SchemaDescriptor::new(Arc::new(schema)).column(0);
        let chunk =
            ColumnChunkMetaData::builder(column).set_total_compressed_size(content.len() as i64).build().unwrap();
        let content = Content::read(Path::new("t.parquet"), &mut &*content).unwrap();
        Pages::new(Box::new(Never), &chunk, false, &Budget::new(&content).unwrap())
    }

    #[test]
    fn a_page_that_claims_more_than_the_file_may_hold_is_never_decompressed() {
        // 600 MB of 5 bytes.
        let claim = [&[0x15, 0, 0x15, 0x80, 0x8c, 0x9b, 0xbc, 4, 0x15, 10, 0][..], &[7; 5]].concat();
        let error = pages(&claim).get_next_page().unwrap_err();
        assert!(error.to_string().contains("16 bytes hold more than 16 MiB"), "{error}");
    }

    #[test]
    fn values_count_as_bytes_do() {
        let page = |num_values, encoding, buf: &'static [u8]| Page::DataPage {
            buf: buf.into(),
            num_values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let dictionary = |num_values| {
            let (buf, encoding) = (Default::default(), Encoding::PLAIN);
            Page::DictionaryPage { buf, num_values, encoding, is_sorted: false }
        };
        let told = |page: Page| pages(&[]).look_into(&page).map_err(|error| error.to_string());
        for (most, page) in
            [(8 << 20, &(|n| page(n, Encoding::PLAIN, &[])) as &dyn Fn(u32) -> Page), (4 << 20, &dictionary)]
        {
            assert_eq!(told(page(most)), Ok(()));
            assert!(told(page(most + 1)).unwrap_err().contains("more than 16 MiB"));
        }
        // Five lengths, for five values and for four.
        let lengths = &[128, 1, 4, 5, 10, 0, 0, 0, 0, 0];
        assert_eq!(told(page(5, Encoding::DELTA_LENGTH_BYTE_ARRAY, lengths)), Ok(()));
        let error = told(page(4, Encoding::DELTA_LENGTH_BYTE_ARRAY, lengths)).unwrap_err();
        assert!(error.contains("more lengths of texts than values"), "{error}");
        let error = told(page(5, Encoding::DELTA_BYTE_ARRAY, lengths)).unwrap_err();
        assert!(error.contains("not one of its column's"), "{error}");
    }

    /// A data page of 9 bytes, 5 when compressed, with a minimum of one byte in its statistics; what follows it.
    fn header() -> Vec<u8> {
        let statistics = [0x28, 1, b'a', 0x11, 0];
        let data = [&[0x15, 4, 0x15, 0, 0x15, 6, 0x15, 6, 0x1c][..], &statistics, &[0]].concat();
        [&[0x15, 0, 0x15, 18, 0x15, 10, 0x2c][..], &data, &[0]].concat()
    }

    fn read(bytes: &[u8], start: u64) -> Result<Header> {
        Header::read(&mut Cursor::new(bytes), start, bytes.len() as u64)
    }

    #[test]
    fn a_header_says_how_large_its_page_is() {
        let bytes = [&[9, 9][..], &header(), &[7; 5]].concat();
        let length = header().len() as u64;
        assert_eq!(read(&bytes, 2).unwrap(), Header { kind: 0, decompressed: 9, compressed: 5, length });
        // A byte of the data is missing.
        let told = read(&bytes[..bytes.len() - 1], 2).unwrap_err().to_string();
        assert!(told.contains("larger than its column"), "{told}");
        assert!((2..bytes.len() - 5).all(|end| read(&bytes[..end], 2).is_err()));
    }

    #[test]
    fn a_header_that_could_be_read_in_two_ways_is_refused() {
        let refused = |change: &dyn Fn(&mut Vec<u8>), expected: &str| {
            let mut bytes = header();
            change(&mut bytes);
            bytes.extend([0; 100]);
            let told = read(&bytes, 0).unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        };
        refused(&|bytes| bytes[2] = 0x18, "another type");
        refused(&|bytes| bytes[9] = 0x13, "another type");
        refused(&|bytes| drop(bytes.splice(6..6, [0x05, 4, 2])), "out of order");
        refused(&|bytes| drop(bytes.splice(2..4, [])), "another type");
        refused(&|bytes| bytes[3] = 1, "larger than its column");
        refused(&|bytes| drop(bytes.splice(2..2, [0xff; 30])), "no type");
        refused(&|bytes| drop(bytes.splice(6..6, [0xd9, 0x11, 1])), "truth values");
        refused(&|bytes| drop(bytes.splice(6..6, [&[0xd9][..], &[0x19; 30]].concat())), "too deep");
    }
}
