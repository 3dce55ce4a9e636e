//! The inducing inputs of each layer, over a sample of what enters the layer.

use anyhow::Result;
use deepgp::likelihood::Gaussian;
use deepgp::{Dataset, DeepGp, Inducing, Mat, PredictSettings};
use deepgp_io::ModelFile;

use super::layer_name;
use crate::model::relevance::{are_levels, relevance};
use crate::report::InducingView;

/// The number of rows whose way through the layers is drawn.
const SAMPLED_ROWS: usize = 600;
/// The number of samples of the hidden layers behind such a picture.
const FEW_SAMPLES: usize = 20;

/// The inducing inputs of each layer along the two inputs with the shortest lengthscales, over a sample of what enters the layer.
pub fn inducing(file: &ModelFile, train: Option<&Dataset>, settings: PredictSettings) -> Result<Vec<InducingView>> {
    let layers = file.regressor.model.layers();
    let sample = train.map(|train| sampled_inputs(file, train)).transpose()?;
    let mut views = Vec::new();
    for (l, layer) in layers.iter().enumerate() {
        let (names, order) = ordered_inputs(file, l);
        let at = |m: &Mat, row: usize, offset: f64| match order[..] {
            [only] => (m[(row, only)], offset),
            [first, second, ..] => (m[(row, first)], m[(row, second)]),
            [] => (0.0, 0.0),
        };
        // With a single input the three sets are drawn one above the other.
        let points = |m: &Mat, offset: f64| (0..m.nrows()).map(|row| at(m, row, offset)).collect::<Vec<_>>();
        let (mean, covariance) = match &layer.inducing {
            Inducing::Tied(z) => (points(z, 1.0), Vec::new()),
            Inducing::Decoupled { mean, covariance } => (points(mean, 1.0), points(covariance, 2.0)),
            Inducing::Nested { inputs, covariance } => {
                let head: Vec<u32> = (0..*covariance as u32).collect();
                (points(inputs, 1.0), points(&inputs.gather(&head), 2.0))
            }
        };
        let unit = if l == 0 { " (standardised)" } else { "" };
        let axis = |i: usize| order.get(i).map_or(String::new(), |&d| format!("{}{unit}", names[d]));
        let data =
            sample.as_ref().map_or(Ok(Vec::new()), |x| entering(file, l, x, settings).map(|x| points(&x, 0.0)))?;
        views.push(InducingView {
            layer: layer_name(file, l),
            axes: (axis(0), axis(1)),
            data,
            mean_inducing: mean,
            covariance_inducing: covariance,
        });
    }
    Ok(views)
}

/// The names of a layer's inputs, and their numbers from the shortest lengthscale on; levels of categories, of which a picture shows two values,
/// come last.
pub(super) fn ordered_inputs(file: &ModelFile, layer: usize) -> (Vec<String>, Vec<usize>) {
    let width = file.regressor.model.layers()[layer].input_width();
    let names: Vec<String> =
        if layer == 0 { file.schema.feature_names() } else { (1..=width).map(|i| format!("unit {i}")).collect() };
    let ranked = relevance(file, layer);
    let mut order: Vec<usize> =
        ranked.iter().filter_map(|(name, _)| names.iter().position(|own| own == name)).collect();
    if order.len() != width {
        order = (0..width).collect();
    }
    if layer == 0 {
        let levels = are_levels(file);
        order.sort_by_key(|input| levels.get(*input).copied().unwrap_or_default());
    }
    (names, order)
}

/// A sample of the training rows in the model's units.
fn sampled_inputs(file: &ModelFile, train: &Dataset) -> Result<Mat> {
    let every = train.len().div_ceil(SAMPLED_ROWS);
    let rows: Vec<u32> = (0..train.len() as u32).step_by(every.max(1)).collect();
    Ok(file.regressor.standardiser.apply(&train.gather(&rows)?)?.x().clone())
}

/// The mean of what enters a layer: the layers before it, taken as a model of their own.
fn entering(file: &ModelFile, layer: usize, x: &Mat, settings: PredictSettings) -> Result<Mat> {
    if layer == 0 {
        return Ok(x.clone());
    }
    let model = &file.regressor.model;
    let before = model.layers()[..layer].to_vec();
    let width = before[layer - 1].output_width();
    let head = DeepGp::new(before, Box::new(Gaussian::new(1.0, width)))?.with_precision(model.precision());
    let head = head.with_jitter(model.jitter())?;
    let settings = PredictSettings { samples: FEW_SAMPLES, ..settings };
    Ok(head.predictor(settings)?.moments(x.view())?.f.mean)
}
