//! Tables: whatever the bytes, reading ends, with rows or with an error that names the file.

use std::path::Path;

use deepgp_io::Result;
use deepgp_io::table::{Missing, Schema, Source, Targets, Task, Wanted};

/// A sound table may be longer than its bytes, and then takes time: with more cells than this it is left alone.
const MOST_CELLS: usize = 200_000;

/// The name under which bytes are read.
pub const NAME: &str = "table";

/// Any format, which the reader finds out from the bytes.
pub fn any(bytes: &[u8]) {
    let first = bytes.first().copied().unwrap_or(0);
    let last = bytes.last().copied().unwrap_or(0);
    let task = [Task::Auto, Task::Regression, Task::Classification, Task::Counts][usize::from(last) % 4];
    let missing = [Missing::Indicator, Missing::Mean, Missing::Drop, Missing::Reject][usize::from(first) % 4];
    check(bytes, &Wanted { missing, task, ..Wanted::default() });
}

/// Text compressed with gzip: the bytes as they are, and the same with the first bytes of the format before them.
pub fn gzip(bytes: &[u8]) {
    any(bytes);
    any(&[b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", bytes].concat());
}

/// Reads a table to its end, and what is wrong with it is an error that names it.
pub fn check(bytes: &[u8], wanted: &Wanted) {
    if let Err(error) = read(bytes, wanted) {
        check_error(&error);
    }
}

/// What is wrong with a table is told with its name, and briefly.
pub fn check_error(error: &deepgp_io::Error) {
    let told = error.to_string();
    assert!(told.starts_with(NAME), "no file in: {told}");
    assert!(told.len() < 20_000, "an error of {} bytes", told.len());
}

/// All rows, and both passes of a fit with the first column as target.
fn read(mut bytes: &[u8], wanted: &Wanted) -> Result<()> {
    let source = Source::read(Path::new(NAME), &mut bytes)?;
    let (mut rows, mut cells, mut count) = (source.rows()?, Vec::new(), 0u64);
    while rows.next(&mut cells)?.is_some() {
        assert_eq!(cells.len(), source.names().len(), "as many cells as columns");
        count += 1;
        if count as usize * cells.len() > MOST_CELLS {
            return Ok(());
        }
    }
    let wanted = Wanted { targets: vec![source.names()[0].clone()], ..wanted.clone() };
    let (schema, _) = Schema::scan(&source, &wanted)?;
    assert_eq!(schema.feature_names().len(), schema.width());
    // Inputs are dense numbers: as many as there are cells, or as levels make of them.
    if schema.width().saturating_mul(count as usize) > 10 * MOST_CELLS {
        return Ok(());
    }
    let (chunk, _) = schema.encoder(&source, Targets::Needed)?.read_all()?;
    assert_eq!(chunk.read, count, "both passes see the same rows");
    assert_eq!(chunk.x.ncols(), schema.width());
    assert!(chunk.x.as_slice().iter().all(|value| value.is_finite()), "inputs are finite");
    Ok(())
}
