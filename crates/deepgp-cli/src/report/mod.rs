//! The report on a trained model: one self-contained HTML page, and its pictures as files.
//!
//! [`content`] fills a [`Report`] with plain numbers; [`page`] writes the page and [`pictures`] the same pictures for
//! saving. Sections without data are left out. The order of the page is in [`sections`]; each section's pictures and
//! captions are in a file of `figures/`.

mod choices;
mod classes;
pub mod content;
mod counts;
mod figures;
mod key_numbers;
mod number;
mod page;
mod sections;
mod statistics;
mod tables;
mod vocabulary;
mod write;

#[cfg(test)]
mod example;
#[cfg(test)]
mod tests;

pub use classes::{ClassReport, ClassRows};
pub use content::predicted_rows;
pub use counts::{CountReport, CountRows, Frequency, HardCount};
pub use figures::accuracy::rows_with_interval;
pub use page::page;
pub use write::{of_fit, write_page, write_pictures};

use deepgp::likelihood::LikelihoodDescription;
use deepgp::{ObjectiveForm, Score, TransformChoice};

use crate::model::units::Judge;

/// The pictures of the page, in its order: for each the stem of a file name, and a stand-alone SVG.
pub fn pictures(report: &Report) -> Vec<(String, String)> {
    let figures = sections::sections(report).into_iter().flat_map(|section| section.figures);
    figures.map(|figure| (figure.stem, figure.picture.standalone())).collect()
}

/// Everything that the page shows, as plain numbers and texts.
#[derive(Debug, Clone)]
pub struct Report {
    /// The title: the targets' names and the table's file name.
    pub title: String,
    /// A sentence on the model and its training.
    pub summary: String,
    /// The date of the report.
    pub created: String,
    /// The name and version of the program that made it.
    pub version: String,
    /// The targets' names.
    pub targets: Vec<String>,
    /// The scores of the model first, then those of baselines; empty where targets are classes or counts.
    pub scores: Vec<ScoreRow>,
    /// The scores and predictions where targets are classes.
    pub classes: Option<ClassReport>,
    /// The scores and predictions where targets are counts.
    pub counts: Option<CountReport>,
    /// The rows that were scored, in words.
    pub scored_on: Option<String>,
    /// The choices behind the model: likelihood, objective, validation score.
    pub choices: Choices,
    /// The predictions of numbers on the scored rows, one for each target; empty if no rows were scored.
    pub outputs: Vec<Output>,
    /// The course of training.
    pub history: History,
    /// What the predictions of each target depend on; empty if there are no rows to tell it by.
    pub importance: Vec<ImportanceView>,
    /// The inverse lengthscales of each layer.
    pub relevance: Vec<LayerRelevance>,
    /// The inducing inputs of each layer.
    pub inducing: Vec<InducingView>,
    /// The settings and other facts of the fit: names and values.
    pub settings: Vec<(String, String)>,
    /// The notes on the model, its fit and its scores.
    pub notes: Vec<String>,
}

/// A table of texts.
#[derive(Debug, Clone)]
pub struct PlainTable {
    /// What it is a table of.
    pub title: String,
    /// The cells, row after row: headings first, and a name first in each row.
    pub cells: Vec<Vec<String>>,
    /// How to read it.
    pub caption: String,
}

/// The scores of the model or of a baseline.
#[derive(Debug, Clone)]
pub struct ScoreRow {
    /// The name of the model or baseline.
    pub name: String,
    /// The scores in the units of the targets.
    pub original: Score,
    /// The scores with each target scaled to mean 0 and standard deviation 1 on the training rows.
    pub standardised: Score,
    /// Seconds of training, if they are known.
    pub seconds: Option<f64>,
    /// Whether these are the scores of the model that the report is about.
    pub of_model: bool,
    /// Whether these are those of a simpler model that it has to beat.
    pub is_baseline: bool,
}

/// The choices behind a model: what was assumed of the targets, what training maximised, and by what validation rows judged.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// The likelihood; `None` if it is not one of the library's.
    pub likelihood: Option<LikelihoodDescription>,
    /// The degrees of freedom of each target's noise; empty unless that is Student's t.
    pub degrees: Vec<f64>,
    /// The transform of the targets that was asked for.
    pub transform_asked: TransformChoice,
    /// The transform that each target went through.
    pub transforms: Vec<TransformChoice>,
    /// The objective that training maximised.
    pub objective: ObjectiveForm,
    /// Whether the objective was not chosen, but is the one that suits the likelihood.
    pub objective_by_default: bool,
    /// The number of learned sites in place of samples of the hidden layers; `None` where samples are drawn.
    pub sites: Option<usize>,
    /// The factor on the KL; `None` where it counts whole.
    pub kl_weight: Option<f64>,
    /// The score by which validation rows judged, if there were any.
    pub judge: Judge,
}

/// The predictions for one target, a value for each scored row.
#[derive(Debug, Clone)]
pub struct Output {
    /// The target's name.
    pub name: String,
    /// The true target of each row.
    pub y: Vec<f64>,
    /// The predictive mean of each row.
    pub mean: Vec<f64>,
    /// The central 95 % intervals of the rows that are drawn with one: those of [`rows_with_interval`].
    pub intervals_95: Vec<Interval>,
    /// The probability integral transform of each row, `P(Y <= y)` under the prediction: uniform if it is calibrated.
    pub pit: Vec<f64>,
    /// The predictive standard deviation of each row.
    pub deviation: Vec<f64>,
    /// The noise of some rows; `None` where it is the same for all.
    pub noise: Option<NoiseView>,
    /// The predicted densities of a few rows, each chosen for another reason.
    pub densities: Vec<RowDensity>,
}

