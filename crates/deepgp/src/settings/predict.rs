//! The settings of predictions.

/// The settings of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictSettings {
    /// The number of samples of the hidden layers: the size of the mixture at each row.
    pub samples: usize,
    /// The seed of the samples.
    pub seed: u64,
    /// The number of threads to work on; 0 for all. No result depends on it.
    pub threads: usize,
    /// How the samples are drawn.
    pub draws: Draws,
}

/// How the samples of the hidden layers are drawn, which all rows of a prediction share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Draws {
    /// Balanced against each other: the means, variances and correlations of their normals are exact. 32 come nearer to the model's
    /// distribution than 100 that are independent.
    #[default]
    Balanced,
    /// Each by itself, as version 0.1 drew them.
    Independent,
}

impl Default for PredictSettings {
    fn default() -> Self {
        Self { samples: 32, seed: 0, threads: 0, draws: Draws::Balanced }
    }
}
