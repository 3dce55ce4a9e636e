//! How the cells of a column are written, where that is not the plain way.
//!
//! A cell by itself does not say it: `none` is a word in a column of words, and nothing in a column of numbers; `1/2/2024` is in January or
//! in February. So the first pass counts what each column's cells could be ([`SeenWriting`]), and where a column is not plain the table is
//! read once more, its cells translated ([`Writings::read`]) before anything else looks at them. The schema keeps what was found, so
//! that later tables are read in the same way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cell::is_marker;
use super::date::{self, Order};
use super::text::Texts;
use super::together::first;
use super::{Cell, Note, Rows, Schema, Source, names, written_number};
use crate::error::Result;

/// How the cells of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writing {
    /// Words: such as stand for a missing cell elsewhere, `none` or `?`, are words like the others.
    Words,
    /// Numbers with signs of currencies or of percentages, or with marks between thousands.
    Decorated,
    /// Dates as in `12/31/2024`.
    MonthFirst,
    /// Dates as in `31/12/2024`.
    DayFirst,
}

/// The order of day and month in dates whose year comes last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrder {
    /// What fits all dates of a column; if both orders do, the month comes first where `/` stands between, else the day.
    #[default]
    Auto,
    /// The month comes first.
    MonthFirst,
    /// The day comes first.
    DayFirst,
}

/// How all columns of a table are written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Writings {
    /// Texts that are missing cells wherever they stand, in place of the usual ones.
    na: Option<Vec<String>>,
    /// Numbers that are missing cells.
    na_numbers: Vec<f64>,
    /// Whether the usual words stand for nothing: in a format that has nothing else for it.
    markers: bool,
    decimal_comma: bool,
    columns: Vec<Option<Writing>>,
}

impl Writings {
    /// All columns are plain.
    pub(super) fn plain(source: &Source, na: Option<&[String]>) -> Self {
        let na_numbers = na.unwrap_or_default().iter().filter_map(|text| text.trim().parse().ok()).collect();
        let (markers, decimal_comma) = (source.is_text(), source.decimal_comma());
        Self {
            na: na.map(<[String]>::to_vec),
            na_numbers,
            markers,
            decimal_comma,
            columns: vec![None; source.names().len()],
        }
    }

    /// As the table of the schema was written.
    pub(super) fn of(schema: &Schema, source: &Source) -> Self {
        let columns = source.names().iter().map(|name| schema.writing.get(name).copied()).collect();
        Self { columns, ..Self::plain(source, schema.na.as_deref()) }
    }

    /// The same table, read with what was found out about its columns.
    fn with(&self, columns: Vec<Option<Writing>>) -> Self {
        Self { columns, ..self.clone() }
    }

    /// Whether all columns are written plainly.
    fn is_plain(&self) -> bool {
        self.columns.iter().all(Option::is_none)
    }

    /// What is not plain, by the names of the columns.
    pub(super) fn by_name(&self, source: &Source) -> BTreeMap<String, Writing> {
        let named = source.names().iter().zip(&self.columns);
        named.filter_map(|(name, writing)| Some((name.clone(), (*writing)?))).collect()
    }

    /// Translates the cells of a record.
    pub(super) fn read(&self, cells: &mut [Cell]) {
        for (cell, writing) in cells.iter_mut().zip(&self.columns) {
            match cell {
                Cell::Text(text) => {
                    if let Some(meant) = self.meaning(text, *writing) {
                        *cell = meant;
                    }
                }
                Cell::Number(value) if self.na_numbers.contains(value) => *cell = Cell::Missing,
                Cell::Missing | Cell::Number(_) | Cell::Boolean(_) | Cell::Date(_) => {}
            }
        }
    }

    /// What a text means if it is not just a text.
    fn meaning(&self, text: &str, writing: Option<Writing>) -> Option<Cell> {
        if self.is_missing(text, writing) {
            return Some(Cell::Missing);
        }
        match writing? {
            Writing::Words => None,
            Writing::Decorated => {
                written_number::parse(text, self.decimal_comma).map(|number| Cell::Number(number.value))
            }
            Writing::MonthFirst => date::seconds_ordered(text, Order::MonthFirst).map(Cell::Date),
            Writing::DayFirst => date::seconds_ordered(text, Order::DayFirst).map(Cell::Date),
        }
    }

