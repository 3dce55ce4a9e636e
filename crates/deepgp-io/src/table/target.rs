//! Targets: whether they are numbers, classes or counts, and how their cells become numbers.
//!
//! Classes are numbered from 0 in the order of their labels: numbers by size, texts by their letters, `false` before `true`.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use deepgp::likelihood::Outcomes;
use serde::{Deserialize, Serialize};

use super::cell::{mostly_digits, number_label};
use super::column::{MOST_ASKED_LEVELS, MOST_LEVELS, PLAIN, tell_rows_apart};
use super::first_different::FirstDifferent;
use super::together::first;
use super::{Cell, Note, Place, Source, date, names, scan};
use crate::error::{Error, Result};
use crate::note::ClassRows;

/// What is to be predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// What the target's cells look like: texts, or `true` and `false`, are classes, and numbers are numbers.
    #[default]
    Auto,
    /// Numbers.
    Regression,
    /// Classes; whole numbers are labels.
    Classification,
    /// Numbers of events: 0, 1, 2, ….
    Counts,
}

/// What targets are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// Numbers, dates and `true` and `false` included.
    #[default]
    Numbers,
    /// Classes of a single target, which are encoded by their positions among the labels.
    Classes {
        /// The labels of all classes, in their order.
        labels: Vec<String>,
    },
    /// Numbers of events, of a single target.
    Counts,
}

impl TargetKind {
    /// Whether targets are numbers.
    pub fn is_numbers(&self) -> bool {
        *self == Self::Numbers
    }

    /// The labels of classes, if targets are classes.
    pub fn labels(&self) -> Option<&[String]> {
        match self {
            Self::Classes { labels } => Some(labels),
            Self::Numbers | Self::Counts => None,
        }
    }
}

/// Different values of a target are counted up to here.
const COUNTED_VALUES: usize = 10_000;
/// A class with fewer rows than this is told of.
const RARE: u64 = 5;
/// With as many different whole numbers, and so many rows for each, they may well be classes.
const FEW_VALUES: usize = 20;
const ROWS_EACH: u64 = 10;
/// In fewer rows whole numbers say nothing.
const FEW_ROWS: u64 = 30;

/// What a count must be.
const COUNT: &str = "a count (0, 1, 2, …, up to 10^12)";

/// Different values and the rows of each, as long as there are not too many.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Hash + Eq + Clone + Serialize + serde::de::DeserializeOwned")]
struct Counted<T> {
    different: FirstDifferent<T>,
    /// By the places of the values.
    rows: Vec<u64>,
}

impl<T: Hash + Eq + Clone> Default for Counted<T> {
    fn default() -> Self {
        Self { different: FirstDifferent::new(COUNTED_VALUES), rows: Vec::new() }
    }
}

impl<T: Hash + Eq + Clone> Counted<T> {
    /// So many rows more that have this value.
    fn add<Q>(&mut self, value: &Q, rows: u64)
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = T> + ?Sized,
    {
        if let Some((place, _)) = self.different.add(value) {
            self.rows.resize(self.different.len(), 0);
            self.rows[place] += rows;
        }
    }

    /// The values of the rows that come next.
    fn then(&mut self, next: Self) {
        next.different.in_order().iter().zip(next.rows).for_each(|(value, rows)| self.add(value, rows));
    }

    /// The values with their rows, in no order.
    fn iter(&self) -> impl Iterator<Item = (&T, u64)> {
        self.different.iter().map(|(value, place)| (value, self.rows[place]))
    }

    /// How many different ones there are.
    fn len(&self) -> usize {
        self.different.len()
    }
}

/// What the first pass has seen of a target.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SeenTarget {
    numbers: u64,
    booleans: u64,
    dates: u64,
    texts: u64,
    /// Rows of each label that is no number, and of each number by its bits, as long as there are not too many.
    labels: Counted<String>,
    values: Counted<u64>,
    /// The first text that is no date, the first number with a fraction, and the first cell that is no count.
    text: Option<(Place, String)>,
    fraction: Option<(Place, String)>,
    no_count: Option<(Place, String)>,
}

