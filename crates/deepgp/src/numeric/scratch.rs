//! Buffers that are lent, given back and lent again, so that a step in its steady state allocates next to nothing.

use crate::numeric::mat::Mat;
use crate::numeric::real::Real;

/// A pool of buffers to borrow while something is computed.
#[derive(Debug, Default)]
pub struct Scratch<T> {
    /// The buffers that nobody uses at the moment.
    free: Vec<Vec<T>>,
}

impl<T: Real> Scratch<T> {
    /// A buffer of `len` numbers of unspecified value. Hand it back with [`Scratch::give`].
    pub fn take(&mut self, len: usize) -> Vec<T> {
        // The smallest that is large enough: shorter than its capacity costs nothing, growing would.
        let fits = (0..self.free.len()).filter(|&i| self.free[i].capacity() >= len);
        let best = fits.min_by_key(|&i| self.free[i].capacity());
        let mut buffer = best.map(|i| self.free.swap_remove(i)).unwrap_or_default();
        buffer.resize(len, T::ZERO);
        buffer
    }

    /// Takes a buffer back, unless there is nothing in it to use again.
    pub fn give(&mut self, buffer: Vec<T>) {
        if buffer.capacity() > 0 {
            self.free.push(buffer);
        }
    }

    /// A matrix of unspecified entries. Hand it back with [`Scratch::give_mat`].
    pub fn take_mat(&mut self, rows: usize, cols: usize) -> Mat<T> {
        Mat::from_buffer(rows, cols, self.take(rows * cols))
    }

    /// A matrix of zeros. Hand it back with [`Scratch::give_mat`].
    pub(crate) fn zeros(&mut self, rows: usize, cols: usize) -> Mat<T> {
        let mut m = self.take_mat(rows, cols);
        m.fill(T::ZERO);
        m
    }

    /// A copy of a matrix. Hand it back with [`Scratch::give_mat`].
    pub(crate) fn copy(&mut self, from: &Mat<T>) -> Mat<T> {
        let mut m = self.take_mat(from.nrows(), from.ncols());
        m.as_mut_slice().copy_from_slice(from.as_slice());
        m
    }

    /// Takes a matrix back.
    pub fn give_mat(&mut self, matrix: Mat<T>) {
        self.give(matrix.into_vec());
    }
}
