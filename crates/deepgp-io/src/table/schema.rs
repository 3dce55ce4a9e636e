//! What each column of a table is, and so how a row becomes numbers.
//!
//! A schema is made once, from the table that a model is fitted on, and travels in the model file. A number is one
//! input, a date too, with two more for each cycle that it shows ([`Cycle`]), a boolean is 0 or 1, and a category is as many inputs as it has
//! levels, of which one is 1 and the others 0; where these are very many, it is what its level says about the targets ([`LevelMeans`]).

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::encode::Encoder;
use super::{Cycle, DateOrder, LevelMeans, Note, RowColumns, Source, TargetKind, Task, Writing, scan};
use crate::error::Result;

/// What to make of a table's columns. Those that are not named are inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Columns to predict.
    pub targets: Vec<String>,
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Columns to take as categories, even if they hold numbers.
    pub categorical: Vec<String>,
    /// Columns to take as inputs, even if they only tell rows apart.
    pub keep: Vec<String>,
    /// Texts that stand for missing cells, in place of [`super::MISSING_MARKERS`]: then everywhere, in columns of words too.
    pub na: Option<Vec<String>>,
    /// The order of day and month in dates whose year comes last.
    pub dates: DateOrder,
    /// What to do about missing cells.
    pub missing: Missing,
    /// What is to be predicted.
    pub task: Task,
    /// The column of exposures, if counts have some: it is no input.
    pub exposure: Option<String>,
    /// The columns of groups and weights, if there are any: they are no inputs.
    pub row_columns: RowColumns,
}

/// What to do about missing cells in columns that are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Refuse the table.
    #[default]
    Reject,
    /// Leave out rows that have any.
    Drop,
    /// Put the column's mean in place of a number, the share of `true` in place of a boolean, and no level at all in place
    /// of a category. Rows without a target are left out.
    Mean,
    /// The same, and a further input for each column of which cells are missing at fitting, other than categories: 1 where one is. What is missing
    /// for a reason then says so.
    Indicator,
}

/// How a table becomes numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// The inputs, in the order in which they are encoded.
    pub inputs: Vec<InputColumn>,
    /// The targets, in the order in which they were asked for.
    pub targets: Vec<String>,
    /// What the targets are; numbers in files that are older than classes and counts.
    #[serde(default, skip_serializing_if = "TargetKind::is_numbers")]
    pub target_kind: TargetKind,
    /// The column of exposures, which counts grow with, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<String>,
    /// The columns of groups and weights, if there are any.
    #[serde(default, skip_serializing_if = "RowColumns::is_empty")]
    pub row_columns: RowColumns,
    /// What to do about missing cells.
    pub missing: Missing,
    /// How columns are written that are not written plainly, inputs or not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub writing: BTreeMap<String, Writing>,
    /// Texts that stand for missing cells, in place of the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub na: Option<Vec<String>>,
    /// How many columns the table had, if they have no names: then they are known by their positions alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<usize>,
}

/// An input column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputColumn {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether a further input says that its cell is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub indicator: bool,
}

impl InputColumn {
    /// A column whose missing cells no input tells of.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind, indicator: false }
    }

    /// How many inputs it becomes.
    pub fn width(&self) -> usize {
        self.kind.width() + usize::from(self.indicator)
    }
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Numbers.
    Number {
        /// Their mean: what [`Missing::Mean`] puts in place of a missing one.
        fill: Option<f64>,
    },
    /// Dates, which are seconds since 1970 as numbers: ISO dates in text, or what Parquet has a type for.
    Date {
        /// Their mean: what [`Missing::Mean`] puts in place of a missing one, which is nowhere in a cycle.
        fill: Option<f64>,
        /// The cycles that they show.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cycles: Vec<Cycle>,
    },
    /// `true` and `false`.
    Boolean {
        /// The share of `true`: what [`Missing::Mean`] puts in place of a missing one.
        fill: Option<f64>,
    },
    /// Texts of which there are few.
    Category {
        /// All of them, sorted.
        levels: Vec<String>,
    },
    /// Texts of which there are many, though they come again.
    ManyLevels {
        /// All of them, sorted.
        levels: Vec<String>,
        /// What each says about the targets; before the training rows are known, a level is its position, and a missing or unknown one
        /// the number of levels.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        means: Option<LevelMeans>,
    },
}

/// Whether targets must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// They are read, and must be there.
    Needed,
    /// They are not read, and need not be there.
    Unneeded,
}

impl Schema {
    /// Reads the table once and decides what each column is.
    ///
    /// A column whose cells are all numbers, missing ones aside, is a number; one of dates a date; one of `true` and
    /// `false` a boolean; any other a category, unless more than half of its cells are numbers, or dates: then the text
    /// among them is an error. A category of more than 10 levels is one of many ([`Kind::ManyLevels`]), unless it has up to 100 with 20 rows for each,
    /// or was asked for and has up to 1000.
    ///
    /// Columns that only tell rows apart, texts with more than half as many different values as there are rows, or numbers that count
    /// the rows, are left out with a note, unless they are asked for; so are columns with nothing in them. All that is wrong with a table is told at once.
    pub fn scan(source: &Source, wanted: &Wanted) -> Result<(Self, Vec<Note>)> {
        scan::scan(source, wanted, &mut |_| ())
    }

    /// [`Schema::scan`] for somebody who waits: `watch` sees how many records have been read, every so often and at the end.
    pub fn scan_watched(source: &Source, wanted: &Wanted, watch: &mut dyn FnMut(u64)) -> Result<(Self, Vec<Note>)> {
        scan::scan(source, wanted, watch)
    }

