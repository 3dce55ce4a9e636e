//! The metric by which a search judges, in the user's units.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::likelihood::Outcomes;
use crate::regressor::Regressor;
use crate::settings::PredictSettings;

/// The metric by which a search judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum SearchMetric {
    /// The continuous ranked probability score of numbers.
    Crps,
    /// The mean log density of numbers, or log mass of counts.
    LogLikelihood,
    /// The root mean squared error of numbers and counts.
    Rmse,
    /// The mean absolute error of numbers and counts.
    Mae,
    /// The mean negative log probability of classes.
    LogLoss,
    /// The mean squared distance of the probabilities of classes.
    Brier,
    /// The share of rows whose class is the most probable one.
    Accuracy,
    /// The mean deviance of counts.
    Deviance,
}

impl SearchMetric {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Crps,
        Self::LogLikelihood,
        Self::Rmse,
        Self::Mae,
        Self::LogLoss,
        Self::Brier,
        Self::Accuracy,
        Self::Deviance,
    ];

    /// The metric that is taken for such targets where none is named.
    pub fn usual(outcomes: Outcomes) -> Self {
        match outcomes {
            Outcomes::Real => Self::Crps,
            Outcomes::Classes(_) => Self::LogLoss,
            Outcomes::Counts => Self::LogLikelihood,
        }
    }

    /// Whether such targets have the metric.
    pub fn suits(self, outcomes: Outcomes) -> bool {
        match self {
            Self::Crps => outcomes == Outcomes::Real,
            Self::LogLikelihood | Self::Rmse | Self::Mae => !matches!(outcomes, Outcomes::Classes(_)),
            Self::LogLoss | Self::Brier | Self::Accuracy => matches!(outcomes, Outcomes::Classes(_)),
            Self::Deviance => outcomes == Outcomes::Counts,
        }
    }

    /// Whether a greater score is a better one.
    pub fn more_is_better(self) -> bool {
        match self {
            Self::LogLikelihood | Self::Accuracy => true,
            Self::Crps | Self::Rmse | Self::Mae | Self::LogLoss | Self::Brier | Self::Deviance => false,
        }
    }

    /// A score as a loss, of which less is better.
    pub fn loss(self, score: f64) -> f64 {
        if self.more_is_better() { -score } else { score }
    }

    /// The score of a model on rows with known targets.
    pub fn score(self, regressor: &Regressor, rows: &Dataset, settings: PredictSettings) -> Result<f64> {
        let all = Self::scores(regressor, rows, settings)?;
        let own = all.into_iter().find(|(metric, _)| *metric == self);
        own.map(|(_, score)| score).ok_or_else(|| {
            let requirement = "one that such targets have";
            Error::Setting { name: "metric", value: format!("{self:?}"), requirement }
        })
    }

    /// All scores of a model on rows with known targets that such targets have. Of several targets, CRPS and errors are means over targets in units of
    /// their standard deviations.
    pub fn scores(regressor: &Regressor, rows: &Dataset, settings: PredictSettings) -> Result<Vec<(Self, f64)>> {
        let predictor = regressor.predictor(settings)?;
        Ok(match regressor.model.likelihood().outcomes() {
            Outcomes::Real => {
                let score = predictor.score(rows)?;
                let several = rows.y().ncols() > 1;
                let score = if several { score.standardised(regressor.standardiser.original()) } else { score };
                vec![
                    (Self::Crps, mean(&score.crps)),
                    (Self::LogLikelihood, score.log_likelihood),
                    (Self::Rmse, mean(&score.rmse)),
                    (Self::Mae, mean(&score.mae)),
                ]
            }
            Outcomes::Classes(_) => {
                let score = predictor.class_score(rows)?;
                vec![(Self::LogLoss, score.log_loss), (Self::Brier, score.brier), (Self::Accuracy, score.accuracy)]
            }
            Outcomes::Counts => {
                let score = predictor.count_score(rows)?;
                vec![
                    (Self::LogLikelihood, score.log_score),
                    (Self::Deviance, score.deviance),
                    (Self::Rmse, score.rmse),
                    (Self::Mae, score.mae),
                ]
            }
        })
    }

    /// The name that options and files have for the metric.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crps => "crps",
            Self::LogLikelihood => "log-likelihood",
            Self::Rmse => "rmse",
            Self::Mae => "mae",
            Self::LogLoss => "log-loss",
            Self::Brier => "brier",
            Self::Accuracy => "accuracy",
            Self::Deviance => "deviance",
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::simulate;
    use crate::settings::FitSettings;
    use std::ops::ControlFlow;

    #[test]
    fn scores_are_those_of_the_predictor() {
        let data = simulate::step_curve(60, 1);
        let mut settings = FitSettings::default();
        (settings.train.steps, settings.model.hidden_layers) = (20, 1);
        let fit = Regressor::fit(&data, &settings, |_, _| ControlFlow::Continue(())).unwrap();
        let (predict, test) = (PredictSettings::default(), simulate::step_curve(30, 2));
        let score = fit.regressor.predictor(predict).unwrap().score(&test).unwrap();
        let of = |metric: SearchMetric| metric.score(&fit.regressor, &test, predict).unwrap();
        assert_eq!(
            [SearchMetric::Crps, SearchMetric::LogLikelihood, SearchMetric::Rmse, SearchMetric::Mae].map(of),
            [score.crps[0], score.log_likelihood, score.rmse[0], score.mae[0]]
        );
        let wrong = SearchMetric::Brier.score(&fit.regressor, &test, predict).unwrap_err().to_string();
        assert!(wrong.contains("`metric` is Brier"), "{wrong}");
    }

    #[test]
    fn every_kind_of_target_has_its_usual_metric() {
        for outcomes in [Outcomes::Real, Outcomes::Classes(3), Outcomes::Counts] {
            assert!(SearchMetric::usual(outcomes).suits(outcomes));
            assert!(SearchMetric::ALL.iter().any(|own| !own.suits(outcomes)));
        }
    }
}
