//! Files for tests, written by hand or by other libraries.

// Each file of tests uses some of these.
#![allow(dead_code)]

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use deepgp_io::Result;
use deepgp_io::table::{Chunk, Note, Schema, Source, Targets, Wanted};
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

/// A file that is removed when this is dropped.
pub struct TableFile {
    pub path: PathBuf,
    _directory: TempDir,
}

impl TableFile {
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // The name says nothing: the format is to be found out from the bytes.
        let path = directory.path().join("table.data");
        std::fs::write(&path, bytes).unwrap();
        Self { path, _directory: directory }
    }

    pub fn open(&self) -> Result<Source> {
        Source::open(&self.path)
    }

    /// As a file that is too large to be kept in memory is opened.
    pub fn open_streamed(&self) -> Result<Source> {
        Source::open_streamed(&self.path)
    }

    pub fn source(&self) -> Source {
        self.open().unwrap()
    }
}

pub fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

pub fn target(name: &str) -> Wanted {
    Wanted { targets: names(&[name]), ..Wanted::default() }
}

/// Both passes over one table, and the sentences of its notes.
pub fn fit(bytes: impl AsRef<[u8]>, wanted: &Wanted) -> Result<(Schema, Chunk, Vec<String>)> {
    let file = TableFile::new(bytes);
    let source = file.open()?;
    let (schema, mut notes) = Schema::scan(&source, wanted)?;
    let (chunk, more) = schema.encoder(&source, Targets::Needed)?.read_all()?;
    notes.extend(more.into_iter().filter(|note| !source.notes().contains(note)));
    Ok((schema, chunk, sentences(&notes)))
}

/// Another table, without its targets, by the schema of the first.
pub fn apply(schema: &Schema, bytes: impl AsRef<[u8]>) -> Result<(Chunk, Vec<String>)> {
    let (chunk, notes) = schema.encoder(&TableFile::new(bytes).open()?, Targets::Unneeded)?.read_all()?;
    Ok((chunk, sentences(&notes)))
}

pub fn sentences(notes: &[Note]) -> Vec<String> {
    notes.iter().map(Note::to_string).collect()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An array in version 1 of the format.
pub fn npy(descr: &str, fortran: bool, shape: &str, numbers: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), numbers].concat()
}

pub fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (index, (name, bytes)) in arrays.iter().enumerate() {
        let method = if index % 2 == 0 { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A column's values, and for a nullable column a level for each row: 1 where it has one, or else 0.
pub type Column = (Values, Option<Vec<i16>>);

/// Values of each physical type.
pub enum Values {
    Doubles(Vec<f64>),
    Booleans(Vec<bool>),
    Integers(Vec<i32>),
    Longs(Vec<i64>),
    Texts(Vec<&'static str>),
}

/// A file with one row group for each element of `groups`.
pub fn parquet(schema: &str, compression: Compression, groups: &[Vec<Column>]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    for group in groups {
        let mut group_writer = writer.next_row_group().unwrap();
        for (values, levels) in group {
            let mut column = group_writer.next_column().unwrap().unwrap();
            let levels = levels.as_deref();
            match values {
                Values::Doubles(values) => column.typed::<DoubleType>().write_batch(values, levels, None).unwrap(),
                Values::Booleans(values) => column.typed::<BoolType>().write_batch(values, levels, None).unwrap(),
                Values::Integers(values) => column.typed::<Int32Type>().write_batch(values, levels, None).unwrap(),
                Values::Longs(values) => column.typed::<Int64Type>().write_batch(values, levels, None).unwrap(),
                Values::Texts(values) => {
                    let values: Vec<ByteArray> = values.iter().map(|text| ByteArray::from(*text)).collect();
                    column.typed::<ByteArrayType>().write_batch(&values, levels, None).unwrap()
                }
            };
            column.close().unwrap();
        }
        group_writer.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

/// A small file of each format, all with columns of numbers.
pub fn one_of_each() -> Vec<Vec<u8>> {
    let csv: String = (0..50).map(|i| format!("{i},{}.5,\"red\"\n", i * i)).collect();
    let csv = format!("a,b,colour\n{csv}");
    let numbers: Vec<f64> = (0..60).map(|i| f64::from(i) * 0.25).collect();
    let table = |compression| {
        let rows = |begin: i32| {
            vec![
                (Values::Doubles((0..40).map(|i| f64::from(i + begin) * 0.1).collect()), None),
                (Values::Integers((0..20).collect()), Some((0..40).map(|i| i % 2).collect())),
                (Values::Texts((0..40).map(|i| ["red", "blue"][i % 2]).collect()), None),
                (Values::Booleans((0..40).map(|i| i % 3 == 0).collect()), None),
            ]
        };
        let schema =
            "message t { REQUIRED DOUBLE a; OPTIONAL INT32 b; REQUIRED BYTE_ARRAY c (UTF8); REQUIRED BOOLEAN d; }";
        parquet(schema, compression, &[rows(0), rows(40)])
    };
    vec![
        csv.clone().into_bytes(),
        gzip(csv.as_bytes()),
        npy("<f8", false, "(20, 3)", &doubles(&numbers)),
        npy("<f8", true, "(20, 3)", &doubles(&numbers)),
        npz(&[
            ("X.npy", npy("<f8", false, "(20, 3)", &doubles(&numbers))),
            ("y.npy", npy("<f8", false, "(20,)", &doubles(&numbers[..20]))),
        ]),
        table(Compression::UNCOMPRESSED),
        table(Compression::SNAPPY),
        table(Compression::ZSTD(Default::default())),
        table(Compression::GZIP(Default::default())),
        table(Compression::LZ4_RAW),
        table(Compression::BROTLI(Default::default())),
    ]
}
