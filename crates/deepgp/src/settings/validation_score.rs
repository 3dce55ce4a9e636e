//! The score by which validation rows judge a model while it is trained.

use crate::data::Dataset;
use crate::error::Result;
use crate::likelihood::Outcomes;
use crate::predict::Predictor;

/// The score by which validation rows judge, and early stopping with them; of all of them more is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ValidationScore {
    /// The mean log density of the rows. It is what is maximised, but unbounded where a target takes one value many times.
    #[default]
    LogDensity,
    /// The continuous ranked probability score, less than 0: steadier, and bounded whatever values targets take.
    Crps,
}

impl ValidationScore {
    /// The score of each of these rows in the model's units; that of all of them is its mean.
    pub(crate) fn of_rows(self, predictor: &Predictor<'_>, rows: &Dataset) -> Result<Vec<f64>> {
        let y = rows.y().view();
        Ok(match self.suiting(predictor.model.likelihood().outcomes()) {
            Self::LogDensity => predictor.log_density(rows, y)?,
            Self::Crps => predictor.crps(rows, y)?.into_iter().map(|own| -own).collect(),
        })
    }

    /// The score that is taken for such targets: of classes and counts the log density, which is bounded there; the CRPS of a class number says
    /// nothing.
    pub fn suiting(self, outcomes: Outcomes) -> Self {
        match outcomes {
            Outcomes::Real => self,
            Outcomes::Classes(_) | Outcomes::Counts => Self::LogDensity,
        }
    }

    /// The score's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::LogDensity => "log density",
            Self::Crps => "CRPS",
        }
    }
}
