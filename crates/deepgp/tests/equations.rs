//! Proves that the library computes the paper's equations, which are transcribed here with dense inverses.
//!
//! Misprints are mended: eq. 6 has `+½ log |K|/|S|`; Table 2's labels are swapped back and its `Z_a` read as `Z_b`; eq. 7's
//! mean has no `diag(K)`, Table 1's has.

mod common;

use common::dense::*;
use common::{COVARIANCE_FORMS, MEAN_FORMS, SETS, Sets, close, random_layer, uniform};
use deepgp::likelihood::Gaussian;
use deepgp::{
    Batch, CovarianceForm, Dataset, DeepGp, Inducing, Jitter, Layer, Mat, MeanForm, MeanFunction, Noise,
    PredictSettings,
};

const OUTPUTS: usize = 2;

/// A layer's kernel, read back from the parameter list.
struct Dense {
    layer: Layer,
    variance: f64,
    lengthscales: Vec<f64>,
}

impl Dense {
    fn new(mean: MeanForm, covariance: CovarianceForm, sets: Sets) -> (Self, DeepGp) {
        let layer = random_layer((2, OUTPUTS), (mean, covariance), sets, MeanFunction::Zero, 21);
        let model = DeepGp::new(vec![layer.clone()], Box::new(Gaussian { noise: vec![0.2, 0.4] })).unwrap();
        // The equations have no jitter.
        let model = model.with_jitter(Jitter { absolute: 0.0, relative: 0.0 }).unwrap();
        let parameters = model.parameters();
        let find = |name: &str| parameters.iter().find(|p| p.name == name).unwrap().values.clone();
        let (variance, lengthscales) = (find("layers.0.kernel.variance")[0], find("layers.0.kernel.lengthscales"));
        (Self { layer, variance, lengthscales }, model)
    }

    fn k(&self, x: &Mat, z: &Mat) -> Mat {
        squared_exponential(x, z, self.variance, &self.lengthscales)
    }

    fn z_a(&self) -> &Mat {
        self.layer.inducing.mean()
    }

    fn z_b(&self) -> Mat {
        self.layer.inducing.covariance().to_mat()
    }

    /// Table 1: `μ̃ = K_XZa w`.
    fn w(&self, p: usize) -> Mat {
        let k = self.k(self.z_a(), self.z_a());
        let free = column(&self.layer.mean.free, p);
        match self.layer.mean.form {
            MeanForm::Dual => free,
            MeanForm::ScaledDual => Mat::from_fn(free.nrows(), 1, |i, _| k[(i, i)] * free[(i, 0)]),
            MeanForm::Standard => mul(&inverse(&k), &free),
            MeanForm::Whitened => mul(&inverse(&t(&cholesky(&k))), &free),
        }
    }

    /// Table 2: `Σ̃ = K_XX − K_XZb C K_XZbᵀ`.
    fn c(&self, p: usize) -> Mat {
        let k = self.k(&self.z_b(), &self.z_b());
        let (l, factor) = (cholesky(&k), &self.layer.covariance.factor);
        let square = |factor: &Mat| mul(factor, &t(factor));
        let of_s = |s: Mat| mul(&mul(&inverse(&k), &add(&k, -1.0, &s)), &inverse(&k));
        let coloured = |s: Mat| mul(&mul(&l, &s), &t(&l));
        match self.layer.covariance.form {
            CovarianceForm::Dual => inverse(&add(&inverse(&square(&block(factor, p))), 1.0, &k)),
            CovarianceForm::Standard => of_s(square(&block(factor, p))),
            CovarianceForm::Whitened => of_s(coloured(square(&block(factor, p)))),
            CovarianceForm::Diagonal => {
                let s = |i: usize, j: usize| if i == j { factor[(p, i)] * factor[(p, i)] } else { 0.0 };
                of_s(coloured(Mat::from_fn(k.nrows(), k.nrows(), s)))
            }
        }
    }
}

fn each_form(mut check: impl FnMut(&str, Dense, DeepGp)) {
    for mean in MEAN_FORMS {
        for covariance in COVARIANCE_FORMS {
            for sets in SETS {
                let (dense, model) = Dense::new(mean, covariance, sets);
                check(&format!("{mean:?}, {covariance:?}, {sets:?}"), dense, model);
            }
        }
    }
}

