//! Proves that depth is learnt where it should help: two layers beat one by a stated margin of test log likelihood.

use std::ops::ControlFlow;

use deepgp::simulate::{eight_link_arm, step_curve, uneven_curve};
use deepgp::{
    Dataset, FitSettings, InducingSize, ModelSettings, PredictSettings, Regressor, Schedule, Score, TrainSettings,
};

/// Trains on `train` without early stopping and scores on `test`.
fn score(train: &Dataset, test: &Dataset, model: ModelSettings, steps: u64) -> Score {
    let settings = FitSettings {
        model,
        // At a constant rate the ELBO of a sharp fit drops now and then, and the last step may be in such a hole.
        train: TrainSettings { steps, schedule: Schedule::Cosine { last: 0.01 }, ..TrainSettings::plain() },
        validation: None,
        ..FitSettings::plain()
    };
    let fit = Regressor::fit(train, &settings, |_, _| ControlFlow::Continue(())).unwrap();
    fit.regressor.predictor(PredictSettings::default()).unwrap().score(test).unwrap()
}

/// How many nats a hidden layer gains on a curve.
fn gain_on_curve(curve: fn(usize, u64) -> Dataset) -> f64 {
    let (train, test) = (curve(300, 1), curve(1000, 2));
    let model = |hidden_layers| ModelSettings {
        hidden_layers,
        width: 2,
        // Enough of both for one layer: what it lacks is not inducing inputs.
        inducing: InducingSize::decoupled(40, 40),
        ..ModelSettings::plain()
    };
    let (one, two) = (score(&train, &test, model(0), 3000), score(&train, &test, model(1), 3000));

    two.log_likelihood - one.log_likelihood
}

#[test]
fn a_step_is_learnt_better_by_two_layers() {
    let gain = gain_on_curve(step_curve);
    assert!(gain > 0.3, "{gain}");
}

#[test]
fn a_curve_uneven_in_shape_and_noise_is_learnt_better_by_two_layers() {
    let gain = gain_on_curve(uneven_curve);
    assert!(gain > 0.3, "{gain}");
}

/// As on kin8nm in the paper: the first hidden layer brings most, and decoupled and full models do alike.
#[test]
fn depth_helps_on_the_arm_for_full_and_decoupled_models() {
    let (train, test) = (eight_link_arm(2000, 1), eight_link_arm(1000, 2));
    for inducing in [InducingSize::Tied(60), InducingSize::decoupled(100, 40)] {
        let model = |hidden_layers| ModelSettings { hidden_layers, width: 8, inducing, ..Default::default() };
        let (flat, deep) = (score(&train, &test, model(0), 500), score(&train, &test, model(1), 500));

        let gain = deep.log_likelihood - flat.log_likelihood;
        assert!(gain > 0.1 && deep.rmse[0] < flat.rmse[0], "{inducing:?}: {gain}");
    }
}