/// The noise that was predicted for some of the scored rows, beside what it may depend on; a value for each of these rows.
#[derive(Debug, Clone)]
pub struct NoiseView {
    /// The predictive mean of each row.
    pub mean: Vec<f64>,
    /// The true target of each row less its predictive mean.
    pub error: Vec<f64>,
    /// The predictive standard deviation of each row, noise included.
    pub spread: Vec<f64>,
    /// The standard deviation of each row's noise.
    pub deviation: Vec<f64>,
    /// The inputs with the shortest lengthscales: their names, and their values at each row.
    pub inputs: Vec<(String, Vec<f64>)>,
}

/// The predicted density of one row.
#[derive(Debug, Clone)]
pub struct RowDensity {
    /// The reason why this row was chosen.
    pub reason: ChosenRow,
    /// The true target.
    pub y: f64,
    /// The predictive mean.
    pub mean: f64,
    /// Values of the target, and the density that was predicted there.
    pub curve: Vec<(f64, f64)>,
}

/// The reason why a row's predicted density is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChosenRow {
    /// Its standard deviation is at the 10th percentile of all rows'.
    Narrow,
    /// Its standard deviation is the median of all rows'.
    Typical,
    /// Its standard deviation is at the 90th percentile of all rows'.
    Wide,
    /// Its log density, over all targets, is the lowest.
    LeastLikely,
}

/// The central 95 % interval of a row.
#[derive(Debug, Clone, Copy)]
pub struct Interval {
    /// The number of the row among the scored rows.
    pub row: usize,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// The course of training, a value for each recorded step.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The numbers of the steps.
    pub step: Vec<f64>,
    /// Seconds since the start.
    pub seconds: Vec<f64>,
    /// The objective with the KL counted whole, estimated from a minibatch.
    pub objective: Vec<f64>,
    /// The objective's term of the rows.
    pub data_term: Vec<f64>,
    /// The objective's `KL[q ‖ p]`, all layers together.
    pub kl: Vec<f64>,
    /// Standard deviation (of Student's t: scale) of the noise of the first target, in its units.
    pub noise: Vec<f64>,
    /// Standard deviation (of Student's t: scale) of the noise of each target in the model, in the target's units.
    pub model_noise: Vec<f64>,
    /// What the noise of each target is around, where that is not the target: `ln price`.
    pub noise_units: Option<Vec<String>>,
    /// The validation curve: steps, and the score of the validation rows as users see it.
    pub validation: Vec<(f64, f64)>,
    /// The step whose parameters the model has, if validation rows chose it.
    pub kept_step: Option<f64>,
}

impl History {
    /// The step whose parameters the model has, if training went on after it.
    fn kept_before_the_end(&self) -> Option<f64> {
        let end = statistics::last(&self.step)?;
        self.kept_step.filter(|kept| *kept < end)
    }
}

/// What the predictions of a target depend on.
#[derive(Debug, Clone)]
pub struct ImportanceView {
    /// The target.
    pub target: String,
    /// What the shares are of, where that is not the target itself: `ln price`.
    pub units: Option<String>,
    /// Whether the predictions are probabilities of classes.
    pub of_classes: bool,
    /// The number of rows behind it.
    pub rows: usize,
    /// The table's columns with their shares, the largest first.
    pub columns: Vec<(String, deepgp::Importance)>,
    /// The predictions along the main columns.
    pub dependence: Vec<Dependence>,
}

/// The predictions along one column, where all others stay as rows have them.
#[derive(Debug, Clone)]
pub struct Dependence {
    /// The column.
    pub column: String,
    /// The cells that it is set to.
    pub along: Along,
    /// The mean over rows at each of these: of the target, or of the probability of each class, by name.
    pub means: Vec<(String, Vec<f64>)>,
    /// The mean over rows of the ends of the function's doubt, at each of these; empty for classes.
    pub band: Vec<(f64, f64)>,
    /// The predictions of some rows by themselves; empty for classes.
    pub curves: Vec<Vec<f64>>,
}

/// The cells that a column is set to.
#[derive(Debug, Clone)]
pub enum Along {
    /// Numbers, in ascending order.
    Numbers(Vec<f64>),
    /// Levels of a category, the most frequent first.
    Levels(Vec<String>),
}

/// How fast the function of a layer bends along each input.
#[derive(Debug, Clone)]
pub struct LayerRelevance {
    /// The layer's name.
    pub layer: String,
    /// The inputs' names, and `1 / lengthscale` of each, standardised.
    pub inputs: Vec<(String, f64)>,
}

/// The inducing inputs of a layer, in two directions of its input space.
#[derive(Debug, Clone)]
pub struct InducingView {
    /// The layer's name.
    pub layer: String,
    /// The names of the two directions; the second is empty where there is one.
    pub axes: (String, String),
    /// A sample of what enters the layer.
    pub data: Vec<(f64, f64)>,
    /// The inducing inputs of the mean, `Z_a`.
    pub mean_inducing: Vec<(f64, f64)>,
    /// The inducing inputs of the covariance, `Z_b`.
    pub covariance_inducing: Vec<(f64, f64)>,
}
