//! Proves laws that hold of the models whatever their numbers: changes of variables between forms, limits (exact GP regression, the
//! prior), bounds, and invariances (weights, batches, threads, precisions).

mod common;

use common::dense::*;
use common::*;
use deepgp::kernel::SquaredExponential;
use deepgp::likelihood::Gaussian;
use deepgp::noise::{Key, Purpose};
use deepgp::{
    Batch, CovarianceForm, Dataset, DeepGp, Inducing, Jitter, Layer, LayerCovariance, LayerMean, Mat, MeanForm,
    MeanFunction, Noise, Precision, PredictSettings, StepOutcome, TrainSettings, Trainer,
};

const NO_JITTER: Jitter = Jitter { absolute: 0.0, relative: 0.0 };

/// One output, squared exponential with variance 1.2 and lengthscales 0.6.
fn shallow(inducing: Inducing, mean: LayerMean, covariance: LayerCovariance, noise: f64) -> DeepGp {
    let width = inducing.mean().ncols();
    let layer = Layer { kernel: kernel(width), mean_function: MeanFunction::Zero, inducing, mean, covariance };
    DeepGp::new(vec![layer], Box::new(Gaussian::new(noise, 1))).unwrap().with_jitter(NO_JITTER).unwrap()
}

fn kernel(width: usize) -> Box<SquaredExponential> {
    Box::new(SquaredExponential::new(1.2, vec![0.6; width]))
}

fn k(x: &Mat, z: &Mat) -> Mat {
    squared_exponential(x, z, 1.2, &vec![0.6; x.ncols()])
}

fn elbo(model: &DeepGp, data: &Dataset) -> f64 {
    let rows = all_rows(data);
    model.objective(full_batch(data, &rows), Noise::Given(&[])).unwrap().total()
}

/// `free` in another form for the same `w`, by way of `m`; `k` is `K_aa`.
fn change_mean(free: &Mat, k: &Mat, from: MeanForm, to: MeanForm) -> Mat {
    let scale = |m: &Mat, power: i32| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)] * k[(i, i)].powi(power));
    let l = cholesky(k);
    let m = match from {
        MeanForm::Standard => free.clone(),
        MeanForm::Whitened => mul(&l, free),
        MeanForm::Dual => mul(k, free),
        MeanForm::ScaledDual => mul(k, &scale(free, 1)),
    };
    match to {
        MeanForm::Standard => m,
        MeanForm::Whitened => mul(&inverse(&l), &m),
        MeanForm::Dual => mul(&inverse(k), &m),
        MeanForm::ScaledDual => scale(&mul(&inverse(k), &m), -1),
    }
}

/// `factor` in another form for the same `S`, an output at a time; `k` is `K_bb`. `Dual` needs `S ≺ K`.
fn change_covariance(factor: &Mat, k: &Mat, from: CovarianceForm, to: CovarianceForm) -> Mat {
    let l = cholesky(k);
    let outputs = factor.nrows() / factor.ncols();
    let each = (0..outputs).map(|p| {
        let own = block(factor, p);
        let square = mul(&own, &t(&own));
        let s = match from {
            CovarianceForm::Standard => square,
            CovarianceForm::Whitened => mul(&mul(&l, &square), &t(&l)),
            CovarianceForm::Dual => inverse(&add(&inverse(k), 1.0, &square)),
            CovarianceForm::Diagonal => unreachable!("not every S is diagonal"),
        };
        match to {
            CovarianceForm::Standard => cholesky(&s),
            CovarianceForm::Whitened => cholesky(&mul(&mul(&inverse(&l), &s), &t(&inverse(&l)))),
            CovarianceForm::Dual => cholesky(&add(&inverse(&s), -1.0, &inverse(k))),
            CovarianceForm::Diagonal => unreachable!("not every S is diagonal"),
        }
    });
    each.reduce(|above, below| above.stack(&below)).unwrap()
}

fn kernel_matrix(model: &DeepGp, layer: usize, z: &Mat) -> Mat {
    let parameters = model.parameters();
    let find = |name: &str| {
        let full = format!("layers.{layer}.kernel.{name}");
        parameters.iter().find(|p| p.name == full).unwrap().values.clone()
    };
    let jittered = squared_exponential(z, z, find("variance")[0], &find("lengthscales"));
    add(&jittered, model.jitter().absolute, &Mat::identity(z.nrows()))
}

