//! Proves that rows which training did not see make distributions of numbers as wide as they should be, and that all that is said of a row
//! is then stretched around its mean alike.

mod common;

use std::ops::ControlFlow;

use common::*;
use deepgp::likelihood::Gaussian;
use deepgp::{
    CovarianceForm, Dataset, DeepGp, Draws, FitSettings, InducingSize, LikelihoodForm, Mat, MeanForm, MeanFunction,
    ModelSettings, PredictSettings, Regressor, Scaling, Spread, Standardiser, TargetTransform, TargetTransforms,
    TrainSettings, Training, hold_out, simulate,
};

const FORMS: (MeanForm, CovarianceForm) = (MeanForm::Whitened, CovarianceForm::Whitened);
const SETTINGS: PredictSettings = PredictSettings { samples: 30, seed: 3, threads: 0, draws: Draws::Balanced };
const FACTORS: [f64; 2] = [0.5, 2.0];

/// Two inputs, one hidden layer of three, two targets in units of their own.
fn two_targets() -> Regressor {
    let layers = vec![
        random_layer((2, 3), FORMS, false, MeanFunction::ZeroPadding, 1),
        random_layer((3, 2), FORMS, true, MeanFunction::Zero, 2),
    ];
    let model = DeepGp::new(layers, Box::new(Gaussian { noise: vec![0.1, 0.4] })).unwrap();
    let y = Scaling { shift: vec![3.0, -1.0], scale: vec![2.0, 0.1] };
    Regressor::new(model, Standardiser { x: Scaling::identity(2), y, transform: None, trend: None })
}

/// The settings of a short fit of a shallow model.
fn short(steps: u64) -> FitSettings {
    let inducing = InducingSize::Nested { mean: Some(20), covariance: Some(20) };
    let likelihood = LikelihoodForm::GAUSSIAN;
    FitSettings {
        model: ModelSettings { hidden_layers: 0, inducing, likelihood, ..ModelSettings::default() },
        train: TrainSettings { steps, ..TrainSettings::default() },
        ..FitSettings::default()
    }
}

