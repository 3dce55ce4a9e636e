//! Baselines for counts: their mean with their spread, and Poisson regression. Exposures count: what is learnt is a rate.

use crate::data::{ConstantColumns, Dataset, Scaling, Standardiser};
use crate::error::Result;
use crate::likelihood::{Likelihood, NegativeBinomial, Outcomes, Poisson};
use crate::numeric::linalg::{Accumulate, product};
use crate::numeric::mat::{Mat, View};
use crate::numeric::minimise::minimise;
use crate::predict::baseline::relative_weights;
use crate::predict::count_metrics::CountAssessment;
use crate::predict::mixture::Mixture;
use crate::predict::neighbours::sample_of;

/// The largest logarithm of a rate.
const LARGEST_LOG_RATE: f64 = 30.0;

/// The mean count of the training rows at every row, with a negative binomial's spread: that of the counts where it is larger than a
/// Poisson's.
pub fn mean_count(train: &Dataset, test: &Dataset) -> Result<CountAssessment> {
    Outcomes::Counts.check(train.y().view(), "counts")?;
    let rate = mean_rate(train);
    let expected = |i: usize| rate * offset(train, i).exp();
    // `Var = μ + μ²/r`, summed over rows.
    let relative = relative_weights(train);
    let weight = |i: usize| relative.as_ref().map_or(1.0, |all| all[i]);
    let squares: f64 = (0..train.len()).map(|i| weight(i) * expected(i).powi(2)).sum();
    let excess = |i: usize| (train.y()[(i, 0)] - expected(i)).powi(2) - expected(i);
    let excess: f64 = (0..train.len()).map(|i| weight(i) * excess(i)).sum();
    let log_rates: Vec<f64> = (0..test.len()).map(|i| rate.ln() + offset(test, i)).collect();
    match squares / excess {
        dispersion if excess > 0.0 && dispersion < 1e6 => {
            assess(&NegativeBinomial { level: 0.0, dispersion: dispersion.max(1e-2) }, &log_rates, test)
        }
        _ => assess(&Poisson { level: 0.0 }, &log_rates, test),
    }
}

/// Poisson regression on standardised inputs: the rate `exp(x w + b)` with the least `⟨rate − y ln rate⟩ + ½ ‖w‖² / N`, a prior of variance
/// 1 on every weight.
#[derive(Debug)]
pub struct PoissonRegression {
    /// The units of the inputs.
    units: Scaling,
    /// The weights of the inputs, and the constant at the end, `[D + 1]`.
    weights: Vec<f64>,
    /// The number of rows that it was learnt from, and of all training rows.
    rows: (usize, usize),
}

impl PoissonRegression {
    /// The most training rows that it learns from; of more, so many are chosen at random.
    pub const MOST_ROWS: usize = 50_000;

    /// Poisson regression, learnt from the rows `train` or from a sample of them.
    pub fn new(train: &Dataset) -> Result<Self> {
        Outcomes::Counts.check(train.y().view(), "counts")?;
        let all = train.len();
        let train = sample_of(train, Self::MOST_ROWS)?;
        let units = Standardiser::fit(&train, ConstantColumns::Keep)?.x;
        let x = units.apply("x", train.x().view())?;
        let (n, d) = (x.nrows(), x.ncols());
        let relative = relative_weights(&train);
        let weight = |i: usize| relative.as_ref().map_or(1.0, |all| all[i]);
        let mut start = vec![0.0; d + 1];
        start[d] = mean_rate(&train).ln();
        // In units of the mean count, so that large counts are no steeper than small ones.
        let unit = 1.0 / (n as f64 * (train.y().as_slice().iter().sum::<f64>() / n as f64).max(1.0));
        let ridge = unit;
        let weights = minimise(start, |weights, slope| {
            let mut off = linear(x.view(), weights);
            let mut value = 0.0;
            for i in 0..n {
                let (y, log_rate) = (train.y()[(i, 0)], off[(i, 0)] + offset(&train, i));
                // Beyond, the rate goes on along its tangent: the way back is all that matters there.
                let bound = log_rate.min(LARGEST_LOG_RATE);
                let rate = bound.exp();
                value += weight(i) * (unit * (rate * (1.0 + log_rate - bound) - y * log_rate));
                off[(i, 0)] = weight(i) * (unit * (rate - y));
            }
            let mut gradient = Mat::zeros(d, 1);
            product(
                gradient.view_mut().faer(),
                Accumulate::Replace,
                1.0,
                x.view().faer().transpose(),
                off.view().faer(),
            );
            for ((to, own), weight) in slope.iter_mut().zip(gradient.as_slice()).zip(&weights[..d]) {
                *to = own + ridge * weight;
                value += 0.5 * ridge * weight * weight;
            }
            slope[d] = off.as_slice().iter().sum();
            value
        });
        Ok(Self { units, weights, rows: (n, all) })
    }

    /// The number of training rows that it was learnt from, and how many there were.
    pub fn learnt_from(&self) -> (usize, usize) {
        self.rows
    }

    /// The predictions for `test` beside its targets, row by row.
    pub fn assess(&self, test: &Dataset) -> Result<CountAssessment> {
        let values = linear(self.units.apply("x", test.x().view())?.view(), &self.weights);
        let log_rate = |i: usize| (values[(i, 0)] + offset(test, i)).min(LARGEST_LOG_RATE);
        assess(&Poisson { level: 0.0 }, &(0..test.len()).map(log_rate).collect::<Vec<_>>(), test)
    }
}

