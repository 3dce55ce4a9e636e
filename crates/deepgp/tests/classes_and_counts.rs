//! Proves that classes and counts are learnt from data in the user's units: two moons, four quarters of the plane, a curve of rates, with exposures and
//! without; and that what cannot be is refused with what to do.

mod common;

use std::ops::ControlFlow;

use common::{all_rows, assert_gradient, close, full_batch, training_noise, uniform};
use deepgp::likelihood::{LikelihoodForm, Link, Outcomes, Poisson};
use deepgp::noise::{Key, Purpose};
use deepgp::{
    ClassScore, Dataset, DeepGp, FitSettings, InducingSize, Mat, ObjectiveForm, PredictSettings, Regressor, Rows,
    Sharpness, TransformChoice,
};

/// Settings of a small and fast fit.
fn settings(likelihood: LikelihoodForm, steps: u64) -> FitSettings {
    let mut settings = FitSettings::default();
    settings.model.likelihood = likelihood;
    settings.model.hidden_layers = 1;
    settings.model.width = 2;
    settings.model.inducing = InducingSize::nested(40, 25);
    (settings.train.steps, settings.train.learning_rate) = (steps, Some(0.02));
    settings.train.validate_every = 50;
    settings
}

fn fit(data: &Dataset, settings: &FitSettings) -> Regressor {
    Regressor::fit(data, settings, |_, _| ControlFlow::Continue(())).unwrap().regressor
}

/// Two half circles that reach into each other, with some noise; class 1 is a third of the rows.
fn two_moons(rows: usize, seed: u64) -> Dataset {
    let key = Key::new(seed, Purpose::Simulate);
    let class = |i: usize| usize::from(i.is_multiple_of(3));
    let x = Mat::from_fn(rows, 2, |i, j| {
        let (angle, e) = (std::f64::consts::PI * key.uniform([i as u32, 0, 0, 0]), key.normals([i as u32, 1, 0, 0]));
        let (across, up) = (angle.cos(), angle.sin());
        let place = if class(i) == 0 { [across, up] } else { [1.0 - across, 0.5 - up] };
        place[j] + 0.12 * e[j]
    });
    Dataset::new(x, Mat::from_fn(rows, 1, |i, _| class(i) as f64)).unwrap()
}

#[test]
fn two_moons_are_told_apart_by_every_likelihood_of_two_classes() {
    let (train, test) = (two_moons(300, 1), two_moons(300, 2));
    let shares = ClassScore::new(
        test.y().view(),
        &Mat::from_fn(300, 2, |_, c| if c == 1 { 1.0 / 3.0 } else { 2.0 / 3.0 }),
        None,
    )
    .unwrap();
    for form in [LikelihoodForm::PROBIT, LikelihoodForm::LOGIT, LikelihoodForm::SOFTMAX] {
        let model = fit(&train, &settings(form, 250));
        let predictor = model.predictor(PredictSettings { samples: 20, ..Default::default() }).unwrap();
        let score = predictor.class_score(&test).unwrap();
        assert!(score.accuracy > 0.95 && score.auc.unwrap() > 0.985, "{form:?}: {score:?}");
        assert!(score.log_loss < 0.3 * shares.log_loss, "{form:?}: {} {}", score.log_loss, shares.log_loss);
        let p = predictor.class_probabilities(test.x().view()).unwrap();
        assert!((0..300).all(|i| (p[(i, 0)] + p[(i, 1)] - 1.0).abs() < 1e-12));
        // Far away nothing is known but the shares, about.
        let far = predictor.class_probabilities(Mat::from_vec(1, 2, vec![40.0, 40.0]).unwrap().view()).unwrap();
        assert!((0.1..0.9).contains(&far[(0, 1)]), "{form:?}: {far:?}");
        let targets = model.standardiser.y.clone();
        assert_eq!(
            (targets.shift, targets.scale, model.standardiser.transform.is_none()),
            (vec![0.0], vec![1.0], true)
        );
        assert!(predictor.count_score(&test).unwrap_err().to_string().contains("not one of counts"));
        assert!(predictor.cumulative_counts(&test, &[1.0]).is_err());
    }
}

