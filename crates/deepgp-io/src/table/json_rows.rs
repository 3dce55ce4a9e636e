//! Rows that a program sends, as JSON objects by the names of columns, for a model that is there.
//!
//! A number is a number, `true` and `false` are what they say, and `null` is a missing cell. A text is what it would be in a file of text: `"3.5"` in a
//! column of numbers is 3.5, `"$1,200"` is 1200 where the model's table had such numbers, and `""` is a missing cell; the name of a category is that
//! category, and digits in a column of dates are no date. From there on the rows go the way of any other table.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Cell, ColumnCells, Kind, Place, Schema, Source, names};
use crate::error::{Error, Result};

impl Source {
    /// The rows as a table of the columns that `schema` reads, its targets aside; `name` is what messages call it. Names that the model does not use
    /// are among the names of its columns, without their cells.
    ///
    /// Fails if there are no rows, if one lacks a column that the model uses, or has a list or an object in it.
    pub fn of_json_rows(name: &str, schema: &Schema, rows: &[Map<String, Value>]) -> Result<Self> {
        let inputs = schema.inputs.iter().map(|column| (&column.name, Some(&column.kind)));
        let used: Vec<(&String, Option<&Kind>)> = inputs.chain(schema.exposure.iter().map(|own| (own, None))).collect();
        let mut columns = Vec::with_capacity(used.len());
        for &(column, kind) in &used {
            let cells = rows.iter().zip(1..).map(|(row, number)| cell(name, row, Place::Row(number), column, kind));
            columns.push((column.clone(), Arc::new(ColumnCells::Cells(cells.collect::<Result<_>>()?))));
        }
        let nothing = Arc::new(ColumnCells::Numbers(vec![f64::NAN; rows.len()]));
        let mut known: HashSet<&String> = used.iter().map(|(column, _)| *column).collect();
        let others = rows.iter().flat_map(Map::keys).filter(|column| known.insert(*column));
        columns.extend(others.map(|column| (column.clone(), Arc::clone(&nothing))));
        Self::of_columns(name, columns)
    }
}

/// The cell of a row in a column.
fn cell(name: &str, row: &Map<String, Value>, place: Place, column: &String, kind: Option<&Kind>) -> Result<Cell> {
    let Some(value) = row.get(column) else {
        let there: Vec<String> = row.keys().cloned().collect();
        let (path, known) = (name.into(), names::known(column, &there, false));
        return Err(Error::LacksColumn { path, place, column: column.clone(), known });
    };
    let other = |what| Err(Error::NoCell { path: name.into(), place, column: column.clone(), what });
    match value {
        Value::Null => Ok(Cell::Missing),
        Value::Bool(value) => Ok(Cell::Boolean(*value)),
        // Numbers of JSON are finite, and those that are too large are refused where they are read.
        Value::Number(number) => Ok(number.as_f64().map_or(Cell::Missing, Cell::number)),
        Value::String(text) => Ok(written(text.trim(), kind)),
        Value::Array(_) => other("a list"),
        Value::Object(_) => other("an object"),
    }
}