/// The linear function `x w + b`; the last weight is `b`.
fn linear(x: View<'_>, weights: &[f64]) -> Mat {
    let d = x.ncols();
    let mut out = Mat::from_fn(x.nrows(), 1, |_, _| weights[d]);
    product(out.view_mut().faer(), Accumulate::Add, 1.0, x.faer(), View::new(&weights[..d], d, 1).faer());
    out
}

/// The offset of a row, 0 if there are none.
fn offset(data: &Dataset, row: usize) -> f64 {
    data.offsets().map_or(0.0, |all| all[row])
}

/// The events of all rows over their exposure, with half an event more than there was.
fn mean_rate(data: &Dataset) -> f64 {
    let relative = relative_weights(data);
    let weight = |i: usize| relative.as_ref().map_or(1.0, |all| all[i]);
    let exposure: f64 = (0..data.len()).map(|i| weight(i) * offset(data, i).exp()).sum();
    ((0..data.len()).map(|i| weight(i) * data.y()[(i, 0)]).sum::<f64>() + 0.5) / exposure
}

/// Predictions of counts by a likelihood whose latent function is known, beside the counts of `test`.
fn assess(likelihood: &dyn Likelihood, latent: &[f64], test: &Dataset) -> Result<CountAssessment> {
    let y = test.y();
    likelihood.check(y.view())?;
    let at = |i: usize| Mixture { mean: &latent[i..=i], variance: &[0.0], width: 1, weights: None };
    let rows = 0..latent.len();
    let mean = |i: usize| {
        let (mut mean, mut variance) = ([0.0], [0.0]);
        at(i).moments_of_y(likelihood, &mut mean, &mut variance);
        mean[0]
    };
    Ok(CountAssessment {
        mean: rows.clone().map(mean).collect(),
        below: rows.clone().map(|i| at(i).cumulative(likelihood, 0, y[(i, 0)] - 1.0)).collect(),
        up_to: rows.clone().map(|i| at(i).cumulative(likelihood, 0, y[(i, 0)])).collect(),
        log_mass: rows.clone().map(|i| at(i).log_density(likelihood, y.row(i))).collect(),
        zero: rows.map(|i| at(i).cumulative(likelihood, 0, 0.0)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::Latent;
    use crate::predict::count_metrics::CountScore;
    use crate::random::noise::{Key, Purpose};
    use crate::testing::uniform;

    /// Counts at the rate `exp(1 + 0.8 x_0 − 0.5 x_1 + offset)`, with these offsets.
    fn counts(rows: usize, seed: u64) -> Dataset {
        let (x, key) = (uniform(rows, 2, seed), Key::new(seed, Purpose::Observe));
        let offsets: Vec<f64> = (0..rows).map(|i| (i % 3) as f64 * 0.5).collect();
        let draw = |i: usize| {
            let mut y = [0.0];
            let log_rate = 1.0 + 0.8 * x[(i, 0)] - 0.5 * x[(i, 1)] + offsets[i];
            Poisson { level: 0.0 }.draw(&[log_rate], key, [i as u32, 0, 0, 0], &mut y);
            y[0]
        };
        let y = Mat::column((0..rows).map(draw).collect());
        Dataset::new(x, y).unwrap().with_offsets(offsets).unwrap()
    }

    #[test]
    fn poisson_regression_finds_its_rates_with_exposures() {
        let (train, test) = (counts(4000, 1), counts(500, 2));
        let model = PoissonRegression::new(&train).unwrap();
        // In the units of the inputs.
        for (d, expected) in [0.8, -0.5].into_iter().enumerate() {
            let found = model.weights[d] / model.units.scale[d];
            assert!((found - expected).abs() < 0.05, "{d}: {found}");
        }
        let score = |own: &CountAssessment| CountScore::new(test.y().view(), own, None).unwrap();
        let (own, plain) = (score(&model.assess(&test).unwrap()), score(&mean_count(&train, &test).unwrap()));
        assert!(own.log_score > plain.log_score + 0.05, "{} {}", own.log_score, plain.log_score);
        assert!(own.deviance < 1.3 && own.coverage_95 > 0.93, "{own:?}");
    }

    #[test]
    fn the_mean_has_the_spread_of_the_counts() {
        let y: Vec<f64> = (0..300).map(|i| if i % 3 == 0 { 30.0 } else { 0.0 }).collect();
        let data = Dataset::new(Mat::zeros(300, 1), Mat::column(y)).unwrap();
        let found = mean_count(&data, &data).unwrap();
        assert!((found.mean[0] - 10.0).abs() < 0.01);
        // Two of three are 0, which no Poisson count of mean 10 is.
        assert!(found.zero[0] > 0.2, "{}", found.zero[0]);
        let score = CountScore::new(data.y().view(), &found, None).unwrap();
        assert!(score.log_score > -4.0, "{score:?}");
        let even = Dataset::new(Mat::zeros(4, 1), Mat::column(vec![3.0, 4.0, 3.0, 4.0])).unwrap();
        let found = mean_count(&even, &even).unwrap();
        let rate: f64 = 14.5 / 4.0;
        assert!((found.log_mass[0] - (3.0 * rate.ln() - rate - 6f64.ln())).abs() < 1e-8, "{}", found.log_mass[0]);
        assert!((found.zero[0] - (-rate).exp()).abs() < 1e-8);
        let mut p = [0.0];
        let (mut mean, latent) = ([0.0], Latent { mean: &[rate.ln()], variance: &[0.0] });
        Poisson { level: 0.0 }.observed_moments(latent, &mut mean, &mut p);
        assert!((mean[0] - rate).abs() < 1e-9);
        let negative = Dataset::new(Mat::zeros(2, 1), Mat::column(vec![1.0, -1.0])).unwrap();
        assert!(mean_count(&negative, &negative).is_err() && PoissonRegression::new(&negative).is_err());
    }
}
