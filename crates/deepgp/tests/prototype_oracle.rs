//! Proves that data term, KL and every gradient are those of a second independent implementation (JAX, reverse mode), for all three
//! kinds of inducing inputs, both whitened covariances, Gaussian noise and noise that follows the inputs, and every objective.
//!
//! `prototype_oracle/SETS_COVARIANCE_LIKELIHOOD_OBJECTIVE_hHIDDEN.npz` hold parameters, rows, the noise of the hidden layers, and what a prototype
//! in JAX computed of them; the number after the objective is that of samples, or of sites (`dspp`). Mean and covariance are whitened. The
//! gradients of data term and KL are stored apart; those of lengthscales, variances and noise are with respect to their logarithms.
//! The files are some of the prototype's own, saved again without compression and without the terms of single rows; where
//! `DEEPGP_PROTOTYPE_ORACLE` names a folder, its files are taken in their place.
//! `benchmarks/peers/peer_jax.py --check` and `peer_torch.py --check` hold other programs against the same files.

mod common;

use std::path::PathBuf;

use common::npz::{self, Arrays};
use deepgp::kernel::SquaredExponential;
use deepgp::likelihood::{Gaussian, Heteroscedastic, Likelihood};
use deepgp::{
    Batch, CovarianceForm, Dataset, DeepGp, Inducing, Jitter, Layer, LayerCovariance, LayerMean, Mat, MeanForm,
    MeanFunction, Noise, ObjectiveForm, Sites,
};

/// What a file's arrays do not say: the objective, and how the likelihood is made of them.
struct Kind {
    /// The part of a file's name that says so.
    name: &'static str,
    /// The number of files in the repository that have it.
    files: usize,
    objective: ObjectiveForm,
    likelihood: fn(&Arrays) -> Box<dyn Likelihood>,
}

fn gaussian(arrays: &Arrays) -> Box<dyn Likelihood> {
    Box::new(Gaussian::new(arrays.scalar("ln").exp(), 1))
}

fn heteroscedastic(arrays: &Arrays) -> Box<dyn Likelihood> {
    Box::new(Heteroscedastic::new(arrays.scalar("ln").exp(), 1))
}

/// What the oracle stores of a parameter, and differentiates by.
#[derive(Clone, Copy)]
enum Scale {
    Value,
    Logarithm,
}

/// The number of hidden layers, each of which has a fixed mean function.
fn hidden_layers(arrays: &Arrays) -> usize {
    (0..).take_while(|i| arrays.has(&format!("skip{i}"))).count()
}

fn layer(arrays: &Arrays, index: usize) -> Layer {
    let name = |part: &str| format!("layer{index}.{part}");
    let exp = |part: &str| arrays.get(&name(part)).values.iter().map(|v| v.exp()).collect::<Vec<_>>();
    let covariance = if arrays.has(&name("Ld")) {
        LayerCovariance { form: CovarianceForm::Diagonal, factor: arrays.mat(&name("Ld")) }
    } else {
        LayerCovariance { form: CovarianceForm::Whitened, factor: arrays.mat(&name("Ls")) }
    };
    let covariance_inducing = covariance.factor.ncols();
    let inducing = if arrays.has(&name("Za")) {
        Inducing::Decoupled { mean: arrays.mat(&name("Za")), covariance: arrays.mat(&name("Zb")) }
    } else {
        let inputs = arrays.mat(&name("Z"));
        if inputs.nrows() == covariance_inducing {
            Inducing::Tied(inputs)
        } else {
            Inducing::Nested { inputs, covariance: covariance_inducing }
        }
    };
    let skip = format!("skip{index}");
    Layer {
        kernel: Box::new(SquaredExponential::new(exp("lv")[0], exp("ls"))),
        mean_function: if arrays.has(&skip) { MeanFunction::Linear(arrays.mat(&skip)) } else { MeanFunction::Zero },
        inducing,
        mean: LayerMean { form: MeanForm::Whitened, free: arrays.mat(&name("m")) },
        covariance,
    }
}

fn model(arrays: &Arrays, kind: &Kind) -> DeepGp {
    let layers = (0..=hidden_layers(arrays)).map(|index| layer(arrays, index)).collect();
    let jitter = Jitter { absolute: arrays.scalar("jitter"), relative: 0.0 };
    let sites = arrays.has("om").then(|| {
        let points = (0..hidden_layers(arrays)).map(|l| arrays.mat(&format!("xi.{l}"))).collect();
        Sites::new(points, arrays.get("om").values.clone()).unwrap()
    });
    let model = DeepGp::new(layers, (kind.likelihood)(arrays)).unwrap().with_sites(sites).unwrap();
    model.with_jitter(jitter).unwrap()
}

/// The noise of each hidden layer. The oracle stores sample after sample, we want the samples of a row together. Sites need none: what is
/// given then is not looked at.
fn noise(arrays: &Arrays, rows: usize, samples: usize) -> Vec<Mat> {
    if arrays.has("om") {
        return (0..hidden_layers(arrays))
            .map(|l| Mat::zeros(rows * samples, arrays.mat(&format!("xi.{l}")).ncols()))
            .collect();
    }
    let stored = (0..hidden_layers(arrays)).map(|i| arrays.mat(&format!("eps{i}")));
    let by_row =
        |eps: Mat| Mat::from_fn(rows * samples, eps.ncols(), |i, j| eps[(i % samples * rows + i / samples, j)]);
    stored.map(by_row).collect()
}

