//! Data: a checked pair of matrices, and the change of units between a user's numbers and the model's.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::mat::{Mat, View};
use crate::noise::{Key, Purpose};
use crate::sparse::SparseInputs;

/// Inputs, targets and row weights that belong together: finite numbers, as many rows in each.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    x: Mat,
    y: Mat,
    weights: Option<Vec<f64>>,
    sparse: Sparse,
}

/// The sparse form of the inputs, looked for when it is first asked for. It follows from the inputs, so it is no part of what a
/// dataset is.
#[derive(Clone, Debug, Default)]
struct Sparse(OnceLock<Option<SparseInputs>>);

impl PartialEq for Sparse {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Dataset {
    /// Inputs `x` `[N, D]` and targets `y` `[N, P]`. Fails if they do not fit together or hold NaN or infinity.
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
        Ok(Self { x, y, weights: None, sparse: Sparse::default() })
    }

    /// The same data with a weight for each row: a factor on its share of the data term.
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

    /// `N`.
    #[allow(clippy::len_without_is_empty, reason = "a dataset is never empty")]
    pub fn len(&self) -> usize {
        self.x.nrows()
    }

    /// Inputs, `[N, D]`.
    pub fn x(&self) -> &Mat {
        &self.x
    }

    /// Targets, `[N, P]`.
    pub fn y(&self) -> &Mat {
        &self.y
    }

    /// The inputs in sparse form, where most entries of a column are one value.
    pub(crate) fn sparse(&self) -> Option<&SparseInputs> {
        self.sparse.0.get_or_init(|| SparseInputs::detect(self.x.view())).as_ref()
    }

    /// Row weights, if there are any.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
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

    fn gather_checked(&self, index: &[u32]) -> Self {
        Self {
            x: self.x.gather(index),
            y: self.y.gather(index),
            weights: self.weights.as_ref().map(|w| index.iter().map(|&i| w[i as usize]).collect()),
            sparse: Sparse::default(),
        }
    }

    /// The rows that weigh anything.
    pub(crate) fn weighty(&self) -> Cow<'_, Self> {
        match self.weights() {
            Some(weights) if weights.contains(&0.0) => {
                let rows: Vec<u32> = (0..self.len() as u32).filter(|&i| weights[i as usize] > 0.0).collect();
                Cow::Owned(self.gather_checked(&rows))
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// Splits at random into the rest and a `fraction` of the rows, those of [`split_rows`]; both keep the row order.
    pub fn split(&self, fraction: f64, seed: u64) -> Result<(Self, Self)> {
        let (rest, out) = split_rows(self.len(), fraction, seed)?;
        Ok((self.gather_checked(&rest), self.gather_checked(&out)))
    }
}

/// Which of `rows` rows a split holds out: the numbers of the rest, then of a `fraction` at random, rounded to some and not all; each in
/// ascending order. The same arguments give the same rows, now and in later versions.
///
/// ```
/// let (rest, held_out) = deepgp::split_rows(10, 0.3, 1)?;
/// assert_eq!((rest, held_out), (vec![0, 1, 2, 4, 6, 7, 8], vec![3, 5, 9]));
/// # Ok::<(), deepgp::Error>(())
/// ```
pub fn split_rows(rows: usize, fraction: f64, seed: u64) -> Result<(Vec<u32>, Vec<u32>)> {
    if !(fraction > 0.0 && fraction < 1.0) {
        let requirement = "above 0 and below 1";
        return Err(Error::Setting { name: "fraction", value: fraction.to_string(), requirement });
    }
    if rows < 2 {
        let advice = "give more rows, or hold none out";
        return Err(Error::TooFewRows { what: "a split", needed: 2, rows, advice });
    }
    if u32::try_from(rows).is_err() {
        return Err(Error::Setting { name: "rows", value: rows.to_string(), requirement: "below 2³²" });
    }
    let mut out = Key::new(seed, Purpose::Split).permutation(rows, 0);
    let mut rest = out.split_off(held_out(rows, fraction));
    out.sort_unstable();
    rest.sort_unstable();
    Ok((rest, out))
}

/// How many of at least two rows a `fraction` is: some, and not all.
pub(crate) fn held_out(rows: usize, fraction: f64) -> usize {
    ((rows as f64 * fraction).round() as usize).clamp(1, rows - 1)
}

/// Fails at the first NaN or infinity.
pub(crate) fn check_finite(what: &'static str, m: View<'_>) -> Result<()> {
    match m.as_slice().iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let (row, column) = (at / m.ncols(), at % m.ncols());
            Err(Error::NotFinite { what, row, column, value: m.as_slice()[at] })
        }
    }
}

