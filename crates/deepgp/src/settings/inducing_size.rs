//! The number of inducing inputs of a layer, and how it follows the number of rows where it is not given.

/// The number of the mean's inducing inputs, `M_a`, where it is not given and rows are many.
pub const MEAN_INDUCING: usize = 500;
/// The number of the covariance's inducing inputs, `M_b`, where it is not given and rows are many.
pub const COVARIANCE_INDUCING: usize = 100;
/// The number of rows for each inducing input of the mean, and of the covariance, where rows are few.
const ROWS_EACH: (usize, usize) = (5, 8);
/// The least `M_a` and `M_b` that follow from a number of rows, unless there are fewer rows.
const LEAST_INDUCING: (usize, usize) = (100, 60);

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
}

impl Default for InducingSize {
    fn default() -> Self {
        Self::Decoupled { mean: None, covariance: None }
    }
}

impl InducingSize {
    /// The size of a set of `mean` and one of `covariance` inducing inputs.
    pub const fn decoupled(mean: usize, covariance: usize) -> Self {
        Self::Decoupled { mean: Some(mean), covariance: Some(covariance) }
    }

    /// The sizes for inputs with so many distinct rows.
    pub(crate) fn resolve(self, distinct: usize) -> ResolvedSize {
        match self {
            Self::Tied(m) => ResolvedSize::Tied(m.min(distinct)),
            Self::Decoupled { mean, covariance } => {
                let (usual_mean, usual_covariance) = inducing_for(distinct);
                ResolvedSize::Decoupled {
                    mean: mean.unwrap_or(usual_mean).min(distinct),
                    covariance: covariance.unwrap_or(usual_covariance).min(distinct),
                }
            }
        }
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
