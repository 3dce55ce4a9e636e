//! Partial dependence: how a function's values change when one group of inputs is moved, and all others stay as rows have them.
//!
//! With points `z_k` for the inputs of group `g`, and rows `x_n`, there is a curve for each row and their mean (Friedman 2001; Goldstein and others
//! 2015):
//!
//! ```text
//! f_kn = f(x_n with z_k for its group g)        mean_k = 1/N Σ_n f_kn
//! ```
//!
//! The curves of rows are parallel where the group acts by itself, and not where it acts together with others. Points are values that rows have, so that
//! inputs which belong together, such as a date and its place in the year, stay together. It costs `K N` values of `f`, all asked for at once.

use std::ops::Range;

use crate::error::Result;
use crate::numeric::mat::{Mat, View};

/// The values of a function along a group of inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependence {
    /// The means over rows, `[K, Q]`: a row for each point.
    pub mean: Mat,
    /// The values of each row, `[K, Q]`: the function along the points where the others of its inputs stay.
    pub each: Vec<Mat>,
}

/// The values of what `ask` gives, `[rows, Q]`, at the rows `x` with each of the points in place of the inputs of `group`; `points` are numbers of rows
/// of `x`, whose inputs are taken.
pub fn dependence(
    x: View<'_>,
    rows: &[usize],
    group: &Range<usize>,
    points: &[usize],
    ask: impl FnOnce(View<'_>) -> Result<Mat>,
) -> Result<Dependence> {
    let count = rows.len();
    let moved = Mat::from_fn(points.len() * count, x.ncols(), |i, d| {
        let from = if group.contains(&d) { points[i / count] } else { rows[i % count] };
        x[(from, d)]
    });
    let values = ask(moved.view())?;
    let (steps, width) = (points.len(), values.ncols());
    let of_row = |n: usize| Mat::from_fn(steps, width, |k, q| values[(k * count + n, q)]);
    let mean = |k: usize, q: usize| (0..count).map(|n| values[(k * count + n, q)]).sum::<f64>() / count as f64;
    Ok(Dependence { mean: Mat::from_fn(steps, width, mean), each: (0..count).map(of_row).collect() })
}

/// Up to `count` of these rows whose values of one input are spread over all that there are, in ascending order: no two alike, and as many rows between
/// one and the next.
pub fn spread_values(x: View<'_>, rows: &[usize], input: usize, count: usize) -> Vec<usize> {
    let mut order = rows.to_vec();
    order.sort_by(|a, b| x[(*a, input)].total_cmp(&x[(*b, input)]));
    let mut different = order.clone();
    different.dedup_by(|a, b| x[(*a, input)] == x[(*b, input)]);
    if different.len() <= count {
        return different;
    }
    let at = |step: usize| order[step * (order.len() - 1) / (count - 1).max(1)];
    let mut chosen: Vec<usize> = (0..count).map(at).collect();
    chosen.dedup_by(|a, b| x[(*a, input)] == x[(*b, input)]);
    chosen
}

/// Up to `count` of these rows with different values of a group of inputs: one for each of the most frequent, which come first.
pub fn frequent_values(x: View<'_>, rows: &[usize], group: &Range<usize>, count: usize) -> Vec<usize> {
    let of = |row: usize| &x.row(row)[group.clone()];
    let mut order = rows.to_vec();
    let compare = |a: usize, b: usize| of(a).iter().zip(of(b)).map(|(a, b)| a.total_cmp(b)).find(|own| own.is_ne());
    order.sort_by(|a, b| compare(*a, *b).unwrap_or_else(|| a.cmp(b)));
    let mut alike: Vec<&[usize]> = order.chunk_by(|a, b| of(*a) == of(*b)).collect();
    // The sort keeps the order of values that are as frequent.
    alike.sort_by_key(|rows| std::cmp::Reverse(rows.len()));
    alike.into_iter().take(count).map(|rows| rows[0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::uniform;

    #[test]
    fn curves_are_the_function_along_one_group_and_parallel_where_it_acts_alone() {
        let x = uniform(30, 3, 1);
        let (rows, points): (Vec<usize>, Vec<usize>) =
            ((0..20).collect(), spread_values(x.view(), &(0..30).collect::<Vec<_>>(), 1, 7));
        let f = |row: &[f64]| [row[0] + row[1] * row[1], row[0] * row[1]];
        let ask = |x: View<'_>| Ok(Mat::from_fn(x.nrows(), 2, |i, q| f(x.row(i))[q]));
        let found = dependence(x.view(), &rows, &(1..2), &points, ask).unwrap();
        assert_eq!((found.mean.nrows(), found.each.len(), found.each[0].nrows()), (7, 20, 7));
        for (k, point) in points.iter().enumerate() {
            let z = x[(*point, 1)];
            for n in 0..20 {
                assert_eq!(found.each[n].row(k), f(&[x[(n, 0)], z, 0.0]));
                // Parallel in the first answer.
                let apart = found.each[n][(k, 0)] - found.each[0][(k, 0)];
                assert!((apart - (x[(n, 0)] - x[(0, 0)])).abs() < 1e-15);
            }
            let mean = (0..20).map(|n| x[(n, 0)]).sum::<f64>() / 20.0;
            assert!((found.mean[(k, 0)] - (mean + z * z)).abs() < 1e-14);
            assert!((found.mean[(k, 1)] - mean * z).abs() < 1e-14);
        }
        let unused = dependence(x.view(), &rows, &(2..3), &points, ask).unwrap();
        assert!((0..7).all(|k| unused.mean.row(k) == unused.mean.row(0)), "flat along what is not used");
    }

    #[test]
    fn points_are_values_of_rows_from_the_least_to_the_largest_or_the_most_frequent() {
        let x = Mat::from_vec(8, 1, vec![3.0, 1.0, 2.0, 3.0, 3.0, 9.0, 2.0, 4.0]).unwrap();
        let all: Vec<usize> = (0..8).collect();
        let values = |rows: Vec<usize>| rows.into_iter().map(|row| x[(row, 0)]).collect::<Vec<f64>>();
        assert_eq!(values(spread_values(x.view(), &all, 0, 9)), [1.0, 2.0, 3.0, 4.0, 9.0]);
        assert_eq!(values(spread_values(x.view(), &all, 0, 4)), [1.0, 2.0, 3.0, 9.0]);
        assert_eq!(values(spread_values(x.view(), &all[1..3], 0, 4)), [1.0, 2.0]);
        assert_eq!(values(frequent_values(x.view(), &all, &(0..1), 3)), [3.0, 2.0, 1.0]);
        assert_eq!(values(frequent_values(x.view(), &all, &(0..1), 9)), [3.0, 2.0, 1.0, 4.0, 9.0]);
        assert_eq!(spread_values(x.view(), &[], 0, 4), frequent_values(x.view(), &[], &(0..1), 4));
    }
}
