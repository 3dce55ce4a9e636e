//! Proves that a backend can be added from outside the library: one that holds parameters elsewhere, as a device does, and computes on
//! the CPU. Training through it has the CPU's bits, in bursts, with validation, after a stop, and around steps that fail; the objective
//! and predictions go through it too.

use std::ops::ControlFlow;
use std::sync::Arc;

use deepgp::backend::{BURST, Backend, Mixtures, Run, StepPlan, TrainingTask};
use deepgp::noise::{Key, Purpose};
use deepgp::{
    Batch, Dataset, DeepGp, Error, Evaluation, Factors, InducingSize, ModelSettings, Moments, Noise, PredictSettings,
    Result, Snapshot, StepOutcome, StepReport, TrainSettings, TrainState, Trainer, Update, View, simulate,
};

/// A backend that computes everything on the CPU, but holds parameters itself as a device does; step `fails_at` cannot be computed.
#[derive(Debug)]
struct Mirror {
    fails_at: Option<u64>,
}

/// A training run of [`Mirror`].
#[derive(Debug)]
struct MirrorRun<'d> {
    model: DeepGp,
    task: TrainingTask<'d>,
    now: Option<Snapshot>,
    before: Option<Snapshot>,
    fails_at: Option<u64>,
}

/// A model of [`Mirror`] that is ready to predict.
#[derive(Debug)]
struct MirrorMixtures {
    model: DeepGp,
    settings: PredictSettings,
}

fn failure() -> Error {
    Error::Diverged { what: "as planned".into() }
}

impl Backend for Mirror {
    fn name(&self) -> String {
        "mirror".into()
    }

    fn evaluate(
        &self,
        model: &DeepGp,
        batch: Batch<'_>,
        noise: Noise<'_>,
        gradient: bool,
    ) -> Result<(Evaluation, Vec<f64>)> {
        let (evaluation, found) = model.clone().computed_on(None).objective_gradient(batch, noise)?;
        Ok((evaluation, if gradient { found } else { Vec::new() }))
    }

    fn train<'d>(&self, model: &DeepGp, task: TrainingTask<'d>) -> Result<Box<dyn Run + 'd>> {
        let model = model.clone().computed_on(None);
        Ok(Box::new(MirrorRun { model, task, now: None, before: None, fails_at: self.fails_at }))
    }

    fn mixtures<'m>(&self, model: &'m DeepGp, settings: PredictSettings) -> Result<Box<dyn Mixtures + 'm>> {
        Ok(Box::new(MirrorMixtures { model: model.clone().computed_on(None), settings }))
    }
}

impl Run for MirrorRun<'_> {
    fn load(&mut self, model: &DeepGp, state: &TrainState) -> Result<()> {
        self.model = model.clone().computed_on(None);
        (self.now, self.before) = (Some(state.now.clone()), state.before.clone());
        Ok(())
    }

    fn steps(&mut self, plans: &[StepPlan<'_>], _: &mut DeepGp, _: &mut TrainState) -> Result<Vec<Result<Evaluation>>> {
        assert!(
            plans.len() as u64 <= BURST && plans[1..].iter().all(|plan| plan.step % BURST != 0),
            "too long a burst"
        );
        let TrainingTask { data, settings, objective, optimiser } = self.task.clone();
        let objective = &*objective;
        let mut outcomes = Vec::new();
        for plan in plans {
            if self.fails_at.take_if(|step| *step == plan.step).is_some() {
                outcomes.push(Err(failure()));
                break;
            }
            let (samples, kl_weight) = (settings.samples, plan.kl_weight);
            let batch = Batch { samples, kl_weight, progress: plan.progress, objective, ..Batch::of(data, plan.rows) };
            let key = Key::new(settings.seed, Purpose::Train);
            let noise = Noise::Rows { key, step: plan.step as u32 };
            let (evaluation, gradient) = self.model.objective_gradient(batch, noise)?;
            let before = self.now.clone().unwrap();
            let (parameters, factors) = (self.model.parameters(), Factors::none());
            let update = Update { gradient: &gradient, parameters: &parameters, factors, rate: plan.learning_rate };
            let now = self.now.as_mut().unwrap();
            optimiser.ascend(&before, &update, now);
            self.model.set_raw(&now.raw);
            self.before = Some(before);
            outcomes.push(Ok(evaluation));
        }
        Ok(outcomes)
    }

    fn roll_back(&mut self, _: &mut DeepGp, _: &mut TrainState) -> Result<()> {
        self.now = self.before.clone();
        self.model.set_raw(&self.now.as_ref().unwrap().raw);
        Ok(())
    }

    fn store_raw(&mut self, state: &mut TrainState) -> Result<()> {
        state.now.raw.copy_from_slice(&self.now.as_ref().unwrap().raw);
        Ok(())
    }

    fn store(&mut self, state: &mut TrainState) -> Result<()> {
        (state.now, state.before) = (self.now.clone().unwrap(), self.before.clone());
        Ok(())
    }
}

