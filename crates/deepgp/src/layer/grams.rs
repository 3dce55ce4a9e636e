//! The kernel matrices of a layer's inducing inputs, one or two, and the memory for work on them.

use super::gram::Gram;
use crate::numeric::mat::Mat;
use crate::numeric::scratch::Scratch;

/// The kernel matrices of a layer's inducing inputs.
#[derive(Clone, Debug)]
pub(super) enum Grams {
    /// The one `K_ZZ` of a tied layer.
    Tied(Gram),
    /// A matrix for each of a decoupled layer's sets.
    Decoupled {
        /// The mean's matrix `K_aa`.
        mean: Gram,
        /// The covariance's matrix `K_bb`.
        covariance: Gram,
    },
    /// The one matrix of a nested layer, and its head.
    Nested {
        /// The mean's matrix `K_aa`.
        whole: Gram,
        /// The covariance's matrix `K_bb`, the leading block of `K_aa`: a copy.
        head: Gram,
    },
}

impl Grams {
    /// The mean's matrix `K_aa`, or the one `K_ZZ`.
    pub fn mean(&self) -> &Gram {
        match self {
            Self::Tied(gram) => gram,
            Self::Decoupled { mean, .. } => mean,
            Self::Nested { whole, .. } => whole,
        }
    }

    /// The covariance's matrix `K_bb`, or the one `K_ZZ`.
    pub fn covariance(&self) -> &Gram {
        match self {
            Self::Tied(gram) => gram,
            Self::Decoupled { covariance, .. } => covariance,
            Self::Nested { head, .. } => head,
        }
    }

    /// Gives its memory back, and that of the mean's `weights`, which were made beside `K_aa`.
    pub fn give(self, weights: Mat, memory: &mut LayerMemory) {
        match self {
            Self::Tied(gram) => {
                memory.covariance.give_mat(weights);
                gram.give(&mut memory.covariance);
            }
            Self::Decoupled { mean, covariance } => {
                memory.mean.give_mat(weights);
                mean.give(&mut memory.mean);
                covariance.give(&mut memory.covariance);
            }
            Self::Nested { whole, head } => {
                memory.covariance.give_mat(weights);
                whole.give(&mut memory.covariance);
                head.give(&mut memory.covariance);
            }
        }
    }
}

/// Memory for the work on a layer's `M × M` matrices: one part for each of mean and covariance, which are worked on in parallel where
/// their sets are apart.
#[derive(Debug, Default)]
pub(crate) struct LayerMemory {
    /// Memory for the mean's side.
    pub(super) mean: Scratch<f64>,
    /// Memory for the covariance's side, and for all of a tied or nested layer.
    pub(super) covariance: Scratch<f64>,
}
