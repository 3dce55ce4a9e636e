//! What the rows of a dataset are split by, where it is not row by row at random.

use super::folds::Stratify;
use super::groups::split_rows_by_group;
use super::last::split_last_rows;
use super::{Dataset, split_rows, split_rows_by_class};
use crate::error::{Error, Result};

/// What rows are split by, wherever some are held out: for testing, for early stopping, in folds.
#[derive(Clone, Debug, PartialEq)]
pub enum SplitBy {
    /// The group of each row, `[N]`: a group is held out whole ([`split_rows_by_group`](crate::split_rows_by_group)).
    Groups(Vec<u32>),
    /// The time of each row, `[N]`: the last rows are held out ([`split_last_rows`](crate::split_last_rows)).
    Times(Vec<f64>),
}

impl SplitBy {
    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Groups(groups) => groups.len(),
            Self::Times(times) => times.len(),
        }
    }

    /// What rows with these numbers are split by.
    pub(super) fn gather(&self, rows: &[u32]) -> Self {
        match self {
            Self::Groups(groups) => Self::Groups(rows.iter().map(|row| groups[*row as usize]).collect()),
            Self::Times(times) => Self::Times(rows.iter().map(|row| times[*row as usize]).collect()),
        }
    }

    /// The order of two rows by their groups or times.
    pub(super) fn compare(&self, a: usize, b: usize) -> std::cmp::Ordering {
        match self {
            Self::Groups(groups) => groups[a].cmp(&groups[b]),
            Self::Times(times) => times[a].total_cmp(&times[b]),
        }
    }

    /// Fails if there are not as many as `rows`, or a time is NaN.
    pub(super) fn check(&self, rows: usize) -> Result<()> {
        if self.len() != rows {
            let (expected, found) = (rows.to_string(), self.len().to_string());
            return Err(Error::Shape { what: "what rows are split by", expected, found });
        }
        match self {
            Self::Groups(_) => Ok(()),
            Self::Times(times) => match times.iter().position(|time| time.is_nan()) {
                None => Ok(()),
                Some(row) => Err(Error::NotFinite { what: "times", row, column: 0, value: times[row] }),
            },
        }
    }
}

impl Dataset {
    /// The numbers of the rows that a split leaves, and of those it holds out, each in ascending order: a `fraction` at random, or of whole
    /// groups, or the last ones, as the dataset says ([`Dataset::with_split_by`]).
    pub fn row_split(&self, fraction: f64, stratify: Stratify, seed: u64) -> Result<(Vec<u32>, Vec<u32>)> {
        match (self.split_by(), stratify) {
            (None, Stratify::Rows) => split_rows(self.len(), fraction, seed),
            (None, Stratify::Classes) => split_rows_by_class(&self.classes()?, fraction, seed),
            (Some(SplitBy::Groups(groups)), Stratify::Rows) => split_rows_by_group(groups, None, fraction, seed),
            (Some(SplitBy::Groups(groups)), Stratify::Classes) => {
                split_rows_by_group(groups, Some(&self.classes()?), fraction, seed)
            }
            // The last rows are of what classes they are.
            (Some(SplitBy::Times(times)), Stratify::Rows | Stratify::Classes) => split_last_rows(times, fraction),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::mat::Mat;
    use crate::settings::FitSettings;

    fn data(rows: usize) -> Dataset {
        Dataset::new(Mat::from_fn(rows, 1, |i, _| i as f64), Mat::from_fn(rows, 1, |i, _| (i % 2) as f64)).unwrap()
    }

    #[test]
    fn groups_and_times_go_where_their_rows_go() {
        let groups: Vec<u32> = (0..60).map(|row| row % 12).collect();
        let grouped = data(60).with_split_by(SplitBy::Groups(groups.clone())).unwrap();
        let (rest, test) = grouped.split(0.25, 1).unwrap();
        let of = |data: &Dataset| -> Vec<u32> { data.x().as_slice().iter().map(|x| groups[*x as usize]).collect() };
        assert_eq!(rest.split_by(), Some(&SplitBy::Groups(of(&rest))));
        assert!(of(&rest).iter().all(|group| !of(&test).contains(group)));
        // Rows for early stopping are of other groups than those that are trained on.
        for weights in [None, Some((0..60).map(|row| f64::from(1 + row % 3)).collect::<Vec<f64>>())] {
            let data = match weights {
                None => grouped.clone(),
                Some(weights) => grouped.clone().with_weights(weights).unwrap(),
            };
            let (train, validation) = crate::hold_out(&data, &FitSettings::default()).unwrap();
            let validation = validation.unwrap();
            assert!(of(&train).iter().all(|group| !of(&validation).contains(group)));
            assert_eq!(train.len() + validation.len(), 60);
        }
    }

    #[test]
    fn what_is_held_out_for_early_stopping_is_the_last_of_what_is_trained_on() {
        let timed = data(100).with_split_by(SplitBy::Times((0..100).map(|row| f64::from(row * 37 % 100)).collect()));
        let (rest, test) = timed.unwrap().split_by_class(0.2, 1).unwrap();
        let (train, validation) = crate::hold_out(&rest, &FitSettings::default()).unwrap();
        let times = |data: &Dataset| -> Vec<f64> { data.x().as_slice().iter().map(|x| x * 37.0 % 100.0).collect() };
        let range =
            |data: &Dataset| times(data).into_iter().fold((f64::MAX, f64::MIN), |r, t| (r.0.min(t), r.1.max(t)));
        assert_eq!(
            [range(&train), range(&validation.unwrap()), range(&test)],
            [(0.0, 71.0), (72.0, 79.0), (80.0, 99.0)]
        );
    }

    #[test]
    fn rows_of_other_groups_are_no_copies_and_bad_times_are_named() {
        let column = |v: &[f64]| Mat::column(v.to_vec());
        let data = Dataset::new(column(&[1.0; 3]), column(&[2.0; 3])).unwrap();
        let grouped = data.clone().with_split_by(SplitBy::Groups(vec![0, 1, 0])).unwrap().merged().unwrap();
        assert_eq!((grouped.len(), grouped.weights()), (2, Some(&[2.0, 1.0][..])));
        let wrong = |by: SplitBy| data.clone().with_split_by(by).unwrap_err().to_string();
        assert!(wrong(SplitBy::Groups(vec![0])).contains("what rows are split by: expected 3, found 1"));
        assert!(wrong(SplitBy::Times(vec![0.0, f64::NAN, 1.0])).contains("times: row 1, column 0 is NaN"));
    }
}
