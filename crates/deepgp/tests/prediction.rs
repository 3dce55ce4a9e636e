//! Proves that predictions are those of the mixture of Gaussians at each row: moments, densities, quantiles and draws agree with one
//! another, rows do not depend on other rows, joint predictions agree with single ones, and all are in the user's units.

mod common;

use common::*;
use deepgp::likelihood::Gaussian;
use deepgp::noise::{Key, Purpose};
use deepgp::{
    CovarianceForm, Dataset, DeepGp, Draws, FitSettings, InducingSize, JOINT_ROWS, Mat, MeanForm, MeanFunction,
    ModelSettings, Noise, Precision, PredictSettings, Regressor, Scaling, Standardiser, TargetTransform,
    TargetTransforms, TrainSettings, Trend,
};

const FORMS: (MeanForm, CovarianceForm) = (MeanForm::Whitened, CovarianceForm::Whitened);
const SETTINGS: PredictSettings = PredictSettings { samples: 30, seed: 3, threads: 0, draws: Draws::Balanced };

/// Two inputs, one hidden layer of three, two outputs.
fn two_outputs() -> DeepGp {
    let layers = vec![
        random_layer((2, 3), FORMS, false, MeanFunction::ZeroPadding, 1),
        random_layer((3, 2), FORMS, true, MeanFunction::Zero, 2),
    ];
    DeepGp::new(layers, Box::new(Gaussian { noise: vec![0.1, 0.4] })).unwrap()
}

#[test]
fn predictions_do_not_depend_on_the_other_rows() {
    let x = uniform(1000, 2, 9);
    let y = uniform(1000, 2, 10);
    let shallow = random_layer((2, 2), FORMS, false, MeanFunction::Zero, 3);
    let shallow = DeepGp::new(vec![shallow], Box::new(Gaussian::new(0.2, 2))).unwrap();
    let mixed = |model: DeepGp| model.with_precision(Precision::Mixed);
    for model in [two_outputs(), mixed(two_outputs()), shallow.clone(), mixed(shallow)] {
        let predictor = model.predictor(SETTINGS).unwrap();
        let all = predictor.moments(x.view()).unwrap();
        let densities = predictor.log_density(x.view(), y.view()).unwrap();
        let quantiles = predictor.quantiles(x.view(), &[0.1, 0.9]).unwrap();
        let draws = predictor.draws_of_y(x.view(), 4).unwrap();
        let order: Vec<u32> = Key::new(1, Purpose::Shuffle).permutation(1000, 0);
        for rows in [vec![17], vec![999, 3, 3, 500], order] {
            let (x, y) = (x.gather(&rows), y.gather(&rows));
            let some = predictor.moments(x.view()).unwrap();
            let other = predictor.log_density(x.view(), y.view()).unwrap();
            assert_eq!(some.f.mean, all.f.mean.gather(&rows));
            assert_eq!(some.y.variance, all.y.variance.gather(&rows));
            assert_eq!(other, rows.iter().map(|&r| densities[r as usize]).collect::<Vec<_>>());
            assert_eq!(predictor.quantiles(x.view(), &[0.1, 0.9]).unwrap(), quantiles.gather(&rows));
            assert_eq!(predictor.draws_of_y(x.view(), 4).unwrap()[3], draws[3].gather(&rows));
        }
    }
}

