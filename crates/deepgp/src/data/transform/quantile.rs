//! Normal scores: the spline that takes a target's distribution to a standard normal, `z = Φ⁻¹(F(y))`.
//!
//! `F` is the mid-distribution function of the training rows, `F(y) = P(Y < y) + ½ P(Y = y)`, linear between neighbouring values. Knots stand
//! where `F` is `Φ(z)` for some `z` with equal distances, from the fifth row at one end to the fifth at the other, or 2.6 where that is less.
//! Few knots smooth: the slope between two of them is an average over many rows, so that a single value that many rows have does not become
//! a spike of the density.

use super::{MOST_KNOTS, MonotoneSpline};
use crate::numeric::normal;

/// The least number of distinct values from which normal scores are made.
pub(crate) const FEWEST_VALUES: usize = 100;
/// The number of rows for each knot, where rows are few.
const ROWS_EACH: usize = 32;
/// The least number of knots.
const FEWEST_KNOTS: usize = 8;
/// The largest `z` of a knot.
const LARGEST_SCORE: f64 = 2.6;
/// The number of rows beyond the last knot, at either end.
const ROWS_BEYOND: f64 = 5.0;
/// The least distance of two knots, as a share of that of the first from the last; where they are closer, one stands for all.
const LEAST_DISTANCE: f64 = 1e-3;

/// The number of distinct values among those whose weight is not 0.
pub(crate) fn distinct_values(values: &[f64], weight: impl Fn(usize) -> f64) -> usize {
    weighted_values(values, weight).len()
}

/// The distinct values in ascending order, each with the sum of its weights.
fn weighted_values(values: &[f64], weight: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = values.iter().enumerate().map(|(i, v)| (*v, weight(i))).collect();
    all.retain(|own| own.1 > 0.0);
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    all
}

/// The spline of normal scores of these values; the number of distinct ones, if there are fewer than [`FEWEST_VALUES`].
pub(super) fn fit(values: &[f64], weight: impl Fn(usize) -> f64) -> Result<MonotoneSpline, usize> {
    let distinct = weighted_values(values, weight);
    if distinct.len() < FEWEST_VALUES {
        return Err(distinct.len());
    }
    let total: f64 = distinct.iter().map(|own| own.1).sum();
    let mut below = 0.0;
    let levels: Vec<f64> = distinct
        .iter()
        .map(|(_, own)| {
            below += own;
            (below - 0.5 * own) / total
        })
        .collect();
    let rows = values.len() as f64;
    let end = (-normal::quantile(ROWS_BEYOND / rows)).min(LARGEST_SCORE);
    let knots = (values.len() / ROWS_EACH).clamp(FEWEST_KNOTS, MOST_KNOTS);
    let score = |j: usize| end * (2.0 * j as f64 / (knots - 1) as f64 - 1.0);
    let candidates: Vec<(f64, f64)> =
        (0..knots).map(|j| (interpolate(&levels, &distinct, normal::cumulative(score(j))), score(j))).collect();
    let least = LEAST_DISTANCE * (candidates[knots - 1].0 - candidates[0].0);
    let (y, z) = candidates.chunk_by(|before, after| after.0 - before.0 <= least).map(middle).unzip();
    // A column whose values are too close to be told apart by their differences is as good as one with few values.
    MonotoneSpline::new(y, z).ok_or(1)
}

/// The mean of knots that are too close to each other for more than one.
fn middle(close: &[(f64, f64)]) -> (f64, f64) {
    let mean = |of: fn(&(f64, f64)) -> f64| close.iter().map(of).sum::<f64>() / close.len() as f64;
    (mean(|knot| knot.0), mean(|knot| knot.1))
}

/// The value at which the mid-distribution function reaches `level`, linear between its points.
fn interpolate(levels: &[f64], distinct: &[(f64, f64)], level: f64) -> f64 {
    let after = levels.partition_point(|own| *own < level);
    if after == 0 || after == levels.len() {
        return distinct[after.min(levels.len() - 1)].0;
    }
    let share = (level - levels[after - 1]) / (levels[after] - levels[after - 1]);
    let (low, high) = (distinct[after - 1].0, distinct[after].0);
    low + share * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::transform::tests::skewed;

    #[test]
    fn scores_of_a_skewed_target_are_standard_normal() {
        let values = skewed();
        let spline = fit(&values, |_| 1.0).unwrap();
        let mut z: Vec<f64> = values.iter().map(|y| spline.forward(*y)).collect();
        z.sort_by(f64::total_cmp);
        for (place, expected) in [(45, -2.0), (317, -1.0), (1000, 0.0), (1682, 1.0), (1954, 2.0)] {
            assert!((z[place] - expected).abs() < 0.05, "{place}: {}", z[place]);
        }
        assert!(spline.knots().0.len() <= MOST_KNOTS);
    }

    #[test]
    fn a_value_that_many_rows_have_makes_no_spike() {
        let mut values = skewed();
        values.extend([1.0; 1000]);
        let spline = fit(&values, |_| 1.0).unwrap();
        // A third of all rows: from the 0.33 to the 0.67 quantile of a normal within the nearest knots.
        assert!((0..400).all(|i| spline.log_slope(f64::from(i) / 100.0) < 1000f64.ln()));
        assert!((normal::cumulative(spline.forward(1.0)) - 0.5).abs() < 0.05);
    }

    #[test]
    fn weights_are_copies_and_what_weighs_nothing_does_not_count() {
        let values = skewed();
        let copies: Vec<f64> = values.iter().enumerate().flat_map(|(i, v)| vec![*v; i % 3]).collect();
        assert_eq!(
            distinct_values(&values, |i| (i % 3) as f64),
            values.iter().enumerate().filter(|(i, _)| i % 3 > 0).count()
        );
        let (one, other) = (fit(&copies, |_| 1.0).unwrap(), fit(&values, |i| (i % 3) as f64).unwrap());
        assert!((one.forward(1.3) - other.forward(1.3)).abs() < 1e-9);
    }

    #[test]
    fn few_values_have_no_scores() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i % 11)).collect();
        assert_eq!(fit(&values, |_| 1.0).unwrap_err(), 11);
    }
}