impl SeenTarget {
    /// One more cell, which is no infinite number.
    pub(super) fn add(&mut self, place: Place, cell: &Cell) {
        let shown = || (place, cell.label().unwrap_or_default().into_owned());
        match cell {
            Cell::Missing => return,
            Cell::Number(value) => {
                self.numbers += 1;
                self.values.add(&(value + 0.0).to_bits(), 1);
                if value.fract() != 0.0 {
                    self.fraction.get_or_insert_with(shown);
                }
            }
            Cell::Boolean(_) => self.booleans += 1,
            Cell::Date(_) => self.dates += 1,
            Cell::Text(text) if date::seconds(text).is_some() => self.dates += 1,
            Cell::Text(text) => {
                self.texts += 1;
                self.text.get_or_insert_with(|| (place, text.clone()));
            }
        }
        if !is_count(cell) {
            self.no_count.get_or_insert_with(shown);
        }
        if let (Cell::Boolean(_) | Cell::Date(_) | Cell::Text(_), Some(label)) = (cell, cell.label()) {
            self.labels.add(&*label, 1);
        }
    }

    /// The cells that come next.
    pub(super) fn then(&mut self, next: Self) {
        self.numbers += next.numbers;
        self.booleans += next.booleans;
        self.dates += next.dates;
        self.texts += next.texts;
        self.labels.then(next.labels);
        self.values.then(next.values);
        first(&mut self.text, next.text);
        first(&mut self.fraction, next.fraction);
        first(&mut self.no_count, next.no_count);
    }

    /// What the target is, with what is worth knowing about it; `alone` if it is the only one. Fails if it is not what it is asked to be.
    pub(super) fn kind(
        &self,
        source: &Source,
        name: &str,
        task: Task,
        alone: bool,
    ) -> Result<(TargetKind, Option<Note>)> {
        let of_single = |found: TargetKind| match alone {
            true => Ok(found),
            false => Err(Error::SeveralTargets { path: source.path().into(), column: name.into() }),
        };
        match task {
            Task::Auto if self.may_be_classes() && (alone || self.texts > 0) => {
                of_single(self.classes(source, name, MOST_LEVELS)?).map(|kind| (kind, self.rare_classes(name)))
            }
            Task::Classification => {
                if let (Some((place, shown)), 0) = (&self.fraction, self.texts) {
                    let advice =
                        "classes are texts or whole numbers: leave out --task classification to predict numbers";
                    return Err(scan::value(source, name, *place, shown, "a whole number", advice));
                }
                let kind = of_single(self.classes(source, name, MOST_ASKED_LEVELS)?)?;
                Ok((kind, self.rare_classes(name)))
            }
            Task::Counts => {
                if let Some((place, shown)) = &self.no_count {
                    let advice = "mend the cell, or leave out --task counts to predict numbers";
                    return Err(scan::value(source, name, *place, shown, COUNT, advice));
                }
                if self.values.len() == 1 {
                    return Err(self.one_value(source, name, &self.class_rows()[0].label));
                }
                Ok((of_single(TargetKind::Counts)?, None))
            }
            Task::Auto | Task::Regression => {
                if let Some((place, text)) = &self.text {
                    return Err(self.no_number(source, name, *place, text));
                }
                let note = match task {
                    Task::Auto if self.booleans > 0 => Some(Note::TruthAsNumbers { target: name.into() }),
                    Task::Auto => self.whole_numbers(name).filter(|_| alone),
                    Task::Regression | Task::Classification | Task::Counts => None,
                };
                Ok((TargetKind::Numbers, note))
            }
        }
    }

    /// Whether there is a cell that is not missing.
    pub(super) fn is_there(&self) -> bool {
        self.cells() > 0
    }

    /// The number of cells that are not missing.
    fn cells(&self) -> u64 {
        self.numbers + self.booleans + self.dates + self.texts
    }