impl Mixtures for MirrorMixtures {
    fn moments(&self, x: View<'_>) -> Result<Moments> {
        let noise = self.model.prediction_noise(self.settings);
        self.model.propagate(x, Noise::Table(&noise), self.settings.samples)
    }

    fn rows_at_once(&self) -> usize {
        7
    }
}

fn model(data: &Dataset) -> DeepGp {
    let inducing = InducingSize::decoupled(12, 6);
    let settings = ModelSettings { hidden_layers: 1, width: 2, inducing, ..ModelSettings::plain() };
    DeepGp::for_regression(data.x().view(), 1, &settings).unwrap()
}

/// Trains on the CPU and through the mirror; both must see the same steps and end in the same state.
fn same(settings: TrainSettings, validation: bool) {
    let (data, held_out) = simulate::eight_link_arm(90, 1).split(0.3, 1).unwrap();
    let held_out = validation.then_some(&held_out);
    let train = |backend: Option<Arc<dyn Backend>>| {
        let model = model(&data).computed_on(backend);
        let mut trainer = Trainer::new(model, &data, held_out, settings).unwrap();
        let mut steps = Vec::new();
        let stop = trainer.run(|report, _| {
            let StepOutcome::Taken(evaluation) = &report.outcome else { panic!("{report:?}") };
            steps.push((report.step, report.epoch, report.learning_rate, report.kl_weight, evaluation.clone()));
            steps.last_mut().unwrap().4.clamped = 0;
            assert!(report.validation.is_none_or(f64::is_finite));
            ControlFlow::Continue(())
        });
        let state = trainer.state().clone();
        (stop.unwrap(), steps, state, trainer.finish().raw())
    };
    let (ours, theirs) = (train(None), train(Some(Arc::new(Mirror { fails_at: None }))));
    assert_eq!((ours.0, ours.1, ours.2.now, ours.2.before), (theirs.0, theirs.1, theirs.2.now, theirs.2.before));
    assert_eq!(
        (ours.2.step, ours.2.epoch, ours.2.batches_used),
        (theirs.2.step, theirs.2.epoch, theirs.2.batches_used)
    );
    if !validation {
        assert_eq!(ours.3, theirs.3);
    }
}

#[test]
fn training_elsewhere_makes_the_steps_of_the_cpu() {
    let settings = TrainSettings { steps: 43, ..TrainSettings::plain() };
    same(settings, false);
    same(TrainSettings { batch_size: 25, samples: 2, kl_warm_up: 12, ..settings }, false);
    same(TrainSettings { validate_every: 7, patience: 100, ..settings }, true);
}

