//! Proves what the likelihoods and objectives beyond one Gaussian noise and the ELBO claim: gradients by central differences for every
//! combination with forms and sets, the limits that tie them to each other, densities that integrate to 1, and a bound that lies
//! between the ELBO and the evidence.

mod common;

use common::dense::{add, cholesky, inverse_and_log_det, mul, squared_exponential, t};
use common::*;
use deepgp::likelihood::{
    Bernoulli, Gaussian, Heteroscedastic, Likelihood, Link, NegativeBinomial, Ordered, Outcomes, Poisson, Softmax,
    StudentT,
};
use deepgp::noise::{Key, Purpose};
use deepgp::{
    Batch, CovarianceForm, Dataset, DeepGp, Inducing, Jitter, Mat, MeanForm, MeanFunction, Noise, ObjectiveForm,
    PredictSettings, Sites,
};

const ALL_OBJECTIVES: [ObjectiveForm; 4] =
    [ObjectiveForm::Elbo, ObjectiveForm::Tighter, ObjectiveForm::PREDICTIVE, ObjectiveForm::Predictive { power: 0.4 }];

fn likelihoods(targets: usize) -> [Box<dyn Likelihood>; 3] {
    [
        Box::new(Gaussian::new(0.3, targets)),
        Box::new(Heteroscedastic::new(0.3, targets)),
        Box::new(StudentT::new(0.3, 4.0, targets)),
    ]
}

/// Every likelihood, for one target.
fn all_likelihoods() -> Vec<Box<dyn Likelihood>> {
    let discrete: [Box<dyn Likelihood>; 6] = [
        Box::new(Bernoulli { link: Link::Probit, level: 0.2 }),
        Box::new(Bernoulli { link: Link::Logit, level: -0.3 }),
        Box::new(Softmax { levels: vec![0.1, -0.4, 0.3] }),
        Box::new(Ordered { first: -0.4, gaps: vec![0.7] }),
        Box::new(Poisson { level: 0.5 }),
        Box::new(NegativeBinomial { level: 0.5, dispersion: 3.0 }),
    ];
    likelihoods(1).into_iter().chain(discrete).collect()
}

/// Rows with targets that this likelihood can have.
fn data_for(likelihood: &dyn Likelihood, rows: usize, seed: u64) -> Dataset {
    let data = random_data(rows, seed);
    let y = data.y().map(|u: f64| match likelihood.outcomes() {
        Outcomes::Real => u,
        Outcomes::Classes(classes) => (0.5 * (u + 1.0) * classes as f64).floor(),
        Outcomes::Counts => (2.5 * (u + 1.0)).floor(),
    });
    Dataset::new(data.x().clone(), y).unwrap()
}

/// Two inputs, one hidden layer of three, and a last layer as wide as the likelihood asks.
fn model(forms: (MeanForm, CovarianceForm), sets: Sets, likelihood: Box<dyn Likelihood>) -> DeepGp {
    let first = random_layer((2, 3), forms, sets, MeanFunction::ZeroPadding, 3);
    let last = random_layer((3, likelihood.latent_width()), forms, sets, MeanFunction::Zero, 13);
    DeepGp::new(vec![first, last], likelihood).unwrap()
}

fn with_sites(model: DeepGp) -> DeepGp {
    let widths: Vec<usize> = model.layers()[..model.layers().len() - 1].iter().map(|l| l.output_width()).collect();
    let mut own = model.with_sites(Some(Sites::draw(3, &widths, 5).unwrap())).unwrap();
    own.set_parameter("sites.logits", &[0.3, -0.4, 0.1]).unwrap();
    own
}

/// Whether an objective can be had with this model.
fn fits(objective: ObjectiveForm, model: &DeepGp) -> bool {
    objective.objective().check(model).is_ok()
}