    /// A name for each encoded input: `weight`, `weight is missing`, `colour=red`.
    pub fn feature_names(&self) -> Vec<String> {
        let names = |column: &InputColumn| {
            let mut own: Vec<String> = match &column.kind {
                Kind::Number { .. } | Kind::Boolean { .. } => vec![column.name.clone()],
                Kind::Date { cycles, .. } => {
                    let waves = |cycle: &Cycle| {
                        ["sine", "cosine"].map(|wave| format!("{}: {} ({wave})", column.name, cycle.name()))
                    };
                    std::iter::once(column.name.clone()).chain(cycles.iter().flat_map(waves)).collect()
                }
                Kind::Category { levels } => levels.iter().map(|level| format!("{}={level}", column.name)).collect(),
                Kind::ManyLevels { means, .. } => match means.as_ref().map_or(1, LevelMeans::width) {
                    1 => vec![column.name.clone()],
                    _ => self.averaged_names().map(|target| format!("{} ({target})", column.name)).collect(),
                },
            };
            own.extend(column.indicator.then(|| format!("{} is missing", column.name)));
            own
        };
        self.inputs.iter().flat_map(names).collect()
    }

    /// What a level of a category with many has a mean of: the targets, or the classes but for the first.
    fn averaged_names(&self) -> impl Iterator<Item = &String> {
        match self.target_kind.labels() {
            Some(labels) => labels[1..].iter(),
            None => self.targets.iter(),
        }
    }

    /// The inputs that each column becomes, as places among all that are encoded: a column's categories, the cycles of its dates and whether its
    /// cells are missing are its own.
    pub fn inputs_of_columns(&self) -> Vec<Range<usize>> {
        let mut next = 0;
        let of_column = |column: &InputColumn| {
            let first = next;
            next += column.width();
            first..next
        };
        self.inputs.iter().map(of_column).collect()
    }

    /// The inputs that are made of dates, as places among all that are encoded: for each column of dates its seconds, then its cycles.
    pub fn inputs_of_dates(&self) -> Vec<usize> {
        let columns = self.inputs.iter().zip(self.inputs_of_columns());
        let of_dates = columns.filter(|(column, _)| matches!(column.kind, Kind::Date { .. }));
        of_dates.flat_map(|(column, own)| own.start..own.start + column.kind.width()).collect()
    }

    /// How many inputs there are when encoded.
    pub fn width(&self) -> usize {
        self.inputs.iter().map(InputColumn::width).sum()
    }

    /// Reads a table as this schema says, which need not be the one that it was made from.
    ///
    /// Columns are found by their names, in any order, and others are left out; a table whose columns have no names must
    /// have as many as that of the schema. A level that the schema does not know is no level at all, with a note.
    pub fn encoder(&self, source: &Source, targets: Targets) -> Result<Encoder> {
        Encoder::new(self, source, targets)
    }
}

impl Kind {
    /// How many inputs it becomes, one that tells of missing cells aside.
    fn width(&self) -> usize {
        match self {
            Self::Number { .. } | Self::Boolean { .. } => 1,
            Self::Date { cycles, .. } => 1 + 2 * cycles.len(),
            Self::Category { levels } => levels.len(),
            Self::ManyLevels { means, .. } => means.as_ref().map_or(1, LevelMeans::width),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_survives_json_to_the_last_bit() {
        let column = |name: &str, kind| InputColumn::new(name, kind);
        let mut schema = Schema {
            inputs: vec![
                column("weight", Kind::Number { fill: Some(0.1 + 0.2) }),
                column("day", Kind::Date { fill: Some(1.7e9 + 0.1), cycles: Vec::new() }),
                column("sold", Kind::Boolean { fill: Some(1.0 / 3.0) }),
                column("colour", Kind::Category { levels: vec!["blue".into(), "red".into()] }),
            ],
            targets: vec!["y".into()],
            target_kind: TargetKind::Numbers,
            exposure: None,
            row_columns: RowColumns::default(),
            missing: Missing::Mean,
            writing: BTreeMap::new(),
            na: None,
            positions: None,
        };
        // Numbers of all sizes: one in some thousands comes back changed from a reader that does not care.
        for step in 0..20_000 {
            schema.inputs[0].kind = Kind::Number { fill: Some((f64::from(step) * 0.7312).exp2().recip() * 1.1e300) };
            let text = serde_json::to_string(&schema).unwrap();
            assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), schema);
        }
        assert_eq!(schema.feature_names(), ["weight", "day", "sold", "colour=blue", "colour=red"]);
        assert_eq!((schema.width(), schema.inputs_of_columns()), (5, vec![0..1, 1..2, 2..3, 3..5]));
        schema.inputs.truncate(1);
        schema.inputs[0].kind = Kind::Number { fill: Some(0.5) };
        let text = serde_json::to_string(&schema).unwrap();
        let expected =
            r#"{"inputs":[{"name":"weight","kind":{"number":{"fill":0.5}}}],"targets":["y"],"missing":"mean"}"#;
        assert_eq!(text, expected);
        // A file that is older than classes and counts has numbers.
        assert_eq!(serde_json::from_str::<Schema>(expected).unwrap().target_kind, TargetKind::Numbers);
        for (kind, stored) in [
            (TargetKind::Counts, r#""target_kind":"counts""#),
            (TargetKind::Classes { labels: vec!["no".into(), "yes".into()] }, r#"{"classes":{"labels":["no","yes"]}}"#),
        ] {
            schema.target_kind = kind;
            let text = serde_json::to_string(&schema).unwrap();
            assert!(text.contains(stored), "{text}");
            assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), schema);
        }
    }
}
