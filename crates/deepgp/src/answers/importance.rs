//! The importance of groups of inputs: how much of the variance of a function's values is lost track of by who does not know a group.
//!
//! With rows `x_n`, a function `f` of them, and `x_n^g` for row `n` with the inputs of group `g` from another row, the total index of the group is
//! (Sobol 1993; Jansen's estimator, 1999)
//!
//! ```text
//! T_g = Σ_n d_n / Σ_n v_n        d_n = ½ ‖f(x_n) − f(x_n^g)‖²        v_n = N/(N−1) ‖f(x_n) − f̄‖²
//! ```
//!
//! Where groups are independent of each other this is the share of the variance of `f` in which `g` has a part, alone or together with others: the
//! indices of an additive function add up to 1, and those of one with interactions to more. Where they are not, the inputs of a group are still moved
//! as the table has them, but to rows that may not go with them, and the index is that of permutation importance. A group that `f` does not use has 0.
//!
//! The other rows are those that follow on a random round trip through all of them, so that no row stands in for itself; a second repetition takes
//! the next but one. A term `e_n = d_n − T v_n` then shares rows with the `R` terms before and behind it on that trip, and the standard error is
//!
//! ```text
//! s² = max(γ_0, γ_0 + 2 Σ_{k ≤ R} γ_k) / (N v̄²)        γ_k = 1/N Σ_n e_n e_{n+k}
//! ```
//!
//! It costs `N (1 + R G)` values of `f`.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::numeric::mat::{Mat, View};
use crate::random::noise::{Key, Purpose};

/// The samples of the hidden layers that suffice behind each prediction: differences between predictions that share their samples need few.
pub const IMPORTANCE_SAMPLES: usize = 20;
/// The predictions that are made of all groups together, about.
const PREDICTIONS: usize = 20_000;
/// The fewest and the most rows that stand for all.
const FEWEST_ROWS: usize = 100;
const MOST_ROWS: usize = 1000;

/// The number of rows that suffice to tell the importance of so many groups: more where these are few, so that the work stays about the same.
pub fn importance_rows(groups: usize) -> usize {
    (PREDICTIONS / (groups + 1)).clamp(FEWEST_ROWS, MOST_ROWS)
}

/// The most repetitions, where rows are few.
const MOST_REPETITIONS: usize = 8;

/// How much of the variance of a function's values a group of inputs has a part in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Importance {
    /// The share: the group's total index.
    pub share: f64,
    /// The standard error of the share: how far it may be off because rows are few.
    pub error: f64,
}

/// The importance of groups of inputs, `groups` being ranges of the columns of `x`, for each answer that `ask` gives: `[answers][groups]`. An
/// answer is a matrix with a row for each row asked about, whose columns count together. At most `rows` rows are taken, at random by `seed`; where
/// there are far fewer, each stands in for several others. Fails if there are fewer than two rows.
pub fn importance(
    x: View<'_>,
    groups: &[Range<usize>],
    rows: usize,
    seed: u64,
    mut ask: impl FnMut(View<'_>) -> Result<Vec<Mat>>,
) -> Result<Vec<Vec<Importance>>> {
    let taken = x.nrows().min(rows);
    if taken < 2 {
        let advice = "give a longer table";
        return Err(Error::TooFewRows { what: "importance", needed: 2, rows: taken, advice });
    }
    if let Some(bad) = groups.iter().find(|group| group.end > x.ncols() || group.start > group.end) {
        let expected = format!("groups of the {} inputs", x.ncols());
        return Err(Error::Shape { what: "groups of inputs", expected, found: format!("{bad:?}") });
    }
    let order = Key::new(seed, Purpose::Importance).permutation(x.nrows(), 0);
    let x = Mat::from_fn(taken, x.ncols(), |i, d| x[(order[i] as usize, d)]);
    let repetitions = (rows / taken).clamp(1, MOST_REPETITIONS.min(taken - 1));
    let truth = ask(x.view())?;
    let variances: Vec<Vec<f64>> = truth.iter().map(variance_terms).collect();
    let mut all = vec![Vec::with_capacity(groups.len()); truth.len()];
    for group in groups {
        let mut distances = vec![vec![0.0; taken]; truth.len()];
        for ahead in 1..=repetitions {
            let from = |i: usize, d: usize| if group.contains(&d) { (i + ahead) % taken } else { i };
            let moved = ask(Mat::from_fn(taken, x.ncols(), |i, d| x[(from(i, d), d)]).view())?;
            for ((sums, truth), moved) in distances.iter_mut().zip(&truth).zip(&moved) {
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum += 0.5 * squared_distance(truth.row(i), moved.row(i)) / repetitions as f64;
                }
            }
        }
        for ((shares, distances), variances) in all.iter_mut().zip(&distances).zip(&variances) {
            shares.push(share(distances, variances, repetitions));
        }
    }
    Ok(all)
}

