//! NumPy archives: a zip of arrays, which stand side by side as the columns of one table.

use std::io::Read;
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::Rows;
use super::content::{Content, Reader};
use super::limits::{Allowance, LEAST_CELL};
use super::names::shorten;
use super::npy::{Array, Arrays};
use super::npy_header::Header;
use crate::error::{Error, Result};

type Archive = ZipArchive<Reader>;

fn fault(path: &Path, fault: ZipError) -> Error {
    match fault {
        ZipError::Io(cause) => Error::from_io(path, cause),
        ZipError::UnsupportedArchive(what) => Error::Unsupported {
            path: path.into(),
            what: what.into(),
            advice: "save the archive anew, with numpy.savez".into(),
        },
        other => Error::damaged(path, other),
    }
}

fn open(content: &Content) -> Result<Archive> {
    ZipArchive::new(content.reader()?).map_err(|other| fault(content.path(), other))
}

/// Hands the name and header of an array to `use_array`, and its numbers, still to be read.
fn with_array<T>(
    path: &Path,
    archive: &mut Archive,
    index: usize,
    use_array: impl FnOnce(&str, Header, &mut dyn Read) -> Result<T>,
) -> Result<T> {
    let mut file = archive.by_index(index).map_err(|other| fault(path, other))?;
    let full = file.name().map_err(|other| fault(path, other))?.into_owned();
    let Some(name) = full.strip_suffix(".npy") else {
        let what = format!("the zip archive holds `{}`, which is no NumPy array", shorten(&full));
        let advice = "unpack it, or save a spreadsheet as CSV".into();
        return Err(Error::Unsupported { path: path.into(), what, advice });
    };
    let header = Header::read(path, &format!("array `{}`", shorten(name)), &mut file)?;
    use_array(name, header, &mut file)
}

/// Names of the columns: the array's if it has one column, or else followed by `1`, `2`, ….
pub(super) fn names(content: &Content) -> Result<Vec<String>> {
    let (path, mut archive) = (content.path(), open(content)?);
    let mut names = Vec::new();
    let mut first: Option<(String, usize)> = None;
    for index in 0..archive.len() {
        let (name, header) = with_array(path, &mut archive, index, |name, header, _| Ok((name.to_string(), header)))?;
        let (first_name, rows) = first.get_or_insert_with(|| (name.clone(), header.rows));
        if *rows != header.rows {
            let what = format!("array `{first_name}` has {rows} rows, but `{name}` has {}", header.rows);
            let advice = "a table needs arrays with one number of rows".into();
            return Err(Error::Unsupported { path: path.into(), what, advice });
        }
        content.limits().check_columns(path, names.len().saturating_add(header.columns))?;
        match header.columns {
            1 => names.push(name),
            columns => names.extend((1..=columns).map(|position| format!("{name}{position}"))),
        }
    }
    match first {
        None => Err(Error::Empty { path: path.into() }),
        Some((_, 0)) => Err(Error::NoRows { path: path.into() }),
        Some(_) => Ok(names),
    }
}

/// Rows of an archive, which is read whole; its columns must have these names still.
pub(super) fn rows(content: &Content, expected: &[String]) -> Result<Box<dyn Rows>> {
    let path = content.path();
    if names(content)? != expected {
        return Err(Error::Changed { path: path.into(), what: "its columns have other names".into() });
    }
    let mut archive = open(content)?;
    let mut allowance = Allowance::new(content.limits(), content.length());
    let mut read = |_: &str, header: Header, input: &mut dyn Read| {
        // Before anything is unpacked.
        let cells = header.length() / header.size as u64;
        allowance.take(header.length().max(LEAST_CELL * cells)).map_err(|expanded| expanded.of(path))?;
        Array::read(path, header, input)
    };
    let arrays =
        (0..archive.len()).map(|index| with_array(path, &mut archive, index, &mut read)).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(Arrays::new(path, arrays)?))
}
