//! A model in plain matrices, for programs elsewhere that are to predict what it predicts.
//!
//! ```text
//! f_s = mean + √variance ∘ ε_s  after each hidden layer, for s = 1 … S        p(f | x) = Σ_s ω_s N(f; mean_s, variance_s)  after the last
//! ```

use super::{DeepGp, mixture_size};
use crate::error::Result;
use crate::layer::ExplicitLayer;
use crate::numeric::mat::Mat;
use crate::predict::Predictor;
use crate::random::noise::{Key, Noise, Purpose, RowNumbers};
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
        let samples = self.samples(settings.samples);
        let drawn = Noise::Shared { key: Key::new(settings.seed, Purpose::Predict) };
        let noise = self.sites().map_or(drawn, |sites| Noise::Sites(sites.points()));
        let of_hidden = |layer: usize| {
            let mut own = Mat::zeros(samples, self.layers()[layer].output_width());
            noise.fill(layer, RowNumbers { ids: &[0], first: 0, offset: 0 }, samples, &mut own);
            own
        };
        let parts = mixture_size(self.layers().len(), samples);
        Ok(ExplicitModel {
            layers: layers.map(|(layer, prepared)| ExplicitLayer::new(layer, prepared, floor)).collect(),
            noise: (0..self.layers().len() - 1).map(of_hidden).collect(),
            weights: predictor.weights.clone().unwrap_or_else(|| vec![1.0 / parts as f64; parts]),
        })
    }
}
