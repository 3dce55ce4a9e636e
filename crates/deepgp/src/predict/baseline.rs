//! Baselines that a model has to beat: the mean, linear regression and nearest neighbours, on standardised inputs, each with one
//! Gaussian spread a target, fitted to the training rows.
//!
//! They answer with an [`Assessment`], so their scores stand beside the model's, log likelihood and coverage included. The spread of
//! linear regression and of nearest neighbours is that of leave-one-out residuals: each training row is predicted without itself.

use rayon::prelude::*;

use crate::data::{ConstantColumns, Dataset, Standardiser};
use crate::error::{Error, Result};
use crate::likelihood::Gaussian;
use crate::numeric::linalg::{Accumulate, Cholesky, NotPositive, product, times};
use crate::numeric::mat::{Mat, View};
use crate::numeric::scratch::Scratch;
use crate::numeric::threads::Threads;
use crate::predict::metrics::Assessment;
use crate::predict::mixture::Mixture;
use crate::random::noise::{Key, Purpose};

/// The ridge `λ` of linear regression, in units of the number of rows: only so that columns may depend on each other.
const RIDGE: f64 = 1e-8;
/// The most training rows among which neighbours are searched for; of more, so many are chosen at random.
const NEIGHBOUR_ROWS: usize = 20_000;
/// The most training rows from which the neighbours' spread is computed, each without itself.
const SPREAD_ROWS: usize = 2_000;
/// The number of rows whose distances, or leverages, are computed at once.
const ROWS_AT_ONCE: usize = 64;
/// The least variance of nearest neighbours, in units of the standardised targets.
const LEAST_SPREAD: f64 = 1e-12;

/// The mean of the training targets at every row, with their spread.
pub fn mean(train: &Dataset, test: &Dataset) -> Result<Assessment> {
    let units = Standardiser::fit(train, ConstantColumns::Keep)?;
    let mean = Mat::zeros(test.len(), train.y().ncols());
    assess(&units, test, mean, &vec![1.0; train.y().ncols()])
}

/// Linear regression, least squares on the inputs and a constant: `β = (XᵀX + λI)⁻¹ Xᵀ y` for centred columns, at `D² N` flops. The
/// spread is that of leave-one-out residuals, so that it holds for other rows even where there are more columns than rows, and the fit
/// on its own rows leaves nothing. (Where there are just as many, a row more or less changes most of all, and the spread is too small
/// by a factor of about two.)
pub fn linear(train: &Dataset, test: &Dataset) -> Result<Assessment> {
    let units = Standardiser::fit(train, ConstantColumns::Keep)?;
    let train = units.apply(train)?;
    let (x, y, n) = (train.x().view(), train.y().view(), train.len() as f64);
    let scratch = &mut Scratch::default();
    // Both are centred, so the constant is 0.
    let mut scatter = times(x.faer().transpose(), x.faer(), scratch);
    for i in 0..scatter.nrows() {
        scatter[(i, i)] += RIDGE * n;
    }
    let factor = Cholesky::new(&scatter, scratch)
        .map_err(|NotPositive { .. }| Error::Overflow { what: "linear regression on the inputs".into() })?;
    let r = factor.into_inverse_lower(scratch);
    let projected = times(x.faer().transpose(), y.faer(), scratch);
    let half = times(r.view().faer(), projected.view().faer(), scratch);
    let weights = times(r.view().faer().transpose(), half.view().faer(), scratch);
    let fitted = times(x.faer(), weights.view().faer(), scratch);
    let own = leverages(x, &r, scratch);
    let without_itself = |i: usize, p: usize| (y[(i, p)] - fitted[(i, p)]) / (1.0 - own[i]).max(f64::EPSILON);
    let spread: Vec<f64> =
        (0..y.ncols()).map(|p| (0..train.len()).map(|i| without_itself(i, p).powi(2)).sum::<f64>() / n).collect();
    let inputs = units.x.apply("x", test.x().view())?;
    assess(&units, test, times(inputs.view().faer(), weights.view().faer(), scratch), &spread)
}

/// The leverage of each row, how much its target weighs in its own fit: `h_i = 1/N + x_iᵀ (XᵀX + λI)⁻¹ x_i`, where `RᵀR` is that
/// inverse. Fitted without row `i`, the residual there is `(y_i − f_i) / (1 − h_i)`.
fn leverages(x: View<'_>, r: &Mat, scratch: &mut Scratch<f64>) -> Vec<f64> {
    let constant = 1.0 / x.nrows() as f64;
    let mut all = Vec::with_capacity(x.nrows());
    for first in (0..x.nrows()).step_by(ROWS_AT_ONCE) {
        let rows = x.rows(first..(first + ROWS_AT_ONCE).min(x.nrows()));
        let half = times(rows.faer(), r.view().faer().transpose(), scratch);
        all.extend((0..half.nrows()).map(|i| constant + half.row(i).iter().map(|v| v * v).sum::<f64>()));
    }
    all
}