fn check_gradients(mean: MeanForm) {
    let mut refused = 0;
    for covariance in COVARIANCE_FORMS {
        for sets in SETS {
            for likelihood in all_likelihoods() {
                let weights = vec![1.0, 0.5, 2.0, 0.7, 1.5, 1.0];
                let data = data_for(&*likelihood, 6, 50).with_weights(weights).unwrap();
                for objective in ALL_OBJECTIVES {
                    for (kind, sites) in [("samples", false), ("sites", true)] {
                        let model = model((mean, covariance), sets, likelihood.clone());
                        let model = if sites { with_sites(model) } else { model };
                        if !fits(objective, &model) {
                            refused += 1;
                            continue;
                        }
                        let own = objective.objective();
                        let batch = Batch {
                            samples: 2,
                            num_data: 8,
                            kl_weight: 0.7,
                            objective: &*own,
                            ..Batch::of(&data, &[5, 0, 3, 2])
                        };
                        let what = format!(
                            "{mean:?}, {covariance:?}, {sets:?}, {}, {objective:?}, {kind}",
                            model.likelihood().name()
                        );
                        assert_gradient(&what, &model, batch, training_noise(1), 5e-6);
                    }
                }
            }
        }
    }
    // The tighter bound is for Gaussian noise, and not for a dual covariance: 3 sets × 2 × (8 × 4 likelihoods × forms + 1).
    assert_eq!(refused, 3 * 2 * (8 * 4 + 1));
}

#[test]
fn every_objective_likelihood_and_form_has_its_gradient_whitened() {
    check_gradients(MeanForm::Whitened);
}

#[test]
fn every_objective_likelihood_and_form_has_its_gradient_standard() {
    check_gradients(MeanForm::Standard);
}

#[test]
fn every_objective_likelihood_and_form_has_its_gradient_dual() {
    check_gradients(MeanForm::Dual);
}

#[test]
fn several_targets_and_no_hidden_layer_have_theirs() {
    let data = Dataset::new(uniform(6, 2, 1), uniform(6, 2, 2)).unwrap();
    let rows = all_rows(&data);
    for likelihood in likelihoods(2) {
        let forms = (MeanForm::Whitened, CovarianceForm::Diagonal);
        let deep = model(forms, Sets::Nested, likelihood.clone());
        let shallow = {
            let last = random_layer((2, likelihood.latent_width()), forms, Sets::Nested, MeanFunction::Zero, 13);
            DeepGp::new(vec![last], likelihood.clone()).unwrap()
        };
        for objective in ALL_OBJECTIVES {
            for model in [&deep, &with_sites(deep.clone()), &shallow] {
                if fits(objective, model) {
                    let own = objective.objective();
                    let batch = Batch { samples: 2, objective: &*own, ..full_batch(&data, &rows) };
                    let what = format!("{}, {objective:?}", model.likelihood().name());
                    assert_gradient(&what, model, batch, training_noise(2), 5e-6);
                }
            }
        }
    }
}

#[test]
fn one_site_at_zero_is_the_pass_without_noise() {
    let data = random_data(9, 4);
    let rows = all_rows(&data);
    let forms = (MeanForm::Whitened, CovarianceForm::Diagonal);
    let plain = model(forms, Sets::Nested, Box::new(Gaussian::new(0.3, 1)));
    let sited = plain.clone().with_sites(Some(Sites::new(vec![Mat::zeros(1, 3)], vec![7.0]).unwrap())).unwrap();
    let own = ObjectiveForm::PREDICTIVE.objective();
    let batch = Batch { objective: &*own, ..full_batch(&data, &rows) };
    let still = [Mat::zeros(9, 3)];
    let by_noise = plain.objective(batch, Noise::Given(&still)).unwrap();
    let by_site = sited.objective(batch, training_noise(1)).unwrap();
    close("objective", by_site.total(), by_noise.total(), 1e-13);
    // And so is what it predicts, by the mean of a mixture of one.
    let predicted = sited.predictor(PredictSettings::default()).unwrap().moments(data.x().view()).unwrap();
    let propagated = plain.propagate(data.x().view(), Noise::Given(&still), 1).unwrap();
    all_close("mean", predicted.f.mean.as_slice(), propagated.mean.as_slice(), 1e-13);
    all_close("variance", predicted.f.variance.as_slice(), propagated.variance.as_slice(), 1e-12);
}

