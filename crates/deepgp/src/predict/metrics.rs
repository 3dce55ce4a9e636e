//! The quality of predictions: log likelihood, RMSE, MAE, coverage, and the continuous ranked probability score (CRPS).
//!
//! With `⟨v⟩ = Σ_n ω_n v_n / Σ_n ω_n` for rows of weight `ω_n`, predicted means `m_n`, and `u_n = P(Y_n ≤ y_n)`, the probability integral
//! transform, each output has
//!
//! ```text
//! rmse = √⟨(y − m)²⟩      mae = ⟨|y − m|⟩      crps = ⟨crps_n⟩      coverage_q = ⟨1[(1 − q)/2 ≤ u ≤ (1 + q)/2]⟩
//! ```
//!
//! and all outputs together have `log_likelihood = ⟨log p(y_n)⟩`. A row lies in the central interval of level `q` just where its `u_n`
//! does, so that no quantile is computed.

use crate::data::Scaling;
use crate::numeric::mat::{Mat, View};

/// Predictions beside what was observed, row by row: `[N, P]` but for the densities.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The predicted mean of `y`.
    pub mean: Mat,
    /// The predicted standard deviation of `y`.
    pub deviation: Mat,
    /// The probability integral transform `P(Y ≤ y)`: uniform between 0 and 1 where the model is calibrated. Of classes and counts, which jump,
    /// the middle of the jump.
    pub pit: Mat,
    /// The continuous ranked probability score: an absolute error that rewards honest spread, in the units of `y`.
    pub crps: Mat,
    /// The log density of each row, `[N]`, jointly over outputs.
    pub log_density: Vec<f64>,
}

impl Assessment {
    /// The assessments of parts of some rows, one after the other, as one of all these rows. All have as many outputs.
    pub fn of_parts(parts: &[Self]) -> Self {
        let outputs = parts.first().map_or(0, |part| part.mean.ncols());
        let stack = |of: fn(&Self) -> &Mat| {
            let all: Vec<f64> = parts.iter().flat_map(|part| of(part).as_slice()).copied().collect();
            Mat::from_vec(all.len() / outputs.max(1), outputs, all).expect("parts have as many outputs")
        };
        Self {
            mean: stack(|part| &part.mean),
            deviation: stack(|part| &part.deviation),
            pit: stack(|part| &part.pit),
            crps: stack(|part| &part.crps),
            log_density: parts.iter().flat_map(|part| &part.log_density).copied().collect(),
        }
    }
}

/// The quality of predictions over all rows; vectors have a number for each output.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Score {
    /// Mean over rows of the joint log density of all outputs.
    pub log_likelihood: f64,
    /// Root mean squared error of the predicted mean.
    pub rmse: Vec<f64>,
    /// Mean absolute error of the predicted mean.
    pub mae: Vec<f64>,
    /// Mean continuous ranked probability score.
    pub crps: Vec<f64>,
    /// Fraction of rows inside the central 50 % interval.
    pub coverage_50: Vec<f64>,
    /// Fraction of rows inside the central 90 % interval.
    pub coverage_90: Vec<f64>,
    /// Fraction of rows inside the central 95 % interval.
    pub coverage_95: Vec<f64>,
}

impl Score {
    /// The score of an assessment of rows whose targets are `y`, in the same units.
    pub fn new(y: View<'_>, assessment: &Assessment) -> Self {
        Self::weighted(y, assessment, None)
    }