    /// Whether a text stands for a missing cell.
    fn is_missing(&self, text: &str, writing: Option<Writing>) -> bool {
        match &self.na {
            Some(list) => list.iter().any(|marker| text.eq_ignore_ascii_case(marker.trim())),
            None => self.markers && writing != Some(Writing::Words) && is_marker(text),
        }
    }
}

/// Rows whose cells are translated.
pub(super) struct TranslatedRows {
    pub(super) rows: Box<dyn Rows>,
    pub(super) writings: Writings,
}

impl Rows for TranslatedRows {
    fn next(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>> {
        let number = self.rows.next(cells)?;
        self.writings.read(cells);
        Ok(number)
    }

    fn written(&self, column: usize) -> std::borrow::Cow<'_, str> {
        self.rows.written(column)
    }

    fn texts(&self) -> Texts {
        self.rows.texts()
    }
}

/// What has been seen of how a column's cells are written. Missing ones aside, each is counted as one of these, and a date of which day and
/// month can be exchanged as both.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SeenWriting {
    /// Numbers, booleans and dates that are plain.
    plain: u64,
    numbers: u64,
    words: u64,
    decorated: u64,
    percentages: u64,
    month_first: u64,
    day_first: u64,
    /// Dates whose year comes last, and those that have `/` between their parts.
    dates: u64,
    slashes: u64,
    /// Words that stand for nothing elsewhere, each once, and the first number or date that is not plain.
    markers: Vec<String>,
    example: Option<String>,
}

impl SeenWriting {
    /// One more cell, as it stands in the table.
    pub(super) fn add(&mut self, cell: &Cell, writings: &Writings) {
        let text = match cell {
            Cell::Missing => return,
            Cell::Number(_) => {
                self.numbers += 1;
                self.plain += 1;
                return;
            }
            Cell::Boolean(_) | Cell::Date(_) => return self.plain += 1,
            Cell::Text(text) => text,
        };
        if writings.is_missing(text, None) {
            if writings.na.is_none() {
                self.add_marker(text);
            }
        } else if !writings.markers && writings.na.is_none() && is_marker(text) {
            // A format that has something else for a missing cell means the word, and so will a text that comes later.
            self.words += 1;
            self.add_marker(text);
        } else if let Some(number) = written_number::parse(text, writings.decimal_comma) {
            self.decorated += 1;
            self.percentages += u64::from(number.percent);
            self.example.get_or_insert_with(|| text.clone());
        } else if date::seconds(text).is_some() {
            self.plain += 1;
        } else {
            let fits = |order| u64::from(date::seconds_ordered(text, order).is_some());
            let (month_first, day_first) = (fits(Order::MonthFirst), fits(Order::DayFirst));
            if month_first + day_first == 0 {
                self.words += 1;
                return;
            }
            self.dates += 1;
            self.month_first += month_first;
            self.day_first += day_first;
            self.slashes += u64::from(text.contains('/'));
            self.example.get_or_insert_with(|| text.clone());
        }
    }

    /// The cells that come next.
    pub(super) fn then(&mut self, next: Self) {
        self.plain += next.plain;
        self.numbers += next.numbers;
        self.words += next.words;
        self.decorated += next.decorated;
        self.percentages += next.percentages;
        self.month_first += next.month_first;
        self.day_first += next.day_first;
        self.dates += next.dates;
        self.slashes += next.slashes;
        next.markers.iter().for_each(|marker| self.add_marker(marker));
        first(&mut self.example, next.example);
    }

    /// A word that stands for nothing elsewhere.
    fn add_marker(&mut self, text: &String) {
        if !self.markers.contains(text) {
            self.markers.push(text.clone());
        }
    }