#[test]
fn rows_held_out_say_how_sure_of_classes_to_be_and_all_that_is_said_of_them_agrees() {
    // A class that is drawn by a coin which the inputs bend: no model is surer than the coin.
    let x = uniform(400, 1, 9);
    let key = Key::new(4, Purpose::Simulate);
    let y = Mat::from_fn(400, 1, |i, _| {
        let coin = 1.0 / (1.0 + (-2.0 * x[(i, 0)]).exp());
        f64::from(u8::from(key.uniform([i as u32, 0, 0, 0]) < coin))
    });
    let data = Dataset::new(x.clone(), y).unwrap();
    let mut own = settings(LikelihoodForm::PROBIT, 60);
    let sharpness = fit(&data, &own).sharpness;
    assert!(!sharpness.is_neutral() && (0.3..2.0).contains(&sharpness.power()), "{sharpness:?}");
    own.validation = None;
    let mut model = fit(&data, &own);
    assert!(model.sharpness.is_neutral(), "nobody was held out");
    let predict = PredictSettings { samples: 10, ..Default::default() };
    let probabilities = |model: &Regressor| {
        let p = model.predictor(predict).unwrap().class_probabilities(x.view()).unwrap();
        (0..400).map(|i| p[(i, 1)]).collect::<Vec<f64>>()
    };
    let plain = probabilities(&model);
    model.sharpness = Sharpness::new(2.0).unwrap();
    let p = probabilities(&model);
    for (own, before) in p.iter().zip(&plain) {
        let (odds, odds_before) = (own / (1.0 - own), before / (1.0 - before));
        close("odds", odds, odds_before * odds_before, 1e-9);
    }
    let predictor = model.predictor(predict).unwrap();
    let moments = predictor.moments(x.view()).unwrap();
    let (ones, log_density) = (Mat::from_fn(400, 1, |_, _| 1.0), |y: &Mat| predictor.log_density(x.view(), y.view()));
    let (of_ones, up_to) =
        (log_density(&ones).unwrap(), predictor.cumulative(x.view(), Mat::zeros(400, 1).view()).unwrap());
    let medians = predictor.quantiles(x.view(), &[0.5]).unwrap();
    let assessed = predictor.assess(&data).unwrap();
    for i in 0..400 {
        close("mean", moments.y.mean[(i, 0)], p[i], 1e-12);
        close("variance", moments.y.variance[(i, 0)], p[i] * (1.0 - p[i]), 1e-12);
        assert!(moments.noise[(i, 0)] <= moments.y.variance[(i, 0)]);
        close("density", of_ones[i].exp(), p[i], 1e-12);
        close("cumulative", up_to[(i, 0)], 1.0 - p[i], 1e-12);
        assert_eq!(medians[(i, 0)], f64::from(u8::from(p[i] > 0.5)));
        let off = (data.y()[(i, 0)] - p[i]).abs();
        close("score", assessed.crps[(i, 0)], off * off, 1e-12);
        close("density", assessed.log_density[i].exp(), 1.0 - off, 1e-12);
    }
    let draws = predictor.draws_of_y(x.view(), 2000).unwrap();
    let share = draws.iter().map(|own| own[(7, 0)]).sum::<f64>() / 2000.0;
    assert!((share - p[7]).abs() < 0.05, "{share} {}", p[7]);
    // Numbers have no classes to be sure of.
    let mut number = fit(&two_moons(30, 1), &settings(LikelihoodForm::GAUSSIAN, 2));
    number.sharpness = Sharpness::new(2.0).unwrap();
    assert!(number.predictor(predict).unwrap_err().to_string().contains("has no classes"));
}

#[test]
fn several_classes_are_learnt_with_the_bound_and_with_the_predictive_objective() {
    // Four quarters of the plane, turned.
    let x = uniform(400, 2, 3);
    let class = |x: &[f64]| 2.0 * f64::from(x[0] + 0.4 * x[1] > 0.0) + f64::from(x[1] - 0.4 * x[0] > 0.0);
    let y = Mat::from_fn(400, 1, |i, _| class(x.row(i)));
    let data = Dataset::new(x, y).unwrap();
    for objective in [None, Some(ObjectiveForm::PREDICTIVE)] {
        let mut settings = settings(LikelihoodForm::SOFTMAX, 200);
        settings.train.objective = objective;
        let model = fit(&data, &settings);
        assert_eq!(model.model.likelihood().outcomes(), Outcomes::Classes(4));
        let predictor = model.predictor(PredictSettings { samples: 10, ..Default::default() }).unwrap();
        let score = predictor.class_score(&data).unwrap();
        assert!(score.accuracy > 0.93 && score.log_loss < 0.4, "{objective:?}: {score:?}");
    }
}

#[test]
fn ordered_classes_are_learnt_as_such() {
    let key = Key::new(4, Purpose::Simulate);
    let x = uniform(400, 1, 5);
    let y = Mat::from_fn(400, 1, |i, _| {
        let at = 2.0 * (3.0 * x[(i, 0)]).sin() + 0.3 * key.normals([i as u32, 0, 0, 0])[0];
        [-1.2, -0.2, 0.9].iter().filter(|cutpoint| at > **cutpoint).count() as f64
    });
    let data = Dataset::new(x, y).unwrap();
    let model = fit(&data, &settings(LikelihoodForm::ORDERED, 250));
    let predictor = model.predictor(PredictSettings { samples: 10, ..Default::default() }).unwrap();
    let score = predictor.class_score(&data).unwrap();
    assert!(score.accuracy > 0.8 && score.log_loss < 0.5, "{score:?}");
    let summary = model.likelihood_summary();
    assert!(summary.len() == 3 && summary[0].value < summary[1].value && summary[1].value < summary[2].value);
}

