//! The mean of the nearest training rows, with one Gaussian spread a target: a baseline that bends where the data does.
//!
//! A row's neighbours are searched for among all training rows, or among [`MOST_ROWS`] of them at random if there are more: an answer costs
//! `2 N D` flops a row for `N` of these, and the cost of a whole table would otherwise grow with the square of its length. What is asked
//! of how many rows, [`NearestNeighbours::searched`] tells, so that whoever shows the score can say so.

use rayon::prelude::*;

use super::baseline::assess;
use crate::data::{ConstantColumns, Dataset, Standardiser};
use crate::error::Result;
use crate::numeric::linalg::{Accumulate, product};
use crate::numeric::mat::{Mat, View};
use crate::numeric::threads::Threads;
use crate::predict::metrics::Assessment;
use crate::random::noise::{Key, Purpose};

/// The most training rows among which neighbours are searched for; of more, so many are chosen at random.
pub(super) const MOST_ROWS: usize = 20_000;
/// The most training rows from which the spread is computed, each without itself.
const SPREAD_ROWS: usize = 2_000;
/// The number of rows whose distances are computed at once.
const ROWS_AT_ONCE: usize = 64;
/// The least variance, in units of the standardised targets.
const LEAST_SPREAD: f64 = 1e-12;

/// The mean target of the `k` nearest training rows, and the spread of leave-one-out residuals on training rows. `threads` is the number
/// of threads, 0 for all. The short way through [`NearestNeighbours`].
pub fn nearest_neighbours(train: &Dataset, test: &Dataset, k: usize, threads: usize) -> Result<Assessment> {
    NearestNeighbours::new(train, k, threads)?.assess(test)
}

/// Nearest neighbours, ready to answer for any rows.
#[derive(Debug)]
pub struct NearestNeighbours {
    /// The units of the training rows.
    units: Standardiser,
    /// The rows among which neighbours are searched for, standardised.
    rows: Dataset,
    /// The number of training rows, of which `rows` may be a sample.
    training_rows: usize,
    /// The number of neighbours.
    k: usize,
    /// The variance of each target around its neighbours' mean, standardised.
    variance: Vec<f64>,
    /// The threads to work on.
    threads: Threads,
}

impl NearestNeighbours {
    /// The `k` nearest of the rows `train`, or of a sample of them; `threads` is the number of threads, 0 for all.
    pub fn new(train: &Dataset, k: usize, threads: usize) -> Result<Self> {
        let threads = Threads::new(threads)?;
        let units = Standardiser::fit(train, ConstantColumns::Keep)?;
        let rows = sample_of(&units.apply(train)?, MOST_ROWS)?;
        let k = k.min(rows.len() - 1).max(1);
        let order = Key::new(0, Purpose::Split).permutation(rows.len(), 2);
        let chosen = &order[..rows.len().min(SPREAD_ROWS)];
        let some = rows.gather(chosen)?;
        let without_itself = threads.run(|| averages(&rows, some.x().view(), Some(chosen), k));
        let variance = (0..some.y().ncols())
            .map(|p| {
                let squares = (0..some.len()).map(|i| (some.y()[(i, p)] - without_itself[(i, p)]).powi(2));
                (squares.sum::<f64>() / some.len() as f64).max(LEAST_SPREAD)
            })
            .collect();
        Ok(Self { units, rows, training_rows: train.len(), k, variance, threads })
    }

    /// The number of training rows among which neighbours are searched for: all, or a sample.
    pub fn searched(&self) -> usize {
        self.rows.len()
    }

    /// The number of training rows.
    pub fn training_rows(&self) -> usize {
        self.training_rows
    }

    /// The predictions for `test` beside its targets, row by row. A row's numbers do not depend on the others as long as rows are asked for
    /// in multiples of 64.
    pub fn assess(&self, test: &Dataset) -> Result<Assessment> {
        let inputs = self.units.x.apply("x", test.x().view())?;
        let mean = self.threads.run(|| averages(&self.rows, inputs.view(), None, self.k));
        assess(&self.units, test, mean, &self.variance)
    }
}

/// The rows of `data`, or so many of them at random if there are more.
pub(super) fn sample_of(data: &Dataset, most: usize) -> Result<Dataset> {
    if data.len() <= most {
        return Ok(data.clone());
    }
    let order = Key::new(0, Purpose::Split).permutation(data.len(), 1);
    data.gather(&order[..most])
}

/// The mean target of the `k` nearest neighbours of each row; `own` are the rows' numbers, if they are among the neighbours and shall not
/// vote for themselves.
pub(crate) fn averages(train: &Dataset, x: View<'_>, own: Option<&[u32]>, k: usize) -> Mat {
    let (z, y) = (train.x().view(), train.y());
    let norms: Vec<f64> = (0..z.nrows()).map(|j| z.row(j).iter().map(|v| v * v).sum()).collect();
    let mut out = Mat::zeros(x.nrows(), y.ncols());
    let width = out.ncols();
    out.as_mut_slice().par_chunks_mut(ROWS_AT_ONCE * width).enumerate().for_each(|(block, out)| {
        let rows = x.rows(block * ROWS_AT_ONCE..block * ROWS_AT_ONCE + out.len() / width);
        // Squared distances but for the row's own norm, which does not change the order.
        let mut distances = Mat::zeros(rows.nrows(), z.nrows());
        product(distances.view_mut().faer(), Accumulate::Replace, -2.0, rows.faer(), z.faer().transpose());
        for (i, out) in out.chunks_exact_mut(width).enumerate() {
            let itself = own.map(|own| own[block * ROWS_AT_ONCE + i] as usize);
            let all = distances.row(i).iter().zip(&norms).map(|(product, norm)| product + norm).enumerate();
            let near = nearest(all.filter(|(j, _)| Some(*j) != itself), k);
            for (p, to) in out.iter_mut().enumerate() {
                *to = near.iter().map(|&j| y[(j, p)]).sum::<f64>() / near.len() as f64;
            }
        }
    });
    out
}

