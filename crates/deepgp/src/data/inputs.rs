//! A layer's inputs: a dense matrix, or a sparse one, whose columns mostly repeat one value each.
//!
//! Only the first layer can meet sparse rows, and only kernels and mean functions ask which of the two they are. All other code hands
//! [`Inputs`] on, and the [`InputLayout`] that says beforehand which they will be.

use super::Dataset;
use super::sparse::SparseRows;
use crate::numeric::mat::Mat;
use crate::numeric::real::Real;

/// A block of a layer's input rows, `[B, D]`.
#[derive(Clone, Debug)]
pub(crate) enum Inputs<T> {
    /// A matrix of every entry.
    Dense(Mat<T>),
    /// The entries that differ from a background.
    Sparse(SparseRows<T>),
}

/// The layout of a layer's input rows, known before there are any.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InputLayout<'a> {
    /// Rows come as a matrix.
    Dense,
    /// Rows come as the entries that differ from this background, `[D]`.
    Sparse(&'a [f64]),
}

impl InputLayout<'_> {
    /// The layout of the rows that reach layer `l`, from 0, of a model whose first layer has this one: samples of a layer are dense.
    pub fn of_layer(self, l: usize) -> Self {
        if l == 0 { self } else { Self::Dense }
    }
}

impl<T: Default> Default for Inputs<T> {
    fn default() -> Self {
        Self::Dense(Mat::default())
    }
}

impl<T: Real> Inputs<T> {
    /// The number of rows, `B`.
    pub fn nrows(&self) -> usize {
        match self {
            Self::Dense(x) => x.nrows(),
            Self::Sparse(x) => x.nrows(),
        }
    }

    /// The matrix to fill with dense rows; its memory is reused.
    pub fn dense_mut(&mut self) -> &mut Mat<T> {
        if let Self::Sparse(_) = self {
            *self = Self::Dense(Mat::default());
        }
        match self {
            Self::Dense(x) => x,
            Self::Sparse(_) => unreachable!("it became dense a moment ago"),
        }
    }

    /// The matrix of dense rows. Only for callers that have filled it.
    pub fn dense(&self) -> &Mat<T> {
        match self {
            Self::Dense(x) => x,
            Self::Sparse(_) => panic!("these rows were gathered sparse"),
        }
    }

    /// Becomes the rows `ids` of a dataset, in that order and in this layout, which must be one of that dataset; memory is reused.
    pub fn gather(&mut self, data: &Dataset, layout: InputLayout<'_>, ids: &[u32]) {
        match (layout, data.sparse()) {
            (InputLayout::Sparse(_), Some(inputs)) => {
                if let Self::Dense(_) = self {
                    *self = Self::Sparse(SparseRows::default());
                }
                if let Self::Sparse(rows) = self {
                    rows.gather(inputs, ids);
                }
            }
            (InputLayout::Dense, _) | (InputLayout::Sparse(_), None) => {
                let x = self.dense_mut();
                x.reshape_for_overwrite(ids.len(), data.x().ncols());
                for (i, &id) in ids.iter().enumerate() {
                    for (to, from) in x.row_mut(i).iter_mut().zip(data.x().row(id as usize)) {
                        *to = T::of(*from);
                    }
                }
            }
        }
    }
}