/// The terms `v_n`, whose mean is the variance.
fn variance_terms(values: &Mat) -> Vec<f64> {
    let (rows, width) = (values.nrows(), values.ncols());
    let mean: Vec<f64> = (0..width).map(|j| (0..rows).map(|i| values[(i, j)]).sum::<f64>() / rows as f64).collect();
    let correction = rows as f64 / (rows as f64 - 1.0);
    (0..rows).map(|i| correction * squared_distance(values.row(i), &mean)).collect()
}

/// The ratio of the sums of terms in the order of the round trip, with its standard error; 0 where nothing varies.
fn share(distances: &[f64], variances: &[f64], repetitions: usize) -> Importance {
    let (rows, total) = (distances.len(), variances.iter().sum::<f64>());
    if total == 0.0 {
        return Importance::default();
    }
    let share = distances.iter().sum::<f64>() / total;
    let terms: Vec<f64> = distances.iter().zip(variances).map(|(d, v)| d - share * v).collect();
    let covariance = |lag: usize| (0..rows).map(|i| terms[i] * terms[(i + lag) % rows]).sum::<f64>() / rows as f64;
    // Of few rows a round trip meets itself, and no covariance may count twice.
    let lags = repetitions.min((rows - 1) / 2);
    let own = covariance(0);
    let squared = (own + 2.0 * (1..=lags).map(covariance).sum::<f64>()).max(own);
    Importance { share, error: (squared * rows as f64).sqrt() / total }
}