/// The places of the `k` smallest of these distances, in ascending order of places; of equal distances those that come first. One pass,
/// in which few distances are smaller than all but `k` before.
fn nearest(distances: impl Iterator<Item = (usize, f64)>, k: usize) -> Vec<usize> {
    let mut best: Vec<(usize, f64)> = Vec::with_capacity(k + 1);
    let mut farthest = f64::INFINITY;
    for (place, distance) in distances {
        if best.len() == k && distance >= farthest {
            continue;
        }
        let after = best.partition_point(|(_, other)| other.total_cmp(&distance).is_le());
        best.insert(after, (place, distance));
        best.truncate(k);
        if best.len() == k {
            farthest = best[k - 1].1;
        }
    }
    let mut places: Vec<usize> = best.into_iter().map(|(place, _)| place).collect();
    // So that sums over them do not depend on distances that round differently.
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::uniform;

    #[test]
    fn neighbours_are_the_nearest_and_never_the_row_itself() {
        let x = Mat::column(vec![0.0, 1.0, 3.0, 7.0]);
        let y = Mat::column(vec![10.0, 20.0, 30.0, 50.0]);
        let train = Dataset::new(x.clone(), y).unwrap();
        let answer = nearest_neighbours(&train, &train, 1, 1).unwrap();
        // At a training row the nearest one is the row itself ...
        assert!((0..4).all(|i| (answer.mean[(i, 0)] - train.y()[(i, 0)]).abs() < 1e-12));
        // ... but the spread comes from the others: each takes the value of the row beside it.
        let squares = (100.0 + 100.0 + 100.0 + 400.0) / 4.0f64;
        assert!((answer.deviation[(0, 0)] - squares.sqrt()).abs() < 1e-9, "{}", answer.deviation[(0, 0)]);
        let two = Dataset::new(Mat::column(vec![0.4, 2.2]), Mat::column(vec![0.0, 0.0])).unwrap();
        let answer = nearest_neighbours(&train, &two, 2, 1).unwrap();
        assert!((answer.mean[(0, 0)] - 15.0).abs() < 1e-12 && (answer.mean[(1, 0)] - 25.0).abs() < 1e-12);
        // Every row twice, with another target: each takes its twin's value, and never its own.
        let x = Mat::column(vec![0.0, 0.0, 5.0, 5.0]);
        let twins = Dataset::new(x, Mat::column(vec![1.0, 3.0, 1.0, 3.0])).unwrap();
        let answer = nearest_neighbours(&twins, &twins, 1, 1).unwrap();
        assert!((answer.deviation[(0, 0)] - 2.0).abs() < 1e-9, "{}", answer.deviation[(0, 0)]);
    }

    #[test]
    fn the_nearest_are_the_first_of_a_sort() {
        let numbers = uniform(500, 1, 3);
        // Rounded, so that many are equal.
        let distances: Vec<f64> = numbers.as_slice().iter().map(|v| (20.0 * v).round()).collect();
        for k in [1, 2, 10, 499, 500] {
            let mut order: Vec<usize> = (0..500).collect();
            order.sort_by(|&i, &j| distances[i].total_cmp(&distances[j]).then(i.cmp(&j)));
            let mut expected = order[..k].to_vec();
            expected.sort_unstable();
            assert_eq!(nearest(distances.iter().copied().enumerate(), k), expected, "{k}");
        }
    }

    #[test]
    fn of_many_rows_a_sample_is_searched_and_told_of() {
        let data = |rows: usize, seed: u64| {
            let x = uniform(rows, 2, seed);
            let y = Mat::from_fn(rows, 1, |i, _| x[(i, 0)] * x[(i, 1)]);
            Dataset::new(x, y).unwrap()
        };
        let (all, more, test) = (data(300, 1), data(MOST_ROWS + 7, 1), data(130, 2));
        let counts = |own: &NearestNeighbours| (own.searched(), own.training_rows());
        assert_eq!(counts(&NearestNeighbours::new(&all, 10, 1).unwrap()), (300, 300));
        let found = NearestNeighbours::new(&more, 10, 1).unwrap();
        assert_eq!(counts(&found), (MOST_ROWS, MOST_ROWS + 7));
        // The same sample and the same bits whatever the threads and however the rows are cut.
        let whole = found.assess(&test).unwrap();
        assert_eq!(whole, NearestNeighbours::new(&more, 10, 2).unwrap().assess(&test).unwrap());
        let first: Vec<u32> = (0..64).collect();
        let some = found.assess(&test.gather(&first).unwrap()).unwrap();
        assert_eq!(some.mean.as_slice(), &whole.mean.as_slice()[..64]);
        assert!((whole.mean[(0, 0)] - test.y()[(0, 0)]).abs() < 0.05, "{}", whole.mean[(0, 0)]);
    }
}
