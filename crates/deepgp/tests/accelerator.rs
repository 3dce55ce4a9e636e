//! The seam for other devices, with one that computes on the CPU after all: training through it must have the CPU's bits, in bursts,
//! with validation, after a stop, and around steps that fail.

use std::ops::ControlFlow;
use std::sync::Arc;

use deepgp::accelerator::{Accelerator, Mixtures, Run, StepPlan};
use deepgp::noise::{Key, Purpose};
use deepgp::{
    Adam, Batch, Dataset, DeepGp, Elbo, Error, InducingSize, ModelSettings, Moments, Noise, PredictSettings, Result,
    Snapshot, StepOutcome, StepReport, TrainSettings, TrainState, Trainer, View, simulate,
};

/// Hands everything back to the CPU; step `fails_at` cannot be made.
#[derive(Debug)]
struct Mirror {
    fails_at: Option<u64>,
}

#[derive(Debug)]
struct MirrorRun {
    model: DeepGp,
    data: Dataset,
    settings: TrainSettings,
    now: Snapshot,
    before: Option<Snapshot>,
    fails_at: Option<u64>,
}

#[derive(Debug)]
struct MirrorMixtures {
    model: DeepGp,
    settings: PredictSettings,
}

fn failure() -> Error {
    Error::NonFinite { what: "as planned".into() }
}

impl Accelerator for Mirror {
    fn name(&self) -> String {
        "mirror".into()
    }

    fn evaluate(&self, model: &DeepGp, batch: Batch<'_>, noise: Noise<'_>, gradient: bool) -> Result<(Elbo, Vec<f64>)> {
        let (elbo, found) = model.clone().computed_on(None).elbo_gradient(batch, noise)?;
        Ok((elbo, if gradient { found } else { Vec::new() }))
    }

    fn train(&self, model: &DeepGp, data: &Dataset, settings: &TrainSettings) -> Result<Box<dyn Run>> {
        let raw = model.raw();
        Ok(Box::new(MirrorRun {
            model: model.clone().computed_on(None),
            data: data.clone(),
            settings: *settings,
            now: Snapshot { adam: Adam::new(raw.len()), raw },
            before: None,
            fails_at: self.fails_at,
        }))
    }

    fn mixtures(&self, model: &DeepGp, settings: PredictSettings) -> Result<Box<dyn Mixtures>> {
        Ok(Box::new(MirrorMixtures { model: model.clone().computed_on(None), settings }))
    }
}

impl Run for MirrorRun {
    fn load(&mut self, model: &DeepGp, state: &TrainState) -> Result<()> {
        self.model = model.clone().computed_on(None);
        (self.now, self.before) = (state.now.clone(), state.before.clone());
        Ok(())
    }

    fn steps(&mut self, plans: &[StepPlan<'_>]) -> Result<Vec<Result<Elbo>>> {
        assert!(plans.len() <= 10 && plans[1..].iter().all(|plan| plan.step % 10 != 0), "a burst is too long");
        let mut outcomes = Vec::new();
        for plan in plans {
            if self.fails_at.take_if(|step| *step == plan.step).is_some() {
                outcomes.push(Err(failure()));
                break;
            }
            let (data, rows, num_data) = (&self.data, plan.rows, self.data.len());
            let batch = Batch { data, rows, num_data, samples: self.settings.samples, kl_weight: plan.kl_weight };
            let key = Key::new(self.settings.seed, Purpose::Train);
            let (elbo, gradient) = self.model.elbo_gradient(batch, Noise::Rows { key, step: plan.step as u32 })?;
            let before = self.now.clone();
            let (raw, parameters) = (&mut self.now.raw, self.model.parameters());
            self.now.adam.ascend(&before.adam, (&before.raw, raw), &gradient, &parameters, plan.learning_rate);
            self.model.set_raw(&self.now.raw);
            self.before = Some(before);
            outcomes.push(Ok(elbo));
        }
        Ok(outcomes)
    }

    fn roll_back(&mut self) -> Result<()> {
        self.now = self.before.clone().unwrap();
        self.model.set_raw(&self.now.raw);
        Ok(())
    }

    fn raw(&mut self, raw: &mut [f64]) -> Result<()> {
        raw.copy_from_slice(&self.now.raw);
        Ok(())
    }

    fn store(&mut self, state: &mut TrainState) -> Result<()> {
        (state.now, state.before) = (self.now.clone(), self.before.clone());
        Ok(())
    }
}

impl Mixtures for MirrorMixtures {
    fn moments(&self, x: View<'_>) -> Result<Moments> {
        let noise = Noise::Shared { key: Key::new(self.settings.seed, Purpose::Predict) };
        self.model.propagate(x, noise, self.settings.samples)
    }

