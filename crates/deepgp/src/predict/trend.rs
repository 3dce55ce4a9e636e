//! The trend of targets as one of latent functions: what is added to the means of a mixture at a row.

use crate::data::Trend;
use crate::error::{Error, Result};
use crate::model::DeepGp;
use crate::numeric::mat::Mat;

/// A line in the inputs for some of the latent functions.
#[derive(Clone, Debug)]
pub(crate) struct LatentTrend {
    /// The slopes of each latent function, `[P, D]`; 0 where no target scatters around it.
    slopes: Mat,
}

impl LatentTrend {
    /// The trend of each target as that of the function which it scatters around. Fails if it is not one of the model's inputs and targets.
    pub fn new(trend: &Trend, model: &DeepGp) -> Result<Self> {
        let (likelihood, inputs) = (model.likelihood(), model.input_width());
        let targets = likelihood.observed_width();
        let expected = || format!("slopes of {targets} targets in {inputs} inputs");
        let wrong = |found: String| Error::Shape { what: "the trend", expected: expected(), found };
        if !trend.fits(inputs, targets) {
            return Err(wrong(format!("those of {}", trend.slopes.len())));
        }
        let mut slopes = Mat::zeros(model.latent_width(), inputs);
        for (p, own) in trend.slopes.iter().enumerate() {
            let latent =
                likelihood.location(p).ok_or_else(|| wrong(format!("the likelihood {}", likelihood.name())))?;
            slopes.row_mut(latent).copy_from_slice(own);
        }
        Ok(Self { slopes })
    }

    /// The slope of a latent function in an input, both in the model's units.
    pub fn slope(&self, latent: usize, input: usize) -> f64 {
        self.slopes[(latent, input)]
    }

    /// Adds the trend at a row in the model's units to the means there, `[S, P]`.
    pub fn add(&self, x: &[f64], mean: &mut [f64]) {
        let width = self.slopes.nrows();
        for latent in 0..width {
            let line: f64 = self.slopes.row(latent).iter().zip(x).map(|(slope, x)| slope * x).sum();
            mean.iter_mut().skip(latent).step_by(width).for_each(|own| *own += line);
        }
    }
}
