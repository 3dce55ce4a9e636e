//! What the first pass has seen of one column, and what the column therefore is.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::cell::{mostly_digits, number_label};
use super::codes::Codes;
use super::cycles::SeenDates;
use super::exact_mean::ExactMean;
use super::first_different::FirstDifferent;
use super::together::first;
use super::{Cell, Kind, Note, Place, Source, date, names};
use crate::error::{Error, Result};
use crate::note::LeftOut;

/// A category of so few levels has an input for each, whatever the number of rows.
const FEW_LEVELS_TO_LEARN: usize = 10;
/// One of up to so many has, too, if there are so many rows for each: enough to learn how a level differs, and not in its height alone. Chosen by
/// trial: docs/tables.md.
const MOST_INPUTS: usize = 100;
const ROWS_FOR_EACH: u64 = 20;
/// One that was asked for may have so many.
const MOST_ASKED_INPUTS: usize = 1000;

/// The most classes a target may have, and one that was asked for.
pub(super) const MOST_LEVELS: usize = 100;
pub(super) const MOST_ASKED_LEVELS: usize = 1000;

/// Up to this many rows a category may have a level for each.
const FEW_ROWS: u64 = 20;

/// With more levels than this, most of which have digits, a category may well be meant to be numbers.
const FEW_LEVELS: usize = 10;

/// How numbers and dates are to be written, so that they are known.
pub(crate) const PLAIN: &str = "write them without units and separators, and dates as YYYY-MM-DD";

/// Levels are counted up to here, and numbers of columns that are not known to be categories.
const COUNTED_LEVELS: usize = 100_000;
const COUNTED_NUMBERS: usize = 10_000;

/// Bytes that a different value takes in memory, a text beside its own bytes, and a number; and one of the first numbers of a column.
const TEXT_KEPT: u64 = 64;
const NUMBER_KEPT: u64 = 20;

/// What is to become of a column.
pub(super) enum Verdict {
    /// It is an input.
    Input(Kind),
    /// It is left out.
    LeftOut(LeftOut),
}

/// What has been seen of a column.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Numbers are levels.
    category: bool,
    /// Cells that are missing.
    absent: u64,
    numbers: u64,
    mean: ExactMean,
    /// What the numbers may be, if not quantities.
    pub(super) codes: Codes,
    /// Bits of different numbers, as long as they could all be levels.
    different: FirstDifferent<u64>,
    /// Bytes of different values that are kept.
    kept: u64,
    booleans: u64,
    trues: u64,
    texts: u64,
    different_texts: FirstDifferent<String>,
    /// Texts that are dates, those of other formats included, and their mean.
    dates: u64,
    mean_date: ExactMean,
    when: SeenDates,
    /// Times that say how far they are from UTC, and those that do not.
    zoned: u64,
    unzoned: u64,
    /// The first cell that is no number, and the first that is no date.
    odd: Option<(Place, String)>,
    no_date: Option<(Place, String)>,
}

impl Seen {
    /// Nothing yet.
    pub(super) fn new(category: bool) -> Self {
        Self {
            category,
            absent: 0,
            numbers: 0,
            mean: ExactMean::default(),
            codes: Codes::default(),
            different: FirstDifferent::new(if category { COUNTED_LEVELS } else { COUNTED_NUMBERS }),
            kept: 0,
            booleans: 0,
            trues: 0,
            texts: 0,
            different_texts: FirstDifferent::new(COUNTED_LEVELS),
            dates: 0,
            mean_date: ExactMean::default(),
            when: SeenDates::default(),
            zoned: 0,
            unzoned: 0,
            odd: None,
            no_date: None,
        }
    }

