//! The different values of a column, as long as they are not too many: the first of them, in the order in which they came.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

/// The first `most` different values, and one more that says that there are more.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(
    from = "InOrder<T>",
    into = "InOrder<T>",
    bound = "T: Hash + Eq + Clone + Serialize + serde::de::DeserializeOwned"
)]
pub(super) struct FirstDifferent<T> {
    most: usize,
    places: HashMap<T, u32>,
}

/// The same, as it is written.
#[derive(Serialize, Deserialize)]
struct InOrder<T> {
    most: usize,
    values: Vec<T>,
}

impl<T: Hash + Eq + Clone> FirstDifferent<T> {
    /// None yet.
    pub(super) fn new(most: usize) -> Self {
        Self { most, places: HashMap::new() }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are more than are kept.
    pub(super) fn are_too_many(&self) -> bool {
        self.len() > self.most
    }

    /// One more value: its place among the first ones, and whether it is new; `None` once there are too many.
    pub(super) fn add<Q>(&mut self, value: &Q) -> Option<(usize, bool)>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = T> + ?Sized,
    {
        if self.are_too_many() {
            return None;
        }
        if let Some(place) = self.places.get(value) {
            return Some((*place as usize, false));
        }
        let place = self.len();
        self.places.insert(value.to_owned(), place as u32);
        Some((place, true))
    }

    /// The values, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&T, usize)> {
        self.places.iter().map(|(value, place)| (value, *place as usize))
    }

    /// The values, in the order in which they came.
    pub(super) fn in_order(self) -> Vec<T> {
        let mut values: Vec<(T, u32)> = self.places.into_iter().collect();
        values.sort_unstable_by_key(|(_, place)| *place);
        values.into_iter().map(|(value, _)| value).collect()
    }
}

impl<T: Hash + Eq + Clone> From<InOrder<T>> for FirstDifferent<T> {
    fn from(InOrder { most, values }: InOrder<T>) -> Self {
        Self { most, places: values.into_iter().zip(0..).collect() }
    }
}

impl<T: Hash + Eq + Clone> From<FirstDifferent<T>> for InOrder<T> {
    fn from(all: FirstDifferent<T>) -> Self {
        Self { most: all.most, values: all.in_order() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_kept_and_one_more_in_their_order() {
        let mut words = FirstDifferent::<String>::new(2);
        let places = ["b", "a", "b", "c", "d", "b"].map(|word| words.add(word));
        assert_eq!(places, [Some((0, true)), Some((1, true)), Some((0, false)), Some((2, true)), None, None]);
        assert!(words.are_too_many());
        let text = serde_json::to_string(&words).unwrap();
        assert_eq!(text, r#"{"most":2,"values":["b","a","c"]}"#);
        assert_eq!(serde_json::from_str::<FirstDifferent<String>>(&text).unwrap().in_order(), ["b", "a", "c"]);
    }
}