#[test]
fn all_that_is_said_of_a_row_is_stretched_around_its_mean() {
    let plain = two_targets();
    let wide = Regressor { spread: Spread::new(FACTORS.to_vec()).unwrap(), ..plain.clone() };
    let (before, after) = (plain.predictor(SETTINGS).unwrap(), wide.predictor(SETTINGS).unwrap());
    let x = uniform(12, 2, 9);
    let (m, own) = (before.moments(x.view()).unwrap(), after.moments(x.view()).unwrap());
    let mean = m.y.mean.clone();
    let stretched = |y: &Mat| Mat::from_fn(y.nrows(), 2, |i, p| mean[(i, p)] + FACTORS[p] * (y[(i, p)] - mean[(i, p)]));
    let all_close = |what: &str, found: &Mat, expected: &Mat| {
        for (found, expected) in found.as_slice().iter().zip(expected.as_slice()) {
            close(what, *found, *expected, 1e-9);
        }
    };
    let squared = |v: &Mat| Mat::from_fn(v.nrows(), 2, |i, p| FACTORS[p] * FACTORS[p] * v[(i, p)]);
    all_close("mean", &own.y.mean, &mean);
    all_close("variance", &own.y.variance, &squared(&m.y.variance));
    all_close("variance of f", &own.f.variance, &squared(&m.f.variance));
    all_close("noise", &own.noise, &squared(&m.noise));
    let y = before.draws_of_y(x.view(), 3).unwrap();
    for (draw, before) in after.draws_of_y(x.view(), 3).unwrap().iter().zip(&y) {
        all_close("draw", draw, &stretched(before));
    }
    let volume = FACTORS[0].ln() + FACTORS[1].ln();
    let densities = before.log_density(x.view(), y[0].view()).unwrap();
    let there = stretched(&y[0]);
    for (found, before) in after.log_density(x.view(), there.view()).unwrap().iter().zip(densities) {
        close("density", *found, before - volume, 1e-9);
    }
    let (u, v) = (before.cumulative(x.view(), y[0].view()), after.cumulative(x.view(), there.view()));
    all_close("distribution function", &v.unwrap(), &u.unwrap());
    let levels = |q: &Mat, l: usize| Mat::from_fn(q.nrows(), 2, |i, p| q[(i, 2 * p + l)]);
    let [u, v] = [&before, &after].map(|own| own.quantiles(x.view(), &[0.1, 0.8]).unwrap());
    (0..2).for_each(|l| all_close("quantile", &levels(&v, l), &stretched(&levels(&u, l))));
    let crps = |predictor: &deepgp::UserPredictor<'_>, y: &Mat| {
        predictor.assess(&Dataset::new(x.clone(), y.clone()).unwrap()).unwrap().crps
    };
    let scaled = crps(&before, &y[0]);
    let scaled = Mat::from_fn(12, 2, |i, p| FACTORS[p] * scaled[(i, p)]);
    all_close("score", &crps(&after, &there), &scaled);
    // Rows together.
    let (joint, wider) = (before.joint_moments(x.view()).unwrap(), after.joint_moments(x.view()).unwrap());
    for p in 0..2 {
        let expected = joint.covariance[p].map(|v: f64| FACTORS[p] * FACTORS[p] * v);
        all_close("covariance", &wider.covariance[p], &expected);
    }
    let (joint, wider) = (before.joint_draws(x.view(), 2).unwrap(), after.joint_draws(x.view(), 2).unwrap());
    let around = |y: &Mat| Mat::from_fn(12, 2, |i, p| m.f.mean[(i, p)] + FACTORS[p] * (y[(i, p)] - m.f.mean[(i, p)]));
    all_close("joint draw of f", &wider.f[1], &around(&joint.f[1]));
    all_close("joint draw of y", &wider.y[1], &around(&joint.y[1]));
    let (slopes, wider) = (before.input_gradient(x.view()).unwrap(), after.input_gradient(x.view()).unwrap());
    all_close("slope of the mean", &wider.mean, &slopes.mean);
    let expected = Mat::from_fn(12, 4, |i, j| FACTORS[j / 2] * FACTORS[j / 2] * slopes.variance[(i, j)]);
    all_close("slope of the variance", &wider.variance, &expected);
}

#[test]
fn a_transformed_target_is_stretched_before_its_transform_is_undone() {
    let mut plain = two_targets();
    let original = plain.standardiser.y.clone();
    plain.standardiser.transform =
        Some(TargetTransforms { each: vec![TargetTransform::Log, TargetTransform::Identity], original });
    let wide = Regressor { spread: Spread::new(FACTORS.to_vec()).unwrap(), ..plain.clone() };
    let (before, after) = (plain.predictor(SETTINGS).unwrap(), wide.predictor(SETTINGS).unwrap());
    let x = uniform(6, 2, 9);
    // Of a logarithm, that of the quantile is stretched around the function's mean.
    let mean = before.moments(x.view()).unwrap().f.mean;
    let [u, v] = [&before, &after].map(|own| own.quantiles(x.view(), &[0.1, 0.8]).unwrap());
    let ends = after.intervals(x.view(), &[0.6]).unwrap();
    let middle = after.quantiles(x.view(), &[0.2, 0.8]).unwrap();
    for i in 0..6 {
        for l in 0..2 {
            let expected = (mean[(i, 0)] + FACTORS[0] * (u[(i, l)].ln() - mean[(i, 0)])).exp();
            close("quantile", v[(i, l)], expected, 1e-9);
            close("end", ends[(i, l)], middle[(i, l)], 1e-9);
        }
    }
    let at = |y: f64| {
        let y = Mat::from_fn(1, 2, |_, p| if p == 0 { y } else { 0.0 });
        after.cumulative(x.view().rows(0..1), y.view()).unwrap()[(0, 0)]
    };
    let y = v[(0, 0)];
    close("distribution function", at(y), 0.1, 1e-9);
    let band = after.function_band(x.view(), 1.0).unwrap();
    let f = after.moments(x.view()).unwrap().f;
    for i in 0..6 {
        let reach = f.variance[(i, 0)].sqrt();
        close("band", band[(i, 2)], (f.mean[(i, 0)] + reach).exp(), 1e-9);
        close("band of the second", band[(i, 4)], f.mean[(i, 1)] - f.variance[(i, 1)].sqrt(), 1e-9);
    }
}