#[test]
fn summaries_are_those_of_the_mixture() {
    let model = two_outputs();
    let predictor = model.predictor(SETTINGS).unwrap();
    let (x, y) = (uniform(5, 2, 9), uniform(5, 2, 10));
    let noise = model.prediction_noise(SETTINGS);
    let parts = model.propagate(x.view(), Noise::Table(&noise), 30).unwrap();
    let prediction = predictor.moments(x.view()).unwrap();
    let densities = predictor.log_density(x.view(), y.view()).unwrap();
    let noise = [0.1, 0.4];
    for i in 0..5 {
        let of = |p: usize, f: &dyn Fn(f64, f64) -> f64| {
            (0..30).map(|s| f(parts.mean[(i * 30 + s, p)], parts.variance[(i * 30 + s, p)])).sum::<f64>() / 30.0
        };
        for (p, noise) in noise.iter().enumerate() {
            let mean = of(p, &|m, _| m);
            let variance = of(p, &|m, v| v + m * m) - mean * mean;
            close("f mean", prediction.f.mean[(i, p)], mean, 1e-12);
            close("f variance", prediction.f.variance[(i, p)], variance, 1e-10);
            close("y mean", prediction.y.mean[(i, p)], mean, 1e-12);
            close("y variance", prediction.y.variance[(i, p)], variance + noise, 1e-10);
        }
        // The joint density of both outputs, averaged over samples, and only then its logarithm.
        let joint: f64 = (0..30)
            .map(|s| {
                (0..2)
                    .map(|p| {
                        let (m, v) = (parts.mean[(i * 30 + s, p)], parts.variance[(i * 30 + s, p)] + noise[p]);
                        (-0.5 * (y[(i, p)] - m).powi(2) / v).exp() / (2.0 * std::f64::consts::PI * v).sqrt()
                    })
                    .product::<f64>()
            })
            .sum::<f64>()
            / 30.0;
        close("log density", densities[i], joint.ln(), 1e-10);
    }
}

#[test]
fn densities_integrate_to_one_and_quantiles_invert_the_distribution() {
    let model = random_model(1, FORMS, false, 3);
    let predictor = model.predictor(SETTINGS).unwrap();
    let point = uniform(1, 2, 4);
    let (steps, width) = (4000, 0.005);
    let grid = Mat::from_fn(steps, 1, |i, _| -10.0 + width * i as f64);
    let x = Mat::from_fn(steps, 2, |_, d| point[(0, d)]);
    let densities = predictor.log_density(x.view(), grid.view()).unwrap();
    let total: f64 = densities.iter().map(|d| width * d.exp()).sum();
    close("total probability", total, 1.0, 1e-9);
    let levels = [1e-9, 0.01, 0.25, 0.5, 0.975];
    let quantiles = predictor.quantiles(point.view(), &levels).unwrap();
    for (q, level) in quantiles.as_slice().iter().zip(levels) {
        let below = predictor.cumulative(point.view(), Mat::column(vec![*q]).view()).unwrap();
        assert!((below[(0, 0)] / level - 1.0).abs() < 1e-8, "{level}: {below:?}");
        let mass: f64 = (0..steps).filter(|&i| grid[(i, 0)] < *q).map(|i| width * densities[i].exp()).sum();
        assert!((mass - level).abs() < 5e-3);
    }
}

#[test]
fn balanced_samples_come_nearer_than_twice_as_many_independent_ones() {
    let (model, x) = (random_model(2, FORMS, false, 12), uniform(20, 2, 7));
    let moments = |samples, seed, draws| {
        let settings = PredictSettings { samples, seed, threads: 0, draws };
        model.predictor(settings).unwrap().moments(x.view()).unwrap().f
    };
    let (exact, seeds) = (moments(20_000, 99, Draws::Independent), 20);
    let deviation = exact.deviation();
    // Root mean squares over rows and seeds, in standard deviations.
    let errors = |samples, draws| -> [f64; 2] {
        let mut squares = [0.0; 2];
        for seed in 0..seeds {
            let found = moments(samples, seed, draws);
            for (i, scale) in deviation.as_slice().iter().enumerate() {
                squares[0] += ((found.mean[(i, 0)] - exact.mean[(i, 0)]) / scale).powi(2);
                squares[1] += ((found.variance[(i, 0)].sqrt() - scale) / scale).powi(2);
            }
        }
        squares.map(|sum| (sum / (20 * seeds) as f64).sqrt())
    };
    let (balanced, independent) = (errors(32, Draws::Balanced), errors(64, Draws::Independent));
    assert!(balanced[0] < independent[0] && balanced[1] < independent[1], "{balanced:?} {independent:?}");
}

#[test]
fn independent_samples_are_those_of_version_0_1() {
    let (model, x) = (random_model(2, FORMS, false, 12), uniform(5, 2, 7));
    let noise = model.prediction_noise(PredictSettings { draws: Draws::Independent, ..SETTINGS });
    let shared = Noise::Shared { key: Key::new(SETTINGS.seed, Purpose::Predict) };
    let [by_table, by_key] = [Noise::Table(&noise), shared].map(|noise| model.propagate(x.view(), noise, 30).unwrap());
    assert_eq!(by_table, by_key);
    assert_ne!(noise, model.prediction_noise(SETTINGS));
}

