//! What is told of observations: the mean and the standard deviation of `y`, in the user's units.

use deepgp::likelihood::{GaussHermite, Heteroscedastic, Latent, LikelihoodDescription};
use deepgp::{ExplicitModel, Regressor, TargetTransform};

use super::OnnxError;
use super::graph::{Graph, Tensor};
use super::layers::Mixture;
use super::transformed::{self, Parts};

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
        Some(LikelihoodDescription::Bernoulli { .. } | LikelihoodDescription::Softmax { .. }) => return Ok(()),
        Some(
            LikelihoodDescription::Ordered { .. }
            | LikelihoodDescription::Poisson
            | LikelihoodDescription::NegativeBinomial,
        )
        | None => {
            let advice = "models of numbers and of classes without an order are; for the others take `deepgp predict`, `deepgp serve` or the Python package";
            return unsupported(format!("the likelihood {}", likelihood.name()), advice);
        }
    }
    let units = &regressor.standardiser;
    let transforms = || (0..units.y.scale.len()).map(|p| units.transform_of(p));
    let elsewhere =
        "fit it with another --transform-target, or take `deepgp predict`, `deepgp serve` or the Python package";
    if let Some(own) = transforms().find(|own| !transformed::is_written(own)) {
        return unsupported(format!("targets that are transformed by `{}`", own.choice().name()), elsewhere);
    }
    let bent = transforms().any(|own| *own != TargetTransform::Identity);
    if bent && matches!(likelihood.description(), Some(LikelihoodDescription::StudentT { .. })) {
        return unsupported("targets that are transformed, with the likelihood student-t".into(), elsewhere);
    }
    Ok(())
}

/// Mean and standard deviation of each target, `[N, P]` each: `m = Σ_s ω_s m_s` and `Σ_s ω_s (v_s + (m_s − m)²)`, of which the spread takes `v_s` and
/// `m_s − m` to as many times as much.
pub fn moments(graph: &mut Graph, regressor: &Regressor, model: &ExplicitModel, mixture: &Mixture) -> (Tensor, Tensor) {
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
    let mixture_mean = mean.clone();
    let away = graph.subtract(&f_mean, &mean);
    let squares = graph.multiply(&away, &away);
    let around = graph.add(&f_variance, &squares);
    let of_f = average(graph, &around);
    let factors = regressor.spread.factors();
    let squared_factors: Vec<f64> = (0..targets).map(|p| factors.get(p).map_or(1.0, |own| own * own)).collect();
    // The share of each way that the noise may be, and its variance then.
    let noises: Vec<(f64, Tensor)> = if follows {
        following_noise(graph, likelihood.noise_level().unwrap_or_default(), &squared_factors, mixture)
    } else {
        // The same for every row: what is left where f is known.
        let (zero, mut at, mut noise) = (vec![0.0; targets], vec![0.0; targets], vec![0.0; targets]);
        likelihood.observed_moments(Latent { mean: &zero, variance: &zero }, &mut at, &mut noise);
        let widened: Vec<f64> = noise.iter().zip(&squared_factors).map(|(noise, factor)| noise * factor).collect();
        vec![(1.0, graph.constant(&[1, 1, targets], &widened))]
    };
    let terms: Vec<Tensor> = noises.iter().map(|(share, noise)| graph.scale(noise, *share)).collect();
    let expected = terms.into_iter().reduce(|a, b| graph.add(&a, &b)).expect("a rule has nodes");
    let noise = if follows { average(graph, &expected) } else { expected };
    let squared_factors = graph.constant(&[1, 1, targets], &squared_factors);
    let widened = graph.multiply(&of_f, &squared_factors);
    let variance = graph.add(&widened, &noise);
    let flat = [-1, targets as i64];
    let (mean, variance) = (graph.reshape(&mean, &flat), graph.reshape(&variance, &flat));
    let deviation = graph.root(&variance);
    let (scale, shift) = (graph.row(&units.scale), graph.row(&units.shift));
    let of_all = (graph.multiply(&mean, &scale), graph.multiply(&deviation, &scale));
    let of_all = (graph.add(&of_all.0, &shift), of_all.1);
    if regressor.standardiser.transform.is_none() {
        return of_all;
    }
    // The parts, widened around their mean.
    let widened = graph.multiply(&f_variance, &squared_factors);
    let factors = graph.root(&squared_factors);
    let stretched = graph.multiply(&away, &factors);
    let by_parts = graph.reshape(&mixture_mean, &[-1, 1, targets as i64]);
    let centred = graph.add(&by_parts, &stretched);
    let of_target = |graph: &mut Graph, of: &Tensor, p: usize| graph.range(of, p, p + 1, 2, 1);
    let each: Vec<(Tensor, Tensor)> = (0..targets)
        .map(|p| match regressor.standardiser.transform_of(p) {
            TargetTransform::Identity => (graph.columns(&of_all.0, p, p + 1), graph.columns(&of_all.1, p, p + 1)),
            _ => {
                let (mean, variance) = (of_target(graph, &centred, p), of_target(graph, &widened, p));
                let spread = |(share, noise): &(f64, Tensor)| {
                    let noise = of_target(graph, noise, p);
                    (*share, graph.add(&variance, &noise))
                };
                let parts = Parts { mean, spreads: noises.iter().map(spread).collect() };
                transformed::moments(graph, &regressor.standardiser, p, &parts, &weights)
            }
        })
        .collect();
    let (means, deviations): (Vec<&Tensor>, Vec<&Tensor>) = each.iter().map(|(mean, std)| (mean, std)).unzip();
    (graph.join(&means, 1), graph.join(&deviations, 1))
}

/// The noise variance `exp(ln noise + g)` of each part, `[N, S, P]`, at each node of the likelihood's own quadrature and between its own bounds, with the
/// node's weight.
fn following_noise(graph: &mut Graph, level: &[f64], squared_factors: &[f64], mixture: &Mixture) -> Vec<(f64, Tensor)> {
    let targets = level.len();
    let mut every_other = |of: &Tensor| graph.range(of, 1, 2 * targets, 2, 2);
    let (mean, variance) = (every_other(&mixture.mean), every_other(&mixture.variance));
    let logs: Vec<f64> = level.iter().zip(squared_factors).map(|(noise, factor)| (noise * factor).ln()).collect();
    let logs = graph.constant(&[1, 1, targets], &logs);
    let (centre, deviation) = (graph.add(&mean, &logs), graph.root(&variance));
    let (least, most) = Heteroscedastic::NOISE_BOUNDS;
    let rule = GaussHermite::new(Heteroscedastic::NODES);
    rule.points()
        .map(|(node, weight)| {
            let away = graph.scale(&deviation, node);
            let logarithm = graph.add(&centre, &away);
            let within = graph.clip(&logarithm, least.ln(), most.ln());
            (weight, graph.exp(&within))
        })
        .collect()
}
