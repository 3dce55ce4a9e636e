//! How the ELBO pulls at the inducing inputs of each layer.
//!
//! The gradient in an inducing input is taken per lengthscale, `g_d ℓ_d`, so that it says how many nats are gained by a move that the
//! kernel notices, whatever the units of the layer's inputs. Beside it stands that of the whitened mean, whose unit is a prior
//! standard deviation.

use deepgp::noise::{Key, Purpose};
use deepgp::params::Parameter;
use deepgp::{Batch, Dataset, DeepGp, Noise, Result, TrainSettings};
use serde::{Deserialize, Serialize};

use crate::reproduce::runs::journal::six_digits;

/// Steps beyond any run's, whose noise training does not use.
const UNUSED: [u32; 2] = [u32::MAX, u32::MAX - 1];

/// How large the gradient in one set of parameters is, and how far two estimates of it agree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradientStatistics {
    /// Root mean square of the entries of the mean of two estimates, in nats: where the two disagree, much of it is
    /// noise.
    #[serde(serialize_with = "six_digits")]
    pub size: f64,
    /// The cosine between the two estimates: from other samples, and other minibatches where there are several.
    #[serde(serialize_with = "six_digits")]
    pub agreement: f64,
}

/// The gradients of one layer, and how far its inducing inputs have moved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerGradient {
    /// The gradient in `Z_a`, per lengthscale.
    pub mean_inducing: GradientStatistics,
    /// The gradient in `Z_b`, per lengthscale.
    pub covariance_inducing: GradientStatistics,
    /// The gradient in the whitened mean.
    pub mean: GradientStatistics,
    /// Root mean square of the distances of the points of `Z_a` from where they started, in lengthscales.
    #[serde(serialize_with = "six_digits")]
    pub mean_moved: f64,
    /// Root mean square of the distances of the points of `Z_b` from where they started, in lengthscales.
    #[serde(serialize_with = "six_digits")]
    pub covariance_moved: f64,
}

/// The names of all parameters that are inducing inputs.
pub fn inducing_names(model: &DeepGp) -> Vec<String> {
    model.parameters().into_iter().map(|p| p.name).filter(|name| name.ends_with("inducing")).collect()
}

/// The gradients of each layer of `model`, which started as `first`.
pub fn gradients(
    model: &DeepGp,
    first: &DeepGp,
    data: &Dataset,
    settings: &TrainSettings,
) -> Result<Vec<LayerGradient>> {
    let [one, two] = [estimate(model, data, settings, 0)?, estimate(model, data, settings, 1)?];
    let (now, start) = (model.parameters(), first.parameters());
    let of = |list: &[Parameter], name: &str| list.iter().find(|p| p.name == name).cloned();
    let layer = |l: usize| {
        let lengthscales = of(&now, &format!("layers.{l}.kernel.lengthscales"))?.values;
        let pull = |name: &str, units: &[f64]| {
            let range = of(&now, &format!("layers.{l}.{name}"))?.range;
            Some(compare(&one[range.clone()], &two[range], units))
        };
        let moved = |name: &str| {
            let name = format!("layers.{l}.{name}");
            let (to, from) = (of(&now, &name)?.values, of(&start, &name)?.values);
            let steps =
                to.iter().zip(&from).zip(lengthscales.iter().cycle()).map(|((to, from), ell)| (to - from) / ell);
            // Over points, not over coordinates.
            Some(root_mean_square(steps) * (lengthscales.len() as f64).sqrt())
        };
        Some(LayerGradient {
            mean_inducing: pull("mean_inducing", &lengthscales)?,
            covariance_inducing: pull("covariance_inducing", &lengthscales)?,
            mean: pull("mean.free", &[1.0])?,
            mean_moved: moved("mean_inducing")?,
            covariance_moved: moved("covariance_inducing")?,
        })
    };
    Ok((0..model.layers().len()).filter_map(layer).collect())
}

