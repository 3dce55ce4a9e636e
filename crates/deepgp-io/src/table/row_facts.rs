//! What columns say about rows that is no input: which belong together, how much they count, when they were.
//!
//! A model does not learn from these columns, and predictions do without them. They are read by a pass of their own, where somebody asks.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::together::Facts;
use super::writing::Writings;
use super::{Cell, Note, Place, Schema, Source, date, names};
use crate::error::{DATE, Error, Result};

/// The number of bad cells that a message names.
const NAMED: usize = 5;

/// Columns that say something about rows, and are no inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowColumns {
    /// The column of groups: rows of one group stay together wherever some are held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The column of weights: how much each row counts in training and in scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
}

impl RowColumns {
    /// Whether there are no such columns.
    pub fn is_empty(&self) -> bool {
        self.group.is_none() && self.weights.is_none()
    }
}

/// What columns say about the rows of a table that are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowFacts {
    /// The group of each row, numbered from 0 in the order in which they appear; a row without one is a group of its own.
    pub groups: Option<Vec<u32>>,
    /// The weight of each row, 0 or more, and not all of them 0.
    pub weights: Option<Vec<f64>>,
    /// The time of each row; of a row without one it is minus infinity.
    pub times: Option<Vec<f64>>,
    /// What is worth knowing about them.
    pub notes: Vec<Note>,
}

impl RowFacts {
    /// Reads groups and weights, and times from the column `time`, of the rows at the positions `kept`, which ascend; the first record that is read has
    /// the position `first`, which is 0 unless several processes read the table. Columns that are not asked for are not read; the schema says how
    /// they are written. Fails if a column is not there, or a weight or time is none.
    pub fn read(
        source: &Source,
        schema: &Schema,
        columns: &RowColumns,
        time: Option<&str>,
        first: u64,
        kept: &[u64],
    ) -> Result<Self> {
        let find = |name: Option<&str>, role| name.map(|name| names::find(source, name, role)).transpose();
        let group = find(columns.group.as_deref(), "asked to be the group")?;
        let weight = find(columns.weights.as_deref(), "asked to be the weights")?;
        let time = find(time, "asked to tell which rows are the last")?;
        if group.or(weight).or(time).is_none() {
            return Ok(Self::default());
        }
        let own = || {
            let mut used = vec![false; source.names().len()];
            [group, weight, time].into_iter().flatten().for_each(|at| used[at] = true);
            let (mut groups, mut weights, mut times) = (Groups::default(), Numbers::default(), Numbers::default());
            let (mut rows, mut cells, mut left) =
                (source.rows_written(used, Writings::of(schema, source))?, Vec::new(), kept.iter().peekable());
            let mut position = first;
            while let Some(number) = rows.next(&mut cells)? {
                if left.next_if_eq(&&position).is_some() {
                    let place = source.place(number);
                    group.into_iter().for_each(|at| groups.add(&cells[at]));
                    weight.into_iter().for_each(|at| weights.add(place, &cells[at], weight_of(&cells[at])));
                    time.into_iter().for_each(|at| times.add(place, &cells[at], time_of(&cells[at])));
                }
                position += 1;
            }
            Ok((groups, weights, times))
        };
        let (groups, weights, times) = source.all_fine(own())?;
        let found = source.together(Ok(Found {
            rows: kept.len(),
            groups: vec![groups.names],
            counts: weights.values.iter().any(|weight| *weight > 0.0),
            weights: weights.bad,
            times: times.bad,
        }))?;
        let mut facts = Self::default();
        if let Some(at) = group {
            let Numbered { own, groups: count, missing } = Numbered::new(&found.groups, source.rank());
            facts.groups = Some(groups.of_row.iter().map(|group| own[*group as usize]).collect());
            let column = source.names()[at].clone();
            facts.notes.push(Note::GroupsKeptTogether { column, groups: count, rows: found.rows, missing });
        }
        if let Some(at) = weight {
            let advice = "give each row a weight, 0 for one that is not to count, or leave out --weights";
            found.weights.check(source, at, "a number of 0 or more", advice)?;
            if !found.counts {
                let (path, column) = (source.path().into(), source.names()[at].clone());
                return Err(Error::AllWeightsZero { path, column });
            }
            facts.weights = Some(weights.values);
        }
        if let Some(at) = time {
            let advice = "mend the cells, or split by another column, as in --test last:0.2:COLUMN";
            found.times.check(source, at, DATE, advice)?;
            facts.times = Some(times.values);
        }
        Ok(facts)
    }
}