/// The mean target of the `k` nearest training rows: `2 N D` flops a row. The spread is that of leave-one-out residuals on training
/// rows. `threads` is the number of threads, 0 for all.
pub fn nearest_neighbours(train: &Dataset, test: &Dataset, k: usize, threads: usize) -> Result<Assessment> {
    Threads::new(threads)?.run(|| neighbours(train, test, k))
}

/// [`nearest_neighbours`] on the threads of the caller.
fn neighbours(train: &Dataset, test: &Dataset, k: usize) -> Result<Assessment> {
    let units = Standardiser::fit(train, ConstantColumns::Keep)?;
    let mut train = units.apply(train)?;
    if train.len() > NEIGHBOUR_ROWS {
        let order = Key::new(0, Purpose::Split).permutation(train.len(), 1);
        train = train.gather(&order[..NEIGHBOUR_ROWS])?;
    }
    let k = k.clamp(1, train.len() - 1);
    let order = Key::new(0, Purpose::Split).permutation(train.len(), 2);
    let chosen = &order[..train.len().min(SPREAD_ROWS)];
    let some = train.gather(chosen)?;
    let without_itself = averages(&train, some.x().view(), Some(chosen), k);
    let spread: Vec<f64> = (0..some.y().ncols())
        .map(|p| {
            let squares = (0..some.len()).map(|i| (some.y()[(i, p)] - without_itself[(i, p)]).powi(2));
            (squares.sum::<f64>() / some.len() as f64).max(LEAST_SPREAD)
        })
        .collect();
    let inputs = units.x.apply("x", test.x().view())?;
    assess(&units, test, averages(&train, inputs.view(), None, k), &spread)
}

/// The mean target of the `k` nearest neighbours of each row; `own` are the rows' numbers, if they are among the neighbours and shall not
/// vote for themselves.
fn averages(train: &Dataset, x: View<'_>, own: Option<&[u32]>, k: usize) -> Mat {
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
            let distance = |j: u32| distances[(i, j as usize)] + norms[j as usize];
            let itself = own.map(|own| own[block * ROWS_AT_ONCE + i]);
            let mut order: Vec<u32> = (0..z.nrows() as u32).filter(|&j| Some(j) != itself).collect();
            let by_distance = |a: &u32, b: &u32| distance(*a).total_cmp(&distance(*b)).then(a.cmp(b));
            let count = k.min(order.len());
            order.select_nth_unstable_by(count - 1, by_distance);
            // In order of rows, so that sums do not depend on how the selection went.
            order[..count].sort_unstable();
            for (p, to) in out.iter_mut().enumerate() {
                let near = order[..count].iter().map(|&j| y[(j as usize, p)]);
                *to = near.sum::<f64>() / count as f64;
            }
        }
    });
    out
}

