//! [`Dataset`]: the rows that a model learns from, checked once.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::data::sparse::SparseInputs;
use crate::data::{SplitBy, Stratify};
use crate::error::{Error, Result};
use crate::numeric::mat::{Mat, View};

/// The number that class numbers are below; larger ones are likely something else.
const MOST_CLASSES: f64 = 1e6;

/// Inputs, targets, and weights and offsets of rows that belong together: finite numbers, as many rows in each.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The inputs, `[N, D]`.
    x: Mat,
    /// The targets, `[N, P]`.
    y: Mat,
    /// The weight of each row, `[N]`, if there are any.
    weights: Option<Vec<f64>>,
    /// The offset of each row, `[N]`, if there are any.
    offsets: Option<Vec<f64>>,
    /// What the rows are split by; at random if there is nothing.
    split_by: Option<SplitBy>,
    /// The sparse form of the inputs, if it was asked for.
    sparse: Sparse,
}

/// The sparse form of the inputs, searched for when it is first asked for. It follows from the inputs, so two datasets are equal whether
/// it is there or not.
#[derive(Clone, Debug, Default)]
struct Sparse(OnceLock<Option<SparseInputs>>);

impl PartialEq for Sparse {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Dataset {
    /// A dataset of inputs `x` `[N, D]` and targets `y` `[N, P]`. Fails if they do not fit together or hold NaN or infinity.
    pub fn new(x: Mat, y: Mat) -> Result<Self> {
        if x.nrows() != y.nrows() {
            return Err(Error::Shape {
                what: "targets",
                expected: format!("{} rows, as many as the inputs have", x.nrows()),
                found: y.nrows().to_string(),
            });
        }
        if x.nrows() == 0 {
            let advice = "the table is empty: check the file and any filter before it";
            return Err(Error::TooFewRows { what: "a dataset", needed: 1, rows: 0, advice });
        }
        if x.ncols() == 0 || y.ncols() == 0 {
            return Err(Error::Shape {
                what: "dataset",
                expected: "at least one input and one target column".into(),
                found: format!("{} and {}", x.ncols(), y.ncols()),
            });
        }
        if u32::try_from(x.nrows()).is_err() {
            return Err(Error::Shape {
                what: "dataset",
                expected: format!("at most {} rows", u32::MAX),
                found: x.nrows().to_string(),
            });
        }
        check_finite("x", x.view())?;
        check_finite("y", y.view())?;
        Ok(Self { x, y, weights: None, offsets: None, split_by: None, sparse: Sparse::default() })
    }

