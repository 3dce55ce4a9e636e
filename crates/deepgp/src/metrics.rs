//! How good predictions are: log likelihood, error, coverage.

use crate::mat::{Mat, View};

/// A summary over rows, in the units of the targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Mean over rows of the joint log density of all outputs.
    pub log_likelihood: f64,
    /// Root mean squared error of the predicted mean, for each output.
    pub rmse: Vec<f64>,
    /// Share of rows inside the central 95 % interval, for each output.
    pub coverage_95: Vec<f64>,
}

impl Score {
    /// From targets, predicted means, log densities, and the probability `below` each target; `[N, P]` but for the densities.
    pub fn new(y: View<'_>, mean: &Mat, log_density: &[f64], below: &Mat) -> Self {
        let n = y.nrows() as f64;
        let over_rows = |of: &dyn Fn(usize) -> f64| (0..y.nrows()).map(of).sum::<f64>() / n;
        Self {
            log_likelihood: over_rows(&|i| log_density[i]),
            rmse: (0..y.ncols()).map(|p| over_rows(&|i| (y[(i, p)] - mean[(i, p)]).powi(2)).sqrt()).collect(),
            coverage_95: (0..y.ncols())
                .map(|p| over_rows(&|i| f64::from(u8::from((0.025..=0.975).contains(&below[(i, p)])))))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_two_rows_by_hand() {
        let y = Mat::column(vec![1.0, 2.0]);
        let mean = Mat::column(vec![1.0, 5.0]);
        let score = Score::new(y.view(), &mean, &[-1.0, -3.0], &Mat::column(vec![0.5, 0.999]));
        assert_eq!(score.log_likelihood, -2.0);
        assert!((score.rmse[0] - 4.5f64.sqrt()).abs() < 1e-15);
        assert_eq!(score.coverage_95, [0.5]);
    }
}
