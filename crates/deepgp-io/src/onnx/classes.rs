//! What is told of classes: the probability of each, averaged over the mixture's parts and sharpened.
//!
//! ```text
//! probit    E Φ(x)       = Φ(m / √(1 + v))                                       x ~ N(m, v)
//! logit     E σ(x)       = Σ_k w_k σ(m + √v z_k)
//! softmax   E softmax_c  = Σ_i h E[x_c exp(−x_c)] Π_{j≠c} E exp(−x_j)             x_j = exp(u_i + f_j)
//! ```
//!
//! The last is the race of the library's softmax (`likelihood/race.rs`): a sum over times `u_i`, in which each class has an expectation of its own, a sum over a
//! lattice `z_k`. Where the library chooses both lattices for each row, here they are those of the largest deviation that the last layer can have.

use deepgp::likelihood::{LikelihoodDescription, Link};
use deepgp::{ExplicitLayer, ExplicitModel, ExplicitShares, Regressor};

use super::graph::{Graph, Tensor};
use super::layers::Mixture;

/// The `z` beyond which a Gaussian has nothing that counts.
const REACH: f64 = 6.5;
/// The step of the lattice over a Gaussian, in units of the deviation, and in those of the function that is averaged.
const LARGEST_STEP: f64 = 0.8;
const FINEST_STEP: f64 = 0.5;
/// The step of the times of a race.
const STEP_OF_TIMES: f64 = 0.5;
/// The logarithm of what is negligible.
const NEGLIGIBLE: f64 = 18.0;
/// The largest standard deviation that counts, as in the library.
const LARGEST_DEVIATION: f64 = 10.0;

/// A likelihood of classes whose probabilities are written.
#[derive(Clone, Debug)]
pub enum Classes {
    /// Two classes: a link of one function and a level.
    Two(Link, f64),
    /// Several: a level for each.
    Several(Vec<f64>),
}

impl Classes {
    /// The classes of a model, if it has some that are written.
    pub fn of(regressor: &Regressor) -> Option<Self> {
        let likelihood = regressor.model.likelihood();
        let mut levels = Vec::new();
        likelihood.clone_box().visit(&mut |leaf| levels.extend_from_slice(leaf.values));
        match likelihood.description()? {
            LikelihoodDescription::Bernoulli { link } => Some(Self::Two(link, *levels.first()?)),
            LikelihoodDescription::Softmax { .. } => Some(Self::Several(levels)),
            LikelihoodDescription::Gaussian { .. }
            | LikelihoodDescription::Heteroscedastic { .. }
            | LikelihoodDescription::StudentT { .. }
            | LikelihoodDescription::Ordered { .. }
            | LikelihoodDescription::Poisson
            | LikelihoodDescription::NegativeBinomial => None,
        }
    }

    /// The number of classes.
    pub fn count(&self) -> usize {
        match self {
            Self::Two(..) => 2,
            Self::Several(levels) => levels.len(),
        }
    }

    /// The probability of each class, `[N, C]`.
    pub fn probabilities(
        &self,
        graph: &mut Graph,
        regressor: &Regressor,
        model: &ExplicitModel,
        mixture: &Mixture,
    ) -> Tensor {
        let largest = largest_deviation(model.layers.last().expect("a model has a layer"));
        let of_parts = match self {
            Self::Two(link, level) => {
                let mean = graph.shift(&mixture.mean, *level);
                two(graph, *link, &mean, &mixture.variance, largest)
            }
            Self::Several(levels) if levels.len() == 2 => {
                // The logit of the difference.
                let part = |graph: &mut Graph, of: &Tensor, c: usize| graph.range(of, c, c + 1, 2, 1);
                let means = [0, 1].map(|c| part(graph, &mixture.mean, c));
                let variances = [0, 1].map(|c| part(graph, &mixture.variance, c));
                let difference = graph.subtract(&means[1], &means[0]);
                let mean = graph.shift(&difference, levels[1] - levels[0]);
                let variance = graph.add(&variances[0], &variances[1]);
                two(graph, Link::Logit, &mean, &variance, std::f64::consts::SQRT_2 * largest)
            }
            Self::Several(levels) => race(graph, levels, mixture, largest),
        };
        let weights = graph.constant(&[1, model.weights.len(), 1], &model.weights);
        let weighted = graph.multiply(&of_parts, &weights);
        let averaged = graph.sum(&weighted, 1);
        let p = graph.reshape(&averaged, &[-1, self.count() as i64]);
        sharpened(graph, p, regressor.sharpness.power())
    }
}

