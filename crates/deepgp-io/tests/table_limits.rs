//! What a few bytes may claim: files that hold far more than their size are refused, and those that need it are read when somebody says so.

mod common;

use std::io::Write;
use std::time::{Duration, Instant};

use common::{TableFile, target};
use deepgp_io::table::{ReadOptions, Schema, Source, TableLimits, Targets};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Text, compressed.
fn gzip(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    pieces.into_iter().for_each(|piece| encoder.write_all(piece.as_ref()).unwrap());
    encoder.finish().unwrap()
}

/// The numbers that a file becomes, or why it does not.
fn read(file: &TableFile, limits: TableLimits) -> Result<usize, String> {
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let read = || {
        let source = Source::open_with(&file.path, options)?;
        let (schema, _) = Schema::scan(&source, &target("y"))?;
        let (chunk, _) = schema.encoder(&source, Targets::Needed)?.read_all()?;
        Ok(chunk.x.as_slice().len())
    };
    read().map_err(|error: deepgp_io::Error| error.to_string())
}

/// Refused soon, with this in the message.
fn refused(bytes: &[u8], part: &str) {
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
    let (file, started) = (TableFile::new(bytes), Instant::now());
    let error = read(&file, TableLimits::default()).unwrap_err();
    assert!(error.contains(part), "{part}: {error}");
    // A bound that a busy machine keeps, too.
    assert!(started.elapsed() < Duration::from_secs(60), "{part}: {:?}", started.elapsed());
}

#[test]
fn columns_that_are_commas_are_refused() {
    refused(&gzip((0..60).map(|_| vec![b','; 1 << 20])), "holds a table of more than 16 MiB");
    refused(&vec![b','; 1_000_000], "allow more with --max-columns");
    refused(&[",".repeat(50_001), "\n1\n".into()].concat().into_bytes(), "more than 50000 columns");
}

#[test]
fn a_file_that_expands_without_end_is_refused_and_read_on_request() {
    let rows = || std::iter::once("a,b,y\n".to_string()).chain((0..30).map(|_| "1,2,3\n4,5,6\n".repeat(100_000)));
    let file = TableFile::new(gzip(rows()));
    let error = read(&file, TableLimits::default()).unwrap_err();
    assert!(error.contains("KiB holds a table of more than 16 MiB") && error.contains("--max-expansion"), "{error}");
    let raised = TableLimits { expansion: Some(1000), ..TableLimits::default() };
    assert_eq!(read(&file, raised), Ok(12_000_000));
}

#[test]
fn names_that_are_all_the_same_or_missing_take_no_time() {
    let columns = 49_999;
    let row = "1,2.5\n".repeat(2).replace('\n', &format!("{}\n", ",3".repeat(columns - 2)));
    for name in ["a", ""] {
        let text = format!("{}y\n{row}", format!("{name},").repeat(columns - 1));
        let (file, started) = (TableFile::new(&text), Instant::now());
        let source = file.source();
        assert_eq!(source.names().len(), columns);
        // Not a note for each.
        assert!(source.notes().len() <= 11, "{}", source.notes().len());
        assert!(started.elapsed() < Duration::from_secs(60), "`{name}`: {:?}", started.elapsed());
    }
}

#[test]
fn columns_of_very_many_different_texts_are_refused() {
    // Texts that differ from row to row, and are the same along a row: they compress well.
    let row = |i: u32| format!("{}{i}\n", format!("t{i:05},").repeat(30));
    let header = format!("{}y\n", (0..30).map(|c| format!("x{c},")).collect::<String>());
    let bytes = gzip(std::iter::once(header).chain((0..70_000).map(row)));
    refused(&bytes, "more different values than are kept");
}

#[test]
fn rows_of_very_many_inputs_are_refused() {
    // A byte a cell becomes an input for each of its levels.
    let row = |i: usize| format!("{}{i}\n", format!("{},", (b'a' + (i % 26) as u8) as char).repeat(100));
    let header = format!("{}y\n", (0..100).map(|c| format!("x{c},")).collect::<String>());
    let bytes = gzip(std::iter::once(header).chain((0..60_000).map(row)));
    refused(&bytes, "rows of 2600 inputs become more than 14680064 numbers");
}

#[test]
fn a_table_with_an_infinite_cell_in_every_column_names_some_of_them() {
    let columns = 20_000;
    let header = format!("{}y\n", (0..columns).map(|c| format!("x{c},")).collect::<String>());
    let text = format!("{header}{0}1\n{0}2\n{0}3\n", "inf,".repeat(columns));
    let error = read(&TableFile::new(text), TableLimits::default()).unwrap_err();
    assert!(error.contains("100 problems") && error.contains("and 50 more") && error.len() < 20_000, "{}", error.len());
}

#[test]
fn binary_formats_have_the_same_limits() {
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 60000), }";
    let length = (header.len() as u16).to_le_bytes();
    let array = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &[0; 180_000]].concat();
    refused(&array, "more than 50000 columns");
    let shape = |rows: usize| format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, 8), }}");
    let zipped = |rows: usize| {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        for name in ["x.npy", "y.npy"] {
            let header = if name == "x.npy" { shape(rows) } else { shape(rows).replace(", 8)", ",)") };
            let length = (header.len() as u16).to_le_bytes();
            let numbers = vec![0; if name == "x.npy" { 8 * rows } else { rows }];
            archive.start_file(name, options).unwrap();
            archive.write_all(&[b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &numbers].concat()).unwrap();
        }
        archive.finish().unwrap().into_inner()
    };
    refused(&zipped(2_000_000), "holds a table of more than 16 MiB");
}

#[test]
fn limits_that_are_lowered_count() {
    let file = TableFile::new("a,b,y\n1,long text,3\n2,longer text,4\n");
    let lower = |columns, cell| read(&file, TableLimits { columns, cell, ..TableLimits::default() });
    assert!(lower(2, 100).unwrap_err().contains("more than 2 columns"));
    assert!(lower(3, 10).unwrap_err().contains("line 3: a cell is longer than 10 bytes"));
    lower(3, 11).unwrap();
}

/// Each text of a column is the one before it, of 6 MB, and nothing more.
#[test]
fn texts_of_parquet_that_repeat_each_other_are_refused() {
    refused(include_bytes!("../../../fuzz/corpus/parquet/prefixes"), "holds a table of more than 16 MiB");
}