#[test]
fn draws_have_the_moments_of_the_mixture() {
    let model = two_outputs();
    let predictor = model.predictor(PredictSettings { samples: 4000, ..SETTINGS }).unwrap();
    let x = uniform(2, 2, 6);
    let prediction = predictor.moments(x.view()).unwrap();
    for (draws, moments) in
        [(predictor.draws_of_f(x.view(), 4000), &prediction.f), (predictor.draws_of_y(x.view(), 4000), &prediction.y)]
    {
        let draws = draws.unwrap();
        for i in 0..2 {
            for p in 0..2 {
                let mean = draws.iter().map(|d| d[(i, p)]).sum::<f64>() / 4000.0;
                let variance = draws.iter().map(|d| (d[(i, p)] - mean).powi(2)).sum::<f64>() / 4000.0;
                let expected = moments.variance[(i, p)];
                assert!((mean - moments.mean[(i, p)]).abs() < 4.0 * (expected / 4000.0).sqrt());
                assert!((variance / expected - 1.0).abs() < 0.12, "{variance} {expected}");
            }
        }
    }
    // Observations have noise of their own at each row.
    let (f, y) = (predictor.draws_of_f(x.view(), 1).unwrap(), predictor.draws_of_y(x.view(), 1).unwrap());
    let noise = |row: usize| y[0][(row, 0)] - f[0][(row, 0)];
    assert!((noise(0) - noise(1)).abs() > 1e-6);
    // Without hidden layers there is one component, and as many draws of it as asked for.
    let shallow = random_model(0, FORMS, true, 8);
    let draws = shallow.predictor(SETTINGS).unwrap().draws_of_f(x.view(), 3).unwrap();
    assert!(draws[0] != draws[1] && draws[1] != draws[2]);
}

#[test]
fn joint_moments_and_draws_agree_with_each_other_and_with_single_rows() {
    let x = uniform(6, 2, 7);
    let model = random_model(2, FORMS, false, 12);
    let many = PredictSettings { samples: 3000, ..SETTINGS };
    let predictor = model.predictor(many).unwrap();
    let (joint, alone) = (predictor.joint_moments(x.view()).unwrap(), predictor.moments(x.view()).unwrap());
    let draws = predictor.joint_draws(x.view(), 3000).unwrap();
    for i in 0..6 {
        let variance = alone.f.variance[(i, 0)];
        let standard_error = (variance / 3000.0).sqrt();
        assert!((joint.mean[(i, 0)] - alone.f.mean[(i, 0)]).abs() < 5.0 * standard_error);
        assert!((joint.covariance[0][(i, i)] / variance - 1.0).abs() < 0.1);
        for j in 0..6 {
            let mean = |k: usize| draws.f.iter().map(|d| d[(k, 0)]).sum::<f64>() / 3000.0;
            let (a, b) = (mean(i), mean(j));
            let sampled = draws.f.iter().map(|d| (d[(i, 0)] - a) * (d[(j, 0)] - b)).sum::<f64>() / 3000.0;
            let scale = (variance * alone.f.variance[(j, 0)]).sqrt();
            assert!((sampled - joint.covariance[0][(i, j)]).abs() < 0.1 * scale, "{i} {j}");
        }
        let noise = draws.y.iter().zip(&draws.f).map(|(y, f)| (y[(i, 0)] - f[(i, 0)]).powi(2)).sum::<f64>() / 3000.0;
        assert!((noise / 0.3 - 1.0).abs() < 0.12, "{noise}");
    }
}