/// `p^κ / Σ_c p_c^κ`.
fn sharpened(graph: &mut Graph, p: Tensor, power: f64) -> Tensor {
    if power == 1.0 {
        return p;
    }
    let logarithm = graph.ln(&p);
    let scaled = graph.scale(&logarithm, power);
    let powers = graph.exp(&scaled);
    let total = graph.sum(&powers, 1);
    graph.divide(&powers, &total)
}

/// The probabilities of two classes by the function `[N, S, 1]` of the second one: `[N, S, 2]`.
fn two(graph: &mut Graph, link: Link, mean: &Tensor, variance: &Tensor, largest: f64) -> Tensor {
    let second = match link {
        Link::Probit => {
            let whole = graph.shift(variance, 1.0);
            let deviation = graph.root(&whole);
            let x = graph.divide(mean, &deviation);
            standard_cumulative(graph, &x)
        }
        Link::Logit => {
            // A logistic function bends over lengths of two.
            let (nodes, weights) = lattice(0.5 * largest);
            let count = nodes.len();
            let (nodes, weights) = (graph.constant(&[1, 1, count], &nodes), graph.constant(&[1, 1, count], &weights));
            let deviation = graph.root(variance);
            let away = graph.multiply(&deviation, &nodes);
            let x = graph.add(mean, &away);
            let minus = graph.scale(&x, -1.0);
            let power = graph.exp(&minus);
            let below = graph.shift(&power, 1.0);
            let terms = graph.divide(&weights, &below);
            graph.sum(&terms, 2)
        }
    };
    let minus = graph.scale(&second, -1.0);
    let first = graph.shift(&minus, 1.0);
    graph.join(&[&first, &second], 2)
}

/// The distribution function `Φ`: few runtimes have an error function of `f64`. With `z = |x|` and `s = 1` beyond 0, `Φ = s + (1 − 2s) Q(z)`, where `Q` is
/// the library's own tail.
fn standard_cumulative(graph: &mut Graph, x: &Tensor) -> Tensor {
    let minus = graph.scale(x, -1.0);
    let size = graph.larger(x, &minus);
    let z = graph.clip(&size, 0.0, deepgp::NORMAL_TAIL_REACH);
    let square = graph.multiply(&z, &z);
    let exponent = graph.scale(&square, -0.5);
    let power = graph.exp(&exponent);
    let density = graph.scale(&power, 1.0 / std::f64::consts::TAU.sqrt());
    let (less, more) = (graph.shift(&z, -4.0), graph.shift(&z, 4.0));
    let t = graph.divide(&less, &more);
    let [highest, rest @ ..] = &deepgp::NORMAL_TAIL;
    let mut tail = graph.number(*highest);
    for coefficient in rest {
        let higher = graph.multiply(&tail, &t);
        tail = graph.shift(&higher, *coefficient);
    }
    let product = graph.multiply(&density, &tail);
    let one_more = graph.shift(&z, 1.0);
    let beyond = graph.divide(&product, &one_more);
    let steep = graph.scale(x, 1e300);
    let side = graph.clip(&steep, 0.0, 1.0);
    let twice = graph.scale(&side, -2.0);
    let sign = graph.shift(&twice, 1.0);
    let signed = graph.multiply(&sign, &beyond);
    graph.add(&side, &signed)
}