#[test]
fn sites_of_equal_weight_at_the_noise_of_samples_predict_as_those_do() {
    let forms = (MeanForm::Whitened, CovarianceForm::Diagonal);
    for likelihood in all_likelihoods() {
        let data = data_for(&*likelihood, 5, 4);
        let plain = model(forms, Sets::Nested, likelihood);
        let sited = plain.clone().with_sites(Some(Sites::draw(3, &[3], 5).unwrap())).unwrap();
        let points = &sited.sites().unwrap().points()[0];
        let noise = [Mat::from_fn(15, 3, |i, j| points[(i % 3, j)])];
        let parts = plain.propagate(data.x().view(), Noise::Given(&noise), 3).unwrap();
        let predictor = sited.predictor(PredictSettings::default()).unwrap();
        let moments = predictor.moments(data.x().view()).unwrap();
        for i in 0..5 {
            let mean = (0..3).map(|s| parts.mean[(3 * i + s, 0)]).sum::<f64>() / 3.0;
            close("mean", moments.f.mean[(i, 0)], mean, 1e-13);
        }
        // The objective of rows is their log density, and the mean of it what is predicted.
        let own = ObjectiveForm::PREDICTIVE.objective();
        let rows = all_rows(&data);
        let batch = Batch { objective: &*own, ..full_batch(&data, &rows) };
        let density: f64 = predictor.log_density(data.x().view(), data.y().view()).unwrap().iter().sum();
        close("density", sited.objective(batch, training_noise(1)).unwrap().data_term, density, 1e-12);
    }
}

#[test]
fn densities_integrate_to_one_and_agree_with_moments_and_distribution_functions() {
    let x = uniform(3, 2, 9);
    let forms = (MeanForm::Whitened, CovarianceForm::Diagonal);
    for likelihood in likelihoods(1) {
        let heavy = likelihood.name() == "student-t";
        let plain = model(forms, Sets::Nested, likelihood);
        for model in [plain.clone(), with_sites(plain)] {
            let predictor = model.predictor(PredictSettings { samples: 4, ..Default::default() }).unwrap();
            let moments = predictor.moments(x.view()).unwrap();
            // Far into the tails by y = sinh t, by the trapezoidal rule.
            let (steps, reach) = (4000, 12.0);
            let (mut total, mut first, mut second, mut below) = ([0.0; 3], [0.0; 3], [0.0; 3], [0.0; 3]);
            for k in 0..=steps {
                let at = reach * (2.0 * f64::from(k) / f64::from(steps) - 1.0);
                let (y, width) = (at.sinh(), 2.0 * reach / f64::from(steps) * at.cosh());
                let density = predictor.log_density(x.view(), Mat::column(vec![y; 3]).view()).unwrap();
                for i in 0..3 {
                    let mass = density[i].exp() * width;
                    total[i] += mass;
                    first[i] += mass * y;
                    second[i] += mass * y * y;
                    below[i] += if y <= 0.5 { mass } else { 0.0 };
                }
            }
            let cumulative = predictor.cumulative(x.view(), Mat::column(vec![0.5; 3]).view()).unwrap();
            for i in 0..3 {
                let (mean, variance) = (moments.y.mean[(i, 0)], moments.y.variance[(i, 0)]);
                close("total", total[i], 1.0, 1e-6);
                close("mean", first[i], mean, 1e-6);
                // With four degrees of freedom the second moment comes from far away.
                close("variance", second[i] - mean * mean, variance, if heavy { 1e-2 } else { 1e-5 });
                close("below", below[i], cumulative[(i, 0)], 1e-2);
                assert!(moments.noise[(i, 0)] > 0.0 && moments.noise[(i, 0)] < variance);
            }
        }
    }
}