    /// How the column is written, if not plainly; `category` if it is wanted as one, and its texts are names whatever they look like.
    fn writing(&self, category: bool, order: DateOrder) -> Option<Writing> {
        let cells = self.plain + self.words + self.decorated + self.dates;
        let percent_among_others = self.percentages > 0 && self.percentages < self.decorated + self.numbers;
        if category || 2 * self.words >= cells {
            (!self.markers.is_empty() && self.words + self.decorated + self.dates > 0).then_some(Writing::Words)
        } else if self.decorated > 0 && 2 * (self.decorated + self.numbers) > cells && !percent_among_others {
            Some(Writing::Decorated)
        } else if 2 * self.dates > cells {
            Some(match (order, self.month_first == self.dates, self.day_first == self.dates) {
                (DateOrder::MonthFirst, ..) | (DateOrder::Auto, true, false) => Writing::MonthFirst,
                (DateOrder::DayFirst, ..) | (DateOrder::Auto, false, true) => Writing::DayFirst,
                (DateOrder::Auto, ..) if self.month_first != self.day_first => {
                    if self.month_first > self.day_first {
                        Writing::MonthFirst
                    } else {
                        Writing::DayFirst
                    }
                }
                (DateOrder::Auto, ..) if 2 * self.slashes > self.dates => Writing::MonthFirst,
                (DateOrder::Auto, ..) => Writing::DayFirst,
            })
        } else {
            None
        }
    }

    /// What is worth knowing about it.
    fn note(&self, column: &str, writing: Writing, writings: &Writings) -> Note {
        let column = column.to_string();
        let example = || names::shorten(self.example.as_deref().unwrap_or_default());
        let ambiguous = self.month_first == self.dates && self.day_first == self.dates;
        match writing {
            Writing::Words => {
                let mut markers: Vec<String> = self.markers.iter().map(|marker| names::shorten(marker)).collect();
                markers.sort();
                Note::MarkersAreWords { column, markers }
            }
            Writing::Decorated => {
                let value =
                    self.example.as_deref().and_then(|text| written_number::parse(text, writings.decimal_comma));
                let value = value.map_or(String::new(), |number| number.value.to_string());
                Note::DecoratedNumbers { column, example: example(), value }
            }
            Writing::MonthFirst => Note::DatesWithYearLast { column, example: example(), month_first: true, ambiguous },
            Writing::DayFirst => Note::DatesWithYearLast { column, example: example(), month_first: false, ambiguous },
        }
    }
}