/// The cell that a text in a column of this kind is.
fn written(text: &str, kind: Option<&Kind>) -> Cell {
    let as_it_is = match kind {
        Some(Kind::Category { levels } | Kind::ManyLevels { levels, .. }) => {
            levels.binary_search_by(|level| level.as_str().cmp(text)).is_ok()
        }
        Some(Kind::Date { .. }) => !text.is_empty(),
        Some(Kind::Number { .. } | Kind::Boolean { .. }) | None => false,
    };
    if as_it_is { Cell::Text(text.into()) } else { Cell::parse(text, false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Note;
    use crate::table::{Missing, Targets, Wanted};

    /// A table with every kind of column, read from a file.
    const TABLE: &str = "size,colour,day,sold,price,code,y\n1.5,red,2024-01-01,true,\"$1,200\",a1,1\n,blue,2024-01-02,false,$3,17,2\n\
                         2.5,red,,true,$1.50,17,3\n0.30000000000000004,green,2024-03-01,,$7,b2,4\n";

    fn schema_and_rows() -> (Schema, deepgp::Mat) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, TABLE).unwrap();
        let file = Source::open(&path).unwrap();
        let wanted = Wanted { targets: vec!["y".into()], missing: Missing::Indicator, ..Wanted::default() };
        let (schema, _) = Schema::scan(&file, &wanted).unwrap();
        let (chunk, _) = schema.encoder(&file, Targets::Unneeded).unwrap().read_all().unwrap();
        (schema, chunk.x)
    }

    fn rows(text: &str) -> Vec<Map<String, Value>> {
        serde_json::from_str(text).unwrap()
    }

    fn encoded(schema: &Schema, text: &str) -> Result<(deepgp::Mat, Vec<Note>)> {
        let source = Source::of_json_rows("rows", schema, &rows(text))?;
        let (chunk, notes) = schema.encoder(&source, Targets::Unneeded)?.read_all()?;
        Ok((chunk.x, notes))
    }

    #[test]
    fn rows_become_what_they_become_in_a_file() {
        let (schema, x) = schema_and_rows();
        // Once with JSON's own types, in another order, and once with the texts of the file.
        let typed = r#"[
            {"code": "a1", "size": 1.5, "colour": "red", "day": "2024-01-01", "sold": true, "price": "$1,200"},
            {"code": 17, "size": null, "colour": "blue", "day": "2024-01-02", "sold": false, "price": 3},
            {"code": "17", "size": 2.5, "colour": "red", "day": null, "sold": true, "price": 1.5},
            {"code": "b2", "size": 0.30000000000000004, "colour": "green", "day": "2024-03-01", "sold": null, "price": 7.0}]"#;
        let texts = r#"[
            {"size": "1.5", "colour": "red", "day": "2024-01-01", "sold": "true", "price": "$1,200", "code": "a1"},
            {"size": "", "colour": "blue", "day": "2024-01-02", "sold": "false", "price": "$3", "code": "17"},
            {"size": " 2.5 ", "colour": "red", "day": "", "sold": "true", "price": "$1.50", "code": "017"},
            {"size": "0.30000000000000004", "colour": "green", "day": "2024-03-01", "sold": "", "price": "$7", "code": "b2"}]"#;
        for text in [typed, texts] {
            let (found, notes) = encoded(&schema, text).unwrap();
            assert_eq!(found, x);
            assert!(
                !notes.iter().any(|note| matches!(note, Note::OddCells { .. } | Note::CategoriesUnseen { .. })),
                "{notes:?}"
            );
        }
    }

    #[test]
    fn digits_in_a_column_of_dates_are_no_date_and_numbers_are_seconds() {
        let (schema, _) = schema_and_rows();
        let row = |day: &str| {
            format!(r#"[{{"size": 1, "colour": "red", "day": {day}, "sold": true, "price": 1, "code": "a1"}}]"#)
        };
        let (text, notes) = encoded(&schema, &row("\"1704067200\"")).unwrap();
        assert!(notes.iter().any(|note| matches!(note, Note::OddCells { .. })), "{notes:?}");
        let (seconds, notes) = encoded(&schema, &row("1704067200")).unwrap();
        assert!(notes.is_empty() && seconds == encoded(&schema, &row("\"2024-01-01\"")).unwrap().0 && seconds != text);
    }

    #[test]
    fn a_row_has_all_columns_of_the_model_and_may_have_others() {
        let (schema, _) = schema_and_rows();
        let whole = r#"{"size": 1, "colour": "red", "day": null, "sold": true, "price": 1, "code": "a1", "id": [7]}"#;
        let (_, notes) = encoded(&schema, &format!("[{whole}]")).unwrap();
        assert!(notes.iter().any(|note| matches!(note, Note::UnusedColumns { columns, .. } if columns == &["id"])));
        let said = |text: &str| encoded(&schema, text).unwrap_err().to_string();
        let lacks = said(&format!("[{whole}, {}]", whole.replace("colour", "color")));
        assert!(lacks.starts_with("rows, row 2: there is no `colour`; did you mean `color`?"), "{lacks}");
        let list = said(&format!("[{}]", whole.replace("\"red\"", "[\"red\"]")));
        assert!(list.contains("row 1, column `colour`: the cell is a list"), "{list}");
        assert!(said("[]").contains("rows"));
    }
}