/// Standard deviations outside these would leave the range of numbers when squared.
const SMALLEST_SPREAD: f64 = 1e-150;
const LARGEST_SPREAD: f64 = 1e150;

/// What to do with an input column that has one value only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ConstantColumns {
    /// Refuse, naming the column.
    Reject,
    /// Keep it: it becomes 0 everywhere in training.
    Keep,
}

/// Shift and scale of each column: the model works on `(v − shift) / scale`, the user never sees it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Standardiser {
    /// For the inputs.
    pub x: Scaling,
    /// For the targets.
    pub y: Scaling,
}

/// `(v − shift) / scale`, a column at a time.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Scaling {
    /// What is subtracted.
    pub shift: Vec<f64>,
    /// What is divided by; positive.
    pub scale: Vec<f64>,
}

impl Standardiser {
    /// Mean and standard deviation of each column, rows counting by their weights. Fit it on training rows alone.
    ///
    /// A constant target is an error, and so is a constant input unless `constant` says otherwise.
    pub fn fit(data: &Dataset, constant: ConstantColumns) -> Result<Self> {
        if data.len() < 2 {
            let advice = "one row has no spread to standardise by: give more rows";
            return Err(Error::TooFewRows { what: "standardising", needed: 2, rows: data.len(), advice });
        }
        let x = Scaling::fit("x", data.x.view(), data.weights(), constant)?;
        let y = Scaling::fit("y", data.y.view(), data.weights(), ConstantColumns::Reject)?;
        Ok(Self { x, y })
    }

    /// The dataset in the model's units; weights stay as they are.
    pub fn apply(&self, data: &Dataset) -> Result<Dataset> {
        Ok(Dataset {
            x: self.x.apply("x", data.x.view())?,
            y: self.y.apply("y", data.y.view())?,
            weights: data.weights.clone(),
            sparse: Sparse::default(),
        })
    }
}

impl Scaling {
    /// `Σ ln scale`: what a log density gains where every value is divided by its scale.
    pub fn log_volume(&self) -> f64 {
        self.scale.iter().map(|scale| scale.ln()).sum()
    }

    fn fit(what: &'static str, m: View<'_>, weights: Option<&[f64]>, constant: ConstantColumns) -> Result<Self> {
        // In units of the heaviest row, so that no sum overflows. What weighs nothing may be anything.
        let heaviest = weights.map_or(1.0, |all| all.iter().copied().fold(0.0, f64::max));
        let weight = |i: usize| weights.map_or(1.0, |all| all[i] / heaviest);
        let rows: Vec<usize> = (0..m.nrows()).filter(|&i| weight(i) > 0.0).collect();
        let total: f64 = rows.iter().map(|&i| weight(i)).sum();
        let (mut shift, mut scale) = (Vec::new(), Vec::new());
        for column in 0..m.ncols() {
            let values = || rows.iter().map(|&i| (weight(i), m[(i, column)]));
            // Dividing first keeps the mean of huge numbers finite.
            let mean: f64 = values().map(|(w, v)| w * (v / total)).sum();
            let largest = values().fold(0.0f64, |a, (_, v)| a.max((v - mean).abs()));
            let deviation = if largest > 0.0 {
                largest * (values().map(|(w, v)| w * ((v - mean) / largest).powi(2)).sum::<f64>() / total).sqrt()
            } else {
                0.0
            };
            if let Some(value) = constant_value(values().map(|(_, v)| v)) {
                if constant == ConstantColumns::Reject {
                    let advice = if what == "y" {
                        "there is nothing to learn"
                    } else {
                        "drop it, or keep it with `ConstantColumns::Keep`"
                    };
                    return Err(Error::ConstantColumn { what, column, value, advice });
                }
                shift.push(value);
                scale.push(1.0);
            } else if !(SMALLEST_SPREAD..=LARGEST_SPREAD).contains(&deviation) {
                return Err(Error::Spread { what, column, deviation });
            } else {
                shift.push(mean);
                scale.push(deviation);
            }
        }
        Ok(Self { shift, scale })
    }

