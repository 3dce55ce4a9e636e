//! Whether a random split of a table may flatter a model: rows that follow each other in time, or belong together, end up on both sides of it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::together::Facts;
use super::writing::Writings;
use super::{Cell, Kind, Note, Schema, Source, codes, date};
use crate::error::Result;

/// In fewer rows dates may well be in order, and ids come again, for no reason.
const FEW_ROWS: usize = 20;
/// The least number of different dates, or ids, that are told of: fewer are rather kinds of something.
const FEWEST_VALUES: usize = 5;

/// Words for what is measured again and again, in names of columns.
const ENTITIES: [&str; 17] = [
    "patient",
    "subject",
    "participant",
    "person",
    "respondent",
    "customer",
    "client",
    "user",
    "member",
    "household",
    "student",
    "account",
    "animal",
    "donor",
    "device",
    "machine",
    "session",
];
/// Words that may stand beside them.
const LABELS: [&str; 9] = ["id", "no", "nr", "num", "number", "code", "key", "uid", "ref"];

/// Notes on a table whose rows are drawn at random to be held out: that it is in the order of a column of dates, and that a column of ids has
/// several rows for each. Groups that are kept together already are not told of. Costs a pass over the table if there are such columns.
pub fn random_split_notes(source: &Source, schema: &Schema) -> Result<Vec<Note>> {
    let is_date = |name: &String| {
        schema.inputs.iter().any(|input| input.name == *name && matches!(input.kind, Kind::Date { .. }))
    };
    let is_id = |name: &String| {
        schema.row_columns.group.is_none()
            && !schema.targets.contains(name)
            && (codes::is_for_ids(name) || is_entity(name))
    };
    let dates: Vec<usize> = (0..source.names().len()).filter(|at| is_date(&source.names()[*at])).collect();
    let ids: Vec<usize> = (0..source.names().len()).filter(|at| is_id(&source.names()[*at])).collect();
    if dates.is_empty() && ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut used = vec![false; source.names().len()];
    dates.iter().chain(&ids).for_each(|at| used[*at] = true);
    let own = || {
        let mut seen = Seen { orders: vec![Order::default(); dates.len()], ids: vec![HashMap::new(); ids.len()] };
        let (mut rows, mut cells) = (source.rows_written(used, Writings::of(schema, source))?, Vec::new());
        while rows.next(&mut cells)?.is_some() {
            for (at, order) in dates.iter().zip(&mut seen.orders) {
                order.add(&cells[*at]);
            }
            for (at, values) in ids.iter().zip(&mut seen.ids) {
                if let Some(label) = cells[*at].label() {
                    *values.entry(label.into_owned()).or_default() += 1;
                }
            }
        }
        Ok(seen)
    };
    let Seen { orders, ids: seen } = source.together(own())?;
    let name = |at: &usize| source.names()[*at].clone();
    let in_order = dates.iter().zip(&orders).filter(|(_, order)| order.is_one());
    let mut notes: Vec<Note> = in_order.map(|(at, _)| Note::DatesInOrder { column: name(at) }).collect();
    for (at, values) in ids.iter().zip(&seen) {
        let (rows, values) = (values.values().sum::<usize>(), values.len());
        if rows >= FEW_ROWS && values >= FEWEST_VALUES && rows >= 2 * values {
            notes.push(Note::RepeatedIds { column: name(at), values, rows });
        }
    }
    Ok(notes)
}

/// Whether a column of this name tells apart what is measured: `patient`, `Subject_No`, `customer id`.
fn is_entity(name: &str) -> bool {
    let lower = name.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let entity =
        |word: &&str| ENTITIES.contains(word) || word.strip_suffix('s').is_some_and(|one| ENTITIES.contains(&one));
    words.iter().any(entity) && words.iter().all(|word| entity(word) || LABELS.contains(word))
}

/// What was seen of the columns of dates, and of those of ids: how many rows have each.
#[derive(Serialize, Deserialize)]
struct Seen {
    orders: Vec<Order>,
    ids: Vec<HashMap<String, usize>>,
}

impl Facts for Seen {
    fn then(&mut self, next: Self) {
        self.orders.iter_mut().zip(next.orders).for_each(|(own, next)| own.then(next));
        for (own, next) in self.ids.iter_mut().zip(next.ids) {
            next.into_iter().for_each(|(id, rows)| *own.entry(id).or_default() += rows);
        }
    }
}

