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
}

impl Default for PredictSettings {
    fn default() -> Self {
        Self { samples: 100, seed: 0, threads: 0 }
    }
}