    /// `(v − shift) / scale`. Fails if the width is wrong or a number is not finite.
    pub fn apply(&self, what: &'static str, m: View<'_>) -> Result<Mat> {
        if m.ncols() != self.shift.len() || m.ncols() != self.scale.len() {
            return Err(Error::Shape {
                what,
                expected: format!("{} columns, as in training", self.shift.len()),
                found: m.ncols().to_string(),
            });
        }
        check_finite(what, m)?;
        let scaled = Mat::from_fn(m.nrows(), m.ncols(), |i, j| (m[(i, j)] - self.shift[j]) / self.scale[j]);
        match scaled.as_slice().iter().position(|v| !v.is_finite()) {
            None => Ok(scaled),
            Some(at) => {
                let (row, column) = (at / m.ncols(), at % m.ncols());
                Err(Error::OutOfReach { what, row, column, value: m[(row, column)], scale: self.scale[column] })
            }
        }
    }

    /// Back to the user's units: `v · scale + shift`.
    pub fn undo(&self, m: &mut Mat) {
        for i in 0..m.nrows() {
            for (j, v) in m.row_mut(i).iter_mut().enumerate() {
                *v = *v * self.scale[j] + self.shift[j];
            }
        }
    }

    /// A variance back to the user's units: `v · scale²`.
    pub fn undo_variance(&self, m: &mut Mat) {
        for i in 0..m.nrows() {
            for (j, v) in m.row_mut(i).iter_mut().enumerate() {
                *v *= self.scale[j] * self.scale[j];
            }
        }
    }
}