/// The same model with layer 0 in other forms.
fn in_forms(model: &DeepGp, mean: MeanForm, covariance: CovarianceForm) -> DeepGp {
    let mut layers = model.layers().to_vec();
    let k_aa = kernel_matrix(model, 0, layers[0].inducing.mean());
    let k_bb = kernel_matrix(model, 0, &layers[0].inducing.covariance().to_mat());
    let (old_mean, old) = (&layers[0].mean, &layers[0].covariance);
    let free = change_mean(&old_mean.free, &k_aa, old_mean.form, mean);
    let factor = change_covariance(&old.factor, &k_bb, old.form, covariance);
    layers[0].mean = LayerMean { form: mean, free };
    layers[0].covariance = LayerCovariance { form: covariance, factor };
    DeepGp::new(layers, model.likelihood().clone_box()).unwrap().with_jitter(model.jitter()).unwrap()
}

#[test]
fn all_forms_agree_after_a_change_of_variables_in_value_and_gradient() {
    let data = random_data(8, 40);
    let rows = all_rows(&data);
    let batch = full_batch(&data, &rows);
    for sets in SETS {
        // Started in the dual form, every S lies below the prior, so that all forms can express it.
        let start = random_model(1, (MeanForm::Dual, CovarianceForm::Dual), sets, 17);
        let (value, gradient) = start.objective_gradient(batch, training_noise(3)).unwrap();
        for mean in MEAN_FORMS {
            for covariance in DENSE_FORMS {
                let what = format!("{mean:?}, {covariance:?}, {sets:?}");
                let other = in_forms(&start, mean, covariance);
                let (other_value, other_gradient) = other.objective_gradient(batch, training_noise(3)).unwrap();
                close(&what, other_value.data_term, value.data_term, 1e-9);
                close(&what, other_value.kl[0], value.kl[0], 1e-9);

                // Move the dual variables a little, follow the change of variables: both gradients see the same slope.
                for name in ["layers.0.mean.free", "layers.0.covariance.factor"] {
                    let of = |model: &DeepGp| model.parameters().into_iter().find(|p| p.name == name).unwrap();
                    let (from, to) = (of(&start), of(&other));
                    let direction = uniform(1, from.values.len(), 5);
                    let moved = |by: f64| {
                        let mut copy = start.clone();
                        let values: Vec<f64> = (0..from.values.len())
                            .map(|i| {
                                from.values[i] + if from.constraint.is_free(i) { by * direction[(0, i)] } else { 0.0 }
                            })
                            .collect();
                        copy.set_parameter(name, &values).unwrap();
                        of(&in_forms(&copy, mean, covariance)).values
                    };
                    let (up, down) = (moved(1e-5), moved(-1e-5));
                    let here: f64 =
                        gradient[from.range.clone()].iter().zip(direction.as_slice()).map(|(g, d)| g * d).sum();
                    let there: f64 =
                        (0..up.len()).map(|i| other_gradient[to.range.start + i] * (up[i] - down[i]) / 2e-5).sum();
                    close(&format!("{what}: {name}"), there, here, 1e-6);
                }
            }
        }
    }
}

#[test]
fn two_equal_sets_are_the_tied_model() {
    let data = random_data(8, 41);
    let rows = all_rows(&data);
    for mean in MEAN_FORMS {
        for covariance in COVARIANCE_FORMS {
            let tied = random_model(2, (mean, covariance), true, 19);
            let layers = tied.layers().iter().map(|layer| {
                let z = layer.inducing.mean().clone();
                Layer { inducing: Inducing::Decoupled { mean: z.clone(), covariance: z }, ..layer.clone() }
            });
            let apart = DeepGp::new(layers.collect(), tied.likelihood().clone_box()).unwrap();
            let (value, gradient) = tied.objective_gradient(full_batch(&data, &rows), training_noise(1)).unwrap();
            let (other, other_gradient) =
                apart.objective_gradient(full_batch(&data, &rows), training_noise(1)).unwrap();
            close("ELBO", other.total(), value.total(), 1e-10);
            assert_sums_of_gradients(
                &format!("{mean:?}, {covariance:?}"),
                (&tied, &gradient),
                (&apart, &other_gradient),
            );
        }
    }
}

