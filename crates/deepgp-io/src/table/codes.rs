//! Numbers that may be names: of rows, of things, of places. A model would look for a curve along them.

use super::{Kind, Note, names};

/// In fewer rows numbers may well follow each other for a reason.
const FEW_ROWS: u64 = 20;

/// What has been seen of a column's numbers.
#[derive(Debug, Default)]
pub(super) struct Codes {
    count: u64,
    last: f64,
    /// Some number is not whole; some is not one more than the one before.
    fractions: bool,
    jumps: bool,
    /// The first that has leading zeros, which a number loses.
    padded: Option<String>,
}

impl Codes {
    /// One more number.
    pub(super) fn add(&mut self, value: f64) {
        self.fractions |= value.fract() != 0.0;
        self.jumps |= self.count > 0 && value != self.last + 1.0;
        self.last = value;
        self.count += 1;
    }

    /// How the last number was written, in a format where that can differ.
    pub(super) fn add_written(&mut self, text: &str) {
        if self.padded.is_none() && text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
        {
            self.padded = Some(names::shorten(text));
        }
    }

    /// What is worth knowing about a column that is taken for numbers; `alone` if it is the only input.
    pub(super) fn note(&self, name: &str, kind: &Kind, alone: bool) -> Option<Note> {
        if !matches!(kind, Kind::Number { .. }) || self.fractions {
            return None;
        }
        if let Some(text) = &self.padded {
            return Some(Note::LeadingZeros { column: name.into(), example: text.clone() });
        }
        if !self.jumps && self.count > FEW_ROWS && !alone {
            return Some(Note::CountsRows { column: name.into() });
        }
        (is_for_ids(name) && !alone).then(|| Note::NamedLikeId { column: name.into() })
    }
}

/// Whether a column of this name most likely tells things apart: `id`, `shop_id`, `PassengerId`, `userID`, `index`.
fn is_for_ids(name: &str) -> bool {
    let lower = name.to_lowercase();
    let follows_small = |ending| name.strip_suffix(ending).is_some_and(|rest| rest.ends_with(char::is_lowercase));
    let parted = ["_id", "-id", " id", ".id"].iter().any(|ending| lower.ends_with(ending));
    lower == "id" || lower == "index" || parted || follows_small("Id") || follows_small("ID")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: Kind = Kind::Number { fill: None };

    fn seen(numbers: impl IntoIterator<Item = f64>) -> Codes {
        let mut codes = Codes::default();
        numbers.into_iter().for_each(|number| codes.add(number));
        codes
    }

    #[test]
    fn names_of_ids_are_known() {
        for name in ["id", "ID", "shop_id", "SHOP_ID", "PassengerId", "userID", "Index", "order id"] {
            assert!(is_for_ids(name), "{name}");
        }
        for name in ["width", "covid", "COVID", "price_index", "idle", "humid"] {
            assert!(!is_for_ids(name), "{name}");
        }
    }

    #[test]
    fn what_counts_rows_is_told_of_unless_there_is_nothing_else() {
        let counting = || seen((1000..1030).map(f64::from));
        let note = counting().note("n", &NUMBER, false).unwrap().to_string();
        assert!(note.contains("`n` counts the rows") && note.ends_with("--ignore n"), "{note}");
        assert_eq!(counting().note("n", &NUMBER, true), None, "of a series it may be the time");
        assert_eq!(seen((0..20).map(f64::from)).note("n", &NUMBER, false), None, "too few to say");
        assert_eq!(seen((0..50).map(|i| f64::from(i % 49))).note("n", &NUMBER, false), None);
        assert_eq!(seen((0..50).map(|i| f64::from(i) + 0.5)).note("n", &NUMBER, false), None);
        assert_eq!(counting().note("n", &Kind::Category { levels: Vec::new() }, false), None);
    }

    #[test]
    fn ids_and_leading_zeros_are_told_of() {
        let mut codes = seen([7.0, 3.0, 7.0]);
        let note = codes.note("shop_id", &NUMBER, false).unwrap().to_string();
        assert!(note.contains("--ignore shop_id") && note.contains("--categorical shop_id"), "{note}");
        for text in ["0", "7", "10", "0.5", "0e3"] {
            codes.add_written(text);
        }
        assert_eq!(codes.note("zip", &NUMBER, false), None);
        codes.add_written("00120");
        codes.add_written("04");
        let note = codes.note("zip", &NUMBER, true).unwrap().to_string();
        assert!(note.contains("\"00120\"") && note.contains("--categorical zip"), "{note}");
    }
}