#[test]
fn many_rows_can_be_taken_jointly_but_not_any_number() {
    // A smooth function at 2000 places has a nearly singular covariance.
    let x = Mat::from_fn(JOINT_ROWS, 2, |i, d| if d == 0 { i as f64 / 1000.0 - 1.0 } else { 0.3 });
    let model = random_model(0, FORMS, false, 13);
    let predictor = model.predictor(SETTINGS).unwrap();
    let draws = predictor.joint_draws(x.view(), 1).unwrap();
    let step = (1..JOINT_ROWS).map(|i| (draws.f[0][(i, 0)] - draws.f[0][(i - 1, 0)]).abs()).fold(0.0, f64::max);
    assert!(step < 0.02, "a draw of a smooth function is smooth: {step}");
    let message = predictor.joint_moments(uniform(200_000, 2, 1).view()).unwrap_err().to_string();
    assert!(message.contains("1 to 2000 rows") && message.contains("200000 x 2"), "{message}");
    // With rows that coincide, the jitter makes the covariance one that can be factored.
    assert!(predictor.joint_draws(Mat::zeros(50, 2).view(), 1).is_ok());
}

#[test]
fn far_from_the_data_the_prior_returns() {
    use deepgp::KernelChoice::{Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential};
    for kernel in [SquaredExponential, Matern12, Matern32, Matern52, RationalQuadratic] {
        for precision in [Precision::F64, Precision::Mixed] {
            let settings = ModelSettings {
                hidden_layers: 1,
                width: 3,
                inducing: InducingSize::Tied(6),
                kernel,
                precision,
                ..ModelSettings::plain()
            };
            let model = DeepGp::for_regression(uniform(30, 2, 1).view(), 1, &settings).unwrap();
            let predictor = model.predictor(SETTINGS).unwrap();
            for far in [1e15, -1e155, 1e300, f64::MAX] {
                let x = Mat::from_fn(2, 2, |i, j| if i == j { far } else { 0.5 });
                let f = predictor.moments(x.view()).unwrap().f;
                let slopes = predictor.input_gradient(x.view()).unwrap();
                let joint = predictor.joint_moments(x.view()).unwrap();
                all_close("mean", f.mean.as_slice(), &[0.0; 2], 1e-6);
                all_close("variance", f.variance.as_slice(), &[1.0; 2], 1e-3);
                all_close("slope", slopes.mean.as_slice(), &[0.0; 4], 1e-6);
                close("joint", joint.covariance[0][(0, 0)], 1.0, 1e-3);
            }
        }
    }
}

#[test]
fn inputs_of_the_wrong_kind_are_refused() {
    let model = two_outputs();
    let predictor = model.predictor(SETTINGS).unwrap();
    let message = predictor.moments(uniform(3, 4, 1).view()).unwrap_err().to_string();
    assert!(message.contains("expected 2 columns") && message.contains("found 4"), "{message}");
    let mut x = uniform(3, 2, 1);
    x[(2, 1)] = f64::NAN;
    assert!(predictor.moments(x.view()).unwrap_err().to_string().contains("x: row 2, column 1 is NaN"));
    let x = uniform(3, 2, 1);
    assert!(predictor.quantiles(x.view(), &[1e-12]).is_err());
    assert!(predictor.quantiles(x.view(), &[1.0]).unwrap_err().to_string().contains("quantile level"));
    assert!(predictor.log_density(x.view(), uniform(2, 2, 1).view()).unwrap_err().to_string().contains("3 x 2"));
    let none = PredictSettings { samples: 0, ..SETTINGS };
    assert!(model.predictor(none).unwrap_err().to_string().contains("`samples` is 0"));
    assert_eq!(predictor.moments(Mat::zeros(0, 2).view()).unwrap().f.mean.nrows(), 0);
}

/// A small fit in units that suit nobody.
fn fitted(x_scale: f64, y_scale: f64, shift: f64) -> (Regressor, Mat, Mat) {
    let data = deepgp::simulate::uneven_curve(120, 4);
    let x = data.x().map(|v: f64| x_scale * v + shift);
    let y = data.y().map(|v: f64| y_scale * v - shift);
    let settings = FitSettings {
        model: ModelSettings {
            hidden_layers: 1,
            width: 2,
            inducing: InducingSize::decoupled(12, 8),
            ..ModelSettings::plain()
        },
        train: TrainSettings { steps: 30, ..TrainSettings::plain() },
        ..FitSettings::plain()
    };
    let fit = Regressor::fit(&Dataset::new(x.clone(), y.clone()).unwrap(), &settings, |_, _| {
        std::ops::ControlFlow::Continue(())
    });
    (fit.unwrap().regressor, x, y)
}