    fn rows_at_once(&self) -> usize {
        7
    }
}

fn model(data: &Dataset) -> DeepGp {
    let inducing = Some(InducingSize::Decoupled { mean: 12, covariance: 6 });
    let settings = ModelSettings { hidden_layers: 1, width: 2, inducing, ..ModelSettings::default() };
    DeepGp::for_regression(data.x().view(), 1, &settings).unwrap()
}

/// Trains on the CPU and through the mirror; both must see the same steps and end in the same state.
fn same(settings: TrainSettings, validation: bool) {
    let (data, held_out) = simulate::eight_link_arm(90, 1).split(0.3, 1).unwrap();
    let held_out = validation.then_some(&held_out);
    let train = |accelerator: Option<Arc<dyn Accelerator>>| {
        let model = model(&data).computed_on(accelerator);
        let mut trainer = Trainer::new(model, &data, held_out, settings).unwrap();
        let mut steps = Vec::new();
        let stop = trainer.run(|report, _| {
            let StepOutcome::Taken(elbo) = &report.outcome else { panic!("{report:?}") };
            steps.push((report.step, report.epoch, report.learning_rate, report.kl_weight, elbo.clone()));
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
    let settings = TrainSettings { steps: 43, ..TrainSettings::default() };
    same(settings, false);
    same(TrainSettings { batch_size: 25, samples: 2, kl_warm_up: 12, ..settings }, false);
    same(TrainSettings { validate_every: 7, patience: 100, ..settings }, true);
}

#[test]
fn a_run_elsewhere_can_be_stopped_and_goes_on_to_the_same_bits() {
    let data = simulate::eight_link_arm(60, 1);
    let settings = TrainSettings { steps: 50, batch_size: 25, ..TrainSettings::default() };
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
    let settings = TrainSettings { steps: 30, ..TrainSettings::default() };
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
    assert_eq!((state.step, state.rolled_back, state.failures, state.now.adam.updates), (30, 1, 0, 28));
}

#[test]
fn the_bound_and_predictions_come_from_elsewhere_too() {
    let data = simulate::eight_link_arm(40, 1);
    let here = model(&data);
    let there = here.clone().computed_on(Some(Arc::new(Mirror { fails_at: None })));
    let rows: Vec<u32> = (0..40).collect();
    let batch = Batch { data: &data, rows: &rows, num_data: 40, samples: 1, kl_weight: 1.0 };
    let noise = Noise::Rows { key: Key::new(0, Purpose::Train), step: 0 };
    assert_eq!(here.elbo_gradient(batch, noise).unwrap(), there.elbo_gradient(batch, noise).unwrap());
    assert_eq!(here.elbo(batch, noise).unwrap(), there.elbo(batch, noise).unwrap());
    let settings = PredictSettings { samples: 5, ..PredictSettings::default() };
    let (a, b) = (here.predictor(settings).unwrap(), there.predictor(settings).unwrap());
    let x = data.x().view();
    let (p, q) = (a.quantiles(x, &[0.1, 0.9]).unwrap(), b.quantiles(x, &[0.1, 0.9]).unwrap());
    assert!(p.as_slice().iter().zip(q.as_slice()).all(|(p, q)| (p - q).abs() < 1e-9));
    // What only the CPU can answer, it answers.
    assert_eq!(a.input_gradient(x).unwrap(), b.input_gradient(x).unwrap());
    assert_eq!(a.joint_moments(x).unwrap().mean, b.joint_moments(x).unwrap().mean);
}
