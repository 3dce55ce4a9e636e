//! The inducing inputs of a layer: one set for mean and covariance, two sets, or one whose head serves the covariance.
//!
//! Kernels see them *stacked*, as they are stored: `Z_a`, and below it `Z_b` where that is a set of its own. The covariance's inputs are
//! then a range of the stacked rows, which overlaps the mean's in a tied and in a nested layer.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::numeric::mat::{Mat, View};
use crate::numeric::scratch::Scratch;

/// The inducing inputs of a layer, `Z_a` for the mean and `Z_b` for the covariance.
#[derive(Clone, Debug, PartialEq)]
pub enum Inducing {
    /// One set for mean and covariance, `[M, D]`: the full DGP. One factorisation serves both.
    Tied(Mat),
    /// A set for the mean and one for the covariance: the paper's decoupling.
    Decoupled {
        /// The mean's set `Z_a`, `[M_a, D]`.
        mean: Mat,
        /// The covariance's set `Z_b`, `[M_b, D]`.
        covariance: Mat,
    },
    /// One set for the mean, whose head serves the covariance: `Z_a = [Z_b; Z_rest]`. One factorisation serves both, because the leading
    /// block of `K_aa`'s factor is that of `K_bb`.
    Nested {
        /// The mean's set `Z_a`, `[M_a, D]`.
        inputs: Mat,
        /// The number of its first rows that are the covariance's set, `M_b`.
        covariance: usize,
    },
}

impl Inducing {
    /// The mean's set `Z_a`, `[M_a, D]`.
    pub fn mean(&self) -> &Mat {
        match self {
            Self::Tied(z) => z,
            Self::Decoupled { mean, .. } => mean,
            Self::Nested { inputs, .. } => inputs,
        }
    }

    /// The covariance's set `Z_b`, `[M_b, D]`.
    pub fn covariance(&self) -> View<'_> {
        match self {
            Self::Tied(z) => z.view(),
            Self::Decoupled { covariance, .. } => covariance.view(),
            Self::Nested { inputs, covariance } => inputs.view().rows(0..*covariance),
        }
    }

    /// The same sets, each sent through `by`, which keeps the number of rows.
    pub(crate) fn map(&self, by: impl Fn(&Mat) -> Mat) -> Self {
        match self {
            Self::Tied(z) => Self::Tied(by(z)),
            Self::Decoupled { mean, covariance } => Self::Decoupled { mean: by(mean), covariance: by(covariance) },
            Self::Nested { inputs, covariance } => Self::Nested { inputs: by(inputs), covariance: *covariance },
        }
    }

    /// The sets as they are stored and stacked, `Z_a` first.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Mat> {
        let (first, second) = match self {
            Self::Tied(z) => (z, None),
            Self::Decoupled { mean, covariance } => (mean, Some(covariance)),
            Self::Nested { inputs, .. } => (inputs, None),
        };
        std::iter::once(first).chain(second)
    }

    /// The number of stacked rows.
    pub(super) fn stacked_len(&self) -> usize {
        self.stored().map(Mat::nrows).sum()
    }

    /// The stacked rows, in memory borrowed from `scratch`.
    pub(super) fn stacked(&self, scratch: &mut Scratch<f64>) -> Mat {
        let mut z = scratch.take_mat(self.stacked_len(), self.mean().ncols());
        let mut rest = z.as_mut_slice();
        for set in self.stored() {
            let (own, after) = rest.split_at_mut(set.as_slice().len());
            own.copy_from_slice(set.as_slice());
            rest = after;
        }
        z
    }

    /// The stacked rows that are the covariance's set.
    pub(super) fn covariance_rows(&self) -> Range<usize> {
        match self {
            Self::Tied(z) => 0..z.nrows(),
            Self::Decoupled { mean, covariance } => mean.nrows()..mean.nrows() + covariance.nrows(),
            Self::Nested { covariance, .. } => 0..*covariance,
        }
    }

    /// Fails if two rows of a set are equal, or if a head is longer than its set; `layer` is for the message.
    pub(super) fn check(&self, layer: usize) -> Result<()> {
        match self {
            Self::Tied(z) => check_distinct(z, layer, "one set"),
            Self::Decoupled { mean, covariance } => {
                check_distinct(mean, layer, "mean")?;
                check_distinct(covariance, layer, "covariance")
            }
            Self::Nested { inputs, covariance } if *covariance <= inputs.nrows() => {
                check_distinct(inputs, layer, "nested set")
            }
            Self::Nested { covariance, .. } => {
                let requirement = "at most as many as the mean has, where they are the head of the mean's set";
                let value = covariance.to_string();
                Err(Error::Setting { name: "inducing inputs of the covariance", value, requirement })
            }
        }
    }
}

/// A total order of rows, NaN included; 0 and −0 are one.
pub(crate) fn compare_rows(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let mut each = a.iter().zip(b).map(|(x, y)| (x + 0.0).total_cmp(&(y + 0.0)));
    each.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}

/// Fails if two rows of `z` are equal; `layer` and `set` are for the message.
fn check_distinct(z: &Mat, layer: usize, set: &'static str) -> Result<()> {
    let mut order: Vec<usize> = (0..z.nrows()).collect();
    order.sort_by(|&i, &j| compare_rows(z.row(i), z.row(j)));
    for pair in order.windows(2) {
        if z.row(pair[0]) == z.row(pair[1]) {
            let (first, second) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            return Err(Error::DuplicateInducing { layer, set, first, second });
        }
    }
    Ok(())
}
