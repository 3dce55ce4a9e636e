//! The choice of a transform, as settings make it, and the transform that comes of it.

use super::{FEWEST_VALUES, TargetTransform, YeoJohnson, quantile};
use crate::error::{Error, Result};
use crate::numeric::mat::View;

/// The number of rows that an error names.
const NAMED_ROWS: usize = 5;

/// The choice of a transform of all targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum TransformChoice {
    /// Targets stay as they are.
    #[default]
    None,
    /// The logarithm, for positive targets: predictions are then positive too.
    Log,
    /// The logarithm of one more than the target, for targets above −1.
    Log1p,
    /// The transform of Yeo and Johnson, its power by maximum likelihood.
    YeoJohnson,
    /// Normal scores, for targets with at least 100 distinct values.
    Quantile,
    /// The transform of each target under which a simple regression predicts validation rows best, or none if none is clearly better.
    Auto,
}

impl TransformChoice {
    /// The name that settings and files have for the choice.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Log => "log",
            Self::Log1p => "log1p",
            Self::YeoJohnson => "yeo-johnson",
            Self::Quantile => "quantile",
            Self::Auto => "auto",
        }
    }

    /// The value that all targets must exceed; `None` if there is none.
    fn lower_end(self) -> Option<f64> {
        match self {
            Self::Log => Some(0.0),
            Self::Log1p => Some(-1.0),
            Self::None | Self::YeoJohnson | Self::Quantile | Self::Auto => None,
        }
    }

    /// Whether a target of this value can be transformed.
    pub fn contains(self, y: f64) -> bool {
        self.lower_end().is_none_or(|end| y > end)
    }

    /// Fails if some targets cannot be transformed, and names the rows.
    pub fn check(self, y: View<'_>) -> Result<()> {
        (0..y.ncols()).try_for_each(|column| self.check_column(column, y))
    }

    /// Fails if some targets of one column cannot be transformed, and names the rows.
    pub(crate) fn check_column(self, column: usize, y: View<'_>) -> Result<()> {
        let Some(above) = self.lower_end() else { return Ok(()) };
        let outside = || (0..y.nrows()).filter(|&i| y[(i, column)] <= above);
        match outside().count() {
            0 => Ok(()),
            count => Err(Error::TargetDomain {
                transform: self.name(),
                column,
                above,
                count,
                rows: outside().take(NAMED_ROWS).map(|row| (row, y[(row, column)])).collect(),
            }),
        }
    }

    /// The transform of one column of targets, fitted to these rows, which count by their weights. There must be no doubt about it: not
    /// [`TransformChoice::Auto`], which leaves the column as it is.
    pub(crate) fn fit_column(self, column: usize, values: &[f64], weights: Option<&[f64]>) -> Result<TargetTransform> {
        let weight = |i: usize| weights.map_or(1.0, |all| all[i]);
        Ok(match self {
            Self::None | Self::Auto => TargetTransform::Identity,
            Self::Log => TargetTransform::Log,
            Self::Log1p => TargetTransform::Log1p,
            Self::YeoJohnson => TargetTransform::YeoJohnson(YeoJohnson::fit(values, weight)),
            Self::Quantile => {
                let few = |distinct| Error::FewTargetValues { column, distinct, needed: FEWEST_VALUES };
                TargetTransform::Quantile(quantile::fit(values, weight).map_err(few)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::mat::Mat;

    #[test]
    fn impossible_targets_are_named_with_their_rows() {
        let y = Mat::from_fn(9, 2, |i, j| if j == 1 { 3.0 - i as f64 } else { 1.0 });
        let told = TransformChoice::Log.check(y.view()).unwrap_err().to_string();
        assert_eq!(
            told,
            "y: column 1: the transform `log` needs targets above 0, but 6 rows have others: row 3 has 0, row 4 has -1, row 5 \
             has -2, row 6 has -3, row 7 has -4, … (rows and columns count from 0); remove such rows, or transform by `log1p`, \
             which needs targets above -1, or `yeo-johnson`, which takes any"
        );
        let told = TransformChoice::Log1p.check(y.view()).unwrap_err().to_string();
        assert!(told.contains("above -1, but 5 rows") && told.contains("or transform by `yeo-johnson`"), "{told}");
        for any in
            [TransformChoice::None, TransformChoice::YeoJohnson, TransformChoice::Quantile, TransformChoice::Auto]
        {
            any.check(y.view()).unwrap();
        }
    }

    #[test]
    fn few_values_are_counted() {
        let values: Vec<f64> = (0..500).map(|i| f64::from(i % 7)).collect();
        let told = TransformChoice::Quantile.fit_column(2, &values, None).unwrap_err().to_string();
        assert!(told.contains("column 2 has 7 distinct values") && told.contains("at least 100"), "{told}");
    }
}
