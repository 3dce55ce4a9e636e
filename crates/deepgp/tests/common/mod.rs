//! Helpers that integration tests share: seeded models, naive dense algebra, gradient checks.
#![allow(dead_code, reason = "every test binary uses a part of it")]

pub mod dense;
pub mod npz;
pub mod processes;

use deepgp::kernel::SquaredExponential;
use deepgp::likelihood::{Gaussian, Likelihood};
use deepgp::noise::{Key, Purpose};
use deepgp::{
    Batch, CovarianceForm, Dataset, DeepGp, Inducing, Layer, LayerCovariance, LayerMean, Mat, MeanForm, MeanFunction,
    Noise,
};

pub const MEAN_FORMS: [MeanForm; 4] = [MeanForm::Whitened, MeanForm::Standard, MeanForm::Dual, MeanForm::ScaledDual];
/// The forms that can express any covariance.
pub const DENSE_FORMS: [CovarianceForm; 3] = [CovarianceForm::Standard, CovarianceForm::Whitened, CovarianceForm::Dual];
pub const COVARIANCE_FORMS: [CovarianceForm; 4] =
    [CovarianceForm::Standard, CovarianceForm::Whitened, CovarianceForm::Dual, CovarianceForm::Diagonal];

/// How the inducing inputs of mean and covariance stand to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sets {
    Tied,
    Decoupled,
    Nested,
}

pub const SETS: [Sets; 3] = [Sets::Tied, Sets::Decoupled, Sets::Nested];

/// Whether they are tied; decoupled if not.
impl From<bool> for Sets {
    fn from(tied: bool) -> Self {
        if tied { Self::Tied } else { Self::Decoupled }
    }
}

/// A `[rows, cols]` matrix of numbers in (−1, 1).
pub fn uniform(rows: usize, cols: usize, seed: u64) -> Mat {
    let key = Key::new(seed, Purpose::Simulate);
    Mat::from_fn(rows, cols, |i, j| 2.0 * key.uniform([i as u32, j as u32, 9, 0]) - 1.0)
}

/// Lower-triangular blocks with diagonals near `diagonal`.
pub fn lower(outputs: usize, m: usize, diagonal: f64, seed: u64) -> Mat {
    let u = uniform(outputs * m, m, seed);
    Mat::from_fn(outputs * m, m, |i, j| match j.cmp(&(i % m)) {
        std::cmp::Ordering::Less => 0.2 * u[(i, j)],
        std::cmp::Ordering::Equal => diagonal + 0.2 * u[(i, j)],
        std::cmp::Ordering::Greater => 0.0,
    })
}

/// A layer with nothing special about it: no gradient vanishes.
pub fn random_layer(
    widths: (usize, usize),
    forms: (MeanForm, CovarianceForm),
    sets: impl Into<Sets>,
    mean_function: MeanFunction,
    seed: u64,
) -> Layer {
    let (d, p) = widths;
    let sets = sets.into();
    let (m_a, m_b) = if sets == Sets::Tied { (4, 4) } else { (5, 3) };
    let inputs = uniform(m_a, d, seed + 1);
    let factor = match forms.1 {
        CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => lower(p, m_b, 0.6, seed + 4),
        CovarianceForm::Diagonal => uniform(p, m_b, seed + 4).map(|u: f64| 0.6 + 0.3 * u),
    };
    let lengthscales = uniform(1, d, seed).as_slice().iter().map(|u| 1.0 + 0.3 * u).collect();
    Layer {
        kernel: Box::new(SquaredExponential::new(0.9, lengthscales)),
        mean_function,
        inducing: match sets {
            Sets::Tied => Inducing::Tied(inputs),
            Sets::Decoupled => Inducing::Decoupled { mean: inputs, covariance: uniform(m_b, d, seed + 2) },
            Sets::Nested => Inducing::Nested { inputs, covariance: m_b },
        },
        mean: LayerMean { form: forms.0, free: uniform(m_a, p, seed + 3) },
        covariance: LayerCovariance { form: forms.1, factor },
    }
}

/// Two inputs, hidden layers of widths 3, 2, 3, … (padding, directions, padding), one output.
pub fn random_model(hidden: usize, forms: (MeanForm, CovarianceForm), sets: impl Into<Sets>, seed: u64) -> DeepGp {
    let sets = sets.into();
    let mut d = 2;
    let mut layers = Vec::new();
    for l in 0..=hidden {
        let p = if l == hidden { 1 } else { [3, 2][l % 2] };
        let mean_function = if l == hidden {
            MeanFunction::Zero
        } else if p < d {
            MeanFunction::principal_directions(uniform(9, d, seed + 7).view(), p).unwrap()
        } else {
            MeanFunction::ZeroPadding
        };
        layers.push(random_layer((d, p), forms, sets, mean_function, seed + 10 * l as u64));
        d = p;
    }
    DeepGp::new(layers, Box::new(Gaussian::new(0.3, 1))).unwrap()
}

pub fn random_data(rows: usize, seed: u64) -> Dataset {
    Dataset::new(uniform(rows, 2, seed), uniform(rows, 1, seed + 1)).unwrap()
}

pub fn all_rows(data: &Dataset) -> Vec<u32> {
    (0..data.len() as u32).collect()
}

pub fn full_batch<'a>(data: &'a Dataset, rows: &'a [u32]) -> Batch<'a> {
    Batch::of(data, rows)
}

pub fn training_noise(seed: u64) -> Noise<'static> {
    Noise::Rows { key: Key::new(seed, Purpose::Train), step: 0 }
}

/// Perturbs every entry of every parameter and compares the slope of the ELBO with its gradient; names the one that is off.
pub fn assert_gradient(what: &str, model: &DeepGp, batch: Batch<'_>, noise: Noise<'_>, tolerance: f64) {
    let (elbo, gradient) = model.objective_gradient(batch, noise).unwrap();
    assert_eq!(elbo.clamped, 0, "{what}: a clamped variance has no slope");
    let objective = |model: &DeepGp| {
        let elbo = model.objective(batch, noise).unwrap();
        elbo.data_term - batch.kl_weight * elbo.kl.iter().sum::<f64>()
    };
    for parameter in model.parameters() {
        let own = &gradient[parameter.range.clone()];
        let scale = own.iter().fold(1.0f64, |a, b| a.max(b.abs()));
        assert!(own.iter().any(|g| *g != 0.0), "{what}: nothing reaches {}", parameter.name);
        for (i, &found) in own.iter().enumerate() {
            if !parameter.constraint.is_free(i) {
                assert_eq!(found, 0.0, "{what}: {} moves above its diagonal", parameter.name);
                continue;
            }
            let step = 1e-5 * parameter.values[i].abs().max(0.1);
            let moved = |by: f64| {
                let mut values = parameter.values.clone();
                values[i] += by;
                let mut copy = model.clone();
                copy.set_parameter(&parameter.name, &values).unwrap();
                objective(&copy)
            };
            let slope = (moved(step) - moved(-step)) / (2.0 * step);
            assert!(
                (slope - found).abs() < tolerance * scale,
                "{what}: {}[{i}] has gradient {found}, but slope {slope}",
                parameter.name
            );
        }
    }
}

/// The same model with another likelihood.
pub fn with_likelihood(model: &DeepGp, likelihood: Box<dyn Likelihood>) -> DeepGp {
    DeepGp::new(model.layers().to_vec(), likelihood).unwrap()
}

pub fn close(what: &str, a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{what}: {a} against {b}");
}

pub fn all_close(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        close(&format!("{what}[{i}]"), *a, *b, tolerance);
    }
}