    /// Whether the cells look like labels: all are `true` or `false`, or at least half of them are texts of some kind.
    fn may_be_classes(&self) -> bool {
        let cells = self.cells();
        self.booleans == cells || (self.texts > 0 && 2 * (self.numbers + self.dates) <= cells)
    }

    /// The classes in their order, with the number of rows of each.
    fn class_rows(&self) -> Vec<ClassRows> {
        let mut numbers: Vec<(f64, u64)> =
            self.values.iter().map(|(bits, rows)| (f64::from_bits(*bits), rows)).collect();
        numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        let labels = self.labels.iter().map(|(label, rows)| ClassRows { label: label.clone(), rows });
        let numbers = numbers.into_iter().map(|(value, rows)| ClassRows { label: number_label(value), rows });
        let mut all: Vec<ClassRows> = numbers.chain(labels).collect();
        // Among texts numbers are texts, too; alone they go by size.
        if self.labels.len() > 0 {
            all.sort_by(|a, b| a.label.cmp(&b.label));
        }
        // A text of a binary format may be a number's label.
        all.dedup_by(|next, kept| {
            let same = next.label == kept.label;
            kept.rows += if same { next.rows } else { 0 };
            same
        });
        all
    }

    /// The classes, of which there may be so many. Fails if there is one, or more than that.
    fn classes(&self, source: &Source, name: &str, most: usize) -> Result<TargetKind> {
        let (classes, rows) = (self.class_rows(), self.cells());
        if let [only] = &classes[..] {
            return Err(self.one_value(source, name, &only.label));
        }
        let apart = tell_rows_apart(classes.len(), rows);
        if classes.len() <= most && !apart {
            return Ok(TargetKind::Classes { labels: classes.into_iter().map(|class| class.label).collect() });
        }
        let counted_all = self.values.len() <= COUNTED_VALUES && self.labels.len() <= COUNTED_VALUES;
        let at_least = if counted_all { "" } else { "at least " };
        let most = if apart { "half as many as there are rows".into() } else { most.to_string() };
        let example = names::shorten(self.text.as_ref().map_or(&classes[0].label, |(_, text)| text));
        let advice = if mostly_digits(&example) && self.texts > 0 {
            format!("if they are numbers, {PLAIN}")
        } else if self.texts == 0 {
            "leave out --task classification to predict numbers".into()
        } else if !apart && counted_all && classes.len() <= MOST_ASKED_LEVELS {
            "take them as classes all the same with --task classification, or name another target".into()
        } else {
            "name another target".into()
        };
        let classes = format!(
            "{at_least}{} different values in {rows} rows, such as \"{example}\", but at most {most} can be classes",
            classes.len()
        );
        Err(Error::ManyClasses { path: source.path().into(), column: name.into(), classes, advice })
    }

    /// The target has one value in all rows.
    fn one_value(&self, source: &Source, name: &str, value: &str) -> Error {
        let advice = match mostly_digits(value) && self.texts > 0 {
            true => format!("if it is a number, {PLAIN}"),
            false => "name another target".into(),
        };
        let (path, column, value) = (source.path().into(), name.into(), names::shorten(value));
        Error::OneValue { path, column, value, rows: self.cells(), advice }
    }

    /// A text stands where numbers are wanted.
    fn no_number(&self, source: &Source, name: &str, place: Place, text: &str) -> Error {
        let advice = if mostly_digits(text) {
            "write it without units and separators, or take the target as classes with --task classification"
        } else {
            "mend the cell, or take the target as classes with --task classification"
        };
        scan::value(source, name, place, text, "a number", advice)
    }

    /// A note on classes of few rows.
    fn rare_classes(&self, name: &str) -> Option<Note> {
        let classes: Vec<ClassRows> = self.class_rows().into_iter().filter(|class| class.rows < RARE).collect();
        (!classes.is_empty()).then(|| Note::RareClasses { target: name.into(), classes })
    }