/// Asserts that the gradient at one set is the sum of those at the two sets `apart`, of which the second is a copy of its first rows, and
/// that all other gradients are equal.
fn assert_sums_of_gradients(what: &str, one: (&DeepGp, &[f64]), apart: (&DeepGp, &[f64])) {
    let find = |name: &str| {
        let p = apart.0.parameters().into_iter().find(|p| p.name == name).unwrap();
        apart.1[p.range].to_vec()
    };
    for p in one.0.parameters() {
        let own = one.1[p.range.clone()].to_vec();
        let theirs = match p.name.strip_suffix(".inducing") {
            Some(layer) => {
                let mut sum = find(&format!("{layer}.mean_inducing"));
                for (to, from) in sum.iter_mut().zip(find(&format!("{layer}.covariance_inducing"))) {
                    *to += from;
                }
                sum
            }
            None => find(&p.name),
        };
        assert_eq!(own.len(), theirs.len(), "{what}: {}", p.name);
        let scale = own.iter().fold(1.0f64, |a, b| a.max(b.abs()));
        for (a, b) in own.iter().zip(&theirs) {
            assert!((a - b).abs() < 1e-8 * scale, "{what}: {} has {a}, not {b}", p.name);
        }
    }
}

#[test]
fn a_nested_set_is_two_of_which_one_is_a_copy_of_the_others_head() {
    let data = random_data(8, 45);
    let rows = all_rows(&data);
    for mean in MEAN_FORMS {
        for covariance in COVARIANCE_FORMS {
            let nested = random_model(2, (mean, covariance), Sets::Nested, 29);
            let layers = nested.layers().iter().map(|layer| {
                let (mean, covariance) = (layer.inducing.mean().clone(), layer.inducing.covariance().to_mat());
                Layer { inducing: Inducing::Decoupled { mean, covariance }, ..layer.clone() }
            });
            let apart = DeepGp::new(layers.collect(), nested.likelihood().clone_box()).unwrap();
            let batch = full_batch(&data, &rows);
            let (value, gradient) = nested.objective_gradient(batch, training_noise(1)).unwrap();
            let (other, other_gradient) = apart.objective_gradient(batch, training_noise(1)).unwrap();
            let what = format!("{mean:?}, {covariance:?}");
            close(&what, other.total(), value.total(), 1e-10);
            all_close(&what, &other.kl, &value.kl, 1e-10);
            assert_sums_of_gradients(&what, (&nested, &gradient), (&apart, &other_gradient));
        }
    }
}

#[test]
fn a_diagonal_covariance_is_a_whitened_one_without_the_rest_of_its_triangle() {
    let data = random_data(8, 46);
    let rows = all_rows(&data);
    for sets in SETS {
        let diagonal = random_model(2, (MeanForm::Whitened, CovarianceForm::Diagonal), sets, 30);
        let layers = diagonal.layers().iter().map(|layer| {
            let s = &layer.covariance.factor;
            let (m, outputs) = (s.ncols(), s.nrows());
            let factor = Mat::from_fn(outputs * m, m, |i, j| if i % m == j { s[(i / m, j)] } else { 0.0 });
            Layer { covariance: LayerCovariance { form: CovarianceForm::Whitened, factor }, ..layer.clone() }
        });
        let whitened = DeepGp::new(layers.collect(), diagonal.likelihood().clone_box()).unwrap();
        let batch = full_batch(&data, &rows);
        let (value, gradient) = diagonal.objective_gradient(batch, training_noise(1)).unwrap();
        let (other, other_gradient) = whitened.objective_gradient(batch, training_noise(1)).unwrap();
        close("objective", other.total(), value.total(), 1e-12);
        all_close("KL", &other.kl, &value.kl, 1e-12);
        for (own, other) in diagonal.parameters().iter().zip(whitened.parameters()) {
            let theirs: Vec<f64> = match own.name.ends_with("covariance.factor") {
                true => {
                    let (m, theirs) = (own.shape[1], &other_gradient[other.range]);
                    (0..own.values.len()).map(|i| theirs[(i / m) * m * m + (i % m) * (m + 1)]).collect()
                }
                false => other_gradient[other.range].to_vec(),
            };
            all_close(&format!("{sets:?}: {}", own.name), &gradient[own.range.clone()], &theirs, 1e-9);
        }
        let settings = PredictSettings { samples: 5, ..PredictSettings::default() };
        let x = uniform(6, 2, 9);
        let answers = |model: &DeepGp| {
            let predictor = model.predictor(settings).unwrap();
            let (moments, draws) = (predictor.moments(x.view()).unwrap(), predictor.joint_draws(x.view(), 3).unwrap());
            (moments.f.variance, draws.f)
        };
        let ((variance, draws), (others, other_draws)) = (answers(&diagonal), answers(&whitened));
        all_close("variance", variance.as_slice(), others.as_slice(), 1e-10);
        for (own, other) in draws.iter().zip(&other_draws) {
            all_close("joint draw", own.as_slice(), other.as_slice(), 1e-7);
        }
    }
}