#[test]
fn probabilities_of_classes_and_counts_sum_to_one_and_agree_with_everything_else() {
    let x = uniform(3, 2, 9);
    let forms = (MeanForm::Whitened, CovarianceForm::Diagonal);
    for likelihood in all_likelihoods() {
        let values = match likelihood.outcomes() {
            Outcomes::Real => continue,
            Outcomes::Classes(classes) => classes,
            Outcomes::Counts => 400,
        };
        let plain = model(forms, Sets::Nested, likelihood);
        for model in [plain.clone(), with_sites(plain)] {
            let name = model.likelihood().name();
            let predictor = model.predictor(PredictSettings { samples: 4, ..Default::default() }).unwrap();
            let moments = predictor.moments(x.view()).unwrap();
            let probabilities = predictor.class_probabilities(x.view());
            assert_eq!(probabilities.is_ok(), matches!(model.likelihood().outcomes(), Outcomes::Classes(_)), "{name}");
            let (mut total, mut first, mut second) = ([0.0; 3], [0.0; 3], [0.0; 3]);
            for k in 0..values {
                let y = Mat::column(vec![k as f64; 3]);
                let density = predictor.log_density(x.view(), y.view()).unwrap();
                let below = predictor.cumulative(x.view(), y.view()).unwrap();
                for i in 0..3 {
                    let mass = density[i].exp();
                    total[i] += mass;
                    first[i] += mass * k as f64;
                    second[i] += mass * (k * k) as f64;
                    close(&format!("{name}: below"), below[(i, 0)], total[i], 1e-6);
                    if let Ok(all) = &probabilities {
                        close(&format!("{name}: class"), all[(i, k)], mass, 1e-6);
                    }
                }
            }
            let levels = [0.05, 0.5, 0.95];
            let quantiles = predictor.quantiles(x.view(), &levels).unwrap();
            for i in 0..3 {
                close(&format!("{name}: total"), total[i], 1.0, 1e-6);
                close(&format!("{name}: mean"), first[i], moments.y.mean[(i, 0)], 1e-4);
                let spread = second[i] - first[i] * first[i];
                close(&format!("{name}: variance"), spread, moments.y.variance[(i, 0)], 1e-2);
                assert!(moments.noise[(i, 0)] > 0.0 && moments.noise[(i, 0)] < moments.y.variance[(i, 0)], "{name}");
                for (l, level) in levels.into_iter().enumerate() {
                    let own = quantiles[(i, l)];
                    assert_eq!(own.fract(), 0.0);
                    let below = |at: f64| {
                        let y = Mat::column(vec![at.max(0.0); 3]);
                        predictor.cumulative(x.view(), y.view()).unwrap()[(i, 0)]
                    };
                    assert!(below(own) >= level - 1e-9 && (own == 0.0 || below(own - 1.0) < level), "{name}");
                }
            }
        }
    }
}

#[test]
fn draws_of_sites_come_from_the_mixture_alone_and_jointly() {
    let forms = (MeanForm::Whitened, CovarianceForm::Diagonal);
    let model = with_sites(model(forms, Sets::Nested, Box::new(Gaussian::new(0.05, 1))));
    let x = uniform(2, 2, 9);
    let predictor = model.predictor(PredictSettings::default()).unwrap();
    let moments = predictor.moments(x.view()).unwrap();
    let joint = predictor.joint_moments(x.view()).unwrap();
    let draws = 4000;
    let alone = predictor.draws_of_f(x.view(), draws).unwrap();
    let together = predictor.joint_draws(x.view(), draws).unwrap().f;
    for i in 0..2 {
        close("joint mean", joint.mean[(i, 0)], moments.f.mean[(i, 0)], 1e-12);
        close("joint variance", joint.covariance[0][(i, i)], moments.f.variance[(i, 0)], 1e-10);
        for all in [&alone, &together] {
            let mean = all.iter().map(|d| d[(i, 0)]).sum::<f64>() / draws as f64;
            let variance = all.iter().map(|d| (d[(i, 0)] - mean).powi(2)).sum::<f64>() / draws as f64;
            let spread = moments.f.variance[(i, 0)];
            assert!((mean - moments.f.mean[(i, 0)]).abs() < 5.0 * (spread / draws as f64).sqrt());
            assert!((variance / spread - 1.0).abs() < 0.15, "{variance} {spread}");
        }
    }
}