/// Powers of two for the scales, so that standardised numbers are the same to rounding.
#[test]
fn predictions_are_in_the_units_of_the_user() {
    let (plain, x, y) = fitted(1.0, 1.0, 0.0);
    let (scaled, far_x, far_y) = fitted(1024.0, 0.125, 4.0);
    let (a, b) = (plain.predictor(SETTINGS).unwrap(), scaled.predictor(SETTINGS).unwrap());
    let (m, n) = (a.moments(x.view()).unwrap(), b.moments(far_x.view()).unwrap());
    let moved = |v: &Mat| v.map(|v: f64| 0.125 * v - 4.0);
    all_close("mean", n.y.mean.as_slice(), moved(&m.y.mean).as_slice(), 1e-7);
    let shrunk = m.y.variance.map(|v: f64| v / 64.0);
    all_close("variance", n.y.variance.as_slice(), shrunk.as_slice(), 1e-7);
    let (p, q) = (a.quantiles(x.view(), &[0.3]).unwrap(), b.quantiles(far_x.view(), &[0.3]).unwrap());
    all_close("quantile", q.as_slice(), moved(&p).as_slice(), 1e-7);
    let densities = a.log_density(x.view(), y.view()).unwrap();
    let expected: Vec<f64> = densities.iter().map(|d| d + 8f64.ln()).collect();
    all_close("density", &b.log_density(far_x.view(), far_y.view()).unwrap(), &expected, 1e-6);
    all_close(
        "below",
        b.cumulative(far_x.view(), far_y.view()).unwrap().as_slice(),
        a.cumulative(x.view(), y.view()).unwrap().as_slice(),
        1e-6,
    );
    let (draws, others) = (a.draws_of_f(x.view(), 2).unwrap(), b.draws_of_f(far_x.view(), 2).unwrap());
    all_close("draw", others[1].as_slice(), moved(&draws[1]).as_slice(), 1e-7);
    let (slopes, others) = (a.input_gradient(x.view()).unwrap(), b.input_gradient(far_x.view()).unwrap());
    let expected = slopes.mean.map(|v: f64| v * 0.125 / 1024.0);
    all_close("slope", others.mean.as_slice(), expected.as_slice(), 1e-7);
    let some = x.view().rows(0..5).to_mat();
    let far = far_x.view().rows(0..5).to_mat();
    let (joint, other) = (a.joint_moments(some.view()).unwrap(), b.joint_moments(far.view()).unwrap());
    let shrunk = joint.covariance[0].map(|v: f64| v / 64.0);
    all_close("joint", other.covariance[0].as_slice(), shrunk.as_slice(), 1e-7);
    let score = b.score(&Dataset::new(far_x, far_y).unwrap()).unwrap();
    assert!(score.rmse[0] < 0.125 && score.coverage_95[0] > 0.5, "{score:?}");
}

