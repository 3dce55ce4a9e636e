//! Proves the training loop's promises: the same bits on any number of threads and after a resumption, early stopping at the best
//! parameters, frozen parameters, hold-outs, and roll-backs of steps that fail.

mod common;

use std::ops::ControlFlow;

use common::*;
use deepgp::simulate::eight_link_arm;
use deepgp::{
    ConstantColumns, CovarianceForm, Dataset, DeepGp, Error, FitSettings, InducingSize, Mat, ModelSettings, Precision,
    Regressor, Schedule, Standardiser, StepOutcome, StepReport, Stop, TrainSettings, TrainState, Trainer, Training,
};

/// Standardised arm data, cut into a training and a validation part.
fn arm(rows: usize) -> (Dataset, Dataset) {
    let data = eight_link_arm(rows, 1);
    let data = Standardiser::fit(&data, ConstantColumns::Reject).unwrap().apply(&data).unwrap();
    data.split(0.2, 1).unwrap()
}

fn model(data: &Dataset, precision: Precision) -> DeepGp {
    let settings = ModelSettings {
        hidden_layers: 1,
        width: 4,
        inducing: InducingSize::decoupled(24, 10),
        precision,
        ..ModelSettings::plain()
    };
    DeepGp::for_regression(data.x().view(), 1, &settings).unwrap()
}

fn settings(steps: u64) -> TrainSettings {
    TrainSettings { steps, batch_size: 100, validate_every: 7, patience: 1000, ..TrainSettings::plain() }
}

fn go_on(_: &StepReport, _: &TrainState) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn whoever_watches_the_start_changes_nothing_unless_it_is_cut_short() {
    let data = eight_link_arm(300, 1);
    let inducing = InducingSize::decoupled(24, 10);
    let model = ModelSettings { hidden_layers: 2, width: 4, inducing, ..ModelSettings::plain() };
    let settings = FitSettings { model, train: settings(3), ..FitSettings::plain() };
    let unwatched = Training::new(&data, &settings).unwrap();
    let mut seen = Vec::new();
    let watched = Training::watched(&data, &settings, |progress| {
        seen.push((progress.layer, progress.inducing));
        ControlFlow::Continue(())
    });
    assert_eq!(bits(watched.unwrap().model().raw().as_slice()), bits(unwatched.model().raw().as_slice()));
    seen.dedup();
    // The third layer takes over the second one's.
    assert_eq!(seen, [(0, 24), (0, 10), (1, 24), (1, 10)]);

    let cut = Training::watched(&data, &settings, |_| ControlFlow::Break(())).unwrap();
    let sizes =
        |training: &Training| training.model().layers().iter().map(|l| l.inducing.mean().nrows()).sum::<usize>();
    assert_eq!(sizes(&cut), sizes(&unwatched));
    assert_ne!(bits(cut.model().raw().as_slice()), bits(unwatched.model().raw().as_slice()));
    assert_eq!(cut.run(go_on).unwrap().stop, Stop::Steps);
}

