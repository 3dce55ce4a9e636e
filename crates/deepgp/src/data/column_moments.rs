//! Mean, standard deviation and constancy of columns, from passes over rows: of this process or of several, in memory or not.
//!
//! Sums are taken row by row in the order of the rows, so that they have the same bits however the rows come.

use crate::backend::Communicator;
use crate::error::Result;
use crate::numeric::mat::View;

/// Rows that can be gone through in their order, as often as somebody asks.
pub(crate) trait RowBlocks {
    /// The number of rows.
    fn len(&self) -> usize;

    /// The number of columns.
    fn ncols(&self) -> usize;

    /// The weight of each row, if there are any.
    fn weights(&self) -> Option<&[f64]>;

    /// Calls `visit` with one block of rows after the other, and the number of its first row.
    fn each(&self, visit: &mut dyn FnMut(usize, View<'_>)) -> Result<()>;
}

/// The rows of a matrix, one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InMemory<'a> {
    /// The rows.
    pub m: View<'a>,
    /// Their weights, if they have any.
    pub weights: Option<&'a [f64]>,
}

impl RowBlocks for InMemory<'_> {
    fn len(&self) -> usize {
        self.m.nrows()
    }

    fn ncols(&self) -> usize {
        self.m.ncols()
    }

    fn weights(&self) -> Option<&[f64]> {
        self.weights
    }

    fn each(&self, visit: &mut dyn FnMut(usize, View<'_>)) -> Result<()> {
        visit(0, self.m);
        Ok(())
    }
}

/// What a standardiser learns of columns, rows counting by their weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnMoments {
    /// The mean of each column.
    pub mean: Vec<f64>,
    /// The standard deviation of each column.
    pub deviation: Vec<f64>,
    /// The value of each column that has but one.
    pub constants: Vec<Option<f64>>,
}

impl ColumnMoments {
    /// The moments of the rows of all processes, of which this one has `rows`. Costs three passes over them.
    pub fn of(processes: &dyn Communicator, rows: &dyn RowBlocks) -> Result<Self> {
        let columns = rows.ncols();
        // In units of the heaviest row, so that no sum overflows. What weighs nothing may be anything.
        let mut heaviest = [rows.weights().map_or(1.0, |all| all.iter().copied().fold(0.0, f64::max))];
        processes.largest(&mut heaviest)?;
        let weight = |i: usize| rows.weights().map_or(1.0, |all| all[i] / heaviest[0]);
        let mut total = [(0..rows.len()).map(weight).filter(|weight| *weight > 0.0).sum::<f64>()];
        processes.sum(&mut total)?;
        let pass = |visit: &mut dyn FnMut(f64, &[f64])| {
            rows.each(&mut |first, block| {
                for i in 0..block.nrows() {
                    let weight = weight(first + i);
                    if weight > 0.0 {
                        visit(weight, block.row(i));
                    }
                }
            })
        };
        // Dividing first keeps the mean of huge numbers finite.
        let (mut mean, mut own) = (vec![-0.0; columns], Vec::new());
        pass(&mut |weight, row| {
            if own.is_empty() {
                own = row.to_vec();
            }
            mean.iter_mut().zip(row).for_each(|(mean, v)| *mean += weight * (v / total[0]));
        })?;
        processes.sum(&mut mean)?;
        // The first row of the first process that has any.
        let first = if processes.is_alone() { own } else { processes.gather(&own)? };
        let (mut largest, mut varies) = (vec![0.0f64; columns], vec![0.0; columns]);
        pass(&mut |_, row| {
            for (c, v) in row.iter().enumerate() {
                largest[c] = largest[c].max((v - mean[c]).abs());
                // Not by the deviation: the mean of many equal numbers is not quite that number.
                if (v - first[c]).abs() > 1e-14 * first[c].abs() {
                    varies[c] = 1.0;
                }
            }
        })?;
        processes.largest(&mut largest)?;
        processes.sum(&mut varies)?;
        let mut squares = vec![-0.0; columns];
        pass(&mut |weight, row| {
            for (c, v) in row.iter().enumerate().filter(|(c, _)| largest[*c] != 0.0) {
                squares[c] += weight * ((v - mean[c]) / largest[c]).powi(2);
            }
        })?;
        processes.sum(&mut squares)?;
        let deviation = (0..columns).map(|c| largest[c] * (squares[c] / total[0]).sqrt()).collect();
        let value = |c: usize| first.get(c).copied().filter(|_| varies[c] == 0.0);
        Ok(Self { mean, deviation, constants: (0..columns).map(value).collect() })
    }

    /// The moments of the first `columns` columns, and those of the others.
    pub fn split_at(mut self, columns: usize) -> (Self, Self) {
        let mean = self.mean.split_off(columns);
        let deviation = self.deviation.split_off(columns);
        let constants = self.constants.split_off(columns);
        (self, Self { mean, deviation, constants })
    }
}
