//! Transformed targets from end to end: a fit in the user's units, its predictions, and what cannot be transformed.

use std::ops::ControlFlow;

use deepgp::likelihood::{ByQuadrature, Pointwise, Support, TargetUnits};
use deepgp::noise::{Key, Purpose};
use deepgp::params::{Leaf, Parameters};
use deepgp::{
    Dataset, Draws, Error, FitSettings, InducingSize, Mat, PredictSettings, Regressor, TargetTransform, Training,
    TransformChoice, TransformFinding,
};

const PREDICT: PredictSettings = PredictSettings { samples: 7, seed: 3, threads: 0, draws: Draws::Balanced };

const CHOICES: [TransformChoice; 5] = [
    TransformChoice::None,
    TransformChoice::Log,
    TransformChoice::Log1p,
    TransformChoice::YeoJohnson,
    TransformChoice::Quantile,
];

/// A positive target that grows and scatters by factors.
fn data(rows: u32, seed: u64) -> Dataset {
    let key = Key::new(seed, Purpose::Simulate);
    let x = Mat::from_fn(rows as usize, 1, |i, _| 2.0 * key.uniform([i as u32, 0, 0, 0]) - 1.0);
    let y = Mat::from_fn(rows as usize, 1, |i, _| {
        (2.0 * (3.0 * x[(i, 0)]).sin() + 0.5 * key.normals([i as u32, 1, 0, 0])[0]).exp()
    });
    Dataset::new(x, y).unwrap()
}

fn settings(transform_target: TransformChoice) -> FitSettings {
    let mut settings = FitSettings { transform_target, ..FitSettings::plain() };
    settings.model.hidden_layers = 1;
    settings.model.width = 2;
    settings.model.inducing = InducingSize::Tied(15);
    settings.train.steps = 150;
    settings.train.learning_rate = Some(0.03);
    settings
}

fn fit(choice: TransformChoice) -> Regressor {
    let go_on = |_: &_, _: &_| ControlFlow::Continue(());
    Regressor::fit(&data(300, 1), &settings(choice), go_on).unwrap().regressor
}

#[test]
fn predictions_are_in_the_users_units_under_every_transform() {
    let (test, rows) = (data(5, 2), 5);
    let levels = [0.025, 0.3, 0.5, 0.975];
    for choice in CHOICES {
        let regressor = fit(choice);
        assert_eq!(regressor.standardiser.transform_of(0).choice(), choice);
        let predictor = regressor.predictor(PREDICT).unwrap();
        let x = test.x().view();
        let quantiles = predictor.quantiles(x, &levels).unwrap();
        // Quantiles of y are the inverse of those of the model.
        let inner = regressor.model.predictor(PREDICT).unwrap();
        let units = &regressor.standardiser;
        let own = inner.quantiles(units.x.apply("x", x).unwrap().view(), &levels).unwrap();
        for (at, (y, v)) in quantiles.as_slice().iter().zip(own.as_slice()).enumerate() {
            let z = v * units.y.scale[0] + units.y.shift[0];
            assert_eq!(*y, units.transform_of(0).inverse(z), "{choice:?}");
            let row = Mat::column(vec![x[(at / levels.len(), 0)]]);
            let level = predictor.cumulative(row.view(), Mat::column(vec![*y]).view()).unwrap()[(0, 0)];
            assert!((level - levels[at % levels.len()]).abs() < 1e-9, "{choice:?}: {level}");
        }
        // A central interval leaves as much below as above.
        let (intervals, ends) =
            (predictor.intervals(x, &[0.95, 0.4]), predictor.quantiles(x, &[0.025, 0.975, 0.3, 0.7]));
        for (found, end) in intervals.unwrap().as_slice().iter().zip(ends.unwrap().as_slice()) {
            assert!((found / end - 1.0).abs() < 1e-9, "{choice:?}: {found} {end}");
        }
        // Density, mean and variance agree with one another: sums over a fine grid of y, from quantile to quantile.
        let grid: Vec<f64> = (0..=4000).map(|i| 1e-9 + (1.0 - 2e-9) * f64::from(i) / 4000.0).collect();
        let prediction = predictor.moments(x).unwrap();
        for row in 0..rows {
            let one = |values: &[f64]| Mat::from_fn(values.len(), 1, |_, _| x[(row, 0)]);
            let edges = predictor.quantiles(one(&[0.0]).view(), &grid).unwrap().into_vec();
            let middles: Vec<f64> = edges.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
            let density = predictor.log_density(one(&middles).view(), Mat::column(middles.clone()).view()).unwrap();
            let mass: Vec<f64> =
                edges.windows(2).zip(&density).map(|(pair, d)| (pair[1] - pair[0]) * d.exp()).collect();
            let inside = 100..3900;
            let total: f64 = mass[inside.clone()].iter().sum();
            assert!((total - 0.95).abs() < 1e-3, "{choice:?}: {total}");
            let within: f64 = mass[inside.clone()].iter().zip(&middles[inside]).map(|(m, y)| m * y).sum();
            let (mean, deviation) = (prediction.y.mean[(row, 0)], prediction.y.variance[(row, 0)].sqrt());
            // The tails left out hold a twentieth of the mass.
            assert!((mean - within).abs() < 0.5 * deviation + 0.1 * mean.abs(), "{choice:?}: {mean} {within}");
            assert!(prediction.noise[(row, 0)] > 0.0 && prediction.noise[(row, 0)] <= deviation * deviation * 1.001);
        }
        // Draws are of the distribution that quantiles tell of.
        let draws = predictor.draws_of_y(x, 400).unwrap();
        for row in 0..rows {
            let below = draws.iter().filter(|own| own[(row, 0)] <= quantiles[(row, 2)]).count();
            assert!((150..250).contains(&below), "{choice:?}: {below}");
        }
        let joint = predictor.joint_draws(x, 3).unwrap();
        if choice == TransformChoice::Log {
            let all = draws.iter().chain(&joint.y).flat_map(Mat::as_slice).chain(quantiles.as_slice());
            assert!(all.into_iter().all(|y| *y > 0.0));
        }
    }
}

