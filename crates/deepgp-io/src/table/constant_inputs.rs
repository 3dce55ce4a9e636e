//! Input columns that are the same in every row of the table, from which nothing can be learnt: left out with a note, kept, or refused.

use deepgp::{Dataset, Mat};
use serde::{Deserialize, Serialize};

use super::{InputColumn, Kind, Note, Schema};
use crate::error::{Error, Result};

/// The number of columns that an error names.
const SHOWN: usize = 10;

/// What to do with input columns that are the same in every row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConstantInputs {
    /// Leave them out, and say so.
    #[default]
    Drop,
    /// Take them like others: they may vary in tables to come.
    Keep,
    /// Refuse the table.
    Reject,
}

impl ConstantInputs {
    /// The columns to learn from and the rows' inputs in them, with a note if some are left out. Fails where they are to be refused, or all are
    /// the same in every row.
    pub fn settle(self, schema: Schema, data: Dataset) -> Result<(Schema, Dataset, Option<Note>)> {
        let is_same = |feature: usize| (1..data.len()).all(|i| data.x()[(i, feature)] == data.x()[(0, feature)]);
        let is_same = |feature: usize| data.len() > 1 && is_same(feature);
        let (schema, left_out, note) = self.settle_columns(schema, is_same, data.x().row(0))?;
        if left_out.is_empty() {
            return Ok((schema, data, note));
        }
        let left: Vec<usize> = (0..data.x().ncols()).filter(|feature| !left_out.contains(feature)).collect();
        let x = Mat::from_fn(data.len(), left.len(), |i, j| data.x()[(i, left[j])]);
        let data = data.with_inputs(x).expect("they are some of the inputs that were checked before");
        Ok((schema, data, note))
    }

    /// [`ConstantInputs::settle`] for rows that are not in memory: of each of their encoded inputs it is known whether it `is_same` in all of
    /// them, and what the `first` row has. Gives the encoded inputs to leave out.
    pub fn settle_columns(
        self,
        schema: Schema,
        is_same: impl Fn(usize) -> bool,
        first: &[f64],
    ) -> Result<(Schema, Vec<usize>, Option<Note>)> {
        if self == Self::Keep {
            return Ok((schema, Vec::new(), None));
        }
        let is_constant = |column: &usize| features(&schema, *column).all(&is_same);
        let constant: Vec<usize> = (0..schema.inputs.len()).filter(is_constant).collect();
        match self {
            Self::Keep | Self::Reject | Self::Drop if constant.is_empty() => return Ok((schema, Vec::new(), None)),
            Self::Drop if constant.len() < schema.inputs.len() => {}
            Self::Keep | Self::Reject | Self::Drop => return Err(refusal(&schema, first, &constant)),
        }
        let left_out = constant.iter().flat_map(|c| features(&schema, *c)).collect();
        let columns = constant.iter().map(|c| schema.inputs[*c].name.clone()).collect();
        let varies = |index: &usize| !constant.contains(index);
        let inputs = (0..schema.inputs.len()).filter(varies).map(|c| schema.inputs[c].clone()).collect();
        Ok((Schema { inputs, ..schema }, left_out, Some(Note::ConstantColumns { columns })))
    }
}

/// The columns of the encoded inputs that an input of the table has.
fn features(schema: &Schema, column: usize) -> std::ops::Range<usize> {
    let before: usize = schema.inputs[..column].iter().map(InputColumn::width).sum();
    before..before + schema.inputs[column].width()
}

/// Why a table with these constant inputs, and this `first` row, is refused, and what helps.
fn refusal(schema: &Schema, first: &[f64], constant: &[usize]) -> Error {
    let cell = |c: &usize| {
        let column = &schema.inputs[*c];
        format!("`{}` = {}", column.name, in_words(&column.kind, &first[features(schema, *c)]))
    };
    let mut cells = constant.iter().take(SHOWN).map(cell).collect::<Vec<_>>().join(", ");
    if constant.len() > SHOWN {
        cells += &format!(" and {} more", constant.len() - SHOWN);
    }
    Error::ConstantInputs { count: constant.len(), cells, all: constant.len() == schema.inputs.len() }
}

/// The text of a cell of the table, from the numbers that it was encoded as.
fn in_words(kind: &Kind, encoded: &[f64]) -> String {
    match kind {
        Kind::Number { .. } => encoded[0].to_string(),
        Kind::Date { .. } => format!("{} seconds since 1970", encoded[0]),
        Kind::Boolean { .. } => (encoded[0] != 0.0).to_string(),
        Kind::Category { levels } => {
            let level = levels.iter().zip(encoded).find(|(_, one)| **one != 0.0);
            level.map_or("nothing".into(), |(level, _)| format!("\"{level}\""))
        }
        Kind::ManyLevels { levels, .. } => {
            levels.get(encoded[0] as usize).map_or("nothing".into(), |level| format!("\"{level}\""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Missing, TargetKind};

    /// A number that varies, a category of two levels that does not, and another number that varies.
    fn table() -> (Schema, Dataset) {
        let number = |name: &str| InputColumn::new(name, Kind::Number { fill: None });
        let levels = vec!["blue".to_string(), "red".to_string()];
        let colour = InputColumn::new("colour", Kind::Category { levels });
        let schema = Schema {
            inputs: vec![number("a"), colour, number("b")],
            targets: vec!["y".into()],
            target_kind: TargetKind::Numbers,
            missing: Missing::Reject,
            positions: None,
            ..Schema::default()
        };
        let x = Mat::from_fn(4, 4, |i, j| [i as f64, 0.0, 1.0, -(i as f64)][j]);
        let data = Dataset::new(x, Mat::from_fn(4, 1, |i, _| i as f64)).unwrap();
        (schema, data.with_weights(vec![1.0, 2.0, 3.0, 4.0]).unwrap())
    }

    #[test]
    fn what_never_varies_is_left_out_with_all_its_levels() {
        let (schema, data) = table();
        let (left, rows, note) = ConstantInputs::Drop.settle(schema.clone(), data.clone()).unwrap();
        assert_eq!(left.inputs.iter().map(|column| &column.name[..]).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(rows.x(), &Mat::from_fn(4, 2, |i, j| [i as f64, -(i as f64)][j]));
        assert_eq!((rows.y(), rows.weights()), (data.y(), data.weights()));
        assert_eq!(note, Some(Note::ConstantColumns { columns: vec!["colour".into()] }));
        let kept = ConstantInputs::Keep.settle(schema.clone(), data.clone()).unwrap();
        assert_eq!((kept.0, kept.1, kept.2), (schema, data, None));
    }

    #[test]
    fn it_is_refused_where_that_is_asked_for_or_nothing_else_is_there() {
        let (mut schema, data) = table();
        let error = ConstantInputs::Reject.settle(schema.clone(), data.clone()).unwrap_err().to_string();
        assert!(error.contains("`colour` = \"red\"") && error.contains("--constant drop"), "{error}");
        schema.inputs = vec![schema.inputs.remove(1)];
        let alone = data.with_inputs(Mat::from_fn(4, 2, |_, j| j as f64)).unwrap();
        let error = ConstantInputs::Drop.settle(schema, alone).unwrap_err().to_string();
        assert!(error.contains("an input column is the same in every row") && error.contains("no input is left"));
    }
}
