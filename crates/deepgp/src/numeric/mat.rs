//! Dense matrices: rows are data points and lie one after the other in memory.
//!
//! [`Mat`] owns its numbers; [`View`] and [`ViewMut`] borrow a run of whole rows, which is again one contiguous
//! slice. A run of rows is therefore a view, never a copy. The algorithms are in `linalg`.

use std::ops::{Index, IndexMut, Range};

use crate::error::{Error, Result};
use crate::numeric::real::Real;

/// An owned `[rows, cols]` matrix, row-major.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mat<T = f64> {
    /// All entries, row after row.
    data: Vec<T>,
    /// The number of rows.
    rows: usize,
    /// The number of columns.
    cols: usize,
}

/// Borrowed rows of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T = f64> {
    /// The entries, row after row.
    data: &'a [T],
    /// The number of rows.
    rows: usize,
    /// The number of columns.
    cols: usize,
}

/// Mutably borrowed rows of a matrix.
#[derive(Debug)]
pub struct ViewMut<'a, T = f64> {
    /// The entries, row after row.
    data: &'a mut [T],
    /// The number of rows.
    rows: usize,
    /// The number of columns.
    cols: usize,
}

impl<T: Real> Mat<T> {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { data: vec![T::ZERO; rows * cols], rows, cols }
    }

    /// The identity matrix of order `n`.
    pub fn identity(n: usize) -> Self {
        Self::from_fn(n, n, |i, j| if i == j { T::ONE } else { T::ZERO })
    }

    /// The matrix whose entry `(i, j)` is `entry(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut entry: impl FnMut(usize, usize) -> T) -> Self {
        let mut data = Vec::with_capacity(rows * cols);
        for i in 0..rows {
            data.extend((0..cols).map(|j| entry(i, j)));
        }
        Self { data, rows, cols }
    }

    /// The matrix whose rows `data` holds, one after the other. Fails if its length is not `rows * cols`.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<T>) -> Result<Self> {
        let wanted = rows.checked_mul(cols);
        if wanted != Some(data.len()) {
            let count = wanted.map_or(String::new(), |count| format!(" = {count}"));
            return Err(Error::Shape {
                what: "matrix data",
                expected: format!("{rows} x {cols}{count} numbers"),
                found: format!("{}", data.len()),
            });
        }
        Ok(Self { data, rows, cols })
    }

    /// The matrix whose rows `data` holds, one after the other; its length must be `rows * cols`.
    pub(crate) fn from_buffer(rows: usize, cols: usize, data: Vec<T>) -> Self {
        debug_assert_eq!(data.len(), rows * cols);
        Self { data, rows, cols }
    }

    /// A matrix of one column.
    pub fn column(data: Vec<T>) -> Self {
        Self { rows: data.len(), cols: 1, data }
    }

    /// Gives the matrix a new shape in its old memory; what the entries then hold is unspecified.
    pub fn reshape_for_overwrite(&mut self, rows: usize, cols: usize) {
        self.data.resize(rows * cols, T::ZERO);
        (self.rows, self.cols) = (rows, cols);
    }

    /// The rows of `index`, in that order. Panics if one does not exist.
    pub fn gather(&self, index: &[u32]) -> Self {
        let mut data = Vec::with_capacity(index.len() * self.cols);
        for &i in index {
            data.extend_from_slice(self.row(i as usize));
        }
        Self { data, rows: index.len(), cols: self.cols }
    }

    /// The matrix with the rows of `self` above those of `below`. Panics unless they have the same number of columns.
    pub fn stack(&self, below: &Self) -> Self {
        assert_eq!(self.cols, below.cols, "only matrices of one width can be stacked");
        Self { data: [&self.data[..], &below.data].concat(), rows: self.rows + below.rows, cols: self.cols }
    }

    /// The transpose, copied.
    pub fn transposed(&self) -> Self {
        Self::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    /// The matrix with every entry sent through `f`.
    pub fn map<U: Real>(&self, f: impl Fn(T) -> U) -> Mat<U> {
        Mat { data: self.data.iter().map(|&v| f(v)).collect(), rows: self.rows, cols: self.cols }
    }

    /// The same numbers in another precision.
    pub fn cast<U: Real>(&self) -> Mat<U> {
        self.map(|v| U::of(v.to_f64()))
    }

    /// Adds `scale * other`, entry by entry.
    pub fn add_scaled(&mut self, scale: T, other: &Self) {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols));
        for (a, &b) in self.data.iter_mut().zip(&other.data) {
            *a += scale * b;
        }
    }

    /// Sets every entry to `value`.
    pub fn fill(&mut self, value: T) {
        self.data.fill(value);
    }

    /// All rows, borrowed.
    pub fn view(&self) -> View<'_, T> {
        View { data: &self.data, rows: self.rows, cols: self.cols }
    }

    /// All rows, borrowed mutably.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut { data: &mut self.data, rows: self.rows, cols: self.cols }
    }

    /// Row `i`, mutably.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// All entries, row after row, mutably.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// All entries, row after row, by value.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
}

