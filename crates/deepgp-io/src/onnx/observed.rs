//! What is told of observations: the mean and the standard deviation of `y`, in the user's units.

use deepgp::likelihood::{GaussHermite, Heteroscedastic, Latent, LikelihoodDescription};
use deepgp::{ExplicitModel, Regressor};

use super::OnnxError;
use super::graph::{Graph, Tensor};
use super::layers::Mixture;

/// Fails if observations of the model have no mean and standard deviation by a formula that is written here.
pub fn check(regressor: &Regressor) -> Result<(), OnnxError> {
    let likelihood = regressor.model.likelihood();
    let unsupported = |what: String, advice| Err(OnnxError::Unsupported { what, advice });
    match likelihood.description() {
        Some(
            LikelihoodDescription::Gaussian { .. }
            | LikelihoodDescription::Heteroscedastic { .. }
            | LikelihoodDescription::StudentT { .. },
        ) => {}
        Some(
            LikelihoodDescription::Bernoulli { .. }
            | LikelihoodDescription::Softmax { .. }
            | LikelihoodDescription::Ordered { .. }
            | LikelihoodDescription::Poisson
            | LikelihoodDescription::NegativeBinomial,
        )
        | None => {
            let advice = "models of numbers are; for classes and counts take `deepgp predict`, `deepgp serve` or the Python package";
            return unsupported(format!("the likelihood {}", likelihood.name()), advice);
        }
    }
    if regressor.standardiser.transform.is_some() {
        let advice =
            "fit it with --transform-target none, or take `deepgp predict`, `deepgp serve` or the Python package";
        return unsupported("targets that are transformed".into(), advice);
    }
    Ok(())
}

/// Mean and standard deviation of each target, `[N, P]` each: `m = Σ_s ω_s m_s` and `Σ_s ω_s (v_s + (m_s − m)²)`, of which the spread takes `v_s` and
/// `m_s − m` to as many times as much.
pub fn moments(
    graph: &mut Graph,
    regressor: &Regressor,
    model: &ExplicitModel,
    mixture: &Mixture,
) -> Result<(Tensor, Tensor), OnnxError> {
    let (likelihood, units) = (regressor.model.likelihood(), &regressor.standardiser.y);
    let (parts, targets) = (model.weights.len(), units.scale.len());
    let weights = graph.constant(&[1, parts, 1], &model.weights);
    // Where noise follows the inputs, f and g stand by turns.
    let follows = likelihood.noise_level().is_some();
    let (f_mean, f_variance) = if follows {
        let every_other = |graph: &mut Graph, of: &Tensor| graph.range(of, 0, 2 * targets, 2, 2);
        (every_other(graph, &mixture.mean), every_other(graph, &mixture.variance))
    } else {
        (mixture.mean.clone(), mixture.variance.clone())
    };
    let average = |graph: &mut Graph, of: &Tensor| {
        let weighted = graph.multiply(of, &weights);
        graph.sum(&weighted, 1)
    };
    let mean = average(graph, &f_mean);
    let away = graph.subtract(&f_mean, &mean);
    let squares = graph.multiply(&away, &away);
    let around = graph.add(&f_variance, &squares);
    let of_f = average(graph, &around);
    let factors = regressor.spread.factors();
    let squared_factors: Vec<f64> = (0..targets).map(|p| factors.get(p).map_or(1.0, |own| own * own)).collect();
    let noise = if follows {
        let noise = following_noise(graph, likelihood.noise_level().unwrap_or_default(), &squared_factors, mixture);
        average(graph, &noise)
    } else {
        // The same for every row: what is left where f is known.
        let (zero, mut at, mut noise) = (vec![0.0; targets], vec![0.0; targets], vec![0.0; targets]);
        likelihood.observed_moments(Latent { mean: &zero, variance: &zero }, &mut at, &mut noise);
        let widened: Vec<f64> = noise.iter().zip(&squared_factors).map(|(noise, factor)| noise * factor).collect();
        graph.constant(&[1, 1, targets], &widened)
    };
    let squared_factors = graph.constant(&[1, 1, targets], &squared_factors);
    let widened = graph.multiply(&of_f, &squared_factors);
    let variance = graph.add(&widened, &noise);
    let flat = [-1, targets as i64];
    let (mean, variance) = (graph.reshape(&mean, &flat), graph.reshape(&variance, &flat));
    let deviation = graph.root(&variance);
    let (scale, shift) = (graph.row(&units.scale), graph.row(&units.shift));
    let mean = graph.multiply(&mean, &scale);
    Ok((graph.add(&mean, &shift), graph.multiply(&deviation, &scale)))
}

/// The expected noise variance `E exp(ln noise + g)` of each part, `[N, S, P]`, by the likelihood's own quadrature and between its own bounds.
fn following_noise(graph: &mut Graph, level: &[f64], squared_factors: &[f64], mixture: &Mixture) -> Tensor {
    let targets = level.len();
    let mut every_other = |of: &Tensor| graph.range(of, 1, 2 * targets, 2, 2);
    let (mean, variance) = (every_other(&mixture.mean), every_other(&mixture.variance));
    let logs: Vec<f64> = level.iter().zip(squared_factors).map(|(noise, factor)| (noise * factor).ln()).collect();
    let logs = graph.constant(&[1, 1, targets], &logs);
    let (centre, deviation) = (graph.add(&mean, &logs), graph.root(&variance));
    let (least, most) = Heteroscedastic::NOISE_BOUNDS;
    let rule = GaussHermite::new(Heteroscedastic::NODES);
    let terms: Vec<Tensor> = rule
        .points()
        .map(|(node, weight)| {
            let away = graph.scale(&deviation, node);
            let logarithm = graph.add(&centre, &away);
            let within = graph.clip(&logarithm, least.ln(), most.ln());
            let noise = graph.exp(&within);
            graph.scale(&noise, weight)
        })
        .collect();
    terms.into_iter().reduce(|a, b| graph.add(&a, &b)).expect("a rule has nodes")
}