#[test]
fn the_prior_has_no_divergence_from_itself() {
    let data = random_data(4, 42);
    let z = uniform(5, 2, 1);
    let factors = [
        (CovarianceForm::Whitened, Mat::identity(5)),
        (CovarianceForm::Standard, cholesky(&k(&z, &z))),
        (CovarianceForm::Dual, Mat::zeros(5, 5)),
    ];
    for (form, factor) in factors {
        let mean = LayerMean { form: MeanForm::Whitened, free: Mat::zeros(5, 1) };
        let model = shallow(Inducing::Tied(z.clone()), mean, LayerCovariance { form, factor }, 0.1);
        let rows = all_rows(&data);
        let kl = model.objective(full_batch(&data, &rows), Noise::Given(&[])).unwrap().kl[0];
        assert!(kl.abs() < 1e-10, "{form:?}: {kl}");
        let moments = model.propagate(data.x().view(), Noise::Given(&[]), 1).unwrap();
        all_close("prior variance", moments.variance.as_slice(), &[1.2; 4], 1e-10);
    }
}

/// Regression data in one dimension, well spread so that `K` needs no jitter.
fn line_data(rows: usize) -> Dataset {
    let x = Mat::from_fn(rows, 1, |i, _| 0.35 * i as f64);
    let y = Mat::from_fn(rows, 1, |i, _| (0.9 * i as f64).sin() + 0.1 * uniform(rows, 1, 2)[(i, 0)]);
    Dataset::new(x, y).unwrap()
}

/// `log N(y; 0, K + noise I)`.
fn log_marginal(data: &Dataset, noise: f64) -> f64 {
    let total = add(&k(data.x(), data.x()), noise, &Mat::identity(data.len()));
    let (inverse, log_det) = inverse_and_log_det(&total);
    let quadratic = mul(&mul(&t(data.y()), &inverse), data.y())[(0, 0)];
    -0.5 * (quadratic + log_det + data.len() as f64 * (2.0 * std::f64::consts::PI).ln())
}

#[test]
fn inducing_inputs_at_the_data_with_the_optimal_q_are_exact_gp_regression() {
    let (data, noise) = (line_data(12), 0.05);
    let (x, y) = (data.x(), data.y());
    let k_xx = k(x, x);
    let total = inverse(&add(&k_xx, noise, &Mat::identity(12)));
    // The exact posterior of f(X): mean K (K + σ²)⁻¹ y, covariance (K⁻¹ + I/σ²)⁻¹ = K − K (K + σ²)⁻¹ K.
    let w = mul(&total, y);
    let s = add(&k_xx, -1.0, &mul(&mul(&k_xx, &total), &k_xx));
    let new = Mat::from_fn(5, 1, |i, _| 0.2 + 0.8 * i as f64);
    let k_nx = k(&new, x);
    let mean = mul(&k_nx, &w);
    let covariance = add(&k(&new, &new), -1.0, &mul(&mul(&k_nx, &total), &t(&k_nx)));
    for mean_form in MEAN_FORMS {
        for form in DENSE_FORMS {
            for sets in SETS {
                let free = change_mean(&w, &k_xx, MeanForm::Dual, mean_form);
                let factor = change_covariance(&cholesky(&s), &k_xx, CovarianceForm::Standard, form);
                let inducing = match sets {
                    Sets::Tied => Inducing::Tied(x.clone()),
                    Sets::Decoupled => Inducing::Decoupled { mean: x.clone(), covariance: x.clone() },
                    Sets::Nested => Inducing::Nested { inputs: x.clone(), covariance: x.nrows() },
                };
                let layer_mean = LayerMean { form: mean_form, free };
                let model = shallow(inducing, layer_mean, LayerCovariance { form, factor }, noise);
                let what = format!("{mean_form:?}, {form:?}");
                close(&what, elbo(&model, &data), log_marginal(&data, noise), 1e-8);
                let joint = model.predictor(PredictSettings::default()).unwrap().joint_moments(new.view()).unwrap();
                all_close(&what, joint.mean.as_slice(), mean.as_slice(), 1e-8);
                all_close(&what, joint.covariance[0].as_slice(), covariance.as_slice(), 1e-8);
            }
        }
    }
}