    /// The score of an assessment of rows that count by their weights.
    pub fn weighted(y: View<'_>, assessment: &Assessment, weights: Option<&[f64]>) -> Self {
        let Assessment { mean, pit, crps, log_density, .. } = assessment;
        let over_rows = |of: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            let column = |p| (0..y.nrows()).map(|i| of(i, p)).collect::<Vec<f64>>();
            (0..y.ncols()).map(|p| weighted_mean(&column(p), weights)).collect()
        };
        let coverage = |level: f64| {
            let inside = 0.5 * (1.0 - level)..=0.5 * (1.0 + level);
            over_rows(&|i, p| f64::from(u8::from(inside.contains(&pit[(i, p)]))))
        };
        let error = |i, p| y[(i, p)] - mean[(i, p)];
        Self {
            log_likelihood: weighted_mean(log_density, weights),
            rmse: over_rows(&|i, p| error(i, p).powi(2)).into_iter().map(f64::sqrt).collect(),
            mae: over_rows(&|i, p| error(i, p).abs()),
            crps: over_rows(&|i, p| crps[(i, p)]),
            coverage_50: coverage(0.5),
            coverage_90: coverage(0.9),
            coverage_95: coverage(0.95),
        }
    }

    /// This score in units of the targets' standard deviations `scale`: errors are divided by it, and `Σ_p log scale_p` is added to the
    /// log likelihood.
    pub fn standardised(&self, units: &Scaling) -> Self {
        let scaled = |all: &[f64]| all.iter().zip(&units.scale).map(|(v, scale)| v / scale).collect();
        Self {
            log_likelihood: self.log_likelihood + units.log_volume(),
            rmse: scaled(&self.rmse),
            mae: scaled(&self.mae),
            crps: scaled(&self.crps),
            ..self.clone()
        }
    }
}

/// The weighted mean `Σ w v / Σ w`; the plain mean if there are no weights, or they are all 0.
pub(crate) fn weighted_mean(values: &[f64], weights: Option<&[f64]>) -> f64 {
    // In units of the heaviest, so that no sum overflows.
    let heaviest = weights.map_or(0.0, |weights| weights.iter().copied().fold(0.0, f64::max));
    match weights {
        Some(weights) if heaviest > 0.0 => {
            let relative = |w: &f64| w / heaviest;
            let total: f64 = weights.iter().map(relative).sum();
            // What does not count may be anything, −∞ too.
            weights.iter().zip(values).filter(|(w, _)| **w > 0.0).map(|(w, v)| relative(w) * v).sum::<f64>() / total
        }
        _ => values.iter().sum::<f64>() / values.len() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_by_their_weight_and_not_at_all_without() {
        let values = [1.0, f64::NEG_INFINITY, 4.0];
        assert_eq!(weighted_mean(&values, Some(&[2.0, 0.0, 1.0])), 2.0);
        assert_eq!(weighted_mean(&values, Some(&[1e308, 0.0, 1e308])), 2.5);
        assert_eq!(weighted_mean(&values[2..], Some(&[0.0])), 4.0);
        assert_eq!(weighted_mean(&[1.0, 4.0], None), 2.5);
    }

    #[test]
    fn scores_of_two_rows_by_hand() {
        let y = Mat::column(vec![1.0, 2.0]);
        let assessment = Assessment {
            mean: Mat::column(vec![1.0, 5.0]),
            deviation: Mat::column(vec![1.0, 1.0]),
            pit: Mat::column(vec![0.5, 0.96]),
            crps: Mat::column(vec![0.25, 0.75]),
            log_density: vec![-1.0, -3.0],
        };
        let score = Score::new(y.view(), &assessment);
        assert_eq!(score.log_likelihood, -2.0);
        assert!((score.rmse[0] - 4.5f64.sqrt()).abs() < 1e-15);
        assert_eq!((score.mae[0], score.crps[0]), (1.5, 0.5));
        assert_eq!((score.coverage_50[0], score.coverage_90[0], score.coverage_95[0]), (0.5, 0.5, 1.0));
        let first = Score::weighted(y.view(), &assessment, Some(&[3.0, 0.0]));
        assert_eq!((first.log_likelihood, first.rmse[0], first.crps[0], first.coverage_50[0]), (-1.0, 0.0, 0.25, 1.0));
        let units = Scaling { shift: vec![7.0], scale: vec![2.0] };
        let standardised = score.standardised(&units);
        assert_eq!((standardised.mae[0], standardised.crps[0], standardised.coverage_50[0]), (0.75, 0.25, 0.5));
        assert_eq!(standardised.log_likelihood, -2.0 + 2.0f64.ln());
    }
}