/// Whether the dates of a column follow each other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Order {
    rows: usize,
    /// The first and the last.
    ends: Option<(f64, f64)>,
    steps: usize,
    falls: usize,
}

impl Order {
    fn add(&mut self, cell: &Cell) {
        let seconds = match cell {
            Cell::Date(seconds) => Some(*seconds),
            Cell::Text(text) => date::seconds(text),
            Cell::Missing | Cell::Number(_) | Cell::Boolean(_) => None,
        };
        let Some(seconds) = seconds else { return };
        self.follow((seconds, seconds));
        self.rows += 1;
    }

    /// The dates of the rows that come next.
    fn then(&mut self, next: Self) {
        next.ends.into_iter().for_each(|ends| self.follow(ends));
        self.rows += next.rows;
        self.steps += next.steps;
        self.falls += next.falls;
    }

    /// Dates from one to another come next.
    fn follow(&mut self, (from, to): (f64, f64)) {
        if let Some((_, last)) = self.ends
            && from != last
        {
            self.steps += 1;
            self.falls += usize::from(from < last);
        }
        self.ends = Some((self.ends.map_or(from, |(first, _)| first), to));
    }

    /// Whether they rise all the way, or fall.
    fn is_one(&self) -> bool {
        self.rows >= FEW_ROWS && self.steps + 1 >= FEWEST_VALUES && (self.falls == 0 || self.falls == self.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{RowColumns, Wanted};

    fn told(text: &str, group: Option<&str>) -> Vec<Note> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, text).unwrap();
        let source = Source::open(&path).unwrap();
        let row_columns = RowColumns { group: group.map(String::from), weights: None };
        let wanted = Wanted { targets: vec!["y".into()], row_columns, ..Wanted::default() };
        random_split_notes(&source, &Schema::scan(&source, &wanted).unwrap().0).unwrap()
    }

    fn table(head: &str, rows: usize, line: impl Fn(usize) -> String) -> String {
        (0..rows).fold(format!("{head}\n"), |text, i| text + &line(i) + "\n")
    }

    #[test]
    fn dates_that_rise_or_fall_all_the_way_are_told_of() {
        let note = || vec![Note::DatesInOrder { column: "day".into() }];
        let rising = |i: usize| format!("2024-01-{:02},{i}", 1 + i / 2);
        assert_eq!(told(&table("day,y", 40, rising), None), note());
        assert_eq!(told(&table("day,y", 40, |i| rising(39 - i)), None), note());
        assert_eq!(told(&table("day,y", 40, |i| rising(i * 7 % 40)), None), []);
        let american = |i: usize| format!("{:02}/{:02}/2024,{i}", 1 + i / 28, 1 + i % 28);
        assert_eq!(told(&table("day,y", 60, american), None), note());
        assert_eq!(told(&table("day,y", 15, rising), None), [], "too few to say");
        assert_eq!(
            told(&table("day,y", 40, |i| format!("2024-01-{:02},{i}", 1 + i / 20)), None),
            [],
            "two days are two kinds"
        );
    }

    #[test]
    fn ids_with_several_rows_each_are_told_of_unless_they_are_kept_together() {
        let visits = |head: &str| table(head, 60, |i| format!("p{},{},{i}", i % 20, i * 7 % 60));
        let note = |column: &str| vec![Note::RepeatedIds { column: column.into(), values: 20, rows: 60 }];
        for name in ["patient", "Subject_No", "customer id", "shop_id", "Students"] {
            assert_eq!(told(&visits(&format!("{name},x,y")), None), note(name));
        }
        for name in ["device_type", "colour", "person_count", "width"] {
            assert_eq!(told(&visits(&format!("{name},x,y")), None), [], "{name}");
        }
        assert_eq!(told(&visits("patient,x,y"), Some("patient")), []);
        assert_eq!(told(&table("patient,x,y", 60, |i| format!("{i},{},{i}", i * 7 % 60)), None), [], "one row each");
        assert_eq!(
            told(&table("user,x,y", 60, |i| format!("u{},{},{i}", i % 3, i * 7 % 60)), None),
            [],
            "three are kinds"
        );
    }
}
