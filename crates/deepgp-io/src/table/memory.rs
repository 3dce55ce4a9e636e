//! Tables in memory: columns of cells that a program has already, such as a data frame of Python's.
//!
//! They go through the same two passes as a file does, so what is a category there is one here.

use std::borrow::Cow;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{Cell, Rows};
use crate::error::Result;

/// The cells of a column in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnCells {
    /// Numbers; a missing one is NaN.
    Numbers(Vec<f64>),
    /// Dates in seconds since 1970, UTC; a missing one is NaN.
    Dates(Vec<f64>),
    /// Cells of several kinds.
    Cells(Vec<Cell>),
}

impl ColumnCells {
    /// The number of cells.
    pub fn rows(&self) -> usize {
        match self {
            Self::Numbers(values) | Self::Dates(values) => values.len(),
            Self::Cells(cells) => cells.len(),
        }
    }

    /// The cell of a row.
    fn cell(&self, row: usize) -> Cell {
        match self {
            Self::Numbers(values) => Cell::number(values[row]),
            Self::Dates(values) if values[row].is_nan() => Cell::Missing,
            Self::Dates(values) => Cell::Date(values[row]),
            Self::Cells(cells) => cells[row].clone(),
        }
    }

    /// What kind of cell stands in a row, and its text, so that no two different cells look alike to a digest.
    fn digest(&self, row: usize, digest: &mut Sha256) {
        let cell = self.cell(row);
        let kind = match cell {
            Cell::Missing => 0,
            Cell::Number(_) => 1,
            Cell::Boolean(_) => 2,
            Cell::Date(_) => 3,
            Cell::Text(_) => 4_u8,
        };
        digest_text(digest, kind, &cell.label().unwrap_or_default());
    }
}

/// The records of columns side by side, all of which have as many rows.
pub(super) struct MemoryRows {
    columns: Arc<[Arc<ColumnCells>]>,
    next: usize,
}

impl MemoryRows {
    /// From the first row on.
    pub(super) fn new(columns: &Arc<[Arc<ColumnCells>]>) -> Self {
        Self { columns: columns.clone(), next: 0 }
    }
}

impl Rows for MemoryRows {
    fn next(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>> {
        cells.clear();
        if self.columns.first().is_none_or(|column| self.next == column.rows()) {
            return Ok(None);
        }
        cells.extend(self.columns.iter().map(|column| column.cell(self.next)));
        self.next += 1;
        Ok(Some(self.next as u64))
    }

    fn written(&self, column: usize) -> Cow<'_, str> {
        let cell = self.columns[column].cell(self.next - 1);
        cell.label().unwrap_or_default().into_owned().into()
    }
}

