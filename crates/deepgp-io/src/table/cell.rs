//! A cell of a table, and what a piece of text means as one.

use std::borrow::Cow;

use super::date;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing, or a word for it; also NaN.
    Missing,
    /// A number; infinity is one here, and refused where the column is used.
    Number(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A moment, in seconds since 1970, of a format that has a type for them. In text it is text.
    Date(f64),
    /// Anything else.
    Text(String),
}

/// Texts that stand for a missing cell, besides the empty one, unless they are words among words; upper and lower case are the same.
pub const MISSING_MARKERS: [&str; 10] = ["NA", "N/A", "#N/A", "<NA>", "NaN", "null", "none", "?", "-", "."];

impl Cell {
    /// A number, or a missing cell if it is NaN.
    pub(super) fn number(value: f64) -> Self {
        if value.is_nan() { Self::Missing } else { Self::Number(value) }
    }

    /// What `text` means by itself, blanks around it aside: nothing; a number as Rust reads it (`3`, `+3.5`, `.5`, `1e5`, but not `1_000` nor
    /// `1,000`); `true` or `false` in any case; text. Whether a word stands for nothing depends on its column: see `writing.rs`.
    ///
    /// With `decimal_comma`, `3,14` is a number, too.
    pub(super) fn parse(text: &str, decimal_comma: bool) -> Self {
        let text = text.trim();
        if text.is_empty() {
            return Self::Missing;
        }
        if let Ok(value) = text.parse::<f64>() {
            return Self::number(value);
        }
        if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
            return Self::Boolean(text.eq_ignore_ascii_case("true"));
        }
        if decimal_comma
            && text.contains(',')
            && !text.contains('.')
            && let Ok(value) = text.replacen(',', ".", 1).parse()
        {
            return Self::Number(value);
        }
        Self::Text(text.into())
    }

    /// The cell as a category's level. A number is written in its shortest form, so that `01`, `1` and `1.0` are one
    /// level, and a date as ISO has it. (Text in a binary format is text, though it may look like a number.)
    pub(super) fn label(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Missing => None,
            Self::Number(value) => Some(number_label(*value).into()),
            Self::Boolean(value) => Some(if *value { "true" } else { "false" }.into()),
            Self::Date(seconds) => Some(date_label(*seconds).into()),
            Self::Text(text) => Some(text.into()),
        }
    }
}

/// Whether text is one of [`MISSING_MARKERS`].
pub(super) fn is_marker(text: &str) -> bool {
    MISSING_MARKERS.iter().any(|marker| text.eq_ignore_ascii_case(marker))
}

/// Whether text may be meant to be a number, or a date, though it is none: it has more digits than letters.
pub(crate) fn mostly_digits(text: &str) -> bool {
    let count = |wanted: fn(char) -> bool| text.chars().filter(|c| wanted(*c)).count();
    count(|c| c.is_ascii_digit()) > count(char::is_alphabetic)
}

/// A number as a category's level.
pub(super) fn number_label(value: f64) -> String {
    // Adding zero makes 0 of -0.
    (value + 0.0).to_string()
}

/// A moment as a category's level: the day alone if it is midnight.
fn date_label(seconds: f64) -> String {
    match date::moment((seconds * 1e6).round() as i64, 6) {
        Some(moment) => moment.strip_suffix(" 00:00:00").unwrap_or(&moment).into(),
        None => number_label(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_rust_reads_them() {
        for (text, value) in [("3", 3.0), (" +3.5 ", 3.5), (".5", 0.5), ("5.", 5.0), ("-1e5", -1e5), ("1E-3", 1e-3)] {
            assert_eq!(Cell::parse(text, false), Cell::Number(value), "{text}");
        }
        for text in ["1_000", "1,000", "3,14", "0x10", "1e", "--1", "3 4"] {
            assert_eq!(Cell::parse(text, false), Cell::Text(text.into()), "{text}");
        }
        assert_eq!(Cell::parse("-inf", false), Cell::Number(f64::NEG_INFINITY));
        assert_eq!(Cell::parse("1e999", false), Cell::Number(f64::INFINITY));
    }

    #[test]
    fn a_decimal_comma_is_read_only_where_it_may_be_one() {
        assert_eq!(Cell::parse("-3,25", true), Cell::Number(-3.25));
        for text in ["1.234,5", "1,2,3", "a,b", ","] {
            assert_eq!(Cell::parse(text, true), Cell::Text(text.into()), "{text}");
        }
    }

    #[test]
    fn words_for_nothing_and_truth_are_known_in_any_case() {
        for text in ["", "  ", "nan", "NaN", "-nan"] {
            assert_eq!(Cell::parse(text, false), Cell::Missing, "{text}");
        }
        for text in ["NA", "na", "N/A", "#N/A", "<NA>", "NULL", "None", "?", "-", "."] {
            assert!(is_marker(text), "{text}");
            assert_eq!(Cell::parse(text, false), Cell::Text(text.into()), "{text}: it may be a word");
        }
        assert!(!is_marker("") && !is_marker("nothing"));
        for (text, value) in [("true", true), ("FALSE", false), ("True", true)] {
            assert_eq!(Cell::parse(text, false), Cell::Boolean(value));
        }
        assert_eq!(Cell::parse("yes", false), Cell::Text("yes".into()));
    }

    #[test]
    fn numbers_with_units_are_mostly_digits() {
        for text in ["$-0.7", "-0.7%", "1.302€", "1,000", "12 m", "01/02/2024"] {
            assert!(mostly_digits(text), "{text}");
        }
        for text in ["n0", "Paris", "7 kg", "%", ""] {
            assert!(!mostly_digits(text), "{text}");
        }
    }

    #[test]
    fn a_level_does_not_depend_on_how_a_number_is_written() {
        for text in ["1", "01", "1.0", "+1e0"] {
            assert_eq!(Cell::parse(text, false).label().unwrap(), "1");
        }
        assert_eq!(Cell::Number(-0.0).label().unwrap(), "0");
        assert_eq!(Cell::Missing.label(), None);
        assert_eq!(Cell::Date(-86_400.0).label().unwrap(), "1969-12-31");
        assert_eq!(Cell::Date(1_709_251_198.25).label().unwrap(), "2024-02-29 23:59:58.25");
        assert_eq!(Cell::Date(1e18).label().unwrap(), "1000000000000000000");
    }
}