/// The assessment, in the user's units, of Gaussian predictions whose means and variances are standardised.
fn assess(units: &Standardiser, test: &Dataset, mean: Mat, variance: &[f64]) -> Result<Assessment> {
    let (n, p) = (mean.nrows(), mean.ncols());
    let (y, likelihood) = (units.y.apply("y", test.y().view())?, Gaussian::new(0.0, p));
    let at = |i: usize| Mixture { mean: mean.row(i), variance, width: p };
    let scale = &units.y.scale;
    let shift = units.y.log_volume();
    let mut assessment = Assessment {
        pit: Mat::from_fn(n, p, |i, o| at(i).cumulative(&likelihood, o, y[(i, o)])),
        crps: Mat::from_fn(n, p, |i, o| scale[o] * at(i).crps(&likelihood, o, y[(i, o)])),
        log_density: (0..n).map(|i| at(i).log_density(&likelihood, y.row(i)) - shift).collect(),
        deviation: Mat::from_fn(n, p, |_, o| scale[o] * variance[o].sqrt()),
        mean: mean.clone(),
    };
    units.y.undo(&mut assessment.mean);
    Ok(assessment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::metrics::Score;
    use crate::testing::uniform;

    /// `y = 2 + 3 x_0 − x_1 + noise` of standard deviation 0.1 / √3, in 400 rows.
    fn line(seed: u64) -> Dataset {
        let (x, e) = (uniform(400, 2, seed), uniform(400, 1, seed + 100));
        let y = Mat::from_fn(400, 1, |i, _| 2.0 + 3.0 * x[(i, 0)] - x[(i, 1)] + 0.1 * e[(i, 0)]);
        Dataset::new(x, y).unwrap()
    }

    #[test]
    fn a_line_is_found_with_its_noise() {
        let (train, test) = (line(1), line(2));
        let score = Score::new(test.y().view(), &linear(&train, &test).unwrap());
        let noise = 0.1 / 3.0f64.sqrt();
        assert!((score.rmse[0] / noise - 1.0).abs() < 0.1, "{}", score.rmse[0]);
        // Of N(0, noise²): −log noise − ½ log 2π − ½.
        let expected = -noise.ln() - 0.5 * std::f64::consts::TAU.ln() - 0.5;
        assert!((score.log_likelihood - expected).abs() < 0.1, "{} {expected}", score.log_likelihood);
    }

    #[test]
    fn the_spread_of_a_line_is_that_of_rows_it_was_not_fitted_to() {
        let all = line(4);
        let rows: Vec<u32> = (0..25).collect();
        let train = all.gather(&rows).unwrap();
        let squares: f64 = (0..25)
            .map(|i| {
                let others: Vec<u32> = rows.iter().copied().filter(|other| *other != i).collect();
                let own = train.gather(&[i]).unwrap();
                let answer = linear(&train.gather(&others).unwrap(), &own).unwrap();
                (own.y()[(0, 0)] - answer.mean[(0, 0)]).powi(2)
            })
            .sum();
        let spread = linear(&train, &all).unwrap().deviation[(0, 0)];
        assert!((spread / (squares / 25.0).sqrt() - 1.0).abs() < 1e-6, "{spread}");
        // Of many rows it is that of the residuals, but for three coefficients in 400 rows.
        let answer = linear(&all, &all).unwrap();
        let residuals: f64 = (0..400).map(|i| (all.y()[(i, 0)] - answer.mean[(i, 0)]).powi(2)).sum();
        let ratio = answer.deviation[(0, 0)] / (residuals / 397.0).sqrt();
        assert!((ratio - 1.0).abs() < 0.005, "{ratio}");
    }

    #[test]
    fn a_line_through_fewer_rows_than_columns_knows_how_far_off_it_is() {
        for columns in [29, 30, 40, 60, 200] {
            let data = |rows: usize, seed: u64| {
                let (x, e) = (uniform(rows, columns, seed), uniform(rows, 1, seed + 100));
                let y = Mat::from_fn(rows, 1, |i, _| 2.0 + 3.0 * x[(i, 0)] - x[(i, 1)] + 0.5 * e[(i, 0)]);
                Dataset::new(x, y).unwrap()
            };
            let test = data(500, 2);
            let score = Score::new(test.y().view(), &linear(&data(30, 1), &test).unwrap());
            // As many columns as rows but for one, or as rows, are the worst case.
            let (coverage, loss) = if columns > 30 { (0.8, 0.5) } else { (0.3, 10.0) };
            assert!(score.coverage_95[0] > coverage, "{columns}: {}", score.coverage_95[0]);
            // What a spread of just the right size would give.
            let best = -score.rmse[0].ln() - 0.5 * std::f64::consts::TAU.ln() - 0.5;
            assert!(score.log_likelihood > best - loss, "{columns}: {} {best}", score.log_likelihood);
        }
    }

    #[test]
    fn columns_may_depend_on_each_other() {
        let data = line(1);
        let x = Mat::from_fn(400, 3, |i, j| data.x()[(i, j % 2)]);
        let doubled = Dataset::new(x, data.y().clone()).unwrap();
        let (once, twice) = (linear(&data, &data).unwrap(), linear(&doubled, &doubled).unwrap());
        assert!((once.mean[(7, 0)] - twice.mean[(7, 0)]).abs() < 1e-4);
    }

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
    fn the_mean_predictor_has_the_targets_spread() {
        let data = line(3);
        let answer = mean(&data, &data).unwrap();
        let score = Score::new(data.y().view(), &answer);
        assert!((score.rmse[0] - answer.deviation[(0, 0)]).abs() < 1e-12);
        assert!(
            (score.standardised(&Standardiser::fit(&data, ConstantColumns::Keep).unwrap().y).rmse[0] - 1.0).abs()
                < 1e-12
        );
    }
}