/// What was found in these columns.
#[derive(Serialize, Deserialize)]
struct Found {
    /// The number of rows.
    rows: usize,
    /// What stands in each group's rows, of each process, in the order in which groups appear.
    groups: Vec<Vec<Option<String>>>,
    /// Whether some row has a weight above 0.
    counts: bool,
    /// Cells that are no weights, and no times.
    weights: Bad,
    times: Bad,
}

impl Facts for Found {
    fn then(&mut self, next: Self) {
        self.rows += next.rows;
        self.groups.then(next.groups);
        self.counts |= next.counts;
        self.weights.then(next.weights);
        self.times.then(next.times);
    }
}

/// The weight that a cell is; `None` if it is none.
fn weight_of(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number(value) if *value >= 0.0 && value.is_finite() => Some(value + 0.0),
        Cell::Boolean(value) => Some(f64::from(u8::from(*value))),
        Cell::Number(_) | Cell::Missing | Cell::Date(_) | Cell::Text(_) => None,
    }
}

/// The time that a cell is, a date or a number; `None` if it is neither. Nobody knows whether a row without one is late: it comes first.
fn time_of(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Missing => Some(f64::NEG_INFINITY),
        Cell::Number(value) => value.is_finite().then_some(*value),
        Cell::Date(seconds) => Some(*seconds),
        Cell::Text(text) => date::seconds(text),
        Cell::Boolean(_) => None,
    }
}

/// Groups by what stands in their column.
#[derive(Default)]
struct Groups {
    numbers: HashMap<String, u32>,
    of_row: Vec<u32>,
    /// What stands in the rows of each; nothing in a row that is a group of its own.
    names: Vec<Option<String>>,
}

impl Groups {
    fn add(&mut self, cell: &Cell) {
        let known = cell.label().and_then(|label| self.numbers.get(&*label).copied());
        let number = known.unwrap_or_else(|| {
            let (number, name) = (self.names.len() as u32, cell.label().map(Cow::into_owned));
            self.numbers.extend(name.clone().map(|name| (name, number)));
            self.names.push(name);
            number
        });
        self.of_row.push(number);
    }
}

/// The groups of all processes, numbered in the order in which they appear.
struct Numbered {
    /// The numbers of one process's groups.
    own: Vec<u32>,
    /// How many there are, and how many rows that are groups of their own.
    groups: usize,
    missing: u64,
}

impl Numbered {
    fn new(of_each: &[Vec<Option<String>>], rank: usize) -> Self {
        let (mut numbers, mut all) = (HashMap::new(), Self { own: Vec::new(), groups: 0, missing: 0 });
        for (process, names) in of_each.iter().enumerate() {
            for name in names {
                let known = name.as_ref().and_then(|name| numbers.get(name).copied());
                let number = known.unwrap_or(all.groups as u32);
                if known.is_none() {
                    all.groups += 1;
                    all.missing += u64::from(name.is_none());
                    numbers.extend(name.as_ref().map(|name| (name, number)));
                }
                if process == rank {
                    all.own.push(number);
                }
            }
        }
        all
    }
}

/// Numbers of a column, and the cells that are none.
#[derive(Default)]
struct Numbers {
    values: Vec<f64>,
    bad: Bad,
}

impl Numbers {
    fn add(&mut self, place: Place, cell: &Cell, value: Option<f64>) {
        self.values.push(value.unwrap_or(0.0));
        if value.is_none() {
            let shown = cell.label().map_or("nothing".into(), |label| format!("\"{}\"", names::shorten(&label)));
            self.bad.then(Bad { count: 1, named: vec![(place, shown)] });
        }
    }
}

/// Cells that are not what they should be, and the first of them.
#[derive(Default, Serialize, Deserialize)]
struct Bad {
    count: u64,
    named: Vec<(Place, String)>,
}

impl Bad {
    /// The cells that come next.
    fn then(&mut self, next: Self) {
        self.count += next.count;
        let room = NAMED - self.named.len();
        self.named.extend(next.named.into_iter().take(room));
    }

