//! Unpacking: from the bytes of a download to the text of its table, by what they begin with and not by a name.

use std::borrow::Cow;
use std::io::{Cursor, Read};

use anyhow::{Context, Result, bail, ensure};
use zip::ZipArchive;

use super::download::LIMIT;

/// The text in `bytes`; of a zip archive, that of its file `member`.
pub fn text<'a>(bytes: &'a [u8], member: &str) -> Result<Cow<'a, str>> {
    if bytes.starts_with(b"PK") {
        return Ok(Cow::Owned(unzip(bytes, member)?));
    }
    if bytes.trim_ascii_start().starts_with(b"<") {
        bail!("a web page came instead of the table");
    }
    ensure!(!bytes.is_empty(), "nothing came, where a table was expected");
    Ok(Cow::Borrowed(str::from_utf8(bytes).context("it is no text")?))
}

/// The text of the file `member` of a zip archive.
fn unzip(bytes: &[u8], member: &str) -> Result<String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).context("the zip archive is damaged or cut short")?;
    let file = archive.by_name(member).with_context(|| format!("the zip archive holds no whole `{member}`"))?;
    let mut text = String::new();
    file.take(LIMIT).read_to_string(&mut text).with_context(|| format!("`{member}` in the zip archive is damaged"))?;
    Ok(text)
}

#[cfg(test)]
pub mod tests {
    use std::io::Write;

    use super::*;

    /// A zip archive of one file.
    pub fn zipped(name: &str, text: &str) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn a_table_is_found_in_an_archive_and_by_itself() {
        let table = "a,y\n".to_string() + &"1,2\n".repeat(500);
        let archive = zipped("CASP.csv", &table);
        assert!(archive.len() < table.len(), "it is compressed");
        assert_eq!(text(&archive, "CASP.csv").unwrap(), table);
        assert_eq!(text(table.as_bytes(), "CASP.csv").unwrap(), table);
    }

    #[test]
    fn what_is_no_table_is_named() {
        let archive = zipped("CASP.csv", &"1,2\n".repeat(500));
        let told = |bytes: &[u8], member: &str| format!("{:#}", text(bytes, member).unwrap_err());
        assert!(told(&archive, "data.csv").contains("no whole `data.csv`"));
        assert!(told(&archive[..archive.len() / 2], "CASP.csv").contains("damaged or cut short"));
        let mut flipped = archive.clone();
        // In the middle of the compressed bytes, behind the name.
        flipped[30 + "CASP.csv".len() + 4] ^= 0x10;
        assert!(told(&flipped, "CASP.csv").contains("`CASP.csv` in the zip archive is damaged"));
        assert!(told(b"\n <!DOCTYPE html><p>Sorry", "").contains("a web page came instead"));
        assert!(told(b"", "").contains("nothing came"));
        assert!(told(b"\xff\xfe1,2", "").contains("no text"));
    }
}