#[test]
fn a_run_elsewhere_can_be_stopped_and_goes_on_to_the_same_bits() {
    let data = simulate::eight_link_arm(60, 1);
    let settings = TrainSettings { steps: 50, batch_size: 25, ..TrainSettings::plain() };
    let model = model(&data).computed_on(Some(Arc::new(Mirror { fails_at: None })));
    let go = |_: &_, _: &_| ControlFlow::Continue(());
    let mut whole = Trainer::new(model.clone(), &data, None, settings).unwrap();
    whole.run(go).unwrap();
    let mut part = Trainer::new(model.clone(), &data, None, settings).unwrap();
    let mut seen = Vec::new();
    let until_14 = |report: &StepReport, _: &_| {
        seen.push(report.step);
        if report.step == 14 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    part.run(until_14).unwrap();
    let state = part.state().clone();
    // The burst is finished, and told of: three minibatches make a pass, with which a burst ends.
    assert_eq!(state.step, 15);
    assert_eq!(seen, (1..=15).collect::<Vec<u64>>());
    let mut rest = Trainer::resume(model, &data, None, settings, state).unwrap();
    rest.run(go).unwrap();
    assert_eq!(rest.state(), whole.state());
}

#[test]
fn a_step_that_fails_elsewhere_is_rolled_back_and_the_rest_planned_anew() {
    let data = simulate::eight_link_arm(60, 1);
    let settings = TrainSettings { steps: 30, ..TrainSettings::plain() };
    let model = model(&data).computed_on(Some(Arc::new(Mirror { fails_at: Some(13) })));
    let mut trainer = Trainer::new(model, &data, None, settings).unwrap();
    let mut reports = Vec::new();
    trainer
        .run(|report, _| {
            let failed = matches!(report.outcome, StepOutcome::RolledBack(_));
            reports.push((report.step, failed, report.learning_rate));
            ControlFlow::Continue(())
        })
        .unwrap();
    let steps: Vec<u64> = reports.iter().map(|report| report.0).collect();
    assert_eq!(steps, (1..=30).collect::<Vec<_>>());
    assert_eq!(reports.iter().filter(|report| report.1).map(|report| report.0).collect::<Vec<_>>(), [14]);
    // Half the rate after the failure, and a hundredth more with each good step.
    assert_eq!((reports[12].2, reports[14].2), (0.01, 0.005));
    assert!((reports[15].2 - 0.005 * 1.01).abs() < 1e-15);
    let state = trainer.state();
    assert_eq!((state.step, state.rolled_back, state.failures, state.now.optimiser.updates), (30, 1, 0, 28));
}

#[test]
fn the_bound_and_predictions_come_from_elsewhere_too() {
    let data = simulate::eight_link_arm(40, 1);
    let here = model(&data);
    let there = here.clone().computed_on(Some(Arc::new(Mirror { fails_at: None })));
    let rows: Vec<u32> = (0..40).collect();
    let batch = Batch { num_data: 40, ..Batch::of(&data, &rows) };
    let noise = Noise::Rows { key: Key::new(0, Purpose::Train), step: 0 };
    assert_eq!(here.objective_gradient(batch, noise).unwrap(), there.objective_gradient(batch, noise).unwrap());
    assert_eq!(here.objective(batch, noise).unwrap(), there.objective(batch, noise).unwrap());
    let settings = PredictSettings { samples: 5, ..PredictSettings::default() };
    let (a, b) = (here.predictor(settings).unwrap(), there.predictor(settings).unwrap());
    let x = data.x().view();
    let (p, q) = (a.quantiles(x, &[0.1, 0.9]).unwrap(), b.quantiles(x, &[0.1, 0.9]).unwrap());
    assert!(p.as_slice().iter().zip(q.as_slice()).all(|(p, q)| (p - q).abs() < 1e-9));
    // What only the CPU can answer, it answers.
    assert_eq!(a.input_gradient(x).unwrap(), b.input_gradient(x).unwrap());
    assert_eq!(a.joint_moments(x).unwrap().mean, b.joint_moments(x).unwrap().mean);
}
