//! Proves that value, moments and every gradient are those of an independent implementation (JAX, reverse mode).
//!
//! `oracle/{full,decoupled}_h*.npz` hold parameters, a batch, the noise of the hidden layers, and what that implementation computed of them. The
//! full models have whitened mean and covariance, the decoupled ones whitened mean and standard covariance. Gradients of
//! lengthscales, variances and noise are with respect to their logarithms.

mod common;

use common::npz::{self, Arrays};
use deepgp::kernel::SquaredExponential;
use deepgp::likelihood::Gaussian;
use deepgp::{
    Batch, CovarianceForm, Dataset, DeepGp, Inducing, Jitter, Layer, LayerCovariance, LayerMean, Mat, MeanForm,
    MeanFunction, Noise,
};

struct Oracle(Arrays);

impl Oracle {
    fn hidden(&self) -> usize {
        self.0.scalar("hidden") as usize
    }

    fn model(&self) -> DeepGp {
        let layers = (0..=self.hidden()).map(|i| {
            let name = |part: &str| format!("layer{i}.{part}");
            let exp = |part: &str| self.0.get(&name(part)).values.iter().map(|v| v.exp()).collect::<Vec<_>>();
            let tied = self.0.has(&name("Z"));
            let skip = format!("skip{i}");
            Layer {
                kernel: Box::new(SquaredExponential::new(exp("log_var")[0], exp("log_ls"))),
                mean_function: if self.0.has(&skip) {
                    MeanFunction::Linear(self.0.mat(&skip))
                } else {
                    MeanFunction::Zero
                },
                inducing: if tied {
                    Inducing::Tied(self.0.mat(&name("Z")))
                } else {
                    Inducing::Decoupled { mean: self.0.mat(&name("Za")), covariance: self.0.mat(&name("Zb")) }
                },
                mean: LayerMean { form: MeanForm::Whitened, free: self.0.mat(&name("m")) },
                covariance: LayerCovariance {
                    form: if tied { CovarianceForm::Whitened } else { CovarianceForm::Standard },
                    factor: self.0.mat(&name("Ls")),
                },
            }
        });
        let noise = self.0.scalar("log_noise").exp();
        DeepGp::new(layers.collect(), Box::new(Gaussian::new(noise, 1)))
            .unwrap()
            .with_jitter(Jitter { absolute: self.0.scalar("jitter"), relative: 0.0 })
            .unwrap()
    }

    fn noise(&self) -> Vec<Mat> {
        (0..self.hidden()).map(|i| self.0.mat(&format!("eps{i}")).transposed()).collect()
    }
}

/// The oracle's name for one of our parameters, and whether its gradient is in the logarithm.
fn translate(name: &str) -> (String, bool) {
    let Some(rest) = name.strip_prefix("layers.") else { return ("log_noise".into(), true) };
    let (layer, part) = rest.split_once('.').unwrap();
    let (theirs, log) = match part {
        "kernel.lengthscales" => ("log_ls", true),
        "kernel.variance" => ("log_var", true),
        "inducing" => ("Z", false),
        "mean_inducing" => ("Za", false),
        "covariance_inducing" => ("Zb", false),
        "mean.free" => ("m", false),
        "covariance.factor" => ("Ls", false),
        _ => panic!("unexpected parameter {name}"),
    };
    (format!("layer{layer}.{theirs}"), log)
}

fn check(bytes: &[u8]) {
    let oracle = Oracle(npz::read(bytes));
    let model = oracle.model();
    let data = Dataset::new(oracle.0.mat("X"), oracle.0.mat("y")).unwrap();
    let rows: Vec<u32> = (0..data.len() as u32).collect();
    let num_data = oracle.0.scalar("n_total") as usize;
    let batch = Batch { num_data, ..Batch::of(&data, &rows) };
    let noise = oracle.noise();
    let (elbo, gradient) = model.objective_gradient(batch, Noise::Given(&noise)).unwrap();

    let close = |what: &str, ours: f64, theirs: f64| {
        assert!((ours - theirs).abs() <= 1e-10 * theirs.abs(), "{what}: {ours} against {theirs}");
    };
    close("ELBO", elbo.total(), oracle.0.scalar("elbo"));
    close("data term", elbo.data_term, oracle.0.scalar("ell"));
    close("KL", elbo.kl.iter().sum(), oracle.0.scalar("kl"));

    let moments = model.propagate(data.x().view(), Noise::Given(&noise), 1).unwrap();
    for (what, ours) in [("mean", &moments.mean), ("var", &moments.variance)] {
        for (ours, theirs) in ours.as_slice().iter().zip(&oracle.0.get(what).values) {
            close(what, *ours, *theirs);
        }
    }

    for parameter in model.parameters() {
        let (name, log) = translate(&parameter.name);
        let theirs = &oracle.0.get(&format!("grad.{name}")).values;
        let ours = gradient[parameter.range.clone()].iter().zip(&parameter.values);
        let ours: Vec<f64> = ours.map(|(g, v)| if log { g * v } else { *g }).collect();
        assert_eq!(ours.len(), theirs.len(), "{name}");
        let norm = theirs.iter().map(|v| v * v).sum::<f64>().sqrt();
        let error = ours.iter().zip(theirs).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        assert!(norm > 0.0 && error < 1e-8 * norm, "gradient of {name}: off by {error:e} in norm {norm:e}");
    }
}

macro_rules! oracle_tests {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(include_bytes!(concat!("oracle/", stringify!($name), ".npz")));
        })*
    };
}

oracle_tests!(full_h0 full_h1 full_h3 decoupled_h0 decoupled_h1 decoupled_h3);
