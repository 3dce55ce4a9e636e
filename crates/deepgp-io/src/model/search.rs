//! What a model file remembers of the search that found its settings.

use deepgp::search::{SearchMetric, SettingValue};
use serde::{Deserialize, Serialize};

/// The search that found the settings of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// The metric that judged.
    pub metric: SearchMetric,
    /// The number of candidates that were judged.
    pub candidates: usize,
    /// The number of the best, 0 for the settings that the search began with.
    pub best: usize,
    /// What the best changes of these.
    pub changes: Vec<SettingValue>,
    /// The steps after which the best was judged, out of those of a whole fit.
    pub steps: (u64, u64),
    /// The score of the best by the rows that judged; none if nothing was.
    pub score: Option<f64>,
    /// The score of the settings that the search began with, after as many steps.
    pub unchanged_score: Option<f64>,
}