    /// The same data with a weight for each row: a factor on its term of the objective.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != self.len() {
            return Err(Error::Shape {
                what: "row weights",
                expected: self.len().to_string(),
                found: weights.len().to_string(),
            });
        }
        check_finite("weights", View::new(&weights, weights.len(), 1))?;
        if let Some(row) = weights.iter().position(|w| *w < 0.0) {
            return Err(Error::Weight { row, value: weights[row] });
        }
        if weights.iter().all(|w| *w == 0.0) {
            return Err(Error::Weight { row: 0, value: 0.0 });
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// The same data with an offset for each row, which is added to the logarithm of its rate: the logarithm of its exposure. For likelihoods
    /// of counts.
    pub fn with_offsets(mut self, offsets: Vec<f64>) -> Result<Self> {
        if offsets.len() != self.len() {
            let (expected, found) = (self.len().to_string(), offsets.len().to_string());
            return Err(Error::Shape { what: "offsets", expected, found });
        }
        check_finite("offsets", View::new(&offsets, offsets.len(), 1))?;
        self.offsets = Some(offsets);
        Ok(self)
    }

    /// The same data with something that its rows are split by wherever some are held out: groups that stay together, or times of which the
    /// last are held out.
    pub fn with_split_by(mut self, split_by: SplitBy) -> Result<Self> {
        split_by.check(self.len())?;
        self.split_by = Some(split_by);
        Ok(self)
    }

    /// The same data, whose inputs are taken as they are even if most entries of a column are one value.
    pub(crate) fn kept_dense(self) -> Self {
        Self { sparse: Sparse(OnceLock::from(None)), ..self }
    }

    /// Targets and offsets alone, all of them finite: a dataset without a column of inputs.
    pub(super) fn without_inputs(y: Mat, offsets: Option<Vec<f64>>) -> Self {
        let x = Mat::zeros(y.nrows(), 0);
        Self { x, y, weights: None, offsets, split_by: None, sparse: Sparse::default() }.kept_dense()
    }

    /// The same rows in other units; all else stays as it is.
    pub(super) fn with_units(&self, x: Mat, y: Mat) -> Self {
        let (weights, offsets, split_by) = (self.weights.clone(), self.offsets.clone(), self.split_by.clone());
        Self { x, y, weights, offsets, split_by, sparse: Sparse::default() }
    }

    /// The same rows with other inputs; targets, weights and offsets stay as they are.
    pub fn with_inputs(&self, x: Mat) -> Result<Self> {
        Self::new(x, self.y.clone()).map(|checked| self.with_units(checked.x, checked.y))
    }

    /// The number of rows, `N`.
    #[allow(clippy::len_without_is_empty, reason = "a dataset is never empty")]
    pub fn len(&self) -> usize {
        self.x.nrows()
    }

    /// The inputs, `[N, D]`.
    pub fn x(&self) -> &Mat {
        &self.x
    }

    /// The targets, `[N, P]`.
    pub fn y(&self) -> &Mat {
        &self.y
    }

    /// The inputs in sparse form, where most entries of a column are one value.
    pub(crate) fn sparse(&self) -> Option<&SparseInputs> {
        self.sparse.0.get_or_init(|| SparseInputs::detect(self.x.view())).as_ref()
    }

    /// The row weights, `[N]`, if there are any.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The offsets of the rows, `[N]`, if there are any.
    pub fn offsets(&self) -> Option<&[f64]> {
        self.offsets.as_deref()
    }

    /// What the rows are split by; `None` for at random, row by row.
    pub fn split_by(&self) -> Option<&SplitBy> {
        self.split_by.as_ref()
    }

    /// The rows of `index`, in that order. Fails if there are none, or one does not exist.
    pub fn gather(&self, index: &[u32]) -> Result<Self> {
        match index.iter().copied().max() {
            Some(largest) if (largest as usize) < self.len() => Ok(self.gather_checked(index)),
            largest => Err(Error::Shape {
                what: "row numbers",
                expected: format!("at least one, and all below {}", self.len()),
                found: largest.map_or("none".into(), |l| l.to_string()),
            }),
        }
    }

    /// The rows of `index`, all of which exist.
    fn gather_checked(&self, index: &[u32]) -> Self {
        let gather = |all: &Vec<f64>| index.iter().map(|&i| all[i as usize]).collect();
        Self {
            x: self.x.gather(index),
            y: self.y.gather(index),
            weights: self.weights.as_ref().map(gather),
            offsets: self.offsets.as_ref().map(gather),
            split_by: self.split_by.as_ref().map(|all| all.gather(index)),
            sparse: Sparse::default(),
        }
    }

    /// The rows of `index`, all of which exist, in that order and without weights.
    pub(super) fn gather_unweighted(&self, index: &[u32]) -> Self {
        Self { weights: None, ..self.gather_checked(index) }
    }

    /// The rows whose weight is not 0.
    pub(crate) fn with_positive_weights(&self) -> Cow<'_, Self> {
        match self.weights() {
            Some(weights) if weights.contains(&0.0) => {
                let rows: Vec<u32> = (0..self.len() as u32).filter(|&i| weights[i as usize] > 0.0).collect();
                Cow::Owned(self.gather_checked(&rows))
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// Splits into the rest and a `fraction` of the rows, those of [`split_rows`](crate::split_rows), or by groups or times if there are any;
    /// both keep the row order.
    pub fn split(&self, fraction: f64, seed: u64) -> Result<(Self, Self)> {
        let (rest, out) = self.row_split(fraction, Stratify::Rows, seed)?;
        Ok((self.gather_checked(&rest), self.gather_checked(&out)))
    }

    /// Splits into the rest and a `fraction` of the rows of each class, those of [`split_rows_by_class`](crate::split_rows_by_class), or by groups
    /// or times if there are any; both keep the row order. The first column of the targets has the class numbers, 0, 1, …; fails if it has
    /// anything else.
    pub fn split_by_class(&self, fraction: f64, seed: u64) -> Result<(Self, Self)> {
        let (rest, out) = self.row_split(fraction, Stratify::Classes, seed)?;
        Ok((self.gather_checked(&rest), self.gather_checked(&out)))
    }

    /// The class number of each row, which is its first target. Fails if one is no whole number from 0 on, or too large for one.
    pub(crate) fn classes(&self) -> Result<Vec<usize>> {
        let class = |row: usize| {
            let value = self.y[(row, 0)];
            let is_class = (0.0..MOST_CLASSES).contains(&value) && value.fract() == 0.0;
            is_class.then_some(value as usize).ok_or_else(|| Error::Target {
                row,
                value,
                likelihood: "classes".into(),
                requirement: "a class number: 0, 1, …",
            })
        };
        (0..self.len()).map(class).collect()
    }
}

/// Fails at the first NaN or infinity; `what` is the array's name for the message.
pub(crate) fn check_finite(what: &'static str, m: View<'_>) -> Result<()> {
    match m.as_slice().iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let (row, column) = (at / m.ncols(), at % m.ncols());
            Err(Error::NotFinite { what, row, column, value: m.as_slice()[at] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::split_rows;

    fn message(result: Result<impl std::fmt::Debug>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn bad_data_is_named() {
        let y = Mat::column(vec![1.0, 2.0]);
        assert!(message(Dataset::new(Mat::zeros(3, 1), y.clone())).contains("expected 3 rows"));
        assert!(message(Dataset::new(Mat::zeros(0, 1), Mat::zeros(0, 1))).contains("there are 0"));
        assert!(message(Dataset::new(Mat::zeros(2, 0), y.clone())).contains("at least one input"));
        let mut x = Mat::zeros(2, 2);
        x[(1, 0)] = f64::NAN;
        assert!(message(Dataset::new(x, y.clone())).contains("x: row 1, column 0 is NaN"));
        let infinite = Mat::column(vec![0.0, f64::INFINITY]);
        assert!(message(Dataset::new(Mat::zeros(2, 1), infinite)).contains("y: row 1, column 0 is inf"));
        let data = Dataset::new(Mat::zeros(2, 1), y).unwrap();
        assert!(message(data.clone().with_weights(vec![1.0])).contains("expected 2, found 1"));
        assert!(message(data.clone().with_weights(vec![1.0, -2.0])).contains("row 1 has -2"));
        assert!(message(data.clone().with_weights(vec![0.0, 0.0])).contains("not all zero"));
        assert!(message(data.clone().with_offsets(vec![0.0])).contains("offsets: expected 2, found 1"));
        let infinite = data.clone().with_offsets(vec![0.0, f64::NEG_INFINITY]);
        assert!(message(infinite).contains("offsets: row 1, column 0 is -inf"));
        assert!(message(data.gather(&[])).contains("found none") && message(data.gather(&[2])).contains("below 2"));
        assert!(message(data.split(1.0, 0)).contains("`fraction` is 1, but must be above 0"));
        assert!(message(data.gather(&[0]).unwrap().split(0.5, 0)).contains("at least 2 rows"));
        assert!(message(split_rows(9, f64::NAN, 0)).contains("`fraction` is NaN"));
        assert!(message(split_rows(1 << 32, 0.5, 0)).contains("`rows` is 4294967296"));
    }

    #[test]
    fn offsets_go_where_their_rows_go() {
        let column = |v: &[f64]| Mat::column(v.to_vec());
        let data = Dataset::new(column(&[1.0, 1.0, 1.0, 2.0]), column(&[3.0, 3.0, 3.0, 0.0])).unwrap();
        let data = data.with_offsets(vec![0.5, 0.1, 0.5, -0.2]).unwrap();
        assert_eq!(data.gather(&[3, 1]).unwrap().offsets(), Some(&[-0.2, 0.1][..]));
        // Rows that differ in nothing but their offset are not the same.
        let merged = data.clone().merged().unwrap();
        assert_eq!(merged.offsets(), Some(&[0.1, 0.5, -0.2][..]));
        assert_eq!(merged.weights(), Some(&[1.0, 2.0, 1.0][..]));
        let (rest, out) = merged.split(0.3, 1).unwrap();
        assert_eq!(rest.offsets().map(<[f64]>::len), Some(rest.len()));
        assert_eq!(out.offsets().map(<[f64]>::len), Some(out.len()));
        let weighted = data.with_weights(vec![1.0, 0.0, 1.0, 1.0]).unwrap();
        assert_eq!(weighted.with_positive_weights().offsets(), Some(&[0.5, 0.5, -0.2][..]));
    }
}
