//! What the first pass has seen of one column, and what the column therefore is.

use std::collections::{BTreeSet, HashSet};

use super::cell::{mostly_digits, number_label};
use super::codes::Codes;
use super::{Cell, Kind, Note, Place, Source, date, names, scan};
use crate::error::{Error, Result};

/// The most levels a category may have, and one that was asked for.
pub(super) const MOST_LEVELS: usize = 100;
pub(super) const MOST_ASKED_LEVELS: usize = 1000;

/// Up to this many rows a category may have a level for each.
const FEW_ROWS: u64 = 20;

/// With more levels than this, most of which have digits, a category may well be meant to be numbers.
const FEW_LEVELS: usize = 10;

/// How numbers and dates are to be written, so that they are known.
pub(crate) const PLAIN: &str = "write them without units and separators, and dates as YYYY-MM-DD";

/// Levels are counted up to here.
const COUNTED_LEVELS: usize = 10_000;

/// What has been seen of a column.
pub(super) struct Seen {
    /// Numbers are levels.
    category: bool,
    /// Cells that are missing.
    absent: u64,
    numbers: u64,
    mean: f64,
    /// What the numbers may be, if not quantities.
    pub(super) codes: Codes,
    /// Bits of different numbers, as long as they could all be levels.
    different: HashSet<u64>,
    booleans: u64,
    trues: u64,
    texts: u64,
    different_texts: BTreeSet<String>,
    /// Texts that are dates, those of other formats included, and their mean.
    dates: u64,
    mean_date: f64,
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
            mean: 0.0,
            codes: Codes::default(),
            different: HashSet::new(),
            booleans: 0,
            trues: 0,
            texts: 0,
            different_texts: BTreeSet::new(),
            dates: 0,
            mean_date: 0.0,
            zoned: 0,
            unzoned: 0,
            odd: None,
            no_date: None,
        }
    }

    /// One more cell. Fails if it is infinite.
    pub(super) fn add(&mut self, source: &Source, name: &str, place: Place, cell: &Cell) -> Result<()> {
        let shown = || (place, names::shorten(&cell.label().unwrap_or_default()));
        match cell {
            Cell::Missing => {
                self.absent += 1;
                return Ok(());
            }
            Cell::Number(value) if !value.is_finite() => return Err(scan::not_finite(source, name, place, cell)),
            Cell::Number(value) => {
                self.numbers += 1;
                self.mean = with_one_more(self.mean, *value, self.numbers);
                self.codes.add(*value);
                let most = if self.category { COUNTED_LEVELS } else { MOST_LEVELS };
                if self.different.len() <= most {
                    self.different.insert((value + 0.0).to_bits());
                }
                self.no_date.get_or_insert_with(shown);
                return Ok(());
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
        Ok(())
    }

    /// Whether an input of its own should tell of missing cells: a category without any of its levels tells of them already.
    pub(super) fn wants_indicator(&self, kind: &Kind) -> bool {
        match kind {
            Kind::Number { .. } | Kind::Date { .. } | Kind::Boolean { .. } => self.absent > 0,
            Kind::Category { .. } => false,
        }
    }

    fn add_level(&mut self, text: &str) {
        if self.different_texts.len() <= COUNTED_LEVELS && !self.different_texts.contains(text) {
            self.different_texts.insert(text.into());
        }
    }

    fn add_date(&mut self, seconds: f64) {
        self.dates += 1;
        self.mean_date = with_one_more(self.mean_date, seconds, self.dates);
    }

    /// What the column is, of which `rows` rows were seen. Fails if that cannot be said, or is of no use.
    pub(super) fn kind(&self, source: &Source, name: &str, rows: u64) -> Result<Kind> {
        let cells = self.numbers + self.booleans + self.texts;
        let (path, column) = (source.path().to_path_buf(), name.to_string());
        if cells == 0 {
            let advice = format!("leave it out with --ignore {name}");
            return Err(Error::AllMissing { path, column, rows, advice });
        }
        match &self.odd {
            None if !self.category => Ok(Kind::Number { fill: Some(self.mean) }),
            Some(_) if self.booleans == cells && !self.category => {
                Ok(Kind::Boolean { fill: Some(self.trues as f64 / cells as f64) })
            }
            Some((place, value)) if 2 * self.numbers > cells && !self.category => {
                let (place, value, numbers) = (*place, value.clone(), self.numbers);
                Err(Error::Mixed { path, place, column, value, numbers, cells })
            }
            Some(_) if 2 * self.dates > cells && !self.category => match &self.no_date {
                None => Ok(Kind::Date { fill: Some(self.mean_date) }),
                Some((place, value)) => {
                    let (place, value, dates) = (*place, value.clone(), self.dates);
                    Err(Error::MixedDates { path, place, column, value, dates, cells })
                }
            },
            _ => self.kind_of_category(source, name, cells),
        }
    }

    /// A category of so many cells. Fails if it has too many levels.
    fn kind_of_category(&self, source: &Source, name: &str, cells: u64) -> Result<Kind> {
        let levels = self.levels();
        let most = if self.category { MOST_ASKED_LEVELS } else { MOST_LEVELS };
        let tells_apart = tell_rows_apart(levels.len(), cells);
        if levels.len() <= most && !tells_apart {
            return Ok(Kind::Category { levels: levels.into_iter().collect() });
        }
        let example = self.odd.as_ref().map_or(String::new(), |(place, value)| {
            let may_be_meant = mostly_digits(value) && self.dates == 0;
            let advice = if may_be_meant { format!("; if they are numbers, {PLAIN}") } else { String::new() };
            format!(" (\"{value}\" in {place}{advice})")
        });
        let what = match (self.numbers, self.texts) {
            (0, _) => "texts",
            (_, 0) => "numbers",
            _ => "values",
        };
        let may_be_asked = self.counted_all() && levels.len() <= MOST_ASKED_LEVELS && !tells_apart;
        let advice = if may_be_asked && !self.category {
            ", or name it with --categorical"
        } else if self.category && self.odd.is_none() {
            ", or leave out --categorical, so that they are numbers"
        } else if self.category && self.dates == cells {
            ", or leave out --categorical, so that they are dates"
        } else {
            ""
        };
        let at_least = if self.counted_all() { "" } else { "at least " };
        let rule = match (tells_apart, self.category) {
            (true, _) => "half as many as there are rows".into(),
            (false, false) => format!("{MOST_LEVELS} ({MOST_ASKED_LEVELS} if asked for)"),
            (false, true) => MOST_ASKED_LEVELS.to_string(),
        };
        let count = levels.len();
        let levels = format!(
            "{at_least}{count} different {what} in {cells} rows{example}, but at most {rule} can be categories"
        );
        Err(Error::Levels { path: source.path().into(), column: name.into(), levels, advice })
    }

    /// What is worth knowing about what the column is taken for.
    pub(super) fn note(&self, name: &str, kind: &Kind) -> Option<Note> {
        match kind {
            Kind::Date { .. } => {
                Some(Note::Dates { column: name.into(), mixed_zones: self.zoned > 0 && self.unzoned > 0 })
            }
            Kind::Category { levels } if !self.category && levels.len() > FEW_LEVELS => {
                let mut with_digits = levels.iter().filter(|level| level.contains(|c: char| c.is_ascii_digit()));
                let example = names::shorten(with_digits.next()?);
                // The example is one of them.
                let mostly = 2 * (with_digits.count() + 1) > levels.len();
                mostly.then(|| Note::CategoriesWithDigits { column: name.into(), levels: levels.len(), example })
            }
            Kind::Category { levels } if levels.len() > MOST_LEVELS => {
                Some(Note::ManyCategories { column: name.into(), levels: levels.len() })
            }
            Kind::Number { .. } | Kind::Boolean { .. } | Kind::Category { .. } => None,
        }
    }

    fn levels(&self) -> BTreeSet<String> {
        let mut levels = self.different_texts.clone();
        levels.extend(self.different.iter().map(|bits| number_label(f64::from_bits(*bits))));
        for (value, seen) in [("true", self.trues > 0), ("false", self.booleans > self.trues)] {
            if seen {
                levels.insert(value.into());
            }
        }
        levels
    }

    /// Whether all levels were counted: it may have stopped.
    fn counted_all(&self) -> bool {
        let most = if self.category { COUNTED_LEVELS } else { MOST_LEVELS };
        self.different_texts.len() <= COUNTED_LEVELS && self.different.len() <= most
    }
}

/// Whether so many levels in so many rows tell the rows apart and say nothing else.
pub(super) fn tell_rows_apart(levels: usize, rows: u64) -> bool {
    2 * levels as u64 > rows && rows > FEW_ROWS
}

/// The mean of `count` numbers, of which the last is `value` and the others have this `mean`.
fn with_one_more(mean: f64, value: f64, count: u64) -> f64 {
    // Dividing first keeps the mean of huge numbers finite.
    mean + (value / count as f64 - mean / count as f64)
}