/// A single layer whose `q` is the best there is for its inducing inputs (Titsias 2009): its ELBO is known in closed form, and the
/// evidence of the exact Gaussian process lies above.
#[test]
fn the_tighter_bound_lies_between_the_elbo_and_the_evidence() {
    let (n, noise, variance) = (20, 0.2, 0.9);
    let mut gains = 0;
    for seed in 0..20 {
        let x = uniform(n, 2, seed).map(|v: f64| 2.0 * v);
        let key = Key::new(seed, Purpose::Simulate);
        let y = Mat::from_fn(n, 1, |i, _| (2.0 * x[(i, 0)]).sin() + 0.4 * key.normals([i as u32, 7, 0, 0])[0]);
        let data = Dataset::new(x.clone(), y.clone()).unwrap();
        let z = uniform(6, 2, seed + 100).map(|v: f64| 2.0 * v);
        let lengthscales = [0.9, 1.1];
        let kernel = |a: &Mat, b: &Mat| squared_exponential(a, b, variance, &lengthscales);
        let jittered = |k: Mat| add(&k, 1e-8, &Mat::identity(6));
        let (k_zz, k_zx) = (jittered(kernel(&z, &z)), kernel(&z, &x));
        // q(u) of S = K (K + K_zx K_xz / σ²)⁻¹ K and m = S K⁻¹ K_zx y / σ².
        let inner = add(&k_zz, 1.0 / noise, &mul(&k_zx, &t(&k_zx)));
        let (inner_inverse, _) = inverse_and_log_det(&inner);
        let s = mul(&mul(&k_zz, &inner_inverse), &k_zz);
        let m = mul(&mul(&k_zz, &inner_inverse), &mul(&k_zx, &y)).map(|v: f64| v / noise);
        let mut layer =
            random_layer((2, 1), (MeanForm::Standard, CovarianceForm::Standard), Sets::Tied, MeanFunction::Zero, 1);
        layer.kernel = Box::new(deepgp::kernel::SquaredExponential::new(variance, lengthscales.to_vec()));
        layer.inducing = Inducing::Tied(z);
        layer.mean.free = m;
        layer.covariance.factor = cholesky(&s);
        let model = DeepGp::new(vec![layer], Box::new(Gaussian::new(noise, 1))).unwrap();
        let model = model.with_jitter(Jitter { absolute: 1e-8, relative: 0.0 }).unwrap();
        let rows = all_rows(&data);
        let value = |objective: ObjectiveForm| {
            let own = objective.objective();
            let batch = Batch { objective: &*own, ..full_batch(&data, &rows) };
            model.objective(batch, training_noise(1)).unwrap().total()
        };
        let (elbo, tighter) = (value(ObjectiveForm::Elbo), value(ObjectiveForm::Tighter));
        let exact = add(&kernel(&x, &x), noise, &Mat::identity(n));
        let (exact_inverse, log_det) = inverse_and_log_det(&exact);
        let fit = mul(&mul(&t(&y), &exact_inverse), &y)[(0, 0)];
        let evidence = -0.5 * (fit + log_det + n as f64 * std::f64::consts::TAU.ln());
        assert!(elbo <= tighter && tighter <= evidence, "{seed}: {elbo} {tighter} {evidence}");
        gains += usize::from(tighter > elbo + 1e-3 * (evidence - elbo));
    }
    assert!(gains >= 15, "{gains} gains");
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let hetero = model((MeanForm::Whitened, CovarianceForm::Diagonal), Sets::Nested, likelihoods(1)[1].clone());
    let message = ObjectiveForm::Tighter.objective().check(&hetero).unwrap_err().to_string();
    assert!(message.contains("tighter") && message.contains("Gaussian"), "{message}");
    for power in [0.0, -1.0, 1.5, f64::NAN] {
        let message = ObjectiveForm::Predictive { power }.check().unwrap_err().to_string();
        assert!(message.contains("power") && message.contains("above 0"), "{message}");
    }
    assert!(hetero.clone().with_sites(Some(Sites::draw(2, &[4], 1).unwrap())).is_err());
    assert!(hetero.with_sites(Some(Sites::draw(2, &[3], 1).unwrap())).is_ok());
}
