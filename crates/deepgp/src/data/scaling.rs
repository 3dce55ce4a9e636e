//! The change of units between a user's numbers and the model's: `(v − shift) / scale`, a column at a time.
//!
//! Standardising a column of values `v_n` with row weights `ω_n` takes its mean and its standard deviation:
//!
//! ```text
//! shift = Σ_n ω_n v_n / Σ_n ω_n        scale² = Σ_n ω_n (v_n − shift)² / Σ_n ω_n
//! ```

use crate::backend::{Alone, Communicator};
use crate::data::column_moments::{ColumnMoments, InMemory};
use crate::data::dataset::check_finite;
use crate::data::transformed_targets::TargetTransforms;
use crate::data::{Dataset, StoredRows};
use crate::error::{Error, Result};
use crate::likelihood::TargetUnits;
use crate::numeric::mat::{Mat, View};

/// The least standard deviation of a column: the square of a smaller one would underflow.
const SMALLEST_SPREAD: f64 = 1e-150;
/// The largest standard deviation of a column: the square of a larger one would overflow.
const LARGEST_SPREAD: f64 = 1e150;

/// What to do with an input column that has one value only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ConstantColumns {
    /// The column is an error that names it.
    Reject,
    /// The column stays: it becomes 0 everywhere in training.
    Keep,
}

/// The change of units of inputs and targets: the model works on `(v − shift) / scale`, the user never sees it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Standardiser {
    /// The units of the inputs.
    pub x: Scaling,
    /// The units of the targets, or of what their transforms make of them.
    pub y: Scaling,
    /// The transforms of the targets, which come before their scaling; `None` if all stay as they are.
    #[cfg_attr(feature = "serde", serde(default))]
    pub transform: Option<TargetTransforms>,
}

/// The change of units `(v − shift) / scale`, a column at a time.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Scaling {
    /// The number that is subtracted from each column.
    pub shift: Vec<f64>,
    /// The number that each column is divided by; positive.
    pub scale: Vec<f64>,
}

impl Standardiser {
    /// The standardiser by mean and standard deviation of each column, rows counting by their weights. Fit it on training rows alone.
    ///
    /// A constant target is an error, and so is a constant input unless `constant` says otherwise.
    pub fn fit(data: &Dataset, constant: ConstantColumns) -> Result<Self> {
        Self::fit_for(data, constant, TargetUnits::Standardised)
    }

    /// The standardiser like [`Standardiser::fit`]'s, with targets in the units that a likelihood wants them in.
    pub fn fit_for(data: &Dataset, constant: ConstantColumns, targets: TargetUnits) -> Result<Self> {
        Self::fit_among(&Alone, data, data, constant, targets)
    }

    /// [`Standardiser::fit_for`] for the rows of several processes: inputs are those of this one's rows, `own`; targets are those of `all`.
    pub(crate) fn fit_among(
        processes: &dyn Communicator,
        own: &Dataset,
        all: &Dataset,
        constant: ConstantColumns,
        targets: TargetUnits,
    ) -> Result<Self> {
        if all.len() < 2 {
            let advice = "one row has no spread to standardise by: give more rows";
            return Err(Error::TooFewRows { what: "standardising", needed: 2, rows: all.len(), advice });
        }
        let x = Scaling::fit_among(processes, "x", own.x().view(), own.weights(), constant)?;
        let y = match targets {
            TargetUnits::Standardised => Scaling::fit("y", all.y().view(), all.weights(), ConstantColumns::Reject)?,
            TargetUnits::AsTheyAre => Scaling::identity(all.y().ncols()),
        };
        Ok(Self { x, y, transform: None })
    }