/// Counts at the rate `exp(1 + sin 3x)` over exposures between a half and four.
fn events(rows: usize, seed: u64, exposed: bool) -> Dataset {
    let key = Key::new(seed, Purpose::Simulate);
    let x = uniform(rows, 1, seed + 1);
    let exposure = |i: usize| if exposed { (2.0 * key.uniform([i as u32, 3, 0, 0]) - 0.7).exp() } else { 1.0 };
    let y = Mat::from_fn(rows, 1, |i, _| {
        let rate = (1.0 + (3.0 * x[(i, 0)]).sin()).exp() * exposure(i);
        let mut y = [0.0];
        let likelihood: Box<dyn deepgp::likelihood::Likelihood> = Box::new(Poisson::new(rate));
        likelihood.draw(&[0.0], key, [i as u32, 1, 0, 0], &mut y);
        y[0]
    });
    let data = Dataset::new(x, y).unwrap();
    if exposed { data.with_offsets((0..rows).map(|i| exposure(i).ln()).collect()).unwrap() } else { data }
}

#[test]
fn a_curve_of_rates_is_learnt_from_counts() {
    let (train, test) = (events(300, 1, false), events(300, 2, false));
    for form in [LikelihoodForm::Poisson, LikelihoodForm::NEGATIVE_BINOMIAL] {
        let model = fit(&train, &settings(form, 250));
        let predictor = model.predictor(PredictSettings { samples: 20, ..Default::default() }).unwrap();
        let at = Mat::column(vec![-0.52, 0.0, 0.52]);
        let moments = predictor.moments(at.view()).unwrap();
        for (i, expected) in [1.0, 1f64.exp(), 2f64.exp()].into_iter().enumerate() {
            let found = moments.y.mean[(i, 0)];
            assert!((found / expected - 1.0).abs() < 0.3, "{form:?}: {found} {expected}");
            // Users see the logarithm of the rate, level included.
            assert!((moments.f.mean[(i, 0)] - expected.ln()).abs() < 0.3, "{form:?}: {moments:?}");
        }
        let score = predictor.count_score(&test).unwrap();
        let flat = {
            let mean = train.y().as_slice().iter().sum::<f64>() / 300.0;
            let log = |y: &f64| y * mean.ln() - mean - (1..=*y as u32).map(|k| f64::from(k).ln()).sum::<f64>();
            test.y().as_slice().iter().map(log).sum::<f64>() / 300.0
        };
        assert!(score.log_score > flat + 0.3, "{form:?}: {score:?} {flat}");
        assert!(score.coverage_95 > 0.92 && score.coverage_50 > 0.45, "{form:?}: {score:?}");
        // The distribution functions of all rows at the same counts are those of each row by itself.
        let below = predictor.cumulative_counts(at.view(), &[0.0, 4.0]).unwrap();
        for (j, count) in [0.0, 4.0].into_iter().enumerate() {
            let own = predictor.cumulative(at.view(), Mat::column(vec![count; 3]).view()).unwrap();
            assert!((0..3).all(|i| below[(i, j)] == own[(i, 0)] && below[(i, 0)] < below[(i, 1)]), "{form:?}");
        }
        let quantiles = predictor.quantiles(at.view(), &[0.05, 0.5, 0.95]).unwrap();
        assert!(quantiles.as_slice().iter().all(|q| q.fract() == 0.0 && *q >= 0.0));
        assert!(predictor.class_probabilities(at.view()).unwrap_err().to_string().contains("no classes"));
        // The general scores hold too.
        let general = predictor.score(&test).unwrap();
        close("log score", general.log_likelihood, score.log_score, 1e-12);
        assert!(general.crps[0] > 0.0 && general.crps[0] < score.mae);
    }
}

