//! The report on a trained model: one self-contained HTML page, and its pictures as files.
//!
//! A command fills a [`Report`] with plain numbers; [`page`] writes the page and [`pictures`] the same pictures
//! for saving. Sections without data are left out. The order of the page is in [`sections`]; each section's
//! pictures and captions are in a file of their own.

pub mod content;
mod figures;
mod key_numbers;
mod number;
mod page;
mod sections;
mod statistics;
mod tables;
mod write;

#[cfg(test)]
mod example;
#[cfg(test)]
mod tests;

pub use figures::accuracy::rows_with_interval;
pub use page::page;
pub use write::{write_of_fit, write_page, write_pictures};

use deepgp::Score;

/// The pictures of the page, in its order: for each the stem of a file name, and a stand-alone SVG.
pub fn pictures(report: &Report) -> Vec<(String, String)> {
    let figures = sections::sections(report).into_iter().flat_map(|section| section.figures);
    figures.map(|figure| (figure.stem, figure.picture.standalone())).collect()
}

/// Everything the page tells.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was modelled: the target's name and the table's file name.
    pub title: String,
    /// One sentence on the model.
    pub summary: String,
    /// When the report was made.
    pub created: String,
    /// What made it.
    pub version: String,
    /// The targets' names.
    pub targets: Vec<String>,
    /// The model first, then baselines.
    pub scores: Vec<ScoreRow>,
    /// Which rows were scored.
    pub scored_on: Option<String>,
    /// One for each target, where there is a scored table.
    pub outputs: Vec<Output>,
    /// The course of training.
    pub history: History,
    /// What the inputs of each layer matter.
    pub relevance: Vec<LayerRelevance>,
    /// Where the inducing inputs of each layer lie.
    pub inducing: Vec<InducingView>,
    /// Names and values.
    pub settings: Vec<(String, String)>,
    /// Warnings worth telling.
    pub notes: Vec<String>,
}

/// The scores of one model.
#[derive(Debug, Clone)]
pub struct ScoreRow {
    /// Of the model.
    pub name: String,
    /// In the units of the targets.
    pub original: Score,
    /// With each target scaled to mean 0 and standard deviation 1 on the training rows.
    pub standardised: Score,
    /// What training took.
    pub seconds: Option<f64>,
    /// Whether this is the model the report is about, not a baseline.
    pub of_model: bool,
}

/// The predictions for one target, a value for each scored row.
#[derive(Debug, Clone)]
pub struct Output {
    /// The target's name.
    pub name: String,
    /// What was true.
    pub y: Vec<f64>,
    /// Predictive means.
    pub mean: Vec<f64>,
    /// Central 95 % intervals of the rows that are drawn with one: those of [`rows_with_interval`].
    pub intervals_95: Vec<Interval>,
    /// `P(Y <= y)` under the prediction: uniform if it is calibrated.
    pub pit: Vec<f64>,
    /// Predictive standard deviations.
    pub deviation: Vec<f64>,
}

/// The central 95 % interval of one row.
#[derive(Debug, Clone, Copy)]
pub struct Interval {
    /// Its number among the scored rows.
    pub row: usize,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// The course of training, a value for each recorded step.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Number of the step.
    pub step: Vec<f64>,
    /// Since the start.
    pub seconds: Vec<f64>,
    /// The bound, an estimate from a minibatch.
    pub elbo: Vec<f64>,
    /// Its expected log likelihood.
    pub data_term: Vec<f64>,
    /// Its `KL[q ‖ p]`, all layers.
    pub kl: Vec<f64>,
    /// Standard deviation of the noise of the first target, in its units.
    pub noise: Vec<f64>,
    /// The same in the model, of every target.
    pub model_noise: Vec<f64>,
    /// Step, and mean log density of the validation rows, in the targets' units.
    pub validation: Vec<(f64, f64)>,
    /// The step whose parameters the model has, where validation rows chose it.
    pub kept_step: Option<f64>,
}

impl History {
    /// The step whose parameters the model has, if training went on after it.
    fn kept_before_the_end(&self) -> Option<f64> {
        let end = statistics::last(&self.step)?;
        self.kept_step.filter(|kept| *kept < end)
    }
}

/// How fast the function of one layer bends along its inputs.
#[derive(Debug, Clone)]
pub struct LayerRelevance {
    /// The layer's name.
    pub layer: String,
    /// Name and `1 / lengthscale` of each standardised input.
    pub inputs: Vec<(String, f64)>,
}

/// The inducing inputs of one layer, in two directions of its input space.
#[derive(Debug, Clone)]
pub struct InducingView {
    /// The layer's name.
    pub layer: String,
    /// Names of the directions; the second has none where there is a single one.
    pub axes: (String, String),
    /// A sample of what enters the layer.
    pub data: Vec<(f64, f64)>,
    /// `Z_a`, of the mean.
    pub mean_inducing: Vec<(f64, f64)>,
    /// `Z_b`, of the covariance.
    pub covariance_inducing: Vec<(f64, f64)>,
}