    /// One more cell, which is no infinite number.
    pub(super) fn add(&mut self, place: Place, cell: &Cell) {
        let shown = || (place, names::shorten(&cell.label().unwrap_or_default()));
        match cell {
            Cell::Missing => return self.absent += 1,
            Cell::Number(value) => {
                self.numbers += 1;
                self.mean.add(*value);
                self.kept += NUMBER_KEPT * u64::from(self.codes.add(*value));
                self.add_number((value + 0.0).to_bits());
                self.no_date.get_or_insert_with(shown);
                return;
            }
            Cell::Boolean(value) => {
                self.booleans += 1;
                self.trues += u64::from(*value);
                self.no_date.get_or_insert_with(shown);
            }
            Cell::Date(seconds) => {
                self.texts += 1;
                self.add_date(*seconds);
                if self.category {
                    self.add_level(&cell.label().unwrap_or_default());
                }
            }
            Cell::Text(text) => {
                self.texts += 1;
                self.add_level(text);
                match date::seconds(text) {
                    Some(seconds) => {
                        self.add_date(seconds);
                        let zoned = date::zoned(text);
                        self.zoned += u64::from(zoned == Some(true));
                        self.unzoned += u64::from(zoned == Some(false));
                    }
                    None => _ = self.no_date.get_or_insert_with(shown),
                }
            }
        }
        self.odd.get_or_insert_with(shown);
    }

    /// The cells that come next.
    pub(super) fn then(&mut self, next: Self) {
        self.absent += next.absent;
        self.numbers += next.numbers;
        self.mean.merge(next.mean);
        self.kept += NUMBER_KEPT * self.codes.then(next.codes);
        next.different.in_order().into_iter().for_each(|bits| self.add_number(bits));
        self.booleans += next.booleans;
        self.trues += next.trues;
        self.texts += next.texts;
        next.different_texts.in_order().iter().for_each(|text| self.add_level(text));
        self.dates += next.dates;
        self.mean_date.merge(next.mean_date);
        self.when.then(next.when);
        self.zoned += next.zoned;
        self.unzoned += next.unzoned;
        first(&mut self.odd, next.odd);
        first(&mut self.no_date, next.no_date);
    }

    /// The bytes of different values that are kept, about.
    pub(super) fn bytes_kept(&self) -> u64 {
        self.kept
    }

    /// Whether an input of its own should tell of missing cells: a category without any of its levels tells of them already.
    pub(super) fn wants_indicator(&self, kind: &Kind) -> bool {
        match kind {
            Kind::Number { .. } | Kind::Date { .. } | Kind::Boolean { .. } => self.absent > 0,
            Kind::Category { .. } | Kind::ManyLevels { .. } => false,
        }
    }

    fn add_number(&mut self, bits: u64) {
        if let Some((_, true)) = self.different.add(&bits) {
            self.kept += NUMBER_KEPT;
        }
    }

    fn add_level(&mut self, text: &str) {
        if let Some((_, true)) = self.different_texts.add(text) {
            self.kept += TEXT_KEPT + text.len() as u64;
        }
    }

    fn add_date(&mut self, seconds: f64) {
        self.dates += 1;
        self.mean_date.add(seconds);
        self.when.add(seconds);
    }

    /// What is to become of the column. Fails if it is neither this nor that; `keep` if it was asked for, and `alone` if there is no other.
    pub(super) fn verdict(&self, source: &Source, name: &str, keep: bool, alone: bool) -> Result<Verdict> {
        let cells = self.numbers + self.booleans + self.texts;
        let (path, column) = (source.path().to_path_buf(), name.to_string());
        if cells == 0 {
            return Ok(Verdict::LeftOut(LeftOut::Empty));
        }
        Ok(Verdict::Input(match &self.odd {
            None if !self.category => match self.codes.left_out(name).filter(|_| !keep && !alone) {
                Some(reason) => return Ok(Verdict::LeftOut(reason)),
                None => Kind::Number { fill: Some(self.mean.mean()) },
            },
            Some(_) if self.booleans == cells && !self.category => {
                Kind::Boolean { fill: Some(self.trues as f64 / cells as f64) }
            }
            Some((place, value)) if 2 * self.numbers > cells && !self.category => {
                let (place, value, numbers) = (*place, value.clone(), self.numbers);
                return Err(Error::Mixed { path, place, column, value, numbers, cells });
            }
            Some(_) if 2 * self.dates > cells && !self.category => match &self.no_date {
                None => Kind::Date { fill: Some(self.mean_date.mean()), cycles: self.when.cycles() },
                Some((place, value)) => {
                    let (place, value, dates) = (*place, value.clone(), self.dates);
                    return Err(Error::MixedDates { path, place, column, value, dates, cells });
                }
            },
            _ => return Ok(self.verdict_on_levels(cells, keep)),
        }))
    }