#[test]
fn the_right_transform_predicts_better_and_scores_are_in_the_users_units() {
    let test = data(400, 2);
    let scores = CHOICES.map(|choice| fit(choice).predictor(PREDICT).unwrap().score(&test).unwrap());
    assert!(
        scores[1].log_likelihood > scores[0].log_likelihood + 0.5,
        "{:?}",
        scores.each_ref().map(|s| s.log_likelihood)
    );
    assert!(scores[1].crps[0] < scores[0].crps[0], "{:?}", scores.each_ref().map(|s| s.crps[0]));
    for score in &scores[1..] {
        assert!((0.88..=0.99).contains(&score.coverage_95[0]), "{score:?}");
    }
    let units = fit(TransformChoice::Log).standardiser;
    let deviation = {
        let y = data(300, 1);
        let (train, _) = deepgp::hold_out(&y, &settings(TransformChoice::Log)).unwrap();
        let mean = train.y().as_slice().iter().sum::<f64>() / train.len() as f64;
        (train.y().as_slice().iter().map(|v| (v - mean).powi(2)).sum::<f64>() / train.len() as f64).sqrt()
    };
    let standardised = scores[1].standardised(units.original());
    assert!((standardised.rmse[0] * deviation / scores[1].rmse[0] - 1.0).abs() < 1e-9);
}

#[test]
fn a_validation_score_comes_back_to_the_users_units() {
    let training = Training::new(&data(300, 1), &settings(TransformChoice::Log)).unwrap();
    let (regressor, rows) = (training.regressor(), training.held_out().unwrap());
    let inner = regressor.model.predictor(PREDICT).unwrap();
    let own = inner.log_density(rows.x().view(), rows.y().view()).unwrap();
    let mean = own.iter().sum::<f64>() / own.len() as f64 - regressor.standardiser.log_volume_of(rows);
    let (_, held_out) = deepgp::hold_out(&data(300, 1), &settings(TransformChoice::Log)).unwrap();
    let score = regressor.predictor(PREDICT).unwrap().score(&held_out.unwrap()).unwrap();
    assert!((mean - score.log_likelihood).abs() < 1e-9, "{mean} {}", score.log_likelihood);
}