    /// [`Standardiser::fit_for`] for rows that are not in memory.
    pub(crate) fn fit_stored(rows: &StoredRows, constant: ConstantColumns, targets: TargetUnits) -> Result<Self> {
        if rows.len() < 2 {
            let advice = "one row has no spread to standardise by: give more rows";
            return Err(Error::TooFewRows { what: "standardising", needed: 2, rows: rows.len(), advice });
        }
        let (x, rest) = ColumnMoments::of(&Alone, rows)?.split_at(rows.inputs());
        let y = rest.split_at(rows.targets()).0;
        let y = match targets {
            TargetUnits::Standardised => Scaling::of("y", y, ConstantColumns::Reject)?,
            TargetUnits::AsTheyAre => Scaling::identity(rows.targets()),
        };
        Ok(Self { x: Scaling::of("x", x, constant)?, y, transform: None })
    }

    /// The dataset in the model's units; weights and offsets stay as they are. Fails if targets are outside of the domain of their transform.
    pub fn apply(&self, data: &Dataset) -> Result<Dataset> {
        Ok(data.with_units(self.x.apply("x", data.x().view())?, self.targets(data.y().view())?))
    }
}

/// The error of a matrix that has not as many columns as in training.
pub(super) fn wrong_width(what: &'static str, expected: usize, found: usize) -> Error {
    Error::Shape { what, expected: format!("{expected} columns, as in training"), found: found.to_string() }
}

impl Scaling {
    /// The change of units that changes nothing, for so many columns.
    pub fn identity(width: usize) -> Self {
        Self { shift: vec![0.0; width], scale: vec![1.0; width] }
    }

    /// The sum `Σ ln scale`: what a log density gains where every value is divided by its scale.
    pub fn log_volume(&self) -> f64 {
        self.scale.iter().map(|scale| scale.ln()).sum()
    }

    /// The mean and the standard deviation of each column; `what` is the matrix's name for messages.
    pub(super) fn fit(
        what: &'static str,
        m: View<'_>,
        weights: Option<&[f64]>,
        constant: ConstantColumns,
    ) -> Result<Self> {
        Self::fit_among(&Alone, what, m, weights, constant)
    }

    /// [`Scaling::fit`] for the rows of several processes, `m` and `weights` being those of this one.
    fn fit_among(
        processes: &dyn Communicator,
        what: &'static str,
        m: View<'_>,
        weights: Option<&[f64]>,
        constant: ConstantColumns,
    ) -> Result<Self> {
        Self::of(what, ColumnMoments::of(processes, &InMemory { m, weights })?, constant)
    }

    /// The change of units by these moments. Fails if a column is constant and must not be, or if its spread is beyond all numbers.
    pub(super) fn of(what: &'static str, moments: ColumnMoments, constant: ConstantColumns) -> Result<Self> {
        let ColumnMoments { mean, deviation, constants } = moments;
        let (mut shift, mut scale) = (Vec::new(), Vec::new());
        for (column, value) in constants.into_iter().enumerate() {
            let deviation = deviation[column];
            if let Some(value) = value {
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
                shift.push(mean[column]);
                scale.push(deviation);
            }
        }
        Ok(Self { shift, scale })
    }

    /// The values in the model's units, `(v − shift) / scale`. Fails if the width is wrong or a number is not finite.
    pub fn apply(&self, what: &'static str, m: View<'_>) -> Result<Mat> {
        if m.ncols() != self.shift.len() || m.ncols() != self.scale.len() {
            return Err(wrong_width(what, self.shift.len(), m.ncols()));
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

    /// Brings values back to the user's units, `v · scale + shift`.
    pub fn undo(&self, m: &mut Mat) {
        for i in 0..m.nrows() {
            for (j, v) in m.row_mut(i).iter_mut().enumerate() {
                *v = *v * self.scale[j] + self.shift[j];
            }
        }
    }

    /// Brings variances back to the user's units, `v · scale²`.
    pub fn undo_variance(&self, m: &mut Mat) {
        for i in 0..m.nrows() {
            for (j, v) in m.row_mut(i).iter_mut().enumerate() {
                *v *= self.scale[j] * self.scale[j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::uniform;

    fn message(result: Result<impl std::fmt::Debug>) -> String {
        result.unwrap_err().to_string()
    }

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
}
