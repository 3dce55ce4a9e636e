//! Folds for cross-validation: every row is held out once.

use super::groups::folds_by_group;
use super::{Dataset, SplitBy};
use crate::error::{Error, Result};
use crate::random::noise::{Key, Purpose};

/// What every part of a split should have its share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stratify {
    /// Rows, whatever they are.
    Rows,
    /// The rows of each class; the first column of the targets has the class numbers.
    Classes,
}

impl Dataset {
    /// The folds of the rows for cross-validation: in each, the numbers of the rows that are left to train on, and of those that are held out,
    /// in ascending order. Every row is held out in one of them. Groups stay together ([`SplitBy::Groups`]), and classes have their share in each
    /// fold if they are asked for, as well as groups allow.
    ///
    /// Fails if there are fewer than 2 folds, or fewer rows or groups than folds, and where the last rows are to be held out
    /// ([`SplitBy::Times`]): of several folds one alone could be the last.
    pub fn folds(&self, count: usize, stratify: Stratify, seed: u64) -> Result<Vec<(Vec<u32>, Vec<u32>)>> {
        if count < 2 {
            return Err(Error::Setting { name: "folds", value: count.to_string(), requirement: "at least 2" });
        }
        if self.len() < count {
            let advice = "give more rows, or fewer folds";
            return Err(Error::TooFewRows { what: "a split into folds", needed: count, rows: self.len(), advice });
        }
        let classes = match stratify {
            Stratify::Rows => None,
            Stratify::Classes => Some(self.classes()?),
        };
        let fold_of = match self.split_by() {
            None => {
                let mut order = Key::new(seed, Purpose::Split).permutation(self.len(), 0);
                // Class by class, so that each is dealt out in turn.
                order.sort_by_key(|row| classes.as_ref().map_or(0, |all| all[*row as usize]));
                let mut folds = vec![0; self.len()];
                order.iter().enumerate().for_each(|(at, row)| folds[*row as usize] = at % count);
                folds
            }
            Some(SplitBy::Groups(groups)) => folds_by_group(groups, classes.as_deref(), count, seed)?,
            Some(SplitBy::Times(_)) => {
                let requirement =
                    "left out where the last rows are held out: of several folds one alone could be the last";
                return Err(Error::Setting { name: "folds", value: count.to_string(), requirement });
            }
        };
        let of = |fold: usize| (0..self.len() as u32).partition(|row| fold_of[*row as usize] != fold);
        Ok((0..count).map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::mat::Mat;

    fn data(rows: usize) -> Dataset {
        let class = |i: usize| if i.is_multiple_of(10) { 2.0 } else { (i % 2) as f64 };
        Dataset::new(Mat::from_fn(rows, 1, |i, _| i as f64), Mat::from_fn(rows, 1, |i, _| class(i))).unwrap()
    }

    #[test]
    fn every_row_is_in_one_fold_and_classes_have_their_share() {
        let data = data(103);
        for (stratify, grouped) in [(Stratify::Rows, false), (Stratify::Classes, false), (Stratify::Classes, true)] {
            let groups = SplitBy::Groups((0..103).map(|row| row / 2).collect());
            let data = if grouped { data.clone().with_split_by(groups).unwrap() } else { data.clone() };
            let folds = data.folds(5, stratify, 4).unwrap();
            let mut held: Vec<u32> = folds.iter().flat_map(|(_, out)| out.clone()).collect();
            held.sort_unstable();
            assert!(held.into_iter().eq(0..103));
            for (rest, out) in &folds {
                assert_eq!(rest.len() + out.len(), 103);
                assert!(rest.iter().all(|row| !out.contains(row)) && rest.is_sorted() && out.is_sorted());
                assert!((18..=23).contains(&out.len()), "{}", out.len());
                let rare = out.iter().filter(|row| *row % 10 == 0).count();
                assert!(stratify == Stratify::Rows || (1..=4).contains(&rare), "{rare}");
            }
            assert_eq!(folds, data.folds(5, stratify, 4).unwrap());
            assert_ne!(folds, data.folds(5, stratify, 5).unwrap());
        }
    }

    #[test]
    fn folds_that_cannot_be_are_refused() {
        let refused = |data: &Dataset, count| data.folds(count, Stratify::Rows, 0).unwrap_err().to_string();
        assert!(refused(&data(9), 1).contains("`folds` is 1, but must be at least 2"));
        assert!(refused(&data(3), 4).contains("at least 4 rows"));
        let timed = data(9).with_split_by(SplitBy::Times((0..9).map(f64::from).collect())).unwrap();
        assert!(refused(&timed, 3).contains("one alone could be the last"));
        let numbers = Dataset::new(Mat::column(vec![1.0, 2.0]), Mat::column(vec![0.5, 0.0])).unwrap();
        assert!(numbers.folds(2, Stratify::Classes, 0).is_err());
    }
}