/// How the columns are written, of which so much was seen, and what is worth knowing about it; `None` if it is what they were read as.
/// `categories` says which are wanted as such.
pub(super) fn found(
    source: &Source,
    seen: &[SeenWriting],
    categories: &[bool],
    order: DateOrder,
    read_as: &Writings,
) -> Option<(Writings, Vec<Note>)> {
    let columns = seen.iter().zip(categories).map(|(seen, category)| seen.writing(*category, order)).collect();
    let found = read_as.with(columns);
    let named = source.names().iter().zip(seen).zip(&found.columns);
    // That a word is one is news only where it could have stood for nothing.
    let is_news = |writing: &Writing| *writing != Writing::Words || read_as.markers;
    let told = named.filter_map(|((name, seen), writing)| Some((name, seen, writing.filter(is_news)?)));
    let notes = told.map(|(name, seen, writing)| seen.note(name, writing, read_as)).collect();
    (!found.is_plain()).then_some((found, notes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Kind, Missing, Wanted};

    fn scan(text: &[u8], wanted: &Wanted) -> (Schema, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let (schema, notes) = Schema::scan(&Source::open(&path).unwrap(), wanted).unwrap();
        (schema, notes.iter().map(Note::to_string).collect())
    }

    fn wanted() -> Wanted {
        Wanted { targets: vec!["y".into()], missing: Missing::Indicator, ..Wanted::default() }
    }

    #[test]
    fn words_for_nothing_are_words_among_words_and_nothing_among_numbers() {
        let text = b"heat,area,y\ngas,1,1\nnone,NA,2\noil,3,3\n-,4,4\ngas,?,5\n,6,6\n";
        let (schema, notes) = scan(text, &wanted());
        assert_eq!(
            schema.inputs[0].kind,
            Kind::Category { levels: ["-", "gas", "none", "oil"].map(String::from).into() }
        );
        assert_eq!(schema.inputs[1].kind, Kind::Number { fill: Some(3.5) });
        assert!(schema.inputs[1].indicator);
        assert_eq!(schema.writing, BTreeMap::from([("heat".to_string(), Writing::Words)]));
        assert!(
            notes.iter().any(|note| note.contains("\"-\", \"none\" are words") && note.contains("--na '-,none'")),
            "{notes:?}"
        );
        // Who says what is missing is believed, everywhere and of numbers too.
        let na = Some(["none", "3"].map(String::from).to_vec());
        let (schema, _) = scan(b"heat,area,y\ngas,1,1\nnone,5,2\noil,3.0,7\n-,4,4\n", &Wanted { na, ..wanted() });
        assert_eq!(schema.inputs[0].kind, Kind::Category { levels: ["-", "gas", "oil"].map(String::from).into() });
        let Kind::Number { fill: Some(fill) } = schema.inputs[1].kind else { panic!("{schema:?}") };
        assert!((fill - 10.0 / 3.0).abs() < 1e-12 && schema.inputs[1].indicator);
        // A target of words has them as classes.
        let (schema, _) = scan(b"x,y\n1,none\n2,mild\n3,severe\n4,none\n", &wanted());
        assert_eq!(schema.target_kind.labels().unwrap(), ["mild", "none", "severe"]);
    }

    #[test]
    fn rows_are_dropped_by_what_cells_mean_in_the_end() {
        let text = b"heat,y\nnone,1\ngas,2\n,3\noil,4\n";
        let (schema, _) = scan(text, &Wanted { missing: Missing::Drop, ..wanted() });
        assert_eq!(schema.inputs[0].kind, Kind::Category { levels: ["gas", "none", "oil"].map(String::from).into() });
    }

    #[test]
    fn signs_and_thousands_are_read_over_unless_percent_is_among_numbers() {
        let (schema, notes) = scan(b"price,y\n\"$1,200\",10%\n800,5%\n\"$2,000.5\",7 %\nNA,1%\n", &wanted());
        let Kind::Number { fill: Some(fill) } = schema.inputs[0].kind else { panic!("{schema:?}") };
        assert!((fill - 4000.5 / 3.0).abs() < 1e-9, "{fill}");
        assert!(schema.inputs[0].indicator && schema.target_kind.is_numbers());
        assert!(notes.iter().any(|note| note.contains("\"$1,200\" is read as 1200")), "{notes:?}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "share,y\n10%,1\n0.1,2\n0.3,3\n0.4,4\n").unwrap();
        let error = Schema::scan(&Source::open(&path).unwrap(), &wanted()).unwrap_err().to_string();
        assert!(error.contains("\"10%\" is not a number"), "{error}");
        // As categories they are what is written.
        let categorical = vec!["price".to_string()];
        let (schema, _) = scan(b"price,y\n$5,1\n$5,2\n$7,3\n", &Wanted { categorical, ..wanted() });
        assert_eq!(schema.inputs[0].kind, Kind::Category { levels: ["$5", "$7"].map(String::from).into() });
    }

    #[test]
    fn the_order_of_day_and_month_is_what_fits_all() {
        let order = |text: &str, dates: DateOrder| {
            let text = format!(
                "day,y\n{}",
                text.split(' ').enumerate().map(|(i, day)| format!("{day},{i}\n")).collect::<String>()
            );
            let (schema, notes) = scan(text.as_bytes(), &Wanted { dates, ..wanted() });
            assert!(matches!(schema.inputs[0].kind, Kind::Date { .. }), "{schema:?}");
            let ambiguous = notes.iter().any(|note| note.contains("both orders are possible"));
            (schema.writing["day"], ambiguous)
        };
        assert_eq!(order("01/02/2024 12/31/2023", DateOrder::Auto), (Writing::MonthFirst, false));
        assert_eq!(order("01/02/2024 31/12/2023", DateOrder::Auto), (Writing::DayFirst, false));
        assert_eq!(order("01/02/2024 03/04/2023", DateOrder::Auto), (Writing::MonthFirst, true));
        assert_eq!(order("01.02.2024 03.04.2023", DateOrder::Auto), (Writing::DayFirst, true));
        assert_eq!(order("01/02/2024 03/04/2023", DateOrder::DayFirst), (Writing::DayFirst, true));
    }

    #[test]
    fn a_table_that_is_written_plainly_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let passes = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let mut ends = 0;
            Schema::scan_watched(&Source::open(&path).unwrap(), &wanted(), &mut |_| ends += 1).unwrap();
            ends
        };
        assert_eq!((passes("a,y\n1,2\nNA,3\n"), passes("a,y\nx,2\nnone,3\n")), (1, 2));
    }
}