/// An estimate of the gradient from one minibatch and its noise; `which` is the first or the second.
fn estimate(model: &DeepGp, data: &Dataset, settings: &TrainSettings, which: usize) -> Result<Vec<f64>> {
    let stride = settings.batches(data.len());
    let rows: Vec<u32> = (which % stride..data.len()).step_by(stride).map(|i| i as u32).collect();
    let batch = Batch { samples: settings.samples, ..Batch::of(data, &rows) };
    let noise = Noise::Rows { key: Key::new(settings.seed, Purpose::Train), step: UNUSED[which] };
    Ok(model.objective_gradient(batch, noise)?.1)
}

/// The size of the mean of two estimates, and their cosine, with entries in `units`, which repeat.
fn compare(one: &[f64], two: &[f64], units: &[f64]) -> GradientStatistics {
    let scaled = |g: &[f64]| g.iter().zip(units.iter().cycle()).map(|(g, unit)| g * unit).collect::<Vec<f64>>();
    let (one, two) = (scaled(one), scaled(two));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let norms = (dot(&one, &one) * dot(&two, &two)).sqrt();
    let agreement = if norms > 0.0 { dot(&one, &two) / norms } else { 0.0 };
    GradientStatistics { size: root_mean_square(one.iter().zip(&two).map(|(a, b)| 0.5 * (a + b))), agreement }
}

fn root_mean_square(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), v| (sum + v * v, count + 1));
    (sum / f64::from(count.max(1))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::{InducingSize, ModelSettings, simulate};

    #[test]
    fn a_pull_is_measured_in_its_units() {
        let pull = compare(&[3.0, 0.0, 0.0, 1.0], &[3.0, 0.0, 0.0, -1.0], &[2.0, 5.0]);
        assert_eq!(pull.size, 3.0); // the mean is (6, 0, 0, 0)
        assert!((pull.agreement - (36.0 - 25.0) / (36.0 + 25.0)).abs() < 1e-15);
    }

    #[test]
    fn the_gradient_per_lengthscale_is_what_a_move_gains() {
        let data = simulate::step_curve(60, 1);
        let inducing = InducingSize::decoupled(7, 4);
        let settings = ModelSettings { hidden_layers: 0, inducing, ..ModelSettings::plain() };
        let first = DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
        let mut model = first.clone();
        let name = "layers.0.mean.free";
        model.set_parameter(name, &[0.5, -1.0, 0.3, 0.8, -0.2, 0.1, 0.4]).unwrap();
        let train = TrainSettings::plain();
        let own = gradients(&model, &first, &data, &train).unwrap();
        assert_eq!(own.len(), 1);
        // Nothing is sampled without hidden layers, and there is one minibatch: both estimates are the same.
        assert!((own[0].mean_inducing.agreement - 1.0).abs() < 1e-12);
        assert_eq!((own[0].mean_moved, own[0].covariance_moved), (0.0, 0.0));
        let parameters = model.parameters();
        let find = |name: &str| parameters.iter().find(|p| p.name == name).unwrap();
        let (z, ell) = (find("layers.0.mean_inducing").values.clone(), find("layers.0.kernel.lengthscales").values[0]);
        let elbo = |model: &DeepGp| {
            let rows: Vec<u32> = (0..60).collect();
            let batch = Batch { num_data: 60, ..Batch::of(&data, &rows) };
            let noise = Noise::Rows { key: Key::new(0, Purpose::Train), step: 0 };
            model.objective_gradient(batch, noise).unwrap().0.total()
        };
        let slope = |i: usize| {
            let at = |by: f64| {
                let (mut moved, mut to) = (model.clone(), z.clone());
                to[i] += by * ell;
                moved.set_parameter("layers.0.mean_inducing", &to).unwrap();
                elbo(&moved)
            };
            (at(1e-5) - at(-1e-5)) / 2e-5
        };
        let expected = root_mean_square((0..7).map(slope));
        assert!((own[0].mean_inducing.size / expected - 1.0).abs() < 1e-6, "{} {expected}", own[0].mean_inducing.size);
    }
}