/// Points and weights of a sum over a standard normal, for functions that bend over lengths of one where it has this deviation.
fn lattice(deviation: f64) -> (Vec<f64>, Vec<f64>) {
    let step = LARGEST_STEP.min(FINEST_STEP / deviation.max(f64::MIN_POSITIVE));
    let side = (REACH / step).ceil() as i32;
    let nodes: Vec<f64> = (-side..=side).map(|i| f64::from(i) * step).collect();
    let density = |z: &f64| step * (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    let weights: Vec<f64> = nodes.iter().map(density).collect();
    let total: f64 = weights.iter().sum();
    (nodes, weights.into_iter().map(|own| own / total).collect())
}

/// The probabilities of several classes in each part, `[N, S, C]`.
fn race(graph: &mut Graph, levels: &[f64], mixture: &Mixture, largest: f64) -> Tensor {
    let classes = levels.len();
    let levels = graph.constant(&[1, 1, classes], levels);
    let mean = graph.add(&mixture.mean, &levels);
    let of_class = |graph: &mut Graph, of: &Tensor, c: usize, axis: i64| graph.range(of, c, c + 1, axis, 1);
    let each: Vec<Tensor> = (0..classes).map(|c| of_class(graph, &mean, c, 2)).collect();
    let highest = each.into_iter().reduce(|a, b| graph.larger(&a, &b)).expect("there are classes");
    let mean = graph.subtract(&mean, &highest);
    let known = graph.clip(&mixture.variance, 0.0, LARGEST_DEVIATION * LARGEST_DEVIATION);
    let deviation = graph.root(&known);
    // [N·S, C, K].
    let (nodes, weights) = lattice(largest);
    let flat = [-1, classes as i64, 1];
    let (mean, deviation) = (graph.reshape(&mean, &flat), graph.reshape(&deviation, &flat));
    let (nodes, weights) =
        (graph.constant(&[1, 1, nodes.len()], &nodes), graph.constant(&[1, 1, weights.len()], &weights));
    let away = graph.multiply(&deviation, &nodes);
    let f = graph.add(&mean, &away);
    let rates = graph.exp(&f);
    // Before, no clock has rung; after, one has.
    let first = -(NEGLIGIBLE + 0.5 * largest * largest.min(2.0 * NEGLIGIBLE.sqrt()));
    let last = NEGLIGIBLE.ln() + REACH * largest;
    let times = ((last - first) / STEP_OF_TIMES).ceil() as usize;
    let mut total: Option<Tensor> = None;
    for i in 0..=times {
        let x = graph.scale(&rates, (first + i as f64 * STEP_OF_TIMES).exp());
        let minus = graph.scale(&x, -1.0);
        let silent = graph.exp(&minus);
        let weighted = graph.multiply(&silent, &weights);
        let ringing = graph.multiply(&weighted, &x);
        let (silent, ringing) = (graph.sum(&weighted, 2), graph.sum(&ringing, 2));
        let all: Vec<Tensor> = (0..classes).map(|c| of_class(graph, &silent, c, 1)).collect();
        // Of each class, all others are silent.
        let others: Vec<Tensor> = (0..classes)
            .map(|c| {
                let others = all.iter().enumerate().filter(|(j, _)| *j != c).map(|(_, own)| own.clone());
                others.reduce(|a, b| graph.multiply(&a, &b)).expect("there are two classes or more")
            })
            .collect();
        let others = graph.join(&others.iter().collect::<Vec<_>>(), 1);
        let wins = graph.multiply(&ringing, &others);
        total = Some(match total {
            None => wins,
            Some(before) => graph.add(&before, &wins),
        });
    }
    let total = total.expect("a race has times");
    let all = graph.sum(&total, 1);
    let p = graph.divide(&total, &all);
    graph.reshape(&p, &[-1, (mixture.parts) as i64, classes as i64])
}

/// The largest standard deviation that an output of a layer can have, up to one beyond which nothing is known of a class: with `|A|² ≤ k(x, x)`, which
/// projections see to, `variance = k(x, x) − A G Aᵀ` is no more than `k(x, x) (1 + max(0, −G))`.
fn largest_deviation(layer: &ExplicitLayer) -> f64 {
    let ExplicitShares::Diagonal(g) = &layer.explained else { return LARGEST_DEVIATION };
    if layer.projection.is_none() {
        return LARGEST_DEVIATION;
    }
    let least = g.as_slice().iter().copied().fold(0.0, f64::min);
    (layer.kernel_diagonal * (1.0 - least)).sqrt().min(LARGEST_DEVIATION)
}