/// The value that all of these have. Not found by their deviation: the mean of many equal numbers is not quite that number.
fn constant_value(mut values: impl Iterator<Item = f64>) -> Option<f64> {
    let first = values.next()?;
    values.all(|v| (v - first).abs() <= 1e-14 * first.abs()).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_rows_repeated_as_often_as_they_weigh() {
        let column = |v: &[f64]| Mat::column(v.to_vec());
        let (x, y) = (column(&[1.0, 4.0, 1e6, 2.0]), column(&[3.0, 5.0, -1e9, 8.0]));
        let weighted = Dataset::new(x, y).unwrap().with_weights(vec![2.0, 1.0, 0.0, 3.0]).unwrap();
        let repeated = weighted.gather(&[0, 0, 1, 3, 3, 3]).unwrap().with_weights(vec![1e308; 6]).unwrap();
        let of = |data: &Dataset| Standardiser::fit(data, ConstantColumns::Reject).unwrap();
        let (a, b) = (of(&weighted), of(&repeated));
        for (a, b) in [(&a.x, &b.x), (&a.y, &b.y)] {
            assert!((a.shift[0] - b.shift[0]).abs() < 1e-14 && (a.scale[0] - b.scale[0]).abs() < 1e-14, "{a:?} {b:?}");
        }
    }

    #[test]
    fn constant_columns_are_found_among_many_rows() {
        for value in [7.0, 0.1, -1e-9, 1e12 / 3.0] {
            let x = Mat::from_fn(20_000, 2, |i, j| if j == 0 { i as f64 } else { value });
            let data = Dataset::new(x.clone(), Mat::from_fn(20_000, 1, |i, _| (i as f64).sin())).unwrap();
            let found = Standardiser::fit(&data, ConstantColumns::Reject);
            assert!(matches!(found, Err(Error::ConstantColumn { what: "x", column: 1, .. })), "{value}: {found:?}");
            let kept = Standardiser::fit(&data, ConstantColumns::Keep).unwrap();
            assert!(kept.apply(&data).unwrap().x().row(19_999)[1] == 0.0);
            let still = Dataset::new(x, Mat::from_fn(20_000, 1, |_, _| value)).unwrap();
            assert!(Standardiser::fit(&still, ConstantColumns::Keep).is_err(), "{value}");
        }
    }

    #[test]
    fn a_row_out_of_all_proportion_is_named() {
        let data = Dataset::new(Mat::column(vec![1e-140, 2e-140, 3e-140]), Mat::column(vec![1.0, 2.0, 4.0])).unwrap();
        let units = Standardiser::fit(&data, ConstantColumns::Reject).unwrap();
        let far = Dataset::new(Mat::column(vec![1e-140, 1e200]), Mat::column(vec![1.0, 2.0])).unwrap();
        let found = units.apply(&far);
        assert!(matches!(found, Err(Error::OutOfReach { what: "x", row: 1, .. })), "{found:?}");
    }
    use crate::testing::uniform;

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
        assert!(message(data.gather(&[])).contains("found none") && message(data.gather(&[2])).contains("below 2"));
        assert!(message(data.split(1.0, 0)).contains("`fraction` is 1, but must be above 0"));
        assert!(message(data.gather(&[0]).unwrap().split(0.5, 0)).contains("at least 2 rows"));
        assert!(message(split_rows(9, f64::NAN, 0)).contains("`fraction` is NaN"));
        assert!(message(split_rows(1 << 32, 0.5, 0)).contains("`rows` is 4294967296"));
    }

    #[test]
    fn constant_columns_and_single_rows_cannot_be_standardised() {
        let y = Mat::column(vec![1.0, 2.0, 4.0]);
        let data = Dataset::new(Mat::from_fn(3, 2, |i, j| if j == 1 { 0.1 } else { i as f64 }), y.clone()).unwrap();
        assert!(message(Standardiser::fit(&data, ConstantColumns::Reject)).contains("x: column 1 has the value 0.1"));
        let kept = Standardiser::fit(&data, ConstantColumns::Keep).unwrap();
        assert!((0..3).all(|i| kept.apply(&data).unwrap().x()[(i, 1)] == 0.0));
        let huge = Dataset::new(Mat::column(vec![1.7e308, 1.7e308, -1.7e308]), y.clone()).unwrap();
        assert!(
            message(Standardiser::fit(&huge, ConstantColumns::Keep))
                .contains("x: column 0 has a standard deviation of")
        );
        let flat = Dataset::new(y, Mat::from_fn(3, 1, |_, _| 7.0)).unwrap();
        assert!(message(Standardiser::fit(&flat, ConstantColumns::Keep)).contains("y: column 0 has the value 7"));
        assert!(
            message(Standardiser::fit(&data.gather(&[1]).unwrap(), ConstantColumns::Keep)).contains("at least 2 rows")
        );
    }

    #[test]
    fn standardised_columns_have_mean_zero_and_deviation_one_and_come_back() {
        let x = Mat::from_fn(40, 2, |i, j| 1e6 * (j + 1) as f64 + uniform(40, 2, 1)[(i, j)]);
        let data = Dataset::new(x.clone(), uniform(40, 1, 2)).unwrap();
        let standardiser = Standardiser::fit(&data, ConstantColumns::Reject).unwrap();
        let mut scaled = standardiser.apply(&data).unwrap().x().clone();
        for j in 0..2 {
            let mean = (0..40).map(|i| scaled[(i, j)]).sum::<f64>() / 40.0;
            let variance = (0..40).map(|i| scaled[(i, j)].powi(2)).sum::<f64>() / 40.0;
            assert!(mean.abs() < 1e-8 && (variance - 1.0).abs() < 1e-8);
        }
        standardiser.x.undo(&mut scaled);
        assert!(scaled.as_slice().iter().zip(x.as_slice()).all(|(a, b)| (a - b).abs() < 1e-8));
        assert!(message(standardiser.x.apply("x", uniform(2, 3, 1).view())).contains("expected 2 columns"));
    }

    #[test]
    fn a_split_holds_every_row_once() {
        let data = Dataset::new(Mat::from_fn(10, 1, |i, _| i as f64), Mat::from_fn(10, 1, |i, _| i as f64)).unwrap();
        let (rest, out) = data.split(0.2, 3).unwrap();
        assert_eq!((rest.len(), out.len()), (8, 2));
        let mut all = [rest.x().as_slice(), out.x().as_slice()].concat();
        all.sort_by(f64::total_cmp);
        assert_eq!(all, (0..10).map(f64::from).collect::<Vec<_>>());
        assert_eq!(data.split(0.2, 3).unwrap().1, out);
        assert_ne!(data.split(0.2, 4).unwrap().1, out);
    }

    /// Pinned, here and in the Python package's tests: results that were published stay on the rows they were measured on.
    #[test]
    fn a_split_is_of_the_same_rows_in_every_version() {
        for (fraction, seed, expected) in [(0.2, 0, vec![2, 9]), (0.3, 1, vec![3, 5, 9]), (0.01, 2, vec![8])] {
            let (rest, out) = split_rows(10, fraction, seed).unwrap();
            assert_eq!(out, expected, "{fraction} {seed}");
            assert_eq!(rest, (0..10).filter(|row| !out.contains(row)).collect::<Vec<_>>());
        }
    }
}