/// The best decoupled `q` for given sets: mean and covariance do not see each other, so each has a closed form.
fn optimal(data: &Dataset, z_a: &Mat, z_b: &Mat, noise: f64) -> DeepGp {
    let precision = |z: &Mat| {
        let k_zx = k(z, data.x());
        (add(&k(z, z), 1.0 / noise, &mul(&k_zx, &t(&k_zx))), k_zx)
    };
    let (a, k_ax) = precision(z_a);
    let w = mul(&inverse(&a), &mul(&k_ax, data.y())).map(|v: f64| v / noise);
    let (b, _) = precision(z_b);
    let k_bb = k(z_b, z_b);
    let s = mul(&mul(&k_bb, &inverse(&b)), &k_bb);
    let mean = LayerMean { form: MeanForm::Dual, free: w };
    let covariance = LayerCovariance { form: CovarianceForm::Standard, factor: cholesky(&s) };
    shallow(Inducing::Decoupled { mean: z_a.clone(), covariance: z_b.clone() }, mean, covariance, noise)
}

#[test]
fn more_inducing_inputs_never_lower_the_optimum() {
    let (data, noise) = (line_data(20), 0.05);
    let spread = |m: usize| Mat::from_fn(m, 1, |i, _| [3.1, 0.4, 5.8, 1.9, 4.6, 0.9, 2.5, 6.4, 5.1, 3.8][i]);
    let best = |a: usize, b: usize| elbo(&optimal(&data, &spread(a), &spread(b), noise), &data);
    let exact = log_marginal(&data, noise);
    for m in 2..10 {
        assert!(best(m, m) <= best(m + 1, m) + 1e-8, "M_a from {m}");
        assert!(best(m, m) <= best(m, m + 1) + 1e-8, "M_b from {m}");
        assert!(best(m, m) <= best(m + 1, m + 1) + 1e-8, "M from {m}");
        assert!(best(m + 1, m + 1) <= exact + 1e-8);
    }
    // With Z_b a part of Z_a, decoupling lies between the small and the large coupled model.
    let (small, between, large) = (best(4, 4), best(9, 4), best(9, 9));
    assert!(small < between && between < large, "{small} {between} {large}");
    // And these are optima: any move makes them worse.
    let top = optimal(&data, &spread(6), &spread(4), noise);
    for name in ["layers.0.mean.free", "layers.0.covariance.factor"] {
        let p = top.parameters().into_iter().find(|p| p.name == name).unwrap();
        for i in (0..p.values.len()).filter(|i| p.constraint.is_free(*i)) {
            for by in [-0.01, 0.01] {
                let (mut copy, mut values) = (top.clone(), p.values.clone());
                values[i] += by;
                copy.set_parameter(name, &values).unwrap();
                assert!(elbo(&copy, &data) < elbo(&top, &data));
            }
        }
    }
}