    /// What is to become of a category of so many cells.
    fn verdict_on_levels(&self, cells: u64, keep: bool) -> Verdict {
        let levels = self.levels();
        let apart = tell_rows_apart(levels.len(), cells);
        if apart && !self.category && !keep {
            let example = self.odd.as_ref().map_or(String::new(), |(_, value)| value.clone());
            return Verdict::LeftOut(LeftOut::TellsApart { values: levels.len(), example });
        }
        let enough_rows = cells >= ROWS_FOR_EACH * levels.len() as u64;
        let each = levels.len() <= FEW_LEVELS_TO_LEARN
            || (levels.len() <= MOST_INPUTS && enough_rows)
            || (levels.len() <= MOST_ASKED_INPUTS && self.category && !apart);
        let levels = levels.into_iter().collect();
        Verdict::Input(if each { Kind::Category { levels } } else { Kind::ManyLevels { levels, means: None } })
    }

    /// What is worth knowing about what the column is taken for.
    pub(super) fn note(&self, name: &str, kind: &Kind) -> Option<Note> {
        match kind {
            Kind::Date { cycles, .. } => {
                let mixed_zones = self.zoned > 0 && self.unzoned > 0;
                Some(Note::Dates { column: name.into(), mixed_zones, cycles: cycles.clone() })
            }
            Kind::ManyLevels { levels, .. } => {
                // Not names that begin with a letter, such as A1234.
                let is_number = |level: &&String| mostly_digits(level) && !level.starts_with(char::is_alphabetic);
                let numbers = levels.iter().filter(is_number).count();
                let meant = if 2 * numbers > levels.len() && !self.category { with_digits(levels) } else { None };
                let (column, levels) = (name.into(), levels.len());
                Some(match meant {
                    Some(example) => Note::CategoriesWithDigits { column, levels, example },
                    None => Note::LevelsAsMeans { column, levels },
                })
            }
            Kind::Category { levels } if !self.category && levels.len() > FEW_LEVELS => {
                let (column, example) = (name.into(), with_digits(levels)?);
                Some(Note::CategoriesWithDigits { column, levels: levels.len(), example })
            }
            Kind::Category { levels } if levels.len() > MOST_INPUTS => {
                Some(Note::ManyCategories { column: name.into(), levels: levels.len() })
            }
            Kind::Number { .. } | Kind::Boolean { .. } | Kind::Category { .. } => None,
        }
    }

    fn levels(&self) -> BTreeSet<String> {
        let mut levels: BTreeSet<String> = self.different_texts.iter().map(|(text, _)| text.clone()).collect();
        levels.extend(self.different.iter().map(|(bits, _)| number_label(f64::from_bits(*bits))));
        for (value, seen) in [("true", self.trues > 0), ("false", self.booleans > self.trues)] {
            if seen {
                levels.insert(value.into());
            }
        }
        levels
    }
}

/// The first level that has digits, if most of them have.
fn with_digits(levels: &[String]) -> Option<String> {
    let has_digits = |level: &&String| level.contains(|c: char| c.is_ascii_digit());
    let mostly = 2 * levels.iter().filter(has_digits).count() > levels.len();
    levels.iter().find(has_digits).filter(|_| mostly).map(|level| names::shorten(level))
}

/// Whether so many levels in so many rows tell the rows apart and say nothing else.
pub(super) fn tell_rows_apart(levels: usize, rows: u64) -> bool {
    2 * levels as u64 > rows && rows > FEW_ROWS
}