/// `‖a − b‖²`.
fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::uniform;

    /// The importance of each input by itself for a function of a row, on uniform inputs between −1 and 1.
    fn of_each(rows: usize, seed: u64, inputs: usize, f: impl Fn(&[f64]) -> f64) -> Vec<Importance> {
        let (x, groups): (_, Vec<_>) = (uniform(rows, inputs, seed), (0..inputs).map(|d| d..d + 1).collect());
        importance(x.view(), &groups, rows, seed, |x| Ok(vec![of_rows(x, &f)])).unwrap().remove(0)
    }

    fn of_rows(x: View<'_>, f: impl Fn(&[f64]) -> f64) -> Mat {
        Mat::from_fn(x.nrows(), 1, |i, _| f(x.row(i)))
    }

    /// `2 x_0 + 3 x_1² + x_2` has variances 4/3, 9 · 4/45 and 1/3.
    fn additive(x: &[f64]) -> f64 {
        2.0 * x[0] + 3.0 * x[1] * x[1] + x[2]
    }

    const OF_ADDITIVE: [f64; 4] = [20.0 / 37.0, 12.0 / 37.0, 5.0 / 37.0, 0.0];

    #[test]
    fn shares_of_an_additive_function_are_those_of_its_variances() {
        let found = of_each(20_000, 1, 4, additive);
        for (found, expected) in found.iter().zip(OF_ADDITIVE) {
            assert!((found.share - expected).abs() < 3.5 * found.error + 1e-15, "{found:?} {expected}");
            assert!(found.error < 0.02, "{found:?}");
        }
        assert_eq!(found[3], Importance::default(), "what is not used has no share at all");
    }

    #[test]
    fn the_standard_error_is_that_of_repeated_samples() {
        let scatter = |rows: usize, input: usize, expected: f64, f: fn(&[f64]) -> f64| {
            let scaled = |seed| {
                let own = of_each(rows, seed, 4, f)[input];
                ((own.share - expected) / own.error).powi(2)
            };
            ((1..=300).map(scaled).sum::<f64>() / 300.0).sqrt()
        };
        for rows in [40, 300] {
            for (d, expected) in OF_ADDITIVE[..3].iter().enumerate() {
                let ratio = scatter(rows, d, *expected, additive);
                assert!((0.75..1.25).contains(&ratio), "{rows} rows, input {d}: {ratio}");
            }
        }
        // Of an input with rare large effects, a row's are in its own term and in that of the row before it.
        let rare = |x: &[f64]| 2.0 * x[0] + 0.5 * x[1].powi(9);
        let ratio = scatter(300, 1, 3.0 / 307.0, rare);
        assert!((0.85..1.2).contains(&ratio), "{ratio}");
    }

    #[test]
    fn inputs_that_act_together_both_have_the_whole_and_a_group_has_it_once() {
        let product = |x: &[f64]| x[0] * x[1];
        let both = of_each(5000, 3, 2, product);
        assert!(both.iter().all(|own| (own.share - 1.0).abs() < 4.0 * own.error), "{both:?}");
        let (x, sum) = (uniform(5000, 3, 4), |x: &[f64]| x[0] + x[1]);
        let ask = |x: View<'_>| Ok(vec![of_rows(x, product), of_rows(x, sum)]);
        let found = importance(x.view(), &[0..2, 2..3, 0..3], 5000, 1, ask).unwrap();
        for own in &found {
            assert!((own[0].share - 1.0).abs() < 4.0 * own[0].error && own[1].share == 0.0, "{own:?}");
            assert_eq!(own[0], own[2]);
        }
    }

    #[test]
    fn columns_of_an_answer_count_together_and_answers_apart() {
        let x = uniform(3000, 2, 5);
        let wide = |x: View<'_>| Mat::from_fn(x.nrows(), 2, |i, j| [1.0, 2.0][j] * x[(i, j)]);
        let ask = |x: View<'_>| Ok(vec![wide(x), of_rows(x, |row| row[0]), of_rows(x, |_| 7.0)]);
        let found = importance(x.view(), &[0..1, 1..2], 3000, 1, ask).unwrap();
        for (own, expected) in found[0].iter().zip([0.2, 0.8]) {
            assert!((own.share - expected).abs() < 4.0 * own.error, "{own:?}");
        }
        assert_eq!((found[1][1], &found[2][..]), (Importance::default(), &[Importance::default(); 2][..]));
    }

    #[test]
    fn some_rows_stand_for_all_and_one_is_too_few() {
        assert_eq!([0, 9, 39, 10_000].map(importance_rows), [1000, 1000, 500, 100]);
        let x = uniform(500, 2, 6);
        let asked = std::cell::Cell::new(0);
        let ask = |x: View<'_>| {
            asked.set(asked.get() + x.nrows());
            Ok(vec![of_rows(x, |row| row[0])])
        };
        let some = importance(x.view(), &[0..1, 1..2], 100, 1, ask).unwrap();
        assert_eq!((asked.get(), some[0][1].share), (300, 0.0));
        asked.set(0);
        let groups = [0..1, 1..3];
        let few = importance(x.view().rows(0..10), &groups[..1], 100, 1, ask).unwrap();
        assert_eq!(asked.get(), 90);
        assert!((few[0][0].share - 1.0).abs() < 0.25, "{few:?}");
        assert!(importance(x.view().rows(0..1), &groups[..1], 100, 1, ask).is_err());
        assert!(importance(x.view(), &groups, 100, 1, ask).unwrap_err().to_string().contains("1..3"));
    }
}
