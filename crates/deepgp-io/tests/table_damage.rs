//! Whatever the bytes, reading ends, with rows or with an error that names the file.

mod common;

use common::*;
use deepgp_io::Result;
use deepgp_io::table::{Missing, Schema, Source, Targets, Wanted};
use proptest::prelude::*;

/// Reads as far as it goes, from memory and from disk: all rows, and both passes with the first column as target. Returns
/// the number of rows.
fn exhaust(bytes: &[u8]) -> Result<u64> {
    let file = TableFile::new(bytes);
    let read = |source: Result<Source>| {
        let source = source?;
        let (mut rows, mut cells, mut count) = (source.rows()?, Vec::new(), 0);
        while rows.next(&mut cells)?.is_some() {
            assert_eq!(cells.len(), source.names().len(), "as many cells as columns");
            count += 1;
        }
        let wanted = Wanted { missing: Missing::Mean, ..target(&source.names()[0]) };
        let (schema, _) = Schema::scan(&source, &wanted)?;
        let (chunk, _) = schema.encoder(&source, Targets::Needed)?.read_all()?;
        assert_eq!(chunk.read, count);
        Ok(count)
    };
    let in_memory: Result<u64> = read(file.open());
    let on_disk: Result<u64> = read(file.open_streamed());
    for error in [&in_memory, &on_disk].into_iter().filter_map(|read| read.as_ref().err()) {
        assert!(error.to_string().starts_with(file.path.to_str().unwrap()), "no file in: {error}");
    }
    assert_eq!(in_memory.as_ref().ok(), on_disk.as_ref().ok(), "{in_memory:?} {on_disk:?}");
    in_memory
}

#[test]
fn what_is_to_be_damaged_is_sound() {
    let rows: Vec<u64> = one_of_each().iter().map(|bytes| exhaust(bytes).unwrap()).collect();
    assert_eq!(rows, [50, 50, 20, 20, 20, 80, 80, 80, 80, 80, 80]);
}

#[test]
fn every_cut_is_an_error_or_a_shorter_text() {
    for (index, bytes) in one_of_each().iter().enumerate() {
        for length in (0..bytes.len()).step_by(1 + bytes.len() / 200) {
            let result = exhaust(&bytes[..length]);
            // A text that is cut is a text.
            assert!(index == 0 || result.is_err(), "format {index} cut to {length} of {} bytes", bytes.len());
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0usize..7) {
        let begin: [&[u8]; 7] = [b"", b"\x1f\x8b\x08", b"PAR1", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"a,b\n", b"PAR1"];
        let end: &[u8] = if kind == 6 { b"PAR1" } else { b"" };
        let _ = exhaust(&[begin[kind], &bytes, end].concat());
    }

    #[test]
    fn random_text_does_no_harm(text in "[a-c0-9.,;|\t\"\r\n -]{0,120}") {
        let _ = exhaust(text.as_bytes());
    }

    #[test]
    fn flipped_bits_do_no_harm(
        format in 0usize..11,
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..6),
    ) {
        let mut bytes = one_of_each().swap_remove(format);
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        let _ = exhaust(&bytes);
    }

    #[test]
    fn pieces_cut_out_or_doubled_do_no_harm(
        format in 0usize..11,
        from in any::<prop::sample::Index>(),
        length in 1usize..40,
        doubled in any::<bool>(),
    ) {
        let bytes = one_of_each().swap_remove(format);
        let from = from.index(bytes.len());
        let to = (from + length).min(bytes.len());
        let rest = if doubled { &bytes[from..] } else { &bytes[to..] };
        let _ = exhaust(&[&bytes[..if doubled { to } else { from }], rest].concat());
    }
}
