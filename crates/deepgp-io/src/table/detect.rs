//! The format of a file, by its first bytes.

use std::io::Read;

use super::content::Content;
use crate::error::{Error, Result};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Gzip,
    Parquet,
    Npy,
    Zip,
}

/// Formats that are not read, so that the message can name them.
const FOREIGN: [(&[u8], &str); 5] = [
    (b"\x89HDF\r\n", "HDF5"),
    (b"ARROW1\0", "Arrow (Feather)"),
    (b"\x28\xb5\x2f\xfd", "Zstandard compression"),
    (b"\xfd7zXZ\0", "XZ compression"),
    (b"SQLite format 3\0", "SQLite"),
];

/// The first bytes of bzip2, with a digit for the size of its blocks between them.
const BZIP2: (&[u8], &[u8]) = (b"BZh", b"1AY&SY");

/// Looks at the first bytes of a file.
pub(super) fn format(content: &Content) -> Result<Format> {
    let (path, mut begin) = (content.path(), Vec::new());
    content.reader()?.take(16).read_to_end(&mut begin).map_err(|cause| Error::from_io(path, cause))?;
    if let Some(name) = foreign(&begin) {
        let what = format!("the format, {name}, is not read");
        return Err(Error::Unsupported { path: path.into(), what, advice: "save the table as CSV or Parquet".into() });
    }
    Ok(of(&begin))
}

/// The name of a format that is not read.
fn foreign(begin: &[u8]) -> Option<&'static str> {
    let (first, then) = BZIP2;
    if begin.starts_with(first) && begin.get(first.len() + 1..).is_some_and(|rest| rest.starts_with(then)) {
        return Some("bzip2 compression");
    }
    FOREIGN.iter().find(|(magic, _)| begin.starts_with(magic)).map(|(_, name)| *name)
}

fn of(begin: &[u8]) -> Format {
    // A text may begin with a column called `PAR1`; what follows in the binary format is no text.
    let is_text = |byte: &u8| *byte >= b' ' && *byte < 127 || matches!(byte, b'\t' | b'\r' | b'\n');
    match begin {
        [0x1f, 0x8b, ..] => Format::Gzip,
        [b'P', b'A', b'R', b'1', rest @ ..] if !rest.first().is_some_and(is_text) => Format::Parquet,
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Format::Npy,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Format::Zip,
        _ => Format::Text,
    }
}

/// The name of a binary format that begins like this.
pub(super) fn binary(starts_with: impl Fn(&[u8]) -> bool) -> Option<&'static str> {
    let magics: [(&[u8], &str); 3] =
        [(b"\x93NUMPY", "a NumPy array"), (b"PAR1\x15", "Parquet"), (b"PK\x03\x04", "a zip")];
    magics.into_iter().find(|(magic, _)| starts_with(magic)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        for (begin, format) in [
            (&b"\x1f\x8b\x08"[..], Format::Gzip),
            (b"PAR1\x15\x04", Format::Parquet),
            (b"PAR1", Format::Parquet),
            (b"PAR1,PAR2\n", Format::Text),
            (b"\x93NUMPY\x01\x00", Format::Npy),
            (b"PK\x03\x04", Format::Zip),
            (b"PK,name", Format::Text),
            (b"", Format::Text),
        ] {
            assert_eq!(of(begin), format, "{begin:?}");
        }
    }
}
