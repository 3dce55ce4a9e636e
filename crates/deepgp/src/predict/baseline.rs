//! Baselines that a model has to beat: the mean, linear regression and nearest neighbours, on standardised inputs, each with one
//! Gaussian spread a target, fitted to the training rows. For classes there are shares, logistic regression and nearest neighbours, for
//! counts their mean and Poisson regression. Rows count by their weights, but as neighbours: there all count alike.
//!
//! They answer with an [`Assessment`], so their scores stand beside the model's, log likelihood and coverage included. The spread of
//! linear regression and of nearest neighbours is that of leave-one-out residuals: each training row is predicted without itself.

pub use super::class_baselines::{ClassNeighbours, LogisticRegression, shares};
pub use super::count_baselines::{PoissonRegression, mean_count};
pub use super::neighbours::{NearestNeighbours, nearest_neighbours};

use crate::data::{ConstantColumns, Dataset, Standardiser};
use crate::error::{Error, Result};
use crate::likelihood::Gaussian;
use crate::numeric::linalg::{Cholesky, NotPositive, times};
use crate::numeric::mat::{Mat, View};
use crate::numeric::scratch::Scratch;
use crate::predict::metrics::Assessment;
use crate::predict::mixture::Mixture;

/// The ridge `λ` of linear regression, in units of the number of rows: only so that columns may depend on each other.
const RIDGE: f64 = 1e-8;
/// The number of rows whose leverages are computed at once.
const ROWS_AT_ONCE: usize = 64;

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
    // A row of weight `w` counts like `√w` times the row: `XᵀWX = (√W X)ᵀ √W X`.
    let roots: Option<Vec<f64>> = relative_weights(&train).map(|all| all.into_iter().map(f64::sqrt).collect());
    let scaled = |m: &Mat| roots.as_ref().map(|roots| Mat::from_fn(m.nrows(), m.ncols(), |i, j| roots[i] * m[(i, j)]));
    let (scaled_x, scaled_y) = (scaled(train.x()), scaled(train.y()));
    let x = scaled_x.as_ref().unwrap_or(train.x()).view();
    let (y, n) = (scaled_y.as_ref().unwrap_or(train.y()).view(), train.len() as f64);
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
    let own = leverages(x, &r, roots.as_deref(), scratch);
    let without_itself = |i: usize, p: usize| (y[(i, p)] - fitted[(i, p)]) / (1.0 - own[i]).max(f64::EPSILON);
    let spread: Vec<f64> =
        (0..y.ncols()).map(|p| (0..train.len()).map(|i| without_itself(i, p).powi(2)).sum::<f64>() / n).collect();
    let inputs = units.x.apply("x", test.x().view())?;
    assess(&units, test, times(inputs.view().faer(), weights.view().faer(), scratch), &spread)
}

/// The weights of rows in units of their mean, so that they sum to the number of rows; `None` if all count alike.
pub(super) fn relative_weights(data: &Dataset) -> Option<Vec<f64>> {
    let weights = data.weights()?;
    let heaviest = weights.iter().copied().fold(0.0, f64::max);
    let mean = weights.iter().map(|weight| weight / heaviest).sum::<f64>() / weights.len() as f64;
    Some(weights.iter().map(|weight| weight / heaviest / mean).collect())
}

/// The leverage of each row, how much its target weighs in its own fit: `h_i = w_i/N + x_iᵀ (XᵀX + λI)⁻¹ x_i`, where `RᵀR` is that
/// inverse, and the rows `x` have been multiplied by the `roots` of their weights, if they have some. Fitted without row `i`, the residual
/// there is `(y_i − f_i) / (1 − h_i)`.
fn leverages(x: View<'_>, r: &Mat, roots: Option<&[f64]>, scratch: &mut Scratch<f64>) -> Vec<f64> {
    let constant = |i: usize| roots.map_or(1.0, |all| all[i] * all[i]) / x.nrows() as f64;
    let mut all = Vec::with_capacity(x.nrows());
    for first in (0..x.nrows()).step_by(ROWS_AT_ONCE) {
        let rows = x.rows(first..(first + ROWS_AT_ONCE).min(x.nrows()));
        let half = times(rows.faer(), r.view().faer().transpose(), scratch);
        all.extend((0..half.nrows()).map(|i| constant(first + i) + half.row(i).iter().map(|v| v * v).sum::<f64>()));
    }
    all
}

/// The assessment, in the user's units, of Gaussian predictions whose means and variances are standardised.
pub(super) fn assess(units: &Standardiser, test: &Dataset, mean: Mat, variance: &[f64]) -> Result<Assessment> {
    let (n, p) = (mean.nrows(), mean.ncols());
    let (y, likelihood) = (units.y.apply("y", test.y().view())?, Gaussian::new(0.0, p));
    let at = |i: usize| Mixture { mean: mean.row(i), variance, width: p, weights: None };
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
    fn a_row_of_weight_two_is_as_good_as_two_rows() {
        let (all, test) = (line(4), line(5));
        let once = all.gather(&(0..30).collect::<Vec<u32>>()).unwrap();
        let heavy = once.clone().with_weights((0..30).map(|i| if i < 9 { 2.0 } else { 1.0 }).collect()).unwrap();
        let twice = all.gather(&(0..30).chain(0..9).collect::<Vec<u32>>()).unwrap();
        let apart = |a: &Assessment, b: &Assessment| {
            a.mean.as_slice().iter().zip(b.mean.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        for baseline in [linear, mean] {
            let [plain, weighted, repeated] = [&once, &heavy, &twice].map(|train| baseline(train, &test).unwrap());
            assert!(apart(&weighted, &repeated) < 1e-9 && apart(&weighted, &plain) > 1e-4);
        }
        // Weights that are all the same change nothing but the last digits.
        let same = once.clone().with_weights(vec![0.3; 30]).unwrap();
        let [plain, weighted] = [&once, &same].map(|train| linear(train, &test).unwrap());
        assert!(apart(&plain, &weighted) < 1e-12);
        assert!((plain.deviation[(0, 0)] / weighted.deviation[(0, 0)] - 1.0).abs() < 1e-12);
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
