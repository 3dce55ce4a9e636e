//! The noise `ε` of the hidden layers that all rows of a prediction share: a table for each layer, whichever row, thread or device it is for.

use crate::model::DeepGp;
use crate::numeric::mat::Mat;
use crate::random::balanced::balance;
use crate::random::noise::{Key, Noise, Purpose, RowNumbers};
use crate::settings::{Draws, PredictSettings};

impl DeepGp {
    /// The noise that a prediction of these settings has in each hidden layer, `[S, width]`: the points of learned sites, or draws.
    pub fn prediction_noise(&self, settings: PredictSettings) -> Vec<Mat> {
        if let Some(sites) = self.sites() {
            return sites.points().to_vec();
        }
        let PredictSettings { samples, seed, draws, .. } = settings;
        let noise = Noise::Shared { key: Key::new(seed, Purpose::Predict) };
        let hidden = self.layers()[..self.layers().len() - 1].iter().enumerate();
        let drawn = hidden.map(|(l, layer)| {
            let mut own = Mat::zeros(samples, layer.output_width());
            noise.fill(l, RowNumbers { ids: &[0], first: 0, offset: 0 }, samples, &mut own);
            own
        });
        let mut tables: Vec<Mat> = drawn.collect();
        match draws {
            Draws::Balanced => balance(&mut tables),
            Draws::Independent => {}
        }
        tables
    }
}