/// The same model with a trend, and with targets that had it taken off: whatever is said of one is said of the other, moved along the line.
#[test]
fn a_trend_moves_every_prediction_along_its_line() {
    let units = |trend: bool, transform: Option<TargetTransform>| {
        let y = Scaling { shift: vec![5.0, -1.0], scale: vec![2.0, 0.5] };
        let trend = trend.then(|| Trend { slopes: vec![vec![0.7, 0.0], vec![0.0, -0.4]], original: y.clone() });
        let each = |own: TargetTransform| vec![own, TargetTransform::Identity];
        let transform = transform.map(|own| TargetTransforms { each: each(own), original: y.clone() });
        Standardiser { x: Scaling { shift: vec![1.0, 0.0], scale: vec![4.0, 2.0] }, y, transform, trend }
    };
    let (x, y) = (uniform(6, 2, 9).map(|v| 3.0 * v), uniform(6, 2, 10).map(|v| v + 2.0));
    let regressor = |trend, transform| Regressor::new(two_outputs(), units(trend, transform));
    // In the user's units, for targets that are not transformed.
    let line = Mat::from_fn(6, 2, |i, p| match p {
        0 => 0.7 * (x[(i, 0)] - 1.0) / 4.0 * 2.0,
        _ => -0.4 * x[(i, 1)] / 2.0 * 0.5,
    });
    let moved = |m: &Mat, sign: f64| Mat::from_fn(6, 2, |i, p| m[(i, p)] + sign * line[(i, p)]);
    let near = |what: &str, a: &Mat, b: &Mat| {
        a.as_slice().iter().zip(b.as_slice()).for_each(|(a, b)| close(what, *a, *b, 1e-9));
    };
    let (with, without) = (regressor(true, None), regressor(false, None));
    let (with, without) = (with.predictor(SETTINGS).unwrap(), without.predictor(SETTINGS).unwrap());
    let (own, plain) = (with.moments(x.view()).unwrap(), without.moments(x.view()).unwrap());
    near("f mean", &own.f.mean, &moved(&plain.f.mean, 1.0));
    near("y mean", &own.y.mean, &moved(&plain.y.mean, 1.0));
    near("y variance", &own.y.variance, &plain.y.variance);
    let quantiles = |own: &deepgp::UserPredictor<'_>| own.quantiles(x.view(), &[0.2]).unwrap();
    near("quantiles", &quantiles(&with), &moved(&quantiles(&without), 1.0));
    let before = moved(&y, -1.0);
    let densities = without.log_density(x.view(), before.view()).unwrap();
    near("densities", &Mat::column(with.log_density(x.view(), y.view()).unwrap()), &Mat::column(densities));
    let crps = |own: &deepgp::UserPredictor<'_>, y: &Mat| {
        own.assess(&Dataset::new(x.clone(), y.clone()).unwrap()).unwrap().crps
    };
    near("crps", &crps(&with, &y), &crps(&without, &before));
    let draws = |own: &deepgp::UserPredictor<'_>| own.draws_of_y(x.view(), 3).unwrap().pop().unwrap();
    near("draws", &draws(&with), &moved(&draws(&without), 1.0));
    let joint = |own: &deepgp::UserPredictor<'_>| own.joint_draws(x.view(), 2).unwrap().y.pop().unwrap();
    near("joint draws", &joint(&with), &moved(&joint(&without), 1.0));
    let joint = |own: &deepgp::UserPredictor<'_>| own.joint_moments(x.view()).unwrap();
    near("joint mean", &joint(&with).mean, &moved(&joint(&without).mean, 1.0));
    near("joint covariance", &joint(&with).covariance[0], &joint(&without).covariance[0]);
    let slopes = |own: &deepgp::UserPredictor<'_>| own.input_gradient(x.view()).unwrap().mean;
    let (steep, flat) = (slopes(&with), slopes(&without));
    for i in 0..6 {
        for (column, slope) in [0.7 / 4.0 * 2.0, 0.0, 0.0, -0.4 / 2.0 * 0.5].into_iter().enumerate() {
            close("slopes", steep[(i, column)], flat[(i, column)] + slope, 1e-9);
        }
    }
    // Training sees targets without their trend.
    let data = Dataset::new(x.clone(), y.clone()).unwrap();
    let seen = |trend: bool, y: &Mat| {
        units(trend, None).apply(&Dataset::new(x.clone(), y.clone()).unwrap()).unwrap().y().clone()
    };
    near("targets", &seen(true, &y), &seen(false, &before));
    // Under a transform the line is one in what it makes of targets: quantiles are those of the line moved before they are bent back.
    let bent = regressor(true, Some(TargetTransform::Log));
    let bent = bent.predictor(SETTINGS).unwrap();
    let logs = Mat::from_fn(6, 2, |i, p| match p {
        0 => bent.quantiles(x.view(), &[0.2]).unwrap()[(i, 0)].ln(),
        _ => bent.quantiles(x.view(), &[0.2]).unwrap()[(i, 1)],
    });
    near("bent quantiles", &logs, &quantiles(&with));
    let score = bent.score(&data).unwrap();
    assert!(score.log_likelihood.is_finite() && score.rmse[0].is_finite());
    // What a mean log density loses on its way back.
    let (with, rows) = (units(true, Some(TargetTransform::Log)), units(true, Some(TargetTransform::Log)).apply(&data));
    let slopes: f64 = (0..6).flat_map(|i| [0, 1].map(|p| with.log_slope(p, y[(i, p)]))).sum();
    close("volume", with.log_volume_of(&rows.unwrap()), -slopes / 6.0, 1e-9);
}