    /// A note on whole numbers that may be meant to be classes, or to count something.
    fn whole_numbers(&self, name: &str) -> Option<Note> {
        let (values, rows) = (self.values.len(), self.numbers);
        if self.fraction.is_some() || self.dates > 0 || rows < FEW_ROWS || !(2..=COUNTED_VALUES).contains(&values) {
            return None;
        }
        let may_be_classes = values <= FEW_VALUES && values as u64 * ROWS_EACH <= rows;
        let may_be_counts = self.no_count.is_none() && 2 * values as u64 <= rows;
        let note = Note::WholeNumbers { target: name.into(), values, may_be_classes, may_be_counts };
        (may_be_classes || may_be_counts).then_some(note)
    }
}

/// Whether a cell is a number of events.
fn is_count(cell: &Cell) -> bool {
    matches!(cell, Cell::Number(value) if Outcomes::Counts.holds(*value))
}

/// How a target's cell becomes a number.
#[derive(Debug)]
pub(super) enum TargetCode {
    /// As the number that it is.
    Number,
    /// As the position of its label.
    Class {
        /// The labels in their order.
        labels: Vec<String>,
        /// The position of each label.
        positions: HashMap<String, usize>,
    },
    /// As the number that it is, which must be a count.
    Count,
}

impl TargetCode {
    /// The code of targets of this kind.
    pub(super) fn of(kind: &TargetKind) -> Self {
        match kind {
            TargetKind::Numbers => Self::Number,
            TargetKind::Classes { labels } => {
                let positions = labels.iter().cloned().zip(0..).collect();
                Self::Class { labels: labels.clone(), positions }
            }
            TargetKind::Counts => Self::Count,
        }
    }

    /// A cell's number, `None` if it is missing. Fails if the target cannot have this value.
    pub(super) fn encode(&self, source: &Source, name: &str, place: Place, cell: &Cell) -> Result<Option<f64>> {
        match self {
            Self::Number => number(source, name, place, cell),
            Self::Class { labels, positions } => {
                let Some(label) = cell.label() else { return Ok(None) };
                let found = positions.get(&*label).or_else(|| positions.get(other_truth(cell)?));
                let Some(position) = found else {
                    let (path, known, value) =
                        (source.path().into(), names::list(labels.iter()), names::shorten(&label));
                    return Err(Error::UnknownClass { path, place, column: name.into(), value, known });
                };
                Ok(Some(*position as f64))
            }
            Self::Count if is_count(cell) || *cell == Cell::Missing => number(source, name, place, cell),
            Self::Count => {
                let advice = "the model was fitted to counts: mend the cell";
                Err(scan::value(source, name, place, &cell.label().unwrap_or_default(), COUNT, advice))
            }
        }
    }
}

/// The label of a truth value in formats that write it in the other way: as a word, or as 0 or 1.
fn other_truth(cell: &Cell) -> Option<&'static str> {
    match cell {
        Cell::Boolean(true) => Some("1"),
        Cell::Boolean(false) => Some("0"),
        Cell::Number(value) if *value == 1.0 => Some("true"),
        Cell::Number(value) if *value == 0.0 => Some("false"),
        Cell::Missing | Cell::Number(_) | Cell::Date(_) | Cell::Text(_) => None,
    }
}

/// A cell's value as a finite number; `None` if it is missing.
fn number(source: &Source, name: &str, place: Place, cell: &Cell) -> Result<Option<f64>> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Number(value) if value.is_finite() => Ok(Some(*value)),
        Cell::Number(_) => Err(scan::not_finite(source, name, place, &cell.label().unwrap_or_default())),
        Cell::Boolean(value) => Ok(Some(f64::from(u8::from(*value)))),
        Cell::Date(seconds) => Ok(Some(*seconds)),
        Cell::Text(text) => match date::seconds(text) {
            Some(seconds) => Ok(Some(seconds)),
            None => {
                Err(scan::value(source, name, place, text, "a number", "the model predicts numbers: mend the cell"))
            }
        },
    }
}
