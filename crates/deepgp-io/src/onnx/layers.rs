//! The way of rows through the layers, to the mixture of Gaussians over the latent functions.

use deepgp::{ExplicitLayer, ExplicitModel, ExplicitShares, Mat, MeanFunction, Regressor};

use super::graph::{Graph, Tensor};
use super::{OnnxError, kernels};

/// Means and variances of the mixture's parts, `[N, S, P]` each.
pub struct Mixture {
    pub mean: Tensor,
    pub variance: Tensor,
    /// How many parts there are, `S`.
    pub parts: usize,
}

/// The mixture at rows `x` `[N, D]` in the model's units.
pub fn mixture(graph: &mut Graph, model: &ExplicitModel, mut x: Tensor) -> Result<Mixture, OnnxError> {
    let last = model.layers.len() - 1;
    for (l, layer) in model.layers[..last].iter().enumerate() {
        let (mean, variance) = moments(graph, layer, &x)?;
        x = sampled(graph, &mean, &variance, &model.noise[l], l == 0);
    }
    let (mean, variance) = moments(graph, &model.layers[last], &x)?;
    let (parts, width) = (model.weights.len() as i64, model.layers[last].weights.ncols() as i64);
    let by_parts = [-1, parts, width];
    let (mean, variance) = (graph.reshape(&mean, &by_parts), graph.reshape(&variance, &by_parts));
    Ok(Mixture { mean, variance, parts: model.weights.len() })
}

/// Adds the trend of targets at rows `x` `[N, D]` in the model's units to the latent functions that they scatter around.
pub fn add_trend(graph: &mut Graph, regressor: &Regressor, x: &Tensor, mixture: &mut Mixture) {
    let (likelihood, Some(trend)) = (regressor.model.likelihood(), &regressor.standardiser.trend) else { return };
    let mut slopes = Mat::zeros(regressor.standardiser.x.shift.len(), likelihood.latent_width());
    for (p, own) in trend.slopes.iter().enumerate() {
        if let Some(latent) = likelihood.location(p) {
            own.iter().enumerate().for_each(|(d, slope)| slopes[(d, latent)] = *slope);
        }
    }
    let slopes = graph.matrix(&slopes);
    let line = graph.product(x, &slopes);
    let line = graph.reshape(&line, &[-1, 1, likelihood.latent_width() as i64]);
    mixture.mean = graph.add(&mixture.mean, &line);
}

/// Mean and variance of a layer's outputs, `[N, P]` each, at its inputs `[N, D]`.
fn moments(graph: &mut Graph, layer: &ExplicitLayer, x: &Tensor) -> Result<(Tensor, Tensor), OnnxError> {
    let k = kernels::cross(graph, &*layer.kernel, x, &layer.inducing)?;
    let (m, m_a) = (layer.inducing.nrows(), layer.weights.nrows());
    let part = |graph: &mut Graph, from: usize, to: usize| {
        if (from, to) == (0, m) { k.clone() } else { graph.columns(&k, from, to) }
    };
    let k_a = part(graph, 0, m_a);
    let k_b = part(graph, layer.covariance_rows.start, layer.covariance_rows.end);
    let weights = graph.matrix(&layer.weights);
    let mean = graph.product(&k_a, &weights);
    let mean = with_mean_function(graph, layer, x, mean);
    let a = match &layer.projection {
        Some(r) => {
            let transposed = graph.matrix(&r.transposed());
            graph.product(&k_b, &transposed)
        }
        None => k_b,
    };
    let explained = explained(graph, &layer.explained, &a);
    let minus = graph.scale(&explained, -1.0);
    let variance = graph.shift(&minus, layer.kernel_diagonal);
    Ok((mean, graph.at_least(&variance, layer.least_variance)))
}

/// `mean + m(x)`.
fn with_mean_function(graph: &mut Graph, layer: &ExplicitLayer, x: &Tensor, mean: Tensor) -> Tensor {
    let (from, to) = (layer.inducing.ncols(), layer.weights.ncols());
    match &layer.mean_function {
        MeanFunction::Zero => mean,
        MeanFunction::Identity => graph.add(&mean, x),
        MeanFunction::ZeroPadding => {
            let padding = graph.matrix(&Mat::from_fn(from, to, |i, j| f64::from(u8::from(i == j))));
            let padded = graph.product(x, &padding);
            graph.add(&mean, &padded)
        }
        MeanFunction::Linear(w) => {
            let w = graph.matrix(w);
            let linear = graph.product(x, &w);
            graph.add(&mean, &linear)
        }
    }
}

/// `A G_p Aᵀ` of each row and output, `[N, P]`, for `A` `[N, M_b]`.
fn explained(graph: &mut Graph, shares: &ExplicitShares, a: &Tensor) -> Tensor {
    match shares {
        ExplicitShares::Diagonal(g) => {
            let squares = graph.multiply(a, a);
            let g = graph.matrix(&g.transposed());
            graph.product(&squares, &g)
        }
        ExplicitShares::Dense(g) => {
            let (m_b, outputs) = (g.nrows() as i64, (g.ncols() / g.nrows()) as i64);
            let g = graph.matrix(g);
            let q = graph.product(a, &g);
            let q = graph.reshape(&q, &[-1, outputs, m_b]);
            let a = graph.reshape(a, &[-1, 1, m_b]);
            let terms = graph.multiply(&q, &a);
            let forms = graph.sum(&terms, 2);
            graph.reshape(&forms, &[-1, outputs])
        }
    }
}

/// `f = mean + √variance ∘ ε`, `[N·S, P]`: at the first layer each row becomes `S`, and later each has its sample already.
fn sampled(graph: &mut Graph, mean: &Tensor, variance: &Tensor, noise: &Mat, first: bool) -> Tensor {
    let (samples, width) = (noise.nrows(), noise.ncols());
    let by_samples = [-1, if first { 1 } else { samples as i64 }, width as i64];
    let deviation = graph.root(variance);
    let deviation = graph.reshape(&deviation, &by_samples);
    let mean = graph.reshape(mean, &by_samples);
    let noise = graph.constant(&[1, samples, width], noise.as_slice());
    let away = graph.multiply(&deviation, &noise);
    let f = graph.add(&mean, &away);
    graph.reshape(&f, &[-1, width as i64])
}
