//! Names of columns in messages: those there are, the likely one, and values cut to a length that can be read.

use std::collections::{HashMap, HashSet};

use super::{Note, Source, dialect};
use crate::error::{Error, Result};

/// How many names a message lists.
const LISTED: usize = 20;

/// How many characters of a value a message shows.
const SHOWN: usize = 40;

/// The names in backticks, at most twenty of them.
pub(crate) fn list<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let mut text = names.take(LISTED).map(|name| format!("`{}`", shorten(name))).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}

/// What a message says when `name` is none of `names`: the likely one, if there is one, and all of them. Where they are one,
/// the delimiter of a text may be one that is not known.
pub(super) fn known(name: &str, names: &[String], is_text: bool) -> String {
    let listed = match names {
        [only] if is_text => format!(
            "the only column is `{}`: no delimiter was found, which may be {}",
            shorten(only),
            dialect::DELIMITERS_IN_WORDS
        ),
        _ => format!("the columns are {}", list(names.iter())),
    };
    let unnamed = names == by_position(names.len());
    match nearest(name, names) {
        Some(likely) => format!("did you mean `{likely}`? {listed}"),
        None if unnamed => format!("{listed}, by position, because no header was found"),
        None => listed,
    }
}

/// The position of `name`, or an error that lists the names there are.
pub(super) fn find(source: &Source, name: &str, role: &'static str) -> Result<usize> {
    source.names().iter().position(|other| other == name).ok_or_else(|| unknown(source, name, role))
}

/// The columns that `asked` names: one that is no column may be several, with commas between them. If none of its parts is a
/// column either, it is left as it is, to be told of.
pub(super) fn several(names: &[String], asked: &[String]) -> Vec<String> {
    let is_column = |name: &String| names.contains(name);
    let parts = |name: &String| {
        let parts = name.split(',').map(str::trim).filter(|part| !part.is_empty());
        let parts: Vec<String> = parts.map(str::to_string).collect();
        if is_column(name) || !parts.iter().any(is_column) { vec![name.clone()] } else { parts }
    };
    asked.iter().flat_map(parts).collect()
}

/// There is no such column; `role` says what it is wanted for.
pub(super) fn unknown(source: &Source, name: &str, role: &'static str) -> Error {
    let known = known(name, source.names(), source.is_text());
    Error::UnknownColumn { path: source.path().into(), name: name.into(), role, known }
}

/// Makes names that can be told apart: of several columns with one name, all but the first get a number, as pandas numbers them. The note, if there are
/// some, says which.
pub(super) fn make_distinct(names: &mut [String]) -> Option<Note> {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let (mut seen, mut renamed) = (HashSet::new(), Vec::new());
    // Where to go on counting: from 1 each time, very many columns of one name would take hours.
    let mut next: HashMap<String, u64> = HashMap::new();
    for name in names.iter_mut() {
        if seen.insert(name.clone()) {
            continue;
        }
        let number = next.entry(name.clone()).or_insert(1);
        let free = loop {
            let other = format!("{name}.{number}");
            *number += 1;
            if !taken.contains(&other) {
                break other;
            }
        };
        taken.insert(free.clone());
        seen.insert(free.clone());
        *name = free.clone();
        renamed.push(free);
    }
    (!renamed.is_empty()).then_some(Note::RepeatedNames { columns: renamed })
}

/// The name of a column that has none, by its position from 1: `c1`.
pub(super) fn at_position(position: usize) -> String {
    format!("c{position}")
}

/// Names for columns that have none: `c1`, `c2`, ….
pub fn by_position(columns: usize) -> Vec<String> {
    (1..=columns).map(at_position).collect()
}

/// The name that differs in case only, or else the one with the fewest letters to change, if those are few.
fn nearest<'a>(name: &str, names: &'a [String]) -> Option<&'a String> {
    names.iter().find(|other| other.to_lowercase() == name.to_lowercase()).or_else(|| {
        let allowed = name.chars().count() / 3;
        let near = names.iter().map(|other| (edits(name, other), other)).filter(|(edits, _)| *edits <= allowed);
        near.min_by_key(|(edits, _)| *edits).map(|(_, other)| other)
    })
}

/// Letters to insert, remove or replace to get from one text to the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for j in 0..to.len() {
            let replaced = diagonal + usize::from(letter != to[j]);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

/// At most forty characters of a value, on one line.
pub(crate) fn shorten(value: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => value[..end].chars().map(visible).chain(['…']).collect(),
        None => value.chars().map(visible).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in [("", "abc", 3), ("kitten", "sitting", 3), ("weigth", "weight", 2), ("ü", "u", 1)] {
            assert_eq!((edits(from, to), edits(to, from)), (count, count));
        }
    }

    #[test]
    fn the_likely_name_is_offered_and_unlikely_ones_are_not() {
        let there = names(&["Height", "weight", "age"]);
        assert_eq!(nearest("height", &there).unwrap(), "Height");
        assert_eq!(nearest("wieght", &there).unwrap(), "weight");
        assert_eq!(nearest("agee", &there).unwrap(), "age");
        assert_eq!(nearest("colour", &there), None);
        assert_eq!(known("x", &there, true), "the columns are `Height`, `weight`, `age`");
    }

    #[test]
    fn commas_part_names_unless_they_are_part_of_one() {
        let there = names(&["id", "city", "size, m²"]);
        let asked = |asked: &[&str]| several(&there, &names(asked));
        assert_eq!(asked(&["id,city", "size, m²"]), ["id", "city", "size, m²"]);
        assert_eq!(asked(&["city , ctiy"]), ["city", "ctiy"]);
        assert_eq!(asked(&["city,"]), ["city"]);
        assert_eq!(asked(&["size, m"]), ["size, m"]);
    }

    #[test]
    fn names_that_come_again_are_numbered() {
        let numbered = |given: &[&str]| {
            let mut all = names(given);
            let note = make_distinct(&mut all);
            (all, note)
        };
        assert_eq!(numbered(&["a", "b"]), (names(&["a", "b"]), None));
        let (all, note) = numbered(&["a", "a", "a.1", "b", "a", "a.1"]);
        assert_eq!(all, ["a", "a.2", "a.1", "b", "a.3", "a.1.1"]);
        assert_eq!(note, Some(Note::RepeatedNames { columns: names(&["a.2", "a.3", "a.1.1"]) }));
    }

    #[test]
    fn long_lists_and_values_are_cut() {
        assert!(list(by_position(25).iter()).ends_with("`c20` and 5 more"));
        assert_eq!(list(by_position(2).iter()), "`c1`, `c2`");
        assert_eq!(shorten(&"ü".repeat(41)), format!("{}…", "ü".repeat(40)));
        assert_eq!(shorten("a\nb"), "a b");
    }
}