#[test]
fn the_dual_covariance_trains_where_k_bb_is_singular() {
    let data = line_data(30);
    // Five points within 1e-9: K_bb has rank 2 to the last digit, and there is no jitter.
    let z_b = Mat::from_fn(6, 1, |i, _| if i == 5 { 3.0 } else { 1.0 + 1e-9 * i as f64 });
    let z_a = Mat::from_fn(8, 1, |i, _| 1.3 * i as f64);
    let inducing = Inducing::Decoupled { mean: z_a, covariance: z_b };
    let build = |form| {
        let mean = LayerMean { form: MeanForm::Dual, free: Mat::zeros(8, 1) };
        shallow(inducing.clone(), mean, LayerCovariance { form, factor: Mat::identity(6) }, 0.1)
    };
    let settings = TrainSettings { steps: 200, ..TrainSettings::plain() };
    let mut trainer = Trainer::new(build(CovarianceForm::Dual), &data, None, settings).unwrap();
    let mut elbos = Vec::new();
    trainer
        .run(|report, _| {
            match &report.outcome {
                StepOutcome::Taken(elbo) => {
                    assert_eq!(elbo.jitter, []);
                    elbos.push(elbo.total());
                }
                StepOutcome::RolledBack(reason) => panic!("{reason}"),
            }
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert!(elbos[199] > elbos[0] + 10.0, "{} {}", elbos[0], elbos[199]);
    // The other forms need more jitter there, and say where and why.
    let rows = all_rows(&data);
    let batch = full_batch(&data, &rows);
    let events = build(CovarianceForm::Whitened).objective(batch, Noise::Given(&[])).unwrap().jitter;
    assert_eq!(events.len(), 1);
    assert!(events[0].cause.contains("nearly coincide") && events[0].layer == 0, "{events:?}");
}

#[test]
fn the_sampled_elbo_is_within_three_standard_errors_of_quadrature() {
    let x = Mat::from_fn(10, 1, |i, _| -1.0 + 0.2 * i as f64);
    let data = Dataset::new(x, uniform(10, 1, 8)).unwrap();
    let rows = all_rows(&data);
    let forms = (MeanForm::Whitened, CovarianceForm::Standard);
    let layers = vec![
        random_layer((1, 1), forms, false, MeanFunction::Identity, 31),
        random_layer((1, 1), forms, false, MeanFunction::Zero, 32),
    ];
    let model = DeepGp::new(layers, Box::new(Gaussian::new(0.2, 1))).unwrap();
    // E_ε of each row's term by the trapezoidal rule over ε in ±8: all rows take the same ε at a time.
    let (steps, width) = (800, 0.02);
    let exact: f64 = (0..=steps)
        .map(|i| {
            let epsilon = -8.0 + width * f64::from(i);
            let noise = [Mat::from_fn(10, 1, |_, _| epsilon)];
            let weight = width * (-0.5 * epsilon * epsilon).exp() / (2.0 * std::f64::consts::PI).sqrt();
            weight * model.objective(full_batch(&data, &rows), Noise::Given(&noise)).unwrap().data_term
        })
        .sum();
    for samples in [1, 5] {
        let batch = Batch { samples, ..full_batch(&data, &rows) };
        let draws: Vec<f64> = (0..2000)
            .map(|step| {
                let noise = Noise::Rows { key: Key::new(11, Purpose::Train), step };
                model.objective(batch, noise).unwrap().data_term
            })
            .collect();
        let mean = draws.iter().sum::<f64>() / 2000.0;
        let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 1999.0;
        let standard_error = (variance / 2000.0).sqrt();
        assert!((mean - exact).abs() < 3.0 * standard_error, "{samples}: {mean} ± {standard_error}, exact {exact}");
        assert!(standard_error < 0.02 * exact.abs(), "the test would pass anything");
    }
}

#[test]
fn a_row_of_weight_two_is_two_rows() {
    let forms = (MeanForm::Whitened, CovarianceForm::Whitened);
    let model =
        DeepGp::new(vec![random_layer((2, 1), forms, true, MeanFunction::Zero, 5)], Box::new(Gaussian::new(0.2, 1)))
            .unwrap();
    let data = random_data(4, 43);
    let doubled = data.gather(&[0, 1, 1, 2, 3]).unwrap();
    let weighted = data.with_weights(vec![1.0, 2.0, 1.0, 1.0]).unwrap();
    let of = |data: &Dataset| {
        let rows = all_rows(data);
        model.objective_gradient(full_batch(data, &rows), Noise::Given(&[])).unwrap()
    };
    let ((a, a_gradient), (b, b_gradient)) = (of(&doubled), of(&weighted));
    close("ELBO", a.total(), b.total(), 1e-12);
    all_close("gradient", &a_gradient, &b_gradient, 1e-10);
}

/// With 330 inducing inputs and 10 outputs a layer's matrices leave the cache, and rows are taken in larger blocks.
#[test]
fn a_batch_is_the_mean_of_its_halves_and_on_any_threads_the_same_in_large_blocks_too() {
    let data = Dataset::new(uniform(1100, 3, 51), uniform(1100, 1, 52)).unwrap();
    let inducing = deepgp::InducingSize::decoupled(20, 330);
    let settings = deepgp::ModelSettings { hidden_layers: 1, inducing, ..Default::default() };
    let model = DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
    let of = |rows: &[u32]| {
        let batch = Batch { num_data: 1100, ..Batch::of(&data, rows) };
        model.objective_gradient(batch, training_noise(3)).unwrap()
    };
    let rows = all_rows(&data);
    let (whole, gradient) = of(&rows);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert!(pool.install(|| of(&rows)) == (whole.clone(), gradient.clone()));
    let ((a, a_gradient), (b, b_gradient)) = (of(&rows[..550]), of(&rows[550..]));
    close("data term", whole.data_term, 0.5 * (a.data_term + b.data_term), 1e-12);
    let mean: Vec<f64> = a_gradient.iter().zip(&b_gradient).map(|(a, b)| 0.5 * (a + b)).collect();
    all_close("gradient", &gradient, &mean, 1e-9);
}

#[test]
fn mixed_precision_agrees_with_double() {
    let data = random_data(600, 44);
    let rows = all_rows(&data);
    for covariance in COVARIANCE_FORMS {
        for sets in SETS {
            let wide = random_model(2, (MeanForm::Whitened, covariance), sets, 23);
            let mixed = wide.clone().with_precision(Precision::Mixed);
            // The same jitter in both, so that only rounding differs.
            let wide = wide.with_jitter(mixed.jitter()).unwrap();
            let (a, a_gradient) = wide.objective_gradient(full_batch(&data, &rows), training_noise(2)).unwrap();
            let (b, b_gradient) = mixed.objective_gradient(full_batch(&data, &rows), training_noise(2)).unwrap();
            close("ELBO", b.total(), a.total(), 1e-5);
            assert_eq!(a.kl, b.kl);
            for p in wide.parameters() {
                let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
                let own = &a_gradient[p.range.clone()];
                let difference: Vec<f64> = own.iter().zip(&b_gradient[p.range.clone()]).map(|(a, b)| a - b).collect();
                assert!(
                    norm(&difference) < 1e-3 * norm(own),
                    "{covariance:?}: {} {}",
                    p.name,
                    norm(&difference) / norm(own)
                );
            }
            let settings = PredictSettings { samples: 10, ..Default::default() };
            let predict = |m: &DeepGp| m.predictor(settings).unwrap().moments(data.x().view()).unwrap();
            let (a, b) = (predict(&wide), predict(&mixed));
            all_close("mean", b.f.mean.as_slice(), a.f.mean.as_slice(), 1e-4);
            all_close("variance", b.f.variance.as_slice(), a.f.variance.as_slice(), 1e-4);
        }
    }
}

#[test]
fn mixed_precision_agrees_with_double_along_a_series_of_a_hundred_lengthscales() {
    let inducing = Inducing::Tied(Mat::from_fn(120, 1, |i, _| i as f64 / 119.0 * 2.0 - 1.0));
    let mean = LayerMean { form: MeanForm::Whitened, free: uniform(120, 1, 31) };
    let covariance = LayerCovariance { form: CovarianceForm::Whitened, factor: lower(1, 120, 0.3, 32) };
    let kernel = Box::new(SquaredExponential::new(1.0, vec![0.02]));
    let layer = Layer { kernel, mean_function: MeanFunction::Zero, inducing, mean, covariance };
    let mixed = DeepGp::new(vec![layer], Box::new(Gaussian::new(0.1, 1))).unwrap().with_precision(Precision::Mixed);
    let wide = mixed.clone().with_precision(Precision::F64).with_jitter(mixed.jitter()).unwrap();
    let x = uniform(500, 1, 33);
    let predict = |m: &DeepGp| m.predictor(PredictSettings::default()).unwrap().moments(x.view()).unwrap();
    let (a, b) = (predict(&wide), predict(&mixed));
    let close = |what: &str, a: &Mat, b: &Mat| {
        let worst = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 2e-5, "{what}: {worst}");
    };
    close("mean", &a.f.mean, &b.f.mean);
    close("variance", &a.f.variance, &b.f.variance);
}
