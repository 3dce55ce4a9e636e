//! The calls of the library that the fixtures of version 0.1 need: training in each of its ways, and every kind of prediction.
//!
//! Cases know settings and data; how a fit is started, stopped and resumed is written here.

use std::ops::ControlFlow;

use deepgp::noise::{Key, Purpose};
use deepgp::{
    Batch, ConstantColumns, Dataset, DeepGp, Draws, FitSettings, LikelihoodForm, Mat, ModelSettings, Noise,
    PredictSettings, Regressor, Scaling, Score, Snapshot, Standardiser, StepOutcome, StepReport, Stop, TrainSettings,
    TrainState, Trainer, Training,
};

use crate::fixture::Case;

/// How the fixtures predict.
const PREDICT: PredictSettings = PredictSettings { samples: 7, seed: 3, threads: 0, draws: Draws::Independent };

/// A fit that has ended.
#[derive(Clone, Debug)]
pub struct Trained {
    pub regressor: Regressor,
    pub state: TrainState,
    stop: &'static str,
    reports: Vec<StepReport>,
}

impl Trained {
    pub fn raw(&self) -> Vec<f64> {
        self.regressor.model.raw()
    }
}

/// `settings` with this noise variance at the start.
pub fn with_noise(settings: ModelSettings, noise: f64) -> ModelSettings {
    ModelSettings { likelihood: LikelihoodForm::Gaussian { noise }, ..settings }
}

/// A fit from beginning to end.
pub fn fit(data: &Dataset, settings: &FitSettings) -> Trained {
    let mut reports = Vec::new();
    let fit = Regressor::fit(data, settings, |report, _| {
        reports.push(report.clone());
        ControlFlow::Continue(())
    })
    .unwrap();
    Trained { regressor: fit.regressor, state: fit.state, stop: stop(&fit.stop), reports }
}

