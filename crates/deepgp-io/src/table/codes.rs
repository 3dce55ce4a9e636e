//! Numbers that may be names: of rows, of things, of places. A model would look for a curve along them.

use serde::{Deserialize, Serialize};

use super::first_different::FirstDifferent;
use super::together::first;
use super::{Kind, Note, names};
use crate::note::LeftOut;

/// In fewer rows numbers may well follow each other for a reason.
const FEW_ROWS: u64 = 20;

/// So many numbers that are all different are enough to say that all are.
const DIFFERENT: usize = 1000;

/// What has been seen of a column's numbers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Codes {
    count: u64,
    /// The first and the last number.
    ends: Option<(f64, f64)>,
    /// Some number is not whole; some is not one more than the one before.
    fractions: bool,
    jumps: bool,
    /// Bits of the first numbers, and whether one of them came again.
    first: FirstDifferent<u64>,
    repeats: bool,
    /// The first that has leading zeros, which a number loses.
    padded: Option<String>,
}

impl Default for Codes {
    fn default() -> Self {
        let first = FirstDifferent::new(DIFFERENT - 1);
        Self { count: 0, ends: None, fractions: false, jumps: false, first, repeats: false, padded: None }
    }
}

impl Codes {
    /// One more number; true if it is kept.
    pub(super) fn add(&mut self, value: f64) -> bool {
        self.fractions |= value.fract() != 0.0;
        self.follow((value, value));
        self.count += 1;
        self.keep(value.to_bits())
    }

    /// The numbers that come next; gives how many of them are kept.
    pub(super) fn then(&mut self, next: Self) -> u64 {
        self.fractions |= next.fractions;
        self.jumps |= next.jumps;
        next.ends.into_iter().for_each(|ends| self.follow(ends));
        self.count += next.count;
        let kept = next.first.in_order().into_iter().filter(|bits| self.keep(*bits)).count() as u64;
        // It came again after all that were kept, of which the last may have been one too many here.
        self.repeats |= next.repeats && !self.first.are_too_many();
        first(&mut self.padded, next.padded);
        kept
    }

    /// Numbers from one to another come next.
    fn follow(&mut self, (from, to): (f64, f64)) {
        self.jumps |= self.ends.is_some_and(|(_, last)| from != last + 1.0);
        self.ends = Some((self.ends.map_or(from, |(first, _)| first), to));
    }

    /// One more number's bits; true if they are kept.
    fn keep(&mut self, bits: u64) -> bool {
        if self.repeats {
            return false;
        }
        let added = self.first.add(&bits);
        self.repeats = added.is_some_and(|(_, new)| !new);
        added.is_some_and(|(_, new)| new)
    }

    /// Why a column of these numbers should be left out, if it should.
    pub(super) fn left_out(&self, name: &str) -> Option<LeftOut> {
        if self.fractions || self.count <= FEW_ROWS {
            return None;
        }
        if !self.jumps {
            return Some(LeftOut::CountsRows);
        }
        (is_for_ids(name) && !self.repeats).then_some(LeftOut::Identifies)
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
        (is_for_ids(name) && !alone).then(|| Note::NamedLikeId { column: name.into() })
    }
}

/// Whether a column of this name most likely tells things apart: `id`, `shop_id`, `PassengerId`, `userID`, `index`.
pub(super) fn is_for_ids(name: &str) -> bool {
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
        numbers.into_iter().for_each(|number| _ = codes.add(number));
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
    fn what_counts_or_names_rows_is_known() {
        let left_out = |name: &str, numbers: &mut dyn Iterator<Item = f64>| seen(numbers).left_out(name);
        assert_eq!(left_out("n", &mut (1000..1030).map(f64::from)), Some(LeftOut::CountsRows));
        assert_eq!(left_out("n", &mut (0..20).map(f64::from)), None, "too few to say");
        assert_eq!(left_out("n", &mut (0..50).map(|i| f64::from(i % 49))), None);
        assert_eq!(left_out("n", &mut (0..50).map(|i| f64::from(i) + 0.5)), None);
        let mut shuffled = (0..50).map(|i| f64::from(i * 17 % 53));
        assert_eq!(left_out("shop_id", &mut shuffled), Some(LeftOut::Identifies));
        assert_eq!(left_out("shops", &mut (0..50).map(|i| f64::from(i * 17 % 53))), None);
        assert_eq!(
            left_out("shop_id", &mut (0..50).map(|i| f64::from(i % 7))),
            None,
            "it comes again, and may say something"
        );
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

    #[test]
    fn what_comes_next_is_as_if_it_had_come_one_by_one() {
        let text = |codes: &Codes| serde_json::to_string(codes).unwrap();
        let to = DIFFERENT as i32 + 3;
        // Numbers that follow each other; one that comes again at the end of those that are kept, or behind it; jumps and fractions in one part.
        let rows: [Vec<f64>; 5] = [
            (0..to).map(f64::from).collect(),
            (0..to).map(|i| f64::from(i % (to - 4))).collect(),
            (0..to).map(|i| f64::from(i % (to - 2))).collect(),
            (0..50).map(|i| f64::from(if i == 49 { 100 } else { i })).collect(),
            (0..50).map(|i| f64::from(i) + f64::from(i / 40) / 2.0).collect(),
        ];
        for numbers in rows {
            let (whole, last) = (seen(numbers.iter().copied()), numbers.len());
            for cut in [0, 1, last / 2, last - 5, last - 4, last - 3, last - 2, last - 1, last] {
                let mut parts = seen(numbers[..cut].iter().copied());
                let kept = parts.then(seen(numbers[cut..].iter().copied()));
                assert_eq!(text(&parts), text(&whole), "{cut}");
                assert_eq!(kept as usize, whole.first.len() - seen(numbers[..cut].iter().copied()).first.len());
            }
        }
        let mut padded = seen([]);
        padded.add_written("007");
        let mut codes = seen([1.0]);
        codes.then(padded);
        assert_eq!(codes.padded.as_deref(), Some("007"));
    }
}