impl<T> Mat<T> {
    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// All entries, row after row.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }
}

impl<'a, T: Real> View<'a, T> {
    /// A view of `data` as rows of `cols` numbers. Panics if the length is not `rows * cols`.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Self {
        assert_eq!(data.len(), rows * cols, "a {rows} x {cols} view of {} numbers", data.len());
        Self { data, rows, cols }
    }

    /// Number of rows.
    pub fn nrows(self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn ncols(self) -> usize {
        self.cols
    }

    /// Row `i`.
    pub fn row(self, i: usize) -> &'a [T] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// The rows in `range`.
    pub fn rows(self, range: Range<usize>) -> Self {
        let data = &self.data[range.start * self.cols..range.end * self.cols];
        Self { data, rows: range.len(), cols: self.cols }
    }

    /// All entries, row after row.
    pub fn as_slice(self) -> &'a [T] {
        self.data
    }

    /// An owned copy of the rows.
    pub fn to_mat(self) -> Mat<T> {
        Mat { data: self.data.to_vec(), rows: self.rows, cols: self.cols }
    }

    /// The view as the linear-algebra library's.
    pub(crate) fn faer(self) -> faer::MatRef<'a, T> {
        faer::MatRef::from_row_major_slice(self.data, self.rows, self.cols)
    }
}

impl<'a, T: Real> ViewMut<'a, T> {
    /// A mutable view of `data` as rows of `cols` numbers. Panics if the length is not `rows * cols`.
    pub fn new(data: &'a mut [T], rows: usize, cols: usize) -> Self {
        assert_eq!(data.len(), rows * cols, "a {rows} x {cols} view of {} numbers", data.len());
        Self { data, rows, cols }
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.cols
    }

    /// Row `i`, mutably.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// All entries, row after row, mutably.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.data
    }

    /// All entries, row after row, for as long as the view was borrowed.
    pub(crate) fn into_slice(self) -> &'a mut [T] {
        self.data
    }

    /// The same rows, read only.
    pub fn as_view(&self) -> View<'_, T> {
        View { data: self.data, rows: self.rows, cols: self.cols }
    }

    /// The same rows, borrowed again for a shorter time.
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut { data: self.data, rows: self.rows, cols: self.cols }
    }

    /// The view as the linear-algebra library's.
    pub(crate) fn faer(self) -> faer::MatMut<'a, T> {
        faer::MatMut::from_row_major_slice_mut(self.data, self.rows, self.cols)
    }
}

impl<T> Index<(usize, usize)> for Mat<T> {
    type Output = T;
    fn index(&self, (i, j): (usize, usize)) -> &T {
        &self.data[i * self.cols..(i + 1) * self.cols][j]
    }
}

impl<T> IndexMut<(usize, usize)> for Mat<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        &mut self.data[i * self.cols..(i + 1) * self.cols][j]
    }
}

impl<T> Index<(usize, usize)> for View<'_, T> {
    type Output = T;
    fn index(&self, (i, j): (usize, usize)) -> &T {
        &self.data[i * self.cols..(i + 1) * self.cols][j]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_contiguous_and_views_are_runs_of_them() {
        let m = Mat::from_vec(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(m.row(1), &[3.0, 4.0]);
        assert_eq!(m.view().rows(1..3).as_slice(), &[3.0, 4.0, 5.0, 6.0]);
        assert_eq!(m.transposed()[(1, 2)], 6.0);
        assert_eq!(m.gather(&[2, 0]).as_slice(), &[5.0, 6.0, 1.0, 2.0]);
        assert_eq!(m.stack(&m).nrows(), 6);
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_column_too_far_is_not_the_next_row() {
        let _ = Mat::from_fn(2, 2, |i, j| (10 * i + j) as f64)[(0, 2)];
    }

    #[test]
    fn a_wrong_length_is_an_error_with_both_numbers() {
        let message = Mat::from_vec(2, 2, vec![0.0; 3]).unwrap_err().to_string();
        assert!(message.contains("2 x 2 = 4 numbers") && message.contains('3'), "{message}");
    }
}