    /// Fails if there are some.
    fn check(&self, source: &Source, at: usize, expected: &'static str, advice: &'static str) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let named: Vec<String> = self.named.iter().map(|(place, shown)| format!("{place} has {shown}")).collect();
        let more = if self.count > self.named.len() as u64 { ", …" } else { "" };
        let (path, column) = (source.path().into(), source.names()[at].clone());
        Err(Error::Cells { path, column, count: self.count, expected, named: named.join(", ") + more, advice })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, columns: &RowColumns, time: Option<&str>, kept: &[u64]) -> Result<RowFacts> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, text).unwrap();
        RowFacts::read(&Source::open(&path)?, &Schema::default(), columns, time, 0, kept)
    }

    fn by(group: Option<&str>, weights: Option<&str>) -> RowColumns {
        RowColumns { group: group.map(String::from), weights: weights.map(String::from) }
    }

    #[test]
    fn groups_are_texts_numbers_or_dates_and_rows_without_one_stand_alone() {
        let text =
            "who,n,day,y\nann,1,2024-01-01,1\nbob,01,2024-01-02,2\nann,2,2024-01-01,3\n,1.0,,4\n,,,5\nann,1,,6\n";
        let of = |column: &str, kept: &[u64]| read(text, &by(Some(column), None), None, kept).unwrap();
        let all = [0, 1, 2, 3, 4, 5];
        assert_eq!(of("who", &all).groups.unwrap(), [0, 1, 0, 2, 3, 0]);
        assert_eq!(of("n", &all).groups.unwrap(), [0, 0, 1, 0, 2, 0]);
        assert_eq!(of("day", &all).groups.unwrap(), [0, 1, 0, 2, 3, 4]);
        // Of the rows that are kept alone.
        let some = of("who", &[1, 2, 4]);
        assert_eq!(some.groups.unwrap(), [0, 1, 2]);
        let told = Note::GroupsKeptTogether { column: "who".into(), groups: 3, rows: 3, missing: 1 };
        assert_eq!(some.notes, [told]);
        let unknown = read(text, &by(Some("whom"), None), None, &all).unwrap_err().to_string();
        assert!(unknown.contains("did you mean `who`?"), "{unknown}");
        assert_eq!(read(text, &by(None, None), None, &all).unwrap(), RowFacts::default());
    }

    #[test]
    fn weights_that_are_none_are_named_with_their_rows() {
        let read = |text: &str, kept: &[u64]| read(text, &by(None, Some("w")), None, kept);
        let good = read("w,y\n2,1\n0,2\ntrue,3\n0.5,4\n", &[0, 1, 2, 3]).unwrap();
        assert_eq!(good.weights.unwrap(), [2.0, 0.0, 1.0, 0.5]);
        let bad = "w,y\n2,1\n-1,2\n,3\nmuch,4\ninf,5\n";
        let error = read(bad, &[0, 1, 2, 3, 4]).unwrap_err().to_string();
        assert!(error.contains("column `w`: 4 cells are not a number of 0 or more"), "{error}");
        assert!(
            error.contains("line 3 has \"-1\", line 4 has nothing, line 5 has \"much\", line 6 has \"inf\";"),
            "{error}"
        );
        // Rows that are left out need none.
        assert_eq!(read(bad, &[0]).unwrap().weights.unwrap(), [2.0]);
        let error = read("w,y\n0,1\n0,2\n", &[0, 1]).unwrap_err().to_string();
        assert!(error.contains("column `w` is 0 in every row"), "{error}");
    }

    #[test]
    fn times_are_dates_or_numbers_and_those_that_are_missing_come_first() {
        let text = "day,year,y\n1970-01-02,1999,1\n,2000,2\n1970-01-01 00:00:01,,3\nlate,2001,4\n";
        let of = |column: &str, kept: &[u64]| read(text, &by(None, None), Some(column), kept);
        assert_eq!(of("day", &[0, 1, 2]).unwrap().times.unwrap(), [86_400.0, f64::NEG_INFINITY, 1.0]);
        assert_eq!(of("year", &[0, 3]).unwrap().times.unwrap(), [1999.0, 2001.0]);
        let error = of("day", &[0, 3]).unwrap_err().to_string();
        assert!(
            error.contains("column `day`: 1 cell is not a date") && error.contains("line 5 has \"late\""),
            "{error}"
        );
    }
}
