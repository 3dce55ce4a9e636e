//! A model in plain matrices, for programs elsewhere that are to predict what it predicts.
//!
//! ```text
//! f_s = mean + √variance ∘ ε_s  after each hidden layer, for s = 1 … S        p(f | x) = Σ_s ω_s N(f; mean_s, variance_s)  after the last
//! ```

use super::DeepGp;
use crate::error::Result;
use crate::layer::ExplicitLayer;
use crate::numeric::mat::Mat;
use crate::predict::Predictor;
use crate::settings::PredictSettings;

/// A model's way from a row to the mixture of Gaussians over its latent functions, all in the model's units.
#[derive(Clone, Debug)]
pub struct ExplicitModel {
    /// The layers, first to last.
    pub layers: Vec<ExplicitLayer>,
    /// The noise `ε` of each hidden layer, `[S, width]`: the points of learned sites, or the draws that all rows share.
    pub noise: Vec<Mat>,
    /// The weights `ω` of the mixture's parts, which sum to 1; a single one where there is no hidden layer.
    pub weights: Vec<f64>,
}

impl DeepGp {
    /// The model in plain matrices, with the samples that a [`Predictor`] of these settings takes.
    pub fn explicit(&self, settings: PredictSettings) -> Result<ExplicitModel> {
        let predictor: Predictor<'_> = self.predictor(settings)?;
        let floor = self.precision().floor();
        let layers = self.layers().iter().zip(predictor.prepared()?);
        let parts = self.mixture_size(settings.samples);
        Ok(ExplicitModel {
            layers: layers.map(|(layer, prepared)| ExplicitLayer::new(layer, prepared, floor)).collect(),
            noise: self.prediction_noise(settings),
            weights: predictor.weights.clone().unwrap_or_else(|| vec![1.0 / parts as f64; parts]),
        })
    }
}
