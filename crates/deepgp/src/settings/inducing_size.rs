//! The number of inducing inputs of a layer, and how it follows the number of rows where it is not given.

use crate::error::{Error, Result};

/// The number of the mean's inducing inputs, `M_a`, where it is not given and rows are many.
pub const MEAN_INDUCING: usize = 500;
/// The number of the covariance's inducing inputs, `M_b`, where it is not given and rows are many.
pub const COVARIANCE_INDUCING: usize = 200;
/// The number of rows for each inducing input of the mean, and of the covariance, where rows are few.
const ROWS_EACH: (usize, usize) = (5, 50);
/// The least `M_a` and `M_b` that follow from a number of rows, unless there are fewer rows.
const LEAST_INDUCING: (usize, usize) = (100, 100);

/// The number of inducing inputs of a layer, at most: where its inputs have fewer distinct rows, it has as many as these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum InducingSize {
    /// One set of `M` for mean and covariance: the full DGP.
    Tied(usize),
    /// A set for the mean and one for the covariance. A size that is not given follows the number of distinct rows, see [`inducing_for`].
    Decoupled {
        /// The size of the mean's set, `M_a`.
        mean: Option<usize>,
        /// The size of the covariance's set, `M_b`.
        covariance: Option<usize>,
    },
    /// One set for the mean, whose head serves the covariance. A size that is not given follows the number of distinct rows, as above,
    /// and the other size.
    Nested {
        /// The size of the set, `M_a`.
        mean: Option<usize>,
        /// The size of its head, `M_b`, at most `M_a`.
        covariance: Option<usize>,
    },
}

impl Default for InducingSize {
    fn default() -> Self {
        Self::Nested { mean: None, covariance: None }
    }
}

impl InducingSize {
    /// The size of a set of `mean` and one of `covariance` inducing inputs.
    pub const fn decoupled(mean: usize, covariance: usize) -> Self {
        Self::Decoupled { mean: Some(mean), covariance: Some(covariance) }
    }

    /// The size of a set of `mean` inducing inputs, of which the first `covariance` serve the covariance too.
    pub const fn nested(mean: usize, covariance: usize) -> Self {
        Self::Nested { mean: Some(mean), covariance: Some(covariance) }
    }

    /// The sizes for inputs with so many distinct rows. Fails if a head is asked for that is longer than its set.
    pub(crate) fn resolve(self, distinct: usize) -> Result<ResolvedSize> {
        let (usual_mean, usual_covariance) = inducing_for(distinct);
        Ok(match self {
            Self::Tied(m) => ResolvedSize::Tied(m.min(distinct)),
            Self::Decoupled { mean, covariance } => ResolvedSize::Decoupled {
                mean: mean.unwrap_or(usual_mean).min(distinct),
                covariance: covariance.unwrap_or(usual_covariance).min(distinct),
            },
            Self::Nested { mean: Some(mean), covariance: Some(covariance) } if covariance > mean => {
                let name = "inducing inputs of the covariance";
                let requirement = "at most as many as the mean has, where sets are nested";
                return Err(Error::Setting { name, value: covariance.to_string(), requirement });
            }
            Self::Nested { mean, covariance } => {
                let mean = mean.unwrap_or(usual_mean.max(covariance.unwrap_or(0))).min(distinct);
                ResolvedSize::Nested { mean, covariance: covariance.unwrap_or(usual_covariance).min(mean) }
            }
        })
    }
}

/// An [`InducingSize`] in numbers, for the rows at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResolvedSize {
    /// One set of `M`.
    Tied(usize),
    /// Sets of `M_a` and `M_b`.
    Decoupled {
        /// The size of the mean's set, `M_a`.
        mean: usize,
        /// The size of the covariance's set, `M_b`.
        covariance: usize,
    },
    /// A set of `M_a` with a head of `M_b`.
    Nested {
        /// The size of the set, `M_a`.
        mean: usize,
        /// The size of its head, `M_b`.
        covariance: usize,
    },
}

/// The sizes `M_a` and `M_b` for so many distinct rows, where they are not given: one for each five rows for the mean and each eight for
/// the covariance, but at least 100 and 60, and at most [`MEAN_INDUCING`] and [`COVARIANCE_INDUCING`]. With more, small tables are fitted
/// no better, and several times as slowly.
///
/// ```text
/// M_a = min(rows, clamp(⌊rows / 5⌋, 100, 500))        M_b = min(rows, clamp(⌊rows / 8⌋, 60, 100))
/// ```
pub fn inducing_for(rows: usize) -> (usize, usize) {
    let mean = (rows / ROWS_EACH.0).clamp(LEAST_INDUCING.0, MEAN_INDUCING);
    let covariance = (rows / ROWS_EACH.1).clamp(LEAST_INDUCING.1, COVARIANCE_INDUCING);
    (mean.min(rows), covariance.min(rows))
}
