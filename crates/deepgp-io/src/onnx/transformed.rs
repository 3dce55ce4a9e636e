//! Mean and standard deviation of targets that were transformed, in the user's units: by quadrature over each Gaussian part, seen through the inverse of the
//! transform, with the library's own nodes.
//!
//! ```text
//! E y = Σ_s ω_s Σ_j ω_j Σ_k w_k y(m_s + √(v_s + noise_sj) x_k)
//! ```

use deepgp::likelihood::GaussHermite;
use deepgp::{Standardiser, TargetTransform};

use super::graph::{Graph, Tensor};

/// The nodes of the quadrature over a Gaussian part, as many as the library takes.
const NODES: usize = 20;

/// The Gaussians over one target of which a row's distribution is a mixture, in the model's units.
#[derive(Debug)]
pub struct Parts {
    /// Their means, `[N, S, 1]`.
    pub mean: Tensor,
    /// For each way that the noise may be its share, and the variance of the parts then, `[N, S, 1]`.
    pub spreads: Vec<(f64, Tensor)>,
}

/// Whether a transform has an inverse that is written, and is smooth enough for quadrature.
pub fn is_written(transform: &TargetTransform) -> bool {
    match transform {
        TargetTransform::Identity | TargetTransform::Log | TargetTransform::Log1p | TargetTransform::YeoJohnson(_) => {
            true
        }
        TargetTransform::Quantile(_) => false,
    }
}

/// Mean and standard deviation of target `p`, `[N, 1]` each, from the parts and their weights `[1, S, 1]`.
pub fn moments(graph: &mut Graph, units: &Standardiser, p: usize, parts: &Parts, weights: &Tensor) -> (Tensor, Tensor) {
    let rule: Vec<(f64, f64)> = GaussHermite::new(NODES).points().collect();
    let nodes = graph.constant(&[1, 1, NODES], &rule.iter().map(|(node, _)| *node).collect::<Vec<_>>());
    let shares = graph.constant(&[1, 1, NODES], &rule.iter().map(|(_, weight)| *weight).collect::<Vec<_>>());
    // Each with the weight of its part and node.
    let values: Vec<(f64, Tensor)> = parts
        .spreads
        .iter()
        .map(|(share, variance)| {
            let deviation = graph.root(variance);
            let away = graph.multiply(&deviation, &nodes);
            let v = graph.add(&parts.mean, &away);
            let scaled = graph.scale(&v, units.y.scale[p]);
            let z = graph.shift(&scaled, units.y.shift[p]);
            (*share, inverse(graph, units.transform_of(p), &z))
        })
        .collect();
    let average = |graph: &mut Graph, of: &mut dyn FnMut(&mut Graph, &Tensor) -> Tensor| {
        let terms: Vec<Tensor> = values
            .iter()
            .map(|(share, y)| {
                let own = of(graph, y);
                let weighted = graph.multiply(&own, &shares);
                let over_nodes = graph.sum(&weighted, 2);
                let over_nodes = graph.multiply(&over_nodes, weights);
                let over_parts = graph.sum(&over_nodes, 1);
                graph.scale(&over_parts, *share)
            })
            .collect();
        terms.into_iter().reduce(|a, b| graph.add(&a, &b)).expect("a mixture has parts")
    };
    let mean = average(graph, &mut |_, y| y.clone());
    let variance = average(graph, &mut |graph, y| {
        let away = graph.subtract(y, &mean);
        graph.multiply(&away, &away)
    });
    let mean = graph.reshape(&mean, &[-1, 1]);
    let variance = graph.reshape(&variance, &[-1, 1]);
    (mean, graph.root(&variance))
}

/// The value of which `z` is the transform.
fn inverse(graph: &mut Graph, transform: &TargetTransform, z: &Tensor) -> Tensor {
    let less_one = |graph: &mut Graph, logarithm: &Tensor| {
        let power = graph.exp(logarithm);
        graph.shift(&power, -1.0)
    };
    match transform {
        TargetTransform::Identity => z.clone(),
        TargetTransform::Log => graph.exp(z),
        TargetTransform::Log1p => less_one(graph, z),
        TargetTransform::YeoJohnson(own) => {
            let [lambda, origin, scale] = own.parameters();
            // (1 + p z)^(1/p) − 1 of what is above 0 on either side: it is 0 on the other.
            let mut side = |sign: f64, p: f64| {
                let signed = graph.scale(z, sign);
                let above = graph.at_least(&signed, 0.0);
                if p == 0.0 {
                    return less_one(graph, &above);
                }
                let scaled = graph.scale(&above, p);
                let more = graph.shift(&scaled, 1.0);
                let logarithm = graph.ln(&more);
                let root = graph.scale(&logarithm, 1.0 / p);
                less_one(graph, &root)
            };
            let (up, down) = (side(1.0, lambda), side(-1.0, 2.0 - lambda));
            let distance = graph.subtract(&up, &down);
            let scaled = graph.scale(&distance, scale);
            graph.shift(&scaled, origin)
        }
        TargetTransform::Quantile(_) => unreachable!("splines are refused: quadrature takes them for polynomials"),
    }
}