/// The SHA-256 digest of names and cells in hexadecimal.
pub(super) fn sha256(names: &[String], columns: &[Arc<ColumnCells>]) -> String {
    let mut digest = Sha256::new();
    for (name, column) in names.iter().zip(columns) {
        digest_text(&mut digest, u8::MAX, name);
        (0..column.rows()).for_each(|row| column.digest(row, &mut digest));
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds a text of some kind, and where it ends.
fn digest_text(digest: &mut Sha256, kind: u8, text: &str) {
    digest.update([kind]);
    digest.update((text.len() as u64).to_le_bytes());
    digest.update(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::table::{Kind, Missing, Schema, Source, Targets, Wanted};

    fn text(text: &str) -> Cell {
        Cell::Text(text.into())
    }

    /// A table of every kind of column, twice: in memory, and as the text of a file.
    fn both() -> (Source, Source, tempfile::TempDir) {
        let colours = ["red", "blue", "red", "green"].map(text).to_vec();
        let days = [0.0, 86_400.0, f64::NAN, 172_800.0].to_vec();
        let sold = vec![Cell::Boolean(true), Cell::Missing, Cell::Boolean(false), Cell::Boolean(true)];
        let columns = [
            ("size", ColumnCells::Numbers(vec![1.5, f64::NAN, 2.5, 0.1 + 0.2])),
            ("colour", ColumnCells::Cells(colours)),
            ("day", ColumnCells::Dates(days)),
            ("sold", ColumnCells::Cells(sold)),
            ("y", ColumnCells::Numbers(vec![1.0, 2.0, 3.0, 4.0])),
        ];
        let columns = columns.map(|(name, cells)| (name.to_string(), Arc::new(cells))).to_vec();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let rows = "size,colour,day,sold,y\n1.5,red,1970-01-01,true,1\n,blue,1970-01-02,,2\n2.5,red,,false,3\n\
                    0.30000000000000004,green,1970-01-03,true,4\n";
        std::fs::write(&path, rows).unwrap();
        (Source::of_columns("X", columns).unwrap(), Source::open(&path).unwrap(), folder)
    }

    #[test]
    fn columns_in_memory_become_what_they_become_in_a_file() {
        let (memory, file, _folder) = both();
        let wanted = Wanted { targets: vec!["y".into()], missing: Missing::Indicator, ..Wanted::default() };
        let (schema, notes) = Schema::scan(&memory, &wanted).unwrap();
        assert_eq!((schema.clone(), notes), Schema::scan(&file, &wanted).unwrap());
        assert!(schema.inputs[0].indicator && matches!(schema.inputs[1].kind, Kind::Category { .. }));
        let encoded = |source: &Source| schema.encoder(source, Targets::Needed).unwrap().read_all().unwrap().0;
        assert_eq!(encoded(&memory), encoded(&file));
    }

    #[test]
    fn a_word_that_stands_for_nothing_in_texts_is_one_there_too() {
        let heating = ["gas", "none", "oil", "none", "gas"].map(text).to_vec();
        let columns =
            [("heating", ColumnCells::Cells(heating)), ("y", ColumnCells::Numbers(vec![1.0, 2.0, 3.0, 4.0, 5.0]))];
        let columns = columns.map(|(name, cells)| (name.to_string(), Arc::new(cells))).to_vec();
        let wanted = Wanted { targets: vec!["y".into()], missing: Missing::Indicator, ..Wanted::default() };
        let (schema, notes) = Schema::scan(&Source::of_columns("X", columns).unwrap(), &wanted).unwrap();
        assert_eq!(notes, []);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, "heating,other\nnone,1\noil,1\n,1\n").unwrap();
        let encoder = schema.encoder(&Source::open(&path).unwrap(), Targets::Unneeded).unwrap();
        let rows = encoder.read_all().unwrap().0.x;
        assert_eq!(rows.as_slice(), [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn another_cell_makes_another_digest() {
        let digest = |name: &str, cells: Vec<Cell>| {
            let column = (name.to_string(), Arc::new(ColumnCells::Cells(cells)));
            Source::of_columns("X", vec![column]).unwrap().sha256().unwrap()
        };
        let own = digest("a", vec![text("1"), text("2")]);
        assert_eq!(own, digest("a", vec![text("1"), text("2")]));
        assert_ne!(own, digest("b", vec![text("1"), text("2")]));
        assert_ne!(own, digest("a", vec![Cell::Number(1.0), text("2")]));
        assert_ne!(own, digest("a", vec![text("12"), text("")]));
    }

    #[test]
    fn columns_must_have_rows_and_as_many_each() {
        let column = |name: &str, rows: usize| (name.to_string(), Arc::new(ColumnCells::Numbers(vec![0.0; rows])));
        let error = Source::of_columns("X", vec![column("a", 0)]).unwrap_err();
        assert!(matches!(error, Error::NoRows { .. }), "{error}");
        let error = Source::of_columns("X", vec![column("a", 2), column("b", 3)]).unwrap_err().to_string();
        assert!(error.contains("X: column `b` has 3 rows, and the first has 2"), "{error}");
    }
}