/// The oracle's name for one of our parameters, and what it stores of it.
fn translate(arrays: &Arrays, name: &str) -> (String, Scale) {
    match name {
        "likelihood.noise" => return ("ln".into(), Scale::Logarithm),
        "sites.logits" => return ("om".into(), Scale::Value),
        _ => {}
    }
    if let Some(layer) = name.strip_prefix("sites.points.") {
        return (format!("xi.{layer}"), Scale::Value);
    }
    let (layer, part) = name.strip_prefix("layers.").and_then(|rest| rest.split_once('.')).expect(name);
    let diagonal = arrays.has(&format!("layer{layer}.Ld"));
    let (theirs, scale) = match part {
        "kernel.lengthscales" => ("ls", Scale::Logarithm),
        "kernel.variance" => ("lv", Scale::Logarithm),
        "inducing" => ("Z", Scale::Value),
        "mean_inducing" => ("Za", Scale::Value),
        "covariance_inducing" => ("Zb", Scale::Value),
        "mean.free" => ("m", Scale::Value),
        "covariance.factor" => (if diagonal { "Ld" } else { "Ls" }, Scale::Value),
        _ => panic!("unexpected parameter {name}"),
    };
    (format!("layer{layer}.{theirs}"), scale)
}

fn check(file: &str, bytes: &[u8], kind: &Kind) {
    let arrays = npz::read(bytes);
    let model = model(&arrays, kind);
    let data = Dataset::new(arrays.mat("X"), arrays.mat("y")).unwrap();
    let (rows, samples) = (common::all_rows(&data), arrays.scalar("samples") as usize);
    let noise = noise(&arrays, data.len(), samples);
    // The gradient of the data term alone, and that of the whole bound.
    for kl_weight in [0.0, 1.0] {
        let objective = kind.objective.objective();
        let batch = Batch { samples, kl_weight, objective: &*objective, ..Batch::of(&data, &rows) };
        let (bound, gradient) = model.objective_gradient(batch, Noise::Given(&noise)).unwrap();
        for (what, ours) in [("data_term", bound.data_term), ("kl", bound.kl.iter().sum())] {
            let theirs = arrays.scalar(what);
            assert!((ours - theirs).abs() <= 1e-10 * theirs.abs(), "{file}: {what}: {ours} against {theirs}");
        }
        for parameter in model.parameters() {
            let (name, scale) = translate(&arrays, &parameter.name);
            let of = |term: &str| &arrays.get(&format!("{term}.{name}")).values;
            let theirs: Vec<f64> =
                of("grad_data").iter().zip(of("grad_kl")).map(|(data, kl)| data - kl_weight * kl).collect();
            let ours = gradient[parameter.range.clone()].iter().zip(&parameter.values);
            let ours: Vec<f64> = ours
                .map(|(gradient, value)| match scale {
                    Scale::Value => *gradient,
                    Scale::Logarithm => gradient * value,
                })
                .collect();
            assert_eq!(ours.len(), theirs.len(), "{name}");
            let largest = theirs.iter().fold(0.0f64, |most, g| most.max(g.abs()));
            assert!(largest > 0.0, "{file}: the oracle's gradient of {name} vanishes");
            for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                assert!(
                    (ours - theirs).abs() <= 1e-8 * largest,
                    "{file}: gradient of {name}[{i}] with KL weight {kl_weight}: {ours} against {theirs}, the largest {largest}"
                );
            }
        }
    }
}

fn check_all(kind: &Kind) {
    let own = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/prototype_oracle"));
    let given = std::env::var_os("DEEPGP_PROTOTYPE_ORACLE").map(PathBuf::from);
    let mut files: Vec<PathBuf> = (std::fs::read_dir(given.as_ref().unwrap_or(&own)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().replace('-', "_").contains(kind.name))
        .collect();
    files.sort();
    assert!(files.len() == kind.files || given.is_some() && files.len() > kind.files, "{} files", files.len());
    for file in files {
        check(&file.to_string_lossy(), &std::fs::read(&file).unwrap(), kind);
    }
}

macro_rules! oracle_tests {
    ($($test:ident: $name:literal, $files:literal, $likelihood:ident, $objective:expr;)*) => {
        $(#[test]
        fn $test() {
            check_all(&Kind { name: $name, files: $files, objective: $objective, likelihood: $likelihood });
        })*
    };
}

oracle_tests! {
    gaussian_bound: "_gauss_elbo", 18, gaussian, ObjectiveForm::Elbo;
    gaussian_tighter: "_gauss_tight", 12, gaussian, ObjectiveForm::Tighter;
    gaussian_predictive: "_gauss_pred", 12, gaussian, ObjectiveForm::PREDICTIVE;
    gaussian_sites: "_gauss_dspp", 6, gaussian, ObjectiveForm::PREDICTIVE;
    heteroscedastic_bound: "_hetero_elbo", 12, heteroscedastic, ObjectiveForm::Elbo;
    heteroscedastic_predictive: "_hetero_pred", 12, heteroscedastic, ObjectiveForm::PREDICTIVE;
    heteroscedastic_sites: "_hetero_dspp", 6, heteroscedastic, ObjectiveForm::PREDICTIVE;
}
