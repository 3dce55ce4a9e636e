//! Scores of cross-validation: of the models that were fitted to all rows but one fold each, and of the baselines beside them.

use serde::{Deserialize, Serialize};

use super::Subject;
use crate::note::Number;

/// The scores of cross-validation, each on the rows of a fold that its model had not seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldScores {
    /// How many folds there are, those without scores included.
    pub folds: usize,
    /// The number of rows in each fold that has scores.
    pub rows: Vec<usize>,
    /// What was scored: the model, then the baselines.
    pub subjects: Vec<FoldSubject>,
}

/// The scores of the model, or of a baseline, in all folds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldSubject {
    /// What was scored.
    pub of: Subject,
    /// Its scores.
    pub scores: Vec<FoldScore>,
}

/// One score in all folds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldScore {
    /// Which score it is.
    pub metric: Metric,
    /// The target that it is of, where there are several and it is not of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Its value in each fold.
    pub each: Vec<Number>,
}

impl FoldScore {
    /// The mean over folds.
    pub fn mean(&self) -> f64 {
        self.each.iter().map(|own| own.0).sum::<f64>() / self.each.len() as f64
    }

    /// The standard deviation over folds, `√(Σ (v − mean)² / (K − 1))`; NaN of a single fold.
    pub fn deviation(&self) -> f64 {
        let (mean, count) = (self.mean(), self.each.len() as f64);
        (self.each.iter().map(|own| (own.0 - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
    }
}

/// A score that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Mean log density of numbers.
    LogLikelihood,
    /// Root mean squared error.
    Rmse,
    /// Mean absolute error.
    Mae,
    /// Continuous ranked probability score.
    Crps,
    /// Share of rows inside the central 50 % interval.
    #[serde(rename = "coverage_50")]
    Coverage50,
    /// Share of rows inside the central 90 % interval.
    #[serde(rename = "coverage_90")]
    Coverage90,
    /// Share of rows inside the central 95 % interval.
    #[serde(rename = "coverage_95")]
    Coverage95,
    /// Mean of `−ln p` of classes.
    LogLoss,
    /// Share of rows whose class is the most probable one.
    Accuracy,
    /// Brier score of classes.
    Brier,
    /// Mean distance of accuracy and confidence.
    CalibrationError,
    /// Area under the receiver operating characteristic.
    Auc,
    /// Mean logarithm of the probability of counts.
    LogScore,
    /// Mean Poisson deviance of counts.
    Deviance,
}

impl Metric {
    /// The name that people read at the head of a column.
    pub fn name(self) -> &'static str {
        match self {
            Self::LogLikelihood => "log likelihood",
            Self::Rmse => "RMSE",
            Self::Mae => "MAE",
            Self::Crps => "CRPS",
            Self::Coverage50 => "in 50 %",
            Self::Coverage90 => "in 90 %",
            Self::Coverage95 => "in 95 %",
            Self::LogLoss => "log loss",
            Self::Accuracy => "accuracy",
            Self::Brier => "Brier",
            Self::CalibrationError => "calibration error",
            Self::Auc => "AUC",
            Self::LogScore => "log score",
            Self::Deviance => "deviance",
        }
    }

    /// Whether the score is a share of rows, which people read in percent.
    pub fn is_share(self) -> bool {
        match self {
            Self::Coverage50 | Self::Coverage90 | Self::Coverage95 | Self::Accuracy => true,
            Self::LogLikelihood
            | Self::Rmse
            | Self::Mae
            | Self::Crps
            | Self::LogLoss
            | Self::Brier
            | Self::CalibrationError
            | Self::Auc
            | Self::LogScore
            | Self::Deviance => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_deviations_are_over_folds_and_files_keep_what_is_no_number() {
        let score = |each: &[f64]| FoldScore {
            metric: Metric::Rmse,
            target: None,
            each: each.iter().map(|v| Number(*v)).collect(),
        };
        assert_eq!((score(&[1.0, 2.0, 6.0]).mean(), score(&[1.0, 2.0, 6.0]).deviation()), (3.0, 7f64.sqrt()));
        assert!(score(&[1.0]).deviation().is_nan());
        let odd = score(&[f64::NEG_INFINITY, 1.0]);
        let text = serde_json::to_string(&odd).unwrap();
        assert_eq!(serde_json::from_str::<FoldScore>(&text).unwrap(), odd);
        assert!(text.contains(r#""metric":"rmse""#), "{text}");
    }
}