#[test]
fn an_interrupted_fit_goes_on_to_the_same_bits() {
    let (data, settings) = (data(300, 1), settings(TransformChoice::Quantile));
    let whole = Training::new(&data, &settings).unwrap().run(|_, _| ControlFlow::Continue(())).unwrap();
    let stopped = Training::new(&data, &settings)
        .unwrap()
        .run(|report, _| if report.step == 60 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        .unwrap();
    let start = Training::new(&data, &settings).unwrap().regressor().clone();
    let again = Training::of(start, &data, &settings).unwrap().resume(stopped.state);
    let again = again.run(|_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!(again.regressor.model.raw(), whole.regressor.model.raw());
    assert_eq!(again.regressor.standardiser, whole.regressor.standardiser);
}

#[test]
fn what_cannot_be_transformed_is_refused_before_training() {
    let mut y = data(300, 1).y().clone();
    y[(17, 0)] = 0.0;
    let zero = Dataset::new(data(300, 1).x().clone(), y).unwrap();
    let refused = Training::new(&zero, &settings(TransformChoice::Log)).unwrap_err();
    assert!(matches!(&refused, Error::TargetDomain { rows, .. } if rows[..] == [(17, 0.0)]), "{refused}");
    Training::new(&zero, &settings(TransformChoice::Log1p)).unwrap();
    let counts = Dataset::new(zero.x().clone(), zero.y().map(f64::round)).unwrap();
    let refused = Training::new(&counts, &settings(TransformChoice::Quantile)).unwrap_err();
    assert!(matches!(refused, Error::FewTargetValues { column: 0, needed: 100, .. }), "{refused}");
    // At prediction it is no mistake to ask: such a value has no density.
    let predictor = fit(TransformChoice::Log);
    let predictor = predictor.predictor(PREDICT).unwrap();
    let assessed = predictor.assess(&zero.gather(&[16, 17]).unwrap()).unwrap();
    assert!(assessed.log_density[0].is_finite() && assessed.log_density[1] == f64::NEG_INFINITY);
    assert!(assessed.pit[(1, 0)] == 0.0 && assessed.crps[(1, 0)].is_finite());
}

/// Waiting times, which are what they are.
#[derive(Clone, Debug)]
struct Exponential;

impl Parameters for Exponential {
    fn visit(&mut self, _leaf: &mut dyn FnMut(Leaf<'_>)) {}
}

impl Pointwise for Exponential {
    fn name(&self) -> String {
        "exponential".into()
    }

    fn support(&self) -> Support {
        Support::Positive
    }

    fn log_density(&self, y: f64, f: f64, _: &mut [f64]) -> (f64, f64) {
        (-f - y * (-f).exp(), y * (-f).exp() - 1.0)
    }
}

#[test]
fn targets_of_a_likelihood_that_takes_them_as_they_are_stay_so() {
    let likelihood = || Box::new(ByQuadrature::new(Exponential));
    let with = |choice| Training::with_likelihood(&data(300, 1), &settings(choice), likelihood());
    assert_eq!(deepgp::likelihood::Likelihood::target_units(&*likelihood()), TargetUnits::AsTheyAre);
    let refused = with(TransformChoice::Log).unwrap_err();
    assert!(matches!(refused, Error::Setting { name: "transform_target", .. }), "{refused}");
    assert!(with(TransformChoice::Auto).unwrap().standardiser().transform.is_none());
}

#[test]
fn the_choice_is_the_librarys_if_it_is_left_to_it() {
    let training = Training::new(&data(600, 1), &settings(TransformChoice::Auto)).unwrap();
    assert_eq!(training.standardiser().transform_of(0), &TargetTransform::Log);
    let [TransformFinding::Better { transform: TransformChoice::Log, gain, error }] = training.transform_findings()
    else {
        panic!("{:?}", training.transform_findings())
    };
    assert!(*gain > 0.1 && *gain > 3.0 * error);
    let plain = Dataset::new(data(600, 1).x().clone(), data(600, 1).y().map(f64::ln)).unwrap();
    let training = Training::new(&plain, &settings(TransformChoice::Auto)).unwrap();
    assert_eq!(training.transform_findings(), [TransformFinding::NoneBetter]);
    assert!(training.standardiser().transform.is_none());
}