#[test]
fn what_distributions_are_too_wide_or_too_narrow_by_is_found() {
    // Targets that scatter half and twice as much as the model says.
    let mut regressor = two_targets();
    regressor.spread = Spread::new(FACTORS.to_vec()).unwrap();
    let x = uniform(4000, 2, 9);
    // Row after row by another draw: within one, rows share the random numbers of the function.
    let draws = regressor.predictor(SETTINGS).unwrap().draws_of_y(x.view(), 600).unwrap();
    let y = Mat::from_fn(4000, 2, |i, p| draws[i % 600][(i, p)]);
    let data = Dataset::new(x, y).unwrap();
    regressor.spread = Spread::default();
    let mut settings = FitSettings { validation: Some(0.5), ..FitSettings::default() };
    // So small a step that the model stays what it is.
    settings.train = TrainSettings { steps: 1, learning_rate: Some(1e-12), ..settings.train };
    settings.train = TrainSettings { validation_samples: SETTINGS.samples, seed: SETTINGS.seed, ..settings.train };
    settings.train.objective = Some(deepgp::ObjectiveForm::Elbo);
    let run = |settings: &FitSettings| {
        let training = Training::of(regressor.clone(), &data, settings).unwrap();
        training.run(|_, _| ControlFlow::Continue(())).unwrap().regressor.spread
    };
    let found = run(&settings).factors().to_vec();
    // Held to 1 by as much as 50 rows say, the factors go most of the way.
    for (found, factor) in found.iter().zip(FACTORS) {
        assert!((0.7..1.0).contains(&(found.ln() / factor.ln())), "{found} for {factor}");
    }
    // By definition: no factors beside these make the rows held out likelier, less what it costs to leave 1.
    let held_out = hold_out(&data, &settings).unwrap().1.unwrap();
    let fitness = |factors: &[f64]| {
        let own = Regressor { spread: Spread::new(factors.to_vec()).unwrap(), ..regressor.clone() };
        let score = own.predictor(SETTINGS).unwrap().score(&held_out).unwrap();
        let cost: f64 = factors.iter().map(|own| 0.5 * (own.ln() / 0.1).powi(2)).sum();
        held_out.len() as f64 * score.log_likelihood - cost
    };
    let best = fitness(&found);
    for (p, step) in [(0, 0.99), (0, 1.01), (1, 0.99), (1, 1.01)] {
        let mut beside = found.clone();
        beside[p] *= step;
        assert!(fitness(&beside) < best, "{beside:?} are no worse than {found:?}");
    }
    assert!(run(&FitSettings { calibrate: false, ..settings.clone() }).is_neutral());
    assert!(run(&FitSettings { validation: None, ..settings }).is_neutral());
}

#[test]
fn a_noise_that_is_ten_times_too_large_is_made_up_for() {
    let (train, test) = simulate::step_curve(1500, 1).split(0.2, 2).unwrap();
    // Many rows that see it: a few are not believed.
    let settings = FitSettings { validation: Some(0.5), ..short(300) };
    let mut training = Training::new(&train, &settings).unwrap();
    training.model_mut().set_parameter("likelihood.noise", &[1.0]).unwrap();
    training.model_mut().freeze("likelihood.noise").unwrap();
    let own = training.run(|_, _| ControlFlow::Continue(())).unwrap().regressor;
    let score = |own: &Regressor| own.predictor(SETTINGS).unwrap().score(&test).unwrap();
    let (calibrated, plain) = (score(&own), score(&Regressor { spread: Spread::default(), ..own.clone() }));
    assert!(own.spread.factors()[0] < 0.7, "{:?}", own.spread);
    assert_eq!(calibrated.rmse, plain.rmse);
    assert!(calibrated.log_likelihood > plain.log_likelihood + 0.3, "{calibrated:?} {plain:?}");
    assert!(plain.coverage_95[0] > 0.99 && (0.9..0.985).contains(&calibrated.coverage_95[0]), "{calibrated:?}");
}