#[test]
fn moments_are_those_of_equations_3_and_7() {
    let x = uniform(6, 2, 30);
    each_form(|what, dense, model| {
        let moments = model.propagate(x.view(), Noise::Given(&[]), 1).unwrap();
        let joint = model.predictor(PredictSettings::default()).unwrap().joint_moments(x.view()).unwrap();
        for p in 0..OUTPUTS {
            let mean = mul(&dense.k(&x, dense.z_a()), &dense.w(p));
            let k_xb = dense.k(&x, &dense.z_b());
            let covariance = add(&dense.k(&x, &x), -1.0, &mul(&mul(&k_xb, &dense.c(p)), &t(&k_xb)));
            for i in 0..6 {
                close(what, moments.mean[(i, p)], mean[(i, 0)], 1e-9);
                close(what, moments.variance[(i, p)], covariance[(i, i)], 1e-9);
                close(what, joint.mean[(i, p)], mean[(i, 0)], 1e-9);
                for j in 0..6 {
                    close(what, joint.covariance[p][(i, j)], covariance[(i, j)], 1e-9);
                }
            }
        }
    });
}

/// A decoupled `q` is an ordinary one on `U = Z_a ∪ Z_b` with `m_U = K_Ua w` and `S_U = K_UU − K_Ub C K_bU`.
#[test]
fn the_kl_is_the_dense_gaussian_kl_on_the_union_of_both_sets() {
    let data = Dataset::new(uniform(3, 2, 31), uniform(3, OUTPUTS, 32)).unwrap();
    each_form(|what, dense, model| {
        let u = match &dense.layer.inducing {
            Inducing::Tied(z) => z.clone(),
            Inducing::Decoupled { mean, covariance } => mean.stack(covariance),
            Inducing::Nested { inputs, .. } => inputs.clone(),
        };
        let k_uu = dense.k(&u, &u);
        let expected: f64 = (0..OUTPUTS)
            .map(|p| {
                let mean = mul(&dense.k(&u, dense.z_a()), &dense.w(p));
                let k_ub = dense.k(&u, &dense.z_b());
                let covariance = add(&k_uu, -1.0, &mul(&mul(&k_ub, &dense.c(p)), &t(&k_ub)));
                gaussian_kl(&mean, &covariance, &k_uu)
            })
            .sum();
        let batch = Batch { num_data: 3, ..Batch::of(&data, &[0, 1, 2]) };
        let kl = model.objective(batch, Noise::Given(&[])).unwrap().kl[0];
        close(what, kl, expected, 1e-7);
        assert!(kl > 0.0, "{what}");
    });
}

/// Eq. 6 as it is printed has the sign of `log |K|/|S|` wrong: a divergence cannot be negative.
#[test]
fn equation_6_as_printed_would_be_negative() {
    let k = squared_exponential(&uniform(4, 2, 1), &uniform(4, 2, 1), 1.0, &[0.7, 0.7]);
    let s = k.map(|v: f64| 0.5 * v);
    let rest = 0.5 * (trace(&mul(&inverse(&k), &s)) - 4.0);
    let half_log = 0.5 * (log_det(&k) - log_det(&s));
    assert!(rest - half_log < 0.0);
    let mended = rest + half_log;
    close("eq. 6", mended, gaussian_kl(&Mat::zeros(4, 1), &s, &k), 1e-9);
}

#[test]
fn the_data_term_is_the_expected_log_likelihood_scaled_to_all_rows() {
    let data = Dataset::new(uniform(6, 2, 33), uniform(6, OUTPUTS, 34)).unwrap();
    let (_, model) = Dense::new(MeanForm::Whitened, CovarianceForm::Standard, Sets::Decoupled);
    let batch = Batch { num_data: 6, ..Batch::of(&data, &[1, 4]) };
    let moments = model.propagate(data.x().view(), Noise::Given(&[]), 1).unwrap();
    let noise = [0.2, 0.4];
    let mut expected = 0.0;
    for n in [1, 4] {
        for p in 0..OUTPUTS {
            let square = (data.y()[(n, p)] - moments.mean[(n, p)]).powi(2) + moments.variance[(n, p)];
            expected += 3.0 * -0.5 * ((2.0 * std::f64::consts::PI * noise[p]).ln() + square / noise[p]);
        }
    }
    close("data term", model.objective(batch, Noise::Given(&[])).unwrap().data_term, expected, 1e-12);
}