#[test]
fn an_exposure_multiplies_rates() {
    let data = events(300, 3, true);
    let model = fit(&data, &settings(LikelihoodForm::Poisson, 250));
    let predictor = model.predictor(PredictSettings { samples: 20, ..Default::default() }).unwrap();
    let at = Mat::column(vec![-0.52, 0.0, 0.52]);
    let plain = predictor.moments(at.view()).unwrap();
    for (i, expected) in [1.0, 1f64.exp(), 2f64.exp()].into_iter().enumerate() {
        let found = plain.y.mean[(i, 0)];
        assert!((found / expected - 1.0).abs() < 0.3, "{found} {expected}");
    }
    let offsets = [0.7, -0.3, 2.0];
    let exposed = predictor.moments(Rows::with_offsets(at.view(), &offsets)).unwrap();
    for (i, offset) in offsets.into_iter().enumerate() {
        close("mean", exposed.y.mean[(i, 0)], plain.y.mean[(i, 0)] * f64::exp(offset), 1e-12);
        close("f", exposed.f.mean[(i, 0)], plain.f.mean[(i, 0)] + offset, 1e-12);
    }
    // Who leaves the exposures out of the score knows less.
    let (with, without) = {
        let bare = Dataset::new(data.x().clone(), data.y().clone()).unwrap();
        (predictor.count_score(&data).unwrap(), predictor.count_score(&bare).unwrap())
    };
    assert!(with.log_score > without.log_score + 0.2, "{with:?} {without:?}");
}

#[test]
fn offsets_are_a_level_of_each_row() {
    let data = events(12, 5, false);
    let model = DeepGp::with_likelihood(
        data.x().view(),
        Box::new(Poisson { level: 0.3 }),
        &settings(LikelihoodForm::Poisson, 1).model,
    )
    .unwrap();
    let shifted = DeepGp::new(model.layers().to_vec(), Box::new(Poisson { level: 0.8 })).unwrap();
    let rows = all_rows(&data);
    let offset = data.clone().with_offsets(vec![0.5; 12]).unwrap();
    let value = |model: &DeepGp, data: &Dataset| model.objective(full_batch(data, &rows), training_noise(1)).unwrap();
    close("objective", value(&model, &offset).total(), value(&shifted, &data).total(), 1e-13);
    let uneven = data.with_offsets(uniform(12, 1, 8).as_slice().to_vec()).unwrap();
    assert_gradient("offsets", &with_spread(model), full_batch(&uneven, &rows), training_noise(1), 5e-6);
}

/// The same model at parameters where nothing vanishes.
fn with_spread(mut model: DeepGp) -> DeepGp {
    for parameter in model.parameters() {
        let moved: Vec<f64> = match parameter.name.ends_with("mean.free") || parameter.name.ends_with("factor") {
            true => parameter.values.iter().enumerate().map(|(i, v)| v + 0.1 * ((i % 7) as f64 - 2.5)).collect(),
            false => parameter.values.clone(),
        };
        model.set_parameter(&parameter.name, &moved).unwrap();
    }
    model
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let data = two_moons(30, 1);
    let message = |data: &Dataset, settings: &FitSettings| {
        Regressor::fit(data, settings, |_, _| ControlFlow::Continue(())).unwrap_err().to_string()
    };
    let with_offsets = data.clone().with_offsets(vec![0.0; 30]).unwrap();
    let told = message(&with_offsets, &settings(LikelihoodForm::PROBIT, 1));
    assert!(told.contains("`probit` has none") && told.contains("poisson"), "{told}");
    let told = message(&with_offsets, &settings(LikelihoodForm::GAUSSIAN, 1));
    assert!(told.contains("`gaussian` has none"), "{told}");
    for objective in [ObjectiveForm::Tighter, ObjectiveForm::FAITHFUL] {
        for form in [LikelihoodForm::PROBIT, LikelihoodForm::SOFTMAX, LikelihoodForm::ORDERED, LikelihoodForm::Poisson]
        {
            let mut own = settings(form, 1);
            own.train.objective = Some(objective);
            let told = message(&data, &own);
            assert!(told.contains("`objective`") && told.contains("`elbo`"), "{told}");
        }
    }
    let mut bent = settings(LikelihoodForm::Poisson, 1);
    bent.transform_target = TransformChoice::Log1p;
    assert!(message(&data, &bent).contains("`none` for a likelihood that takes targets as they are"));
    let odd = Dataset::new(data.x().clone(), data.y().map(|y: f64| 2.0 * y)).unwrap();
    let told = message(&odd, &settings(LikelihoodForm::Bernoulli { link: Link::Logit }, 1));
    assert!(told.contains("row 0 is 2") && told.contains("0 or 1"), "{told}");
    let fitted = fit(&data, &settings(LikelihoodForm::PROBIT, 1));
    let predictor = fitted.predictor(PredictSettings::default()).unwrap();
    let offsets = vec![0.0; 30];
    assert!(predictor.moments(Rows::with_offsets(data.x().view(), &offsets)).is_err());
    assert!(predictor.log_density(data.x().view(), odd.y().view()).unwrap_err().to_string().contains("row 0 is 2"));
}