#[test]
fn a_look_is_at_ten_thousand_rows_of_any_number_held_out() {
    let model = ModelSettings { hidden_layers: 0, inducing: InducingSize::Tied(2), ..ModelSettings::plain() };
    let settings = FitSettings { model, validation: Some(0.5), ..FitSettings::plain() };
    for (rows, looked_at) in [(20_000, 10_000), (24_000, 10_000), (18_000, 9_000)] {
        let column = || Mat::from_fn(rows, 1, |i, _| i as f64);
        let data = Dataset::new(column(), column()).unwrap();
        let training = Training::new(&data, &settings).unwrap();
        let held_out = training.held_out().unwrap();
        assert_eq!((training.rows().len(), held_out.len()), (rows / 2, looked_at));
        // From all over the table, and the same ones when a run goes on.
        assert!(held_out.y().as_slice().iter().sum::<f64>().abs() / (looked_at as f64) < 0.05);
        let again = Training::of(training.regressor().clone(), &data, &settings).unwrap();
        assert_eq!(again.held_out(), training.held_out());
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn a_resumed_run_ends_with_the_same_bits() {
    let (train, held_out) = arm(500);
    for precision in [Precision::F64, Precision::Mixed] {
        let whole = {
            let start = model(&train, precision);
            let mut trainer = Trainer::new(start, &train, Some(&held_out), settings(40)).unwrap();
            assert_eq!(trainer.run(go_on).unwrap(), Stop::Steps);
            trainer.state().clone()
        };
        // 23 steps are neither a whole number of epochs nor of looks at the validation rows.
        let mut first = Trainer::new(model(&train, precision), &train, Some(&held_out), settings(40)).unwrap();
        let stop =
            first.run(|report, _| if report.step == 23 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
        assert_eq!(stop.unwrap(), Stop::Callback);
        let saved = first.state().clone();
        let mut second =
            Trainer::resume(model(&train, precision), &train, Some(&held_out), settings(40), saved).unwrap();
        second.run(go_on).unwrap();
        assert_eq!(second.state(), &whole);
        assert_eq!(bits(&second.state().now.raw), bits(&whole.now.raw));
        assert!(whole.best.is_some());
    }
}

/// Everything that a state has to carry at once: schedule, warm-up, samples, minibatches, frozen values, a rolled back step.
#[test]
fn a_resumed_run_carries_everything_with_it() {
    let (train, held_out) = arm(300);
    let settings = TrainSettings {
        samples: 3,
        kl_warm_up: 30,
        schedule: Schedule::Cosine { last: 0.1 },
        batch_size: 70,
        ..settings(30)
    };
    let start = || {
        let mut start = model(&train, Precision::F64);
        start.freeze("layers.1.kernel.variance").unwrap();
        start
    };
    let run = |stops: &[u64]| {
        let mut state = Trainer::new(start(), &train, Some(&held_out), settings).unwrap().state().clone();
        // A step that fails: the parameters are lost, the ones before them are not.
        state.before = Some(state.now.clone());
        state.now.raw.fill(f64::NAN);
        for &stop in stops {
            let mut trainer = Trainer::resume(start(), &train, Some(&held_out), settings, state.clone()).unwrap();
            let until = |r: &StepReport, _: &TrainState| match r.step == stop {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            trainer.run(until).unwrap();
            state = trainer.state().clone();
        }
        state
    };
    let (whole, parts) = (run(&[30]), run(&[1, 2, 13, 29, 30]));
    assert_eq!(whole.rolled_back, 1);
    assert_eq!(whole, parts);
}

#[test]
fn a_parameter_frozen_after_training_is_resumed_with_its_trained_value() {
    let (train, _) = arm(200);
    let mut trainer = Trainer::new(model(&train, Precision::F64), &train, None, settings(10)).unwrap();
    trainer.run(go_on).unwrap();
    let state = trainer.state().clone();
    let trained = trainer.finish().parameters();
    let mut fresh = model(&train, Precision::F64);
    fresh.freeze("likelihood").unwrap();
    let resumed = Trainer::resume(fresh, &train, None, settings(20), state).unwrap();
    assert_eq!(resumed.model().parameters().last().unwrap().values, trained.last().unwrap().values);
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let (train, held_out) = arm(3000);
    for precision in [Precision::F64, Precision::Mixed] {
        let run = |threads: usize| {
            // Blocks of 128 rows, two samples each: 19 of them in a batch, so that some of the 16 sums take two.
            let settings = TrainSettings { threads, batch_size: 2400, samples: 2, ..settings(8) };
            let mut trainer = Trainer::new(model(&train, precision), &train, Some(&held_out), settings).unwrap();
            trainer.run(go_on).unwrap();
            let state = trainer.state().clone();
            let predict = deepgp::PredictSettings { samples: 9, seed: 1, threads, ..Default::default() };
            let predictor = trainer.model().predictor(predict).unwrap();
            let moments = predictor.moments(held_out.x().view()).unwrap();
            (bits(&state.now.raw), bits(&state.now.optimiser.slots[1]), bits(moments.y.variance.as_slice()))
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(16));
    }
}

#[test]
fn training_raises_the_elbo_in_every_combination_of_forms() {
    let (train, _) = arm(300);
    for mean in MEAN_FORMS {
        let sizes = [InducingSize::Tied(15), InducingSize::decoupled(20, 10), InducingSize::nested(20, 10)];
        for (covariance, inducing) in COVARIANCE_FORMS.into_iter().flat_map(|c| sizes.map(|size| (c, size))) {
            let settings = ModelSettings {
                hidden_layers: 1,
                width: 4,
                inducing,
                mean_form: mean,
                covariance_form: covariance,
                ..ModelSettings::plain()
            };
            let model = DeepGp::for_regression(train.x().view(), 1, &settings).unwrap();
            let mut trainer =
                Trainer::new(model, &train, None, TrainSettings { steps: 150, ..Default::default() }).unwrap();
            let mut elbos = Vec::new();
            trainer
                .run(|report, _| {
                    if let StepOutcome::Taken(elbo) = &report.outcome {
                        elbos.push(elbo.total());
                    }
                    ControlFlow::Continue(())
                })
                .unwrap();
            let gain = elbos.last().unwrap() - elbos[0];
            assert!(gain > 100.0, "{mean:?}, {covariance:?}, {inducing:?}: {gain}");
        }
    }
}

#[test]
fn a_frozen_parameter_stays_and_the_others_move() {
    let (train, _) = arm(200);
    let mut start = model(&train, Precision::F64);
    start.freeze("likelihood.noise").unwrap();
    start.freeze("layers.0.kernel").unwrap();
    let before = start.parameters();
    let mut trainer = Trainer::new(start, &train, None, settings(5)).unwrap();
    trainer.run(go_on).unwrap();
    for (old, new) in before.iter().zip(trainer.model().parameters()) {
        let frozen = old.name == "likelihood.noise" || old.name.starts_with("layers.0.kernel.");
        assert_eq!(old.frozen, frozen, "{}", old.name);
        assert_eq!(old.values == new.values, frozen, "{}", old.name);
    }
    let mut thawed = trainer.finish();
    thawed.unfreeze("layers.0").unwrap();
    assert_eq!(thawed.parameters().iter().filter(|p| p.frozen).count(), 1);
}

#[test]
fn early_stopping_returns_the_best_state_and_not_the_last() {
    let (train, held_out) = arm(120);
    // A rate this large overshoots, so the validation rows soon see nothing better.
    let settings = TrainSettings {
        steps: 5000,
        learning_rate: Some(0.2),
        validate_every: 5,
        patience: 6,
        ..TrainSettings::plain()
    };
    let mut trainer = Trainer::new(model(&train, Precision::F64), &train, Some(&held_out), settings).unwrap();
    let mut looks = Vec::new();
    let stop = trainer.run(|report, _| {
        looks.extend(report.validation.map(|score| (report.step, score)));
        ControlFlow::Continue(())
    });
    assert_eq!(stop.unwrap(), Stop::Patience);
    let state = trainer.state().clone();
    let best = state.best.clone().unwrap();
    assert_eq!(state.step, best.step + 30);
    assert!(looks.iter().all(|(_, score)| *score <= best.score));
    assert!(looks.contains(&(best.step, best.score)));
    let finished = trainer.finish();
    let mut expected = finished.clone();
    expected.set_raw(&best.raw);
    assert_eq!(finished.parameters(), expected.parameters());
    assert_ne!(best.raw, state.now.raw);
}

#[test]
fn training_that_only_makes_things_worse_returns_its_start() {
    let (train, held_out) = arm(120);
    let start = model(&train, Precision::F64);
    let settings = TrainSettings { steps: 20, learning_rate: Some(30.0), validate_every: 5, ..TrainSettings::plain() };
    let mut trainer = Trainer::new(start.clone(), &train, Some(&held_out), settings).unwrap();
    let mut looks = Vec::new();
    trainer
        .run(|report, _| {
            looks.extend(report.validation);
            ControlFlow::Continue(())
        })
        .unwrap();
    let best = trainer.state().best.clone().unwrap();
    assert_eq!((best.step, best.raw), (0, start.raw()));
    assert!(!looks.is_empty() && looks.iter().all(|score| *score < best.score), "{looks:?}");
    assert_eq!(trainer.finish().parameters(), start.parameters());
}

#[test]
fn a_run_that_goes_on_without_validation_rows_ends_with_its_last_parameters() {
    let (train, held_out) = arm(120);
    let start = model(&train, Precision::F64);
    let mut trainer = Trainer::new(start.clone(), &train, Some(&held_out), settings(14)).unwrap();
    trainer.run(go_on).unwrap();
    let state = trainer.state().clone();
    let mut trainer = Trainer::resume(start, &train, None, settings(20), state).unwrap();
    trainer.run(go_on).unwrap();
    let mut last = trainer.model().clone();
    last.set_raw(&trainer.state().now.raw);
    assert!(trainer.finish().parameters() == last.parameters());
}

#[test]
fn rows_that_weigh_nothing_might_as_well_not_be_there() {
    let data = deepgp::simulate::step_curve(80, 1);
    let absurd = Mat::from_fn(82, 2, |i, j| match i {
        80 => 1e6,
        81 => -1e9,
        _ => {
            if j == 0 {
                data.x()[(i, 0)]
            } else {
                data.y()[(i, 0)]
            }
        }
    });
    let column = |j| Mat::from_fn(82, 1, |i, _| absurd[(i, j)]);
    let weights = (0..82).map(|i| if i < 80 { 0.5 } else { 0.0 }).collect();
    let more = Dataset::new(column(0), column(1)).unwrap().with_weights(weights).unwrap();
    let same = data.with_weights(vec![0.5; 80]).unwrap();
    let settings = FitSettings {
        model: ModelSettings { inducing: InducingSize::Tied(10), ..ModelSettings::plain() },
        train: settings(10),
        ..FitSettings::plain()
    };
    let fit = |data| Regressor::fit(data, &settings, go_on).unwrap().regressor;
    let (with, without) = (fit(&more), fit(&same));
    assert_eq!(with.standardiser, without.standardiser);
    assert_eq!(with.model.raw(), without.model.raw());
}

#[test]
fn an_input_that_varies_among_held_out_rows_alone_is_not_constant() {
    let data = deepgp::simulate::step_curve(40, 1);
    let rare = |row| Mat::from_fn(40, 2, |i, j| if j == 0 { data.x()[(i, 0)] } else { f64::from(u8::from(i == row)) });
    for row in 0..40 {
        let data = Dataset::new(rare(row), data.y().clone()).unwrap();
        assert!(Training::new(&data, &FitSettings::plain()).is_ok(), "row {row}");
    }
    assert!(Training::new(&Dataset::new(rare(40), data.y().clone()).unwrap(), &FitSettings::plain()).is_err());
}

#[test]
fn reports_say_where_training_is() {
    let (train, held_out) = arm(250);
    let settings = TrainSettings { kl_warm_up: 10, schedule: Schedule::Step { every: 4, factor: 0.5 }, ..settings(12) };
    let mut trainer = Trainer::new(model(&train, Precision::F64), &train, Some(&held_out), settings).unwrap();
    let mut reports = Vec::new();
    trainer
        .run(|report, _| {
            reports.push(report.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(reports.iter().map(|r| r.step).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
    // 200 rows in batches of 100.
    all_close("epoch", &[reports[0].epoch, reports[1].epoch, reports[11].epoch], &[0.5, 1.0, 6.0], 1e-12);
    all_close("warm-up", &[reports[0].kl_weight, reports[4].kl_weight, reports[11].kl_weight], &[0.1, 0.5, 1.0], 1e-12);
    all_close("rate", &[reports[3].learning_rate, reports[4].learning_rate], &[0.01, 0.005], 1e-12);
    // At step 7, as asked, and after the last one.
    let looks: Vec<u64> = reports.iter().filter(|r| r.validation.is_some()).map(|r| r.step).collect();
    assert_eq!(looks, [7, 12]);
    for report in &reports {
        let StepOutcome::Taken(elbo) = &report.outcome else { panic!("{report:?}") };
        assert_eq!(elbo.kl.len(), 2);
        assert!(report.seconds > 0.0);
        close("ELBO", elbo.total(), elbo.data_term - elbo.kl[0] - elbo.kl[1], 1e-12);
    }
}

#[test]
fn a_step_that_leaves_the_numbers_is_rolled_back_and_training_goes_on() {
    let (train, _) = arm(200);
    let mut trainer = Trainer::new(model(&train, Precision::F64), &train, None, settings(60)).unwrap();
    for _ in 0..5 {
        trainer.step().unwrap();
    }
    let good = trainer.state().clone();
    // As after an update that went wrong: parameters that cannot be evaluated, with a good state before them.
    let mut broken = good.clone();
    broken.before = Some(good.now.clone());
    for v in &mut broken.now.raw {
        *v = f64::NAN;
    }
    let mut trainer = Trainer::resume(model(&train, Precision::F64), &train, None, settings(60), broken).unwrap();
    let report = trainer.step().unwrap();
    assert!(matches!(report.outcome, StepOutcome::RolledBack(_)), "{report:?}");
    assert_eq!(trainer.state().now, good.now);
    assert_eq!((trainer.state().rate_factor, trainer.state().rolled_back), (0.5, 1));
    let report = trainer.step().unwrap();
    assert!(matches!(report.outcome, StepOutcome::Taken(_)));
    assert!((report.learning_rate - 0.005).abs() < 1e-15);
    // The rate grows back by 1 % with each good step, and never beyond what it was.
    assert_eq!((trainer.state().failures, trainer.state().rate_factor), (0, 0.505));
    let longer = settings(100);
    let state = trainer.state().clone();
    let mut trainer = Trainer::resume(model(&train, Precision::F64), &train, None, longer, state).unwrap();
    trainer.run(go_on).unwrap();
    assert_eq!(trainer.state().rate_factor, 1.0);
}

#[test]
fn a_hopeless_run_stops_with_the_last_good_state() {
    let (train, _) = arm(200);
    let mut trainer = Trainer::new(model(&train, Precision::F64), &train, None, settings(60)).unwrap();
    trainer.step().unwrap();
    let mut state = trainer.state().clone();
    let good = state.before.clone().unwrap();
    for v in &mut state.now.raw {
        *v = f64::NAN;
    }
    state.before = Some(state.now.clone());
    let stuck = || Trainer::resume(model(&train, Precision::F64), &train, None, settings(60), state.clone()).unwrap();
    let mut trainer = stuck();
    assert!(matches!(trainer.run(go_on).unwrap(), Stop::Stuck(Error::NotPositiveDefinite { .. })));
    assert_eq!(trainer.state().rolled_back, 20);
    let mut trainer = stuck();
    let error = (0..20).find_map(|_| trainer.step().err()).unwrap();
    assert!(error.to_string().contains("20 steps in a row were rolled back"), "{error}");
    // If only the last update was bad, `finish` hands out the parameters before it.
    state.before = Some(good.clone());
    let trainer = Trainer::resume(model(&train, Precision::F64), &train, None, settings(60), state).unwrap();
    let mut expected = model(&train, Precision::F64);
    expected.set_raw(&good.raw);
    assert_eq!(trainer.finish().parameters(), expected.parameters());
    // At the start there is nothing to return to.
    let mut start = model(&train, Precision::F64);
    start.set_raw(&vec![f64::NAN; start.raw().len()]);
    let error = Trainer::new(start, &train, None, settings(5)).unwrap().step().unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { layer: 0, .. }), "{error}");
}

#[test]
fn a_huge_learning_rate_does_not_kill_a_run() {
    let (train, _) = arm(200);
    let settings = TrainSettings { learning_rate: Some(50.0), ..settings(80) };
    let mut trainer = Trainer::new(model(&train, Precision::F64), &train, None, settings).unwrap();
    let outcome = trainer.run(go_on);
    assert!(matches!(outcome, Ok(Stop::Steps | Stop::Stuck(_))), "{outcome:?}");
    let finished = trainer.finish();
    let moments = finished.predictor(Default::default()).unwrap().moments(train.x().view()).unwrap();
    let numbers = moments.y.mean.as_slice().iter().chain(moments.y.variance.as_slice());
    assert!(numbers.chain(&finished.raw()).all(|v| v.is_finite()));
}

#[test]
fn raw_numbers_above_a_diagonal_are_not_taken() {
    let (train, _) = arm(60);
    let settings = ModelSettings { covariance_form: CovarianceForm::Whitened, ..ModelSettings::plain() };
    let mut model = DeepGp::for_regression(train.x().view(), 1, &settings).unwrap();
    let factor = model.parameters().into_iter().find(|p| p.name == "layers.0.covariance.factor").unwrap();
    let before = model.raw();
    let mut raw = before.clone();
    raw[factor.range.start + 1] = 3.0;
    model.set_raw(&raw);
    assert_eq!(model.raw(), before);
}

#[test]
fn a_foreign_state_is_refused() {
    let (train, held_out) = arm(200);
    let state = Trainer::new(model(&train, Precision::F64), &train, None, settings(5)).unwrap().state().clone();
    let refused = |model: DeepGp, data: &Dataset| {
        Trainer::resume(model, data, None, settings(5), state.clone()).unwrap_err().to_string()
    };
    let message = refused(model(&held_out, Precision::F64), &held_out);
    assert!(message.contains("the number of training rows is 40 here but 160 in the state"), "{message}");
    let other = ModelSettings { inducing: InducingSize::Tied(3), ..ModelSettings::plain() };
    let message = refused(DeepGp::for_regression(train.x().view(), 1, &other).unwrap(), &train);
    assert!(message.contains("the number of parameters"), "{message}");
    // A state from other settings, or one with a part missing, must not be indexed with.
    let start = || model(&train, Precision::F64);
    let other = TrainSettings { batch_size: 30, ..settings(5) };
    let message = Trainer::resume(start(), &train, None, other, state.clone()).unwrap_err().to_string();
    assert!(message.contains("a setting other than `steps` and `threads`"), "{message}");
    assert!(message.contains("batch_size: 30") && message.contains("batch_size: 100"), "{message}");
    let mut torn = state.clone();
    torn.now.optimiser.slots[1].pop();
    assert!(Trainer::resume(start(), &train, None, settings(5), torn).is_err());
    let mut ahead = state.clone();
    ahead.batches_used = 2;
    let message = Trainer::resume(start(), &train, None, settings(5), ahead).unwrap_err().to_string();
    assert!(message.contains("the place in the pass"), "{message}");
    // Data that do not fit the model are found before the first step, validation rows too.
    let wide = Dataset::new(uniform(9, 3, 1), uniform(9, 1, 1)).unwrap();
    let message = Trainer::new(start(), &train, Some(&wide), settings(5)).unwrap_err().to_string();
    assert!(message.contains("inputs: expected 8 columns"), "{message}");
}
