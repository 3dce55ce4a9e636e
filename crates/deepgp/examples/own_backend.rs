//! A backend of one's own: the CPU's, whose steps of training are counted. The book's chapter on extending the library shows it.
//!
//! ```text
//! cargo run --release --example own_backend
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deepgp::backend::{Backend, Cpu, Mixtures, Run, StepPlan, TrainingTask};
use deepgp::{
    Batch, DeepGp, Evaluation, FitSettings, InducingSize, Noise, PredictSettings, Result, TrainState, Training,
    simulate,
};

// book: backend
/// Another backend, whose steps of training are counted.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Backend>,
    steps: Arc<AtomicU64>,
}

impl Backend for Counting {
    fn name(&self) -> String {
        format!("{}, counted", self.inner.name())
    }

    fn evaluate(
        &self,
        model: &DeepGp,
        batch: Batch<'_>,
        noise: Noise<'_>,
        gradient: bool,
    ) -> Result<(Evaluation, Vec<f64>)> {
        self.inner.evaluate(model, batch, noise, gradient)
    }

    fn train<'d>(&self, model: &DeepGp, task: TrainingTask<'d>) -> Result<Box<dyn Run + 'd>> {
        Ok(Box::new(CountingRun { inner: self.inner.train(model, task)?, steps: self.steps.clone() }))
    }

    fn mixtures<'m>(&self, model: &'m DeepGp, settings: PredictSettings) -> Result<Box<dyn Mixtures + 'm>> {
        self.inner.mixtures(model, settings)
    }
}
// book: end

// book: run
/// A training run of [`Counting`].
#[derive(Debug)]
struct CountingRun<'d> {
    inner: Box<dyn Run + 'd>,
    steps: Arc<AtomicU64>,
}

impl Run for CountingRun<'_> {
    fn burst(&self) -> u64 {
        self.inner.burst()
    }

    fn fetch_every(&self) -> Duration {
        self.inner.fetch_every()
    }

    fn load(&mut self, model: &DeepGp, state: &TrainState) -> Result<()> {
        self.inner.load(model, state)
    }

    fn steps(
        &mut self,
        plans: &[StepPlan<'_>],
        model: &mut DeepGp,
        state: &mut TrainState,
    ) -> Result<Vec<Result<Evaluation>>> {
        self.steps.fetch_add(plans.len() as u64, Ordering::Relaxed);
        self.inner.steps(plans, model, state)
    }

    fn roll_back(&mut self, model: &mut DeepGp, state: &mut TrainState) -> Result<()> {
        self.inner.roll_back(model, state)
    }

    fn store_raw(&mut self, state: &mut TrainState) -> Result<()> {
        self.inner.store_raw(state)
    }

    fn store(&mut self, state: &mut TrainState) -> Result<()> {
        self.inner.store(state)
    }
}
// book: end

fn main() -> Result<()> {
    // book: fit
    let data = simulate::step_curve(100, 1);
    let mut settings = FitSettings::plain();
    settings.model.hidden_layers = 1;
    settings.model.width = 2;
    settings.model.inducing = InducingSize::nested(20, 10);
    settings.train.steps = 100;
    let steps = Arc::new(AtomicU64::new(0));
    let counting = Counting { inner: Arc::new(Cpu::default()), steps: steps.clone() };

    let mut training = Training::new(&data, &settings)?;
    let on_the_cpu = training.run(|_, _| ControlFlow::Continue(()))?;
    *training.model_mut() = training.model().clone().computed_on(Some(Arc::new(counting)));
    let counted = training.run(|_, _| ControlFlow::Continue(()))?;
    assert_eq!(counted.state.now, on_the_cpu.state.now); // the same bits
    println!("{} steps went through the backend", steps.load(Ordering::Relaxed));
    // book: end
    Ok(())
}