/// A fit of a model that is changed before it is trained.
pub fn fit_changed(data: &Dataset, settings: &FitSettings, change: impl FnOnce(&mut DeepGp)) -> Trained {
    let mut training = Training::new(data, settings).unwrap();
    change(training.model_mut());
    let mut reports = Vec::new();
    let fit = training
        .run(|report, _| {
            reports.push(report.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    Trained { regressor: fit.regressor, state: fit.state, stop: stop(&fit.stop), reports }
}

/// A fit that is stopped after `step` steps, and gone on with from the state that the callback saw there.
pub fn fit_interrupted(data: &Dataset, settings: &FitSettings, step: u64) -> Trained {
    let training = Training::new(data, settings).unwrap();
    let (mut reports, mut saved) = (Vec::new(), None);
    let first = training
        .run(|report, state| {
            reports.push(report.clone());
            if report.step < step {
                return ControlFlow::Continue(());
            }
            saved = Some(state.clone());
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!((stop(&first.stop), first.state.step), ("callback", step));
    let fit = training
        .resume(saved.unwrap())
        .run(|report, _| {
            reports.push(report.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    Trained { regressor: fit.regressor, state: fit.state, stop: stop(&fit.stop), reports }
}

/// More steps after a fit that has ended, with fresh minibatches and noise.
pub fn fit_further(before: Trained, data: &Dataset, settings: &FitSettings) -> Trained {
    let mut reports = Vec::new();
    let fit = Training::of(before.regressor, data, settings)
        .unwrap()
        .further(before.state.step)
        .run(|report, _| {
            reports.push(report.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    Trained { regressor: fit.regressor, state: fit.state, stop: stop(&fit.stop), reports }
}

/// Training of a model on data in the model's units.
pub fn train(model: DeepGp, data: &Dataset, held_out: Option<&Dataset>, settings: TrainSettings) -> Trained {
    run(Trainer::new(model, data, held_out, settings).unwrap())
}

/// [`train`], where the first step fails: the parameters are lost, those before them are not.
pub fn train_after_failure(model: DeepGp, data: &Dataset, settings: TrainSettings) -> Trained {
    let mut state = Trainer::new(model.clone(), data, None, settings).unwrap().state().clone();
    state.before = Some(state.now.clone());
    state.now.raw.fill(f64::NAN);
    run(Trainer::resume(model, data, None, settings, state).unwrap())
}

fn run(mut trainer: Trainer<'_>) -> Trained {
    let mut reports = Vec::new();
    let stopped = trainer
        .run(|report, _| {
            reports.push(report.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    let state = trainer.state().clone();
    let model = trainer.finish();
    let unit = |width| Scaling { shift: vec![0.0; width], scale: vec![1.0; width] };
    let (x, y) = (unit(model.input_width()), unit(model.likelihood().observed_width()));
    let standardiser = Standardiser { x, y, transform: None, trend: None };
    Trained { regressor: Regressor::new(model, standardiser), state, stop: stop(&stopped), reports }
}

/// The same data with mean 0 and variance 1, for [`train`].
pub fn standardised(data: &Dataset) -> Dataset {
    Standardiser::fit(data, ConstantColumns::Reject).unwrap().apply(data).unwrap()
}

fn stop(stop: &Stop) -> &'static str {
    match stop {
        Stop::Steps => "steps",
        Stop::Patience => "patience",
        Stop::Callback => "callback",
        Stop::Stuck(_) => "stuck",
    }
}

/// Writes down how training went and what it led to.
pub fn record_training(case: &mut Case, trained: &Trained) {
    let Trained { regressor, state, stop, reports } = trained;
    case.fact("stop", stop);
    case.fact("steps", state.step);
    case.fact("rolled_back", state.rolled_back);
    case.fact("best_step", state.best.as_ref().map_or("none".into(), |best| best.step.to_string()));
    let looks: Vec<u64> = reports.iter().filter(|r| r.validation.is_some()).map(|r| r.step).collect();
    case.fact("looks", format!("{looks:?}"));
    let each = |of: &dyn Fn(&StepReport) -> f64| reports.iter().map(of).collect::<Vec<f64>>();
    case.numbers("report.epoch", &each(&|r| r.epoch));
    let rates = [each(&|r| r.learning_rate), each(&|r| r.kl_weight)].concat();
    case.numbers("report.rates", &rates);
    case.numbers("report.validation", &reports.iter().filter_map(|r| r.validation).collect::<Vec<f64>>());
    let taken = || {
        reports.iter().filter_map(|r| match &r.outcome {
            StepOutcome::Taken(elbo) => Some(elbo),
            StepOutcome::RolledBack(_) => None,
        })
    };
    case.fact("clamped", taken().map(|elbo| elbo.clamped).sum::<usize>());
    case.numbers("report.data_term", &taken().map(|elbo| elbo.data_term).collect::<Vec<f64>>());
    case.numbers("report.kl", &taken().flat_map(|elbo| elbo.kl.clone()).collect::<Vec<f64>>());
    let Standardiser { x, y, transform: None, trend: None } = &regressor.standardiser else {
        panic!("0.1 had no transforms")
    };
    case.numbers("standardiser.x", &[x.shift.clone(), x.scale.clone()].concat());
    case.numbers("standardiser.y", &[y.shift.clone(), y.scale.clone()].concat());
    let raw = regressor.model.raw();
    for parameter in regressor.model.parameters() {
        case.numbers(&format!("raw.{}", parameter.name), &raw[parameter.range]);
    }
    let Snapshot { raw, optimiser } = &state.now;
    case.numbers("state", &[&raw[..], &optimiser.slots[0], &optimiser.slots[1]].concat());
}

/// Writes down the bound and its gradient at all rows of `data`, in the user's units, in every parameter.
pub fn record_gradient(case: &mut Case, regressor: &Regressor, data: &Dataset) {
    let data = regressor.standardiser.apply(data).unwrap();
    let rows: Vec<u32> = (0..data.len() as u32).collect();
    let batch = Batch { num_data: 2 * data.len(), samples: 2, kl_weight: 0.7, ..Batch::of(&data, &rows) };
    let noise = Noise::Rows { key: Key::new(5, Purpose::Train), step: 11 };
    let (elbo, gradient) = regressor.model.objective_gradient(batch, noise).unwrap();
    case.numbers("elbo", &[vec![elbo.data_term], elbo.kl.clone()].concat());
    case.numbers("gradient", &gradient);
    let value = regressor.model.objective(batch, noise).unwrap();
    assert_eq!(value, elbo, "the bound is the same, with or without its gradient");
}

/// Writes down every kind of answer at the rows of `data`.
pub fn record_predictions(case: &mut Case, regressor: &Regressor, data: &Dataset) {
    for (name, values) in predictions(regressor, data) {
        case.numbers(name, &values);
    }
}

/// Writes down every kind of answer at the rows of `data`, as one quantity.
pub fn record_predictions_together(case: &mut Case, regressor: &Regressor, data: &Dataset) {
    let all: Vec<f64> = predictions(regressor, data).into_iter().flat_map(|(_, values)| values).collect();
    case.numbers("predict", &all);
}

fn predictions(regressor: &Regressor, data: &Dataset) -> Vec<(&'static str, Vec<f64>)> {
    let (x, y) = (data.x().view(), data.y().view());
    let predictor = regressor.predictor(PREDICT).unwrap();
    let flat = |all: Vec<Mat>| all.into_iter().flat_map(Mat::into_vec).collect::<Vec<f64>>();
    let moments = predictor.moments(x).unwrap();
    let (together, draws) = (predictor.joint_moments(x).unwrap(), predictor.joint_draws(x, 2).unwrap());
    let slopes = predictor.input_gradient(x).unwrap();
    let assessment = predictor.assess(data).unwrap();
    let Score { log_likelihood, rmse, mae, crps, coverage_50, coverage_90, coverage_95 } =
        predictor.score(data).unwrap();
    vec![
        ("predict.moments.f.mean", moments.f.mean.into_vec()),
        ("predict.moments.f.variance", moments.f.variance.into_vec()),
        ("predict.moments.y.mean", moments.y.mean.into_vec()),
        ("predict.moments.y.variance", moments.y.variance.into_vec()),
        ("predict.quantiles", predictor.quantiles(x, &[0.01, 0.5, 0.95]).unwrap().into_vec()),
        ("predict.log_density", predictor.log_density(x, y).unwrap()),
        ("predict.below", predictor.cumulative(x, y).unwrap().into_vec()),
        ("predict.draws_of_f", flat(predictor.draws_of_f(x, 2).unwrap())),
        ("predict.draws_of_y", flat(predictor.draws_of_y(x, 2).unwrap())),
        ("predict.joint_moments.mean", together.mean.into_vec()),
        ("predict.joint_moments.covariance", flat(together.covariance)),
        ("predict.joint_draws.f", flat(draws.f)),
        ("predict.joint_draws.y", flat(draws.y)),
        ("predict.input_gradient.mean", slopes.mean.into_vec()),
        ("predict.input_gradient.variance", slopes.variance.into_vec()),
        ("predict.assess.deviation", assessment.deviation.into_vec()),
        ("predict.assess.crps", assessment.crps.into_vec()),
        ("predict.score", [vec![log_likelihood], rmse, mae, crps, coverage_50, coverage_90, coverage_95].concat()),
    ]
}
