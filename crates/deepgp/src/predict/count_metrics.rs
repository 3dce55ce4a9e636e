//! The quality of predictions of counts: log score, Poisson deviance, RMSE, coverage.
//!
//! With `⟨v⟩` the mean over rows by their weights, predicted means `m_n` and distribution functions `F_n`:
//!
//! ```text
//! log_score = ⟨ln P(Y = y)⟩        deviance = 2 ⟨y ln(y/m) − (y − m)⟩        rmse = √⟨(y − m)²⟩
//! ```
//!
//! A count lies in the central interval of level `q` where it is not below the smallest count with `F ≥ (1 − q)/2`, and not above the smallest
//! one with `F ≥ (1 + q)/2`: just where `F(y) ≥ (1 − q)/2` and `F(y − 1) < (1 + q)/2`. Since counts jump, such an interval holds more than `q`.

use crate::error::{Error, Result};
use crate::numeric::mat::View;
use crate::predict::metrics::weighted_mean;

/// The least mean that the deviance takes a prediction to have.
const LEAST_MEAN: f64 = 1e-10;

/// Predictions of counts beside what was observed, a number for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct CountAssessment {
    /// The predicted mean.
    pub mean: Vec<f64>,
    /// The probability of fewer than the observed count, `F(y − 1)`.
    pub below: Vec<f64>,
    /// The probability of no more than the observed count, `F(y)`.
    pub up_to: Vec<f64>,
    /// The logarithm of the probability of the observed count.
    pub log_mass: Vec<f64>,
    /// The probability of 0.
    pub zero: Vec<f64>,
}

/// The quality of predictions of counts over all rows.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CountScore {
    /// Mean logarithm of the probability of the observed counts.
    pub log_score: f64,
    /// Mean Poisson deviance of the predicted means.
    pub deviance: f64,
    /// Root mean squared error of the predicted mean.
    pub rmse: f64,
    /// Mean absolute error of the predicted mean.
    pub mae: f64,
    /// Fraction of rows inside the central 50 % interval.
    pub coverage_50: f64,
    /// Fraction of rows inside the central 90 % interval.
    pub coverage_90: f64,
    /// Fraction of rows inside the central 95 % interval.
    pub coverage_95: f64,
}

impl CountScore {
    /// The score of an assessment of rows whose counts are `y`, `[N, 1]`; rows count by their weights, if there are any. Fails if shapes do
    /// not fit.
    pub fn new(y: View<'_>, assessment: &CountAssessment, weights: Option<&[f64]>) -> Result<Self> {
        let CountAssessment { mean, below, up_to, log_mass, .. } = assessment;
        if (y.nrows(), y.ncols()) != (mean.len(), 1) || weights.is_some_and(|all| all.len() != mean.len()) {
            let found = format!("{} x {}, and {} rows of predictions", y.nrows(), y.ncols(), mean.len());
            return Err(Error::Shape { what: "counts", expected: "a count for each row".into(), found });
        }
        let y = y.as_slice();
        let over_rows = |of: &dyn Fn(usize) -> f64| weighted_mean(&(0..y.len()).map(of).collect::<Vec<f64>>(), weights);
        let coverage = |level: f64| {
            let inside = |i: usize| up_to[i] >= 0.5 * (1.0 - level) && below[i] < 0.5 * (1.0 + level);
            over_rows(&|i| f64::from(u8::from(inside(i))))
        };
        let deviance = |i: usize| {
            let mean = mean[i].max(LEAST_MEAN);
            // y ln y is 0 at 0.
            let log = if y[i] > 0.0 { y[i] * (y[i] / mean).ln() } else { 0.0 };
            2.0 * (log - (y[i] - mean))
        };
        Ok(Self {
            log_score: weighted_mean(log_mass, weights),
            deviance: over_rows(&deviance),
            rmse: over_rows(&|i| (y[i] - mean[i]).powi(2)).sqrt(),
            mae: over_rows(&|i| (y[i] - mean[i]).abs()),
            coverage_50: coverage(0.5),
            coverage_90: coverage(0.9),
            coverage_95: coverage(0.95),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::mat::Mat;

    #[test]
    fn scores_of_two_rows_by_hand() {
        let y = Mat::column(vec![0.0, 3.0]);
        let assessment = CountAssessment {
            mean: vec![0.5, 2.0],
            below: vec![0.0, 0.96],
            up_to: vec![0.6, 0.99],
            log_mass: vec![-0.5, -2.0],
            zero: vec![0.6, 0.1],
        };
        let score = CountScore::new(y.view(), &assessment, None).unwrap();
        assert_eq!((score.log_score, score.mae), (-1.25, 0.75));
        assert!((score.deviance - (0.5 + 3.0 * 1.5f64.ln() - 1.0)).abs() < 1e-14);
        assert!((score.rmse - (0.625f64).sqrt()).abs() < 1e-15);
        assert_eq!((score.coverage_50, score.coverage_90, score.coverage_95), (0.5, 0.5, 1.0));
        let second = CountScore::new(y.view(), &assessment, Some(&[0.0, 2.0])).unwrap();
        assert_eq!((second.log_score, second.mae), (-2.0, 1.0));
        assert!(CountScore::new(Mat::column(vec![1.0]).view(), &assessment, None).is_err());
    }
}
