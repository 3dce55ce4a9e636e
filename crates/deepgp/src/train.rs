//! The training loop: minibatch, ELBO, step, report.
//!
//! [`TrainState`] is all there is to a run beside model, data and settings: parameters, Adam's moments, counters. Noise and
//! minibatches are functions of the counters, so a run that is saved, loaded and continued makes the same steps to the
//! last bit. A step whose ELBO or gradient cannot be computed is rolled back: parameters and moments return to what they
//! were before the last update, and the learning rate halves; it grows back by 1 % with each good step.
//!
//! On an accelerator steps are made in *bursts* of up to [`BURST`], without a word in between. Where bursts begin depends on the
//! number of the step alone, so it does not change a bit either.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use crate::accelerator::{BURST, Run, StepPlan};
use crate::adam::Adam;
use crate::batch::Batch;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::metrics::weighted_mean;
use crate::model::DeepGp;
use crate::noise::{Key, Noise, Purpose};
use crate::params::Parameter;
use crate::settings::{PredictSettings, TrainSettings};
use crate::step::{Elbo, StepMemory};
use crate::threads::Threads;
use crate::train_state::{Best, Snapshot, StepOutcome, StepReport, Stop, TrainState};

/// How many steps in a row may be rolled back before training gives up.
const MAX_FAILURES: u32 = 20;
/// How often the state is fetched from an accelerator for the callback to see.
const FETCH_EVERY: Duration = Duration::from_secs(1);

/// A step to make, and where it was planned.
#[derive(Debug)]
struct Planned {
    before: Counters,
    /// Its rows, in the trainer's order.
    rows: Range<usize>,
    learning_rate: f64,
    kl_weight: f64,
    /// Passes over the data after it.
    epoch: f64,
}

/// What moves on from step to step if all goes well.
#[derive(Clone, Copy, Debug)]
struct Counters {
    step: u64,
    epoch: u64,
    batches_used: u64,
    rate_factor: f64,
}

impl Counters {
    fn of(state: &TrainState) -> Self {
        let &TrainState { step, epoch, batches_used, rate_factor, .. } = state;
        Self { step, epoch, batches_used, rate_factor }
    }

    fn restore(self, state: &mut TrainState) {
        let Self { step, epoch, batches_used, rate_factor } = self;
        (state.step, state.epoch, state.batches_used, state.rate_factor) = (step, epoch, batches_used, rate_factor);
    }
}

/// A model being trained.
#[derive(Debug)]
pub struct Trainer<'a> {
    model: DeepGp,
    data: &'a Dataset,
    validation: Option<&'a Dataset>,
    state: TrainState,
    parameters: Vec<Parameter>,
    engine: Engine,
    threads: Threads,
    order: Vec<u32>,
    order_of: Option<u64>,
    /// Reports of steps that were made but not yet handed out.
    reports: VecDeque<StepReport>,
}

/// Who computes the steps.
#[derive(Debug)]
enum Engine {
    Cpu(StepMemory),
    Accelerator {
        run: Box<dyn Run>,
        /// The whole state when it was last fetched. In the trainer's own, parameters and optimiser are out of date.
        fetched: Box<TrainState>,
        fetched_at: Instant,
    },
}

impl<'a> Trainer<'a> {
    /// Starts to train `model` on `data`, both in the model's units; `validation` decides when to stop, if given.
    pub fn new(
        model: DeepGp,
        data: &'a Dataset,
        validation: Option<&'a Dataset>,
        settings: TrainSettings,
    ) -> Result<Self> {
        let raw = model.raw();
        let state = TrainState {
            now: Snapshot { adam: Adam::new(raw.len()), raw },
            before: None,
            step: 0,
            epoch: 0,
            batches_used: 0,
            rate_factor: 1.0,
            failures: 0,
            rolled_back: 0,
            best: None,
            looks_since_best: 0,
            num_data: data.len(),
            settings,
        };
        Self::resume(model, data, validation, settings, state)
    }

    /// Goes on from a saved state. Model, data and settings must be those it was saved with; `steps` and `threads` may differ.
    pub fn resume(
        mut model: DeepGp,
        data: &'a Dataset,
        validation: Option<&'a Dataset>,
        settings: TrainSettings,
        mut state: TrainState,
    ) -> Result<Self> {
        settings.check()?;
        let parameters = model.parameters();
        let count = parameters.last().map_or(0, |p| p.range.end);
        for data in [Some(data), validation].into_iter().flatten() {
            model.check_data(data)?;
        }
        let snapshots = [Some(&state.now), state.before.as_ref()].into_iter().flatten();
        let lengths = snapshots
            .flat_map(|s| [s.raw.len(), s.adam.first.len(), s.adam.second.len()])
            .chain(state.best.as_ref().map(|best| best.raw.len()));
        let mut fits: Vec<_> = lengths.map(|found| ("the number of parameters", found, count)).collect();
        fits.push(("the number of training rows", state.num_data, data.len()));
        let (used, per_pass) = (state.batches_used as usize, batches(data, &state.settings) as usize);
        fits.push(("the place in the pass", used, used.min(per_pass - 1)));
        for (what, expected, found) in fits {
            if expected != found {
                return Err(Error::ForeignState { what, expected: expected.to_string(), found: found.to_string() });
            }
        }
        let TrainSettings { steps, threads, .. } = settings;
        let kept = TrainSettings { steps, threads, ..state.settings };
        if kept != settings {
            let (expected, found) = (format!("{kept:?}"), format!("{settings:?}"));
            return Err(Error::ForeignState { what: "a setting other than `steps` and `threads`", expected, found });
        }
        state.settings = kept;
        model.set_raw(&state.now.raw);
        let engine = match model.accelerator() {
            None => Engine::Cpu(StepMemory::new(&model, data)),
            Some(accelerator) => {
                let mut run = accelerator.train(&model, data, &settings)?;
                run.load(&model, &state)?;
                Engine::Accelerator { run, fetched: Box::new(state.clone()), fetched_at: Instant::now() }
            }
        };
        let threads = Threads::new(settings.threads)?;
        let (order, order_of, reports) = (Vec::new(), None, VecDeque::new());
        Ok(Self { model, data, validation, state, parameters, engine, threads, order, order_of, reports })
    }

    /// The model at the parameters of [`Trainer::state`], or newer ones.
    pub fn model(&self) -> &DeepGp {
        &self.model
    }

    /// What to save in order to go on later. On an accelerator this is the state when it was last fetched, which happens once a
    /// second and when a run ends.
    pub fn state(&self) -> &TrainState {
        match &self.engine {
            Engine::Cpu(_) => &self.state,
            Engine::Accelerator { fetched, .. } => fetched,
        }
    }

    /// The settings of the run.
    pub fn settings(&self) -> &TrainSettings {
        &self.state.settings
    }

    /// Steps until the budget is spent, patience runs out, or the callback breaks. Can be called again to go on.
    ///
    /// The callback sees every step. On an accelerator it sees them burst by burst, beside a state that may be a second old; if it
    /// breaks, the run ends with the burst, whose other steps it still sees: they are made.
    pub fn run(&mut self, mut callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>) -> Result<Stop> {
        let stop = loop {
            if self.reports.is_empty() {
                if self.out_of_patience() {
                    break Stop::Patience;
                }
                if self.state.step >= self.state.settings.steps {
                    break Stop::Steps;
                }
            }
            let report = match self.step() {
                Ok(report) => report,
                Err(Error::Stuck { reason, .. }) => break Stop::Stuck(*reason),
                Err(other) => {
                    self.reports.clear();
                    return Err(other);
                }
            };
            if callback(&report, self.state()).is_break() {
                break Stop::Callback;
            }
        };
        // The rest of a burst is made, whoever wanted to stop.
        for report in std::mem::take(&mut self.reports) {
            let _ = callback(&report, self.state());
        }
        self.fetch(Duration::ZERO)?;
        Ok(stop)
    }

    fn out_of_patience(&self) -> bool {
        self.validation.is_some() && self.state.looks_since_best >= self.state.settings.patience
    }

    /// Brings the state here from an accelerator, if what is here is older than `age`.
    fn fetch(&mut self, age: Duration) -> Result<()> {
        if let Engine::Accelerator { run, fetched, fetched_at } = &mut self.engine
            && fetched_at.elapsed() >= age
            && fetched.step != self.state.step
        {
            run.store(&mut self.state)?;
            **fetched = self.state.clone();
            self.model.set_raw(&self.state.now.raw);
            *fetched_at = Instant::now();
        }
        Ok(())
    }

    /// One step of the optimiser: makes it, or hands out the report of one that was made in the last burst.
    pub fn step(&mut self) -> Result<StepReport> {
        if self.reports.is_empty() {
            self.burst()?;
        }
        self.fetch(FETCH_EVERY)?;
        Ok(self.reports.pop_front().expect("a burst makes a step"))
    }

    /// Makes steps: one on the CPU, a few on an accelerator. Leaves their reports.
    fn burst(&mut self) -> Result<()> {
        if let (Some(held_out), 0, None) = (self.validation, self.state.step, &self.state.best) {
            // Training may lead to nothing better than where it began, above all where it goes on from a trained model.
            self.look(held_out)?;
            self.state.looks_since_best = 0;
        }
        let mut plans = vec![self.plan()];
        while matches!(self.engine, Engine::Accelerator { .. }) && !self.burst_ends() {
            plans.push(self.plan());
        }
        let started = Instant::now();
        let outcomes = match self.compute(&plans) {
            Ok(outcomes) => outcomes,
            Err(error) => {
                self.unplan(&plans);
                return Err(error);
            }
        };
        let seconds = started.elapsed().as_secs_f64() / outcomes.len() as f64;
        let made = outcomes.len();
        // What was planned beyond a step that failed is planned anew.
        self.unplan(&plans[made..]);
        let mut rolled_back = Ok(());
        for (plan, outcome) in plans.into_iter().zip(outcomes) {
            let Planned { before, epoch, learning_rate, kl_weight, .. } = plan;
            let outcome = match outcome {
                Ok(elbo) => {
                    self.state.failures = 0;
                    StepOutcome::Taken(elbo)
                }
                Err(reason) => {
                    self.state.rate_factor = before.rate_factor;
                    rolled_back = self.roll_back(reason.clone());
                    StepOutcome::RolledBack(reason)
                }
            };
            let (step, validation) = (before.step + 1, None);
            self.reports.push_back(StepReport { step, epoch, outcome, learning_rate, kl_weight, validation, seconds });
        }
        rolled_back?;
        let validation = self.validate()?;
        if let Some(last) = self.reports.back_mut() {
            last.validation = validation;
        }
        Ok(())
    }

    /// Whether a burst cannot go on: there is something to look at first, or a new order of rows.
    fn burst_ends(&self) -> bool {
        let TrainSettings { steps, validate_every, .. } = self.state.settings;
        let step = self.state.step;
        let new_order = self.state.batches_used == 0 && batches(self.data, &self.state.settings) > 1;
        let look = self.validation.is_some() && step.is_multiple_of(validate_every);
        step.is_multiple_of(BURST) || step == steps || look || new_order
    }

    /// Plans the next step, on the assumption that it will go well: moves all counters on.
    fn plan(&mut self) -> Planned {
        let settings = self.state.settings;
        let before = Counters::of(&self.state);
        let (step, rate_factor) = (self.state.step, self.state.rate_factor);
        let rows = self.next_rows();
        let learning_rate = settings.learning_rate * settings.schedule.factor(step, settings.steps) * rate_factor;
        let kl_weight = match settings.kl_warm_up {
            0 => 1.0,
            over => ((step + 1) as f64 / over as f64).min(1.0),
        };
        self.state.step += 1;
        self.state.rate_factor = (rate_factor * 1.01).min(1.0);
        let epoch = self.state.epoch as f64 + self.state.batches_used as f64 / batches(self.data, &settings) as f64;
        Planned { before, rows, learning_rate, kl_weight, epoch }
    }

    /// Moves the counters back to where the first of these was planned.
    fn unplan(&mut self, plans: &[Planned]) {
        if let Some(first) = plans.first() {
            first.before.restore(&mut self.state);
        }
    }

    /// Makes steps up to the first that fails.
    fn compute(&mut self, plans: &[Planned]) -> Result<Vec<Result<Elbo>>> {
        let settings = self.state.settings;
        if let Engine::Accelerator { run, .. } = &mut self.engine {
            let plan = |p: &Planned| StepPlan {
                step: p.before.step,
                rows: &self.order[p.rows.clone()],
                learning_rate: p.learning_rate,
                kl_weight: p.kl_weight,
            };
            let plans: Vec<StepPlan<'_>> = plans.iter().map(plan).collect();
            let outcomes = run.steps(&plans)?;
            if outcomes.iter().any(Result::is_ok) {
                // There is something to return to; what it is, the accelerator knows.
                self.state.before.get_or_insert_with(|| self.state.now.clone());
            }
            return Ok(outcomes);
        }
        let mut outcomes = Vec::new();
        for Planned { before, rows, learning_rate, kl_weight, .. } in plans {
            let Engine::Cpu(memory) = &mut self.engine else { break };
            let (num_data, samples, kl_weight) = (self.data.len(), settings.samples, *kl_weight);
            let rows = &self.order[rows.clone()];
            let batch = Batch { data: self.data, rows, num_data, samples, kl_weight };
            let noise = Noise::Rows { key: Key::new(settings.seed, Purpose::Train), step: before.step as u32 };
            let model = &self.model;
            match self.threads.run(|| model.evaluate(batch, noise, memory, true)) {
                Ok(elbo) => {
                    self.update(*learning_rate);
                    outcomes.push(Ok(elbo));
                }
                Err(reason @ (Error::NonFinite { .. } | Error::NotPositiveDefinite { .. })) => {
                    outcomes.push(Err(reason));
                    break;
                }
                Err(other) => return Err(other),
            }
        }
        Ok(outcomes)
    }

    /// The next minibatch as a range of `self.order`. A pass is cut into batches whose sizes differ by one at most, so
    /// that no small rest gets a large weight.
    fn next_rows(&mut self) -> Range<usize> {
        let settings = self.state.settings;
        let (n, batches) = (self.data.len() as u64, batches(self.data, &settings));
        if self.order_of != Some(self.state.epoch) {
            if batches > 1 {
                let key = Key::new(settings.seed, Purpose::Shuffle);
                self.order = key.permutation(self.data.len(), self.state.epoch);
            } else if self.order.is_empty() {
                self.order = (0..n as u32).collect();
            }
            self.order_of = Some(self.state.epoch);
        }
        let used = self.state.batches_used;
        let range = (used * n / batches) as usize..((used + 1) * n / batches) as usize;
        self.state.batches_used += 1;
        if self.state.batches_used == batches {
            (self.state.epoch, self.state.batches_used) = (self.state.epoch + 1, 0);
        }
        range
    }

    fn update(&mut self, learning_rate: f64) {
        let state = &mut self.state;
        // The older of the two snapshots becomes the new one.
        let before = state.before.get_or_insert_with(|| state.now.clone());
        let now = &mut state.now;
        std::mem::swap(now, before);
        let Engine::Cpu(memory) = &self.engine else { return };
        let (gradient, parameters) = (memory.gradient(), &self.parameters);
        let raw = (&before.raw[..], &mut now.raw[..]);
        self.threads.run(|| now.adam.ascend(&before.adam, raw, gradient, parameters, learning_rate));
        self.model.set_raw(&state.now.raw);
    }

    fn roll_back(&mut self, reason: Error) -> Result<()> {
        let state = &mut self.state;
        state.failures += 1;
        state.rolled_back += 1;
        state.rate_factor *= 0.5;
        // Before the first update there is nothing to return to: the start itself is at fault.
        let Some(before) = &state.before else { return Err(reason) };
        match &mut self.engine {
            Engine::Cpu(_) => {
                state.now.copy_from(before);
                self.model.set_raw(&state.now.raw);
            }
            Engine::Accelerator { run, .. } => run.roll_back()?,
        }
        if state.failures >= MAX_FAILURES {
            return Err(Error::Stuck { step: state.step, attempts: state.failures, reason: Box::new(reason) });
        }
        Ok(())
    }

    /// Looks at the validation rows, if it is time to: every so many steps, and after the last one.
    fn validate(&mut self) -> Result<Option<f64>> {
        let Some(held_out) = self.validation else { return Ok(None) };
        let TrainSettings { steps, validate_every, .. } = self.state.settings;
        let is_time = self.state.step == steps || self.state.step.is_multiple_of(validate_every);
        is_time.then(|| self.look(held_out)).transpose()
    }

    /// Scores the validation rows, and keeps the parameters if none were better.
    fn look(&mut self, held_out: &Dataset) -> Result<f64> {
        let TrainSettings { validation_samples: samples, seed, .. } = self.state.settings;
        if let Engine::Accelerator { run, .. } = &mut self.engine {
            run.raw(&mut self.state.now.raw)?;
            self.model.set_raw(&self.state.now.raw);
        }
        let (model, settings) = (&self.model, PredictSettings { samples, seed, threads: 0 });
        let density = || model.predictor(settings)?.log_density(held_out.x().view(), held_out.y().view());
        let score = match self.threads.run(density) {
            Ok(densities) => weighted_mean(&densities, held_out.weights()),
            // A model that cannot be asked is no better than any other.
            Err(Error::NonFinite { .. } | Error::NotPositiveDefinite { .. }) => f64::NEG_INFINITY,
            Err(other) => return Err(other),
        };
        let state = &mut self.state;
        if state.best.as_ref().is_none_or(|best| score > best.score) && score.is_finite() {
            state.best = Some(Best { raw: state.now.raw.clone(), score, step: state.step });
            state.looks_since_best = 0;
        } else {
            state.looks_since_best += 1;
        }
        Ok(score)
    }

    /// The trained model: the best one by the validation rows if there are any, else the last one. If the last update led
    /// to parameters that cannot be evaluated, the ones before it are taken.
    pub fn finish(mut self) -> DeepGp {
        // An accelerator that no longer answers has answered before: the model then holds what it said last.
        let _ = self.fetch(Duration::ZERO);
        match (&self.state.best, &self.state.before) {
            (Some(best), _) if self.validation.is_some() => self.model.set_raw(&best.raw),
            (_, Some(before)) if !self.model.is_sound() => self.model.set_raw(&before.raw),
            _ => {}
        }
        self.model
    }
}

/// Minibatches in a pass over the data.
fn batches(data: &Dataset, settings: &TrainSettings) -> u64 {
    data.len().div_ceil(settings.batch_size.max(1)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::settings::{InducingSize, ModelSettings};
    use crate::testing::uniform;

    #[test]
    fn a_pass_holds_every_row_once_in_batches_of_even_size() {
        let data = Dataset::new(uniform(23, 1, 1), uniform(23, 1, 2)).unwrap();
        let settings = ModelSettings { inducing: Some(InducingSize::Tied(2)), ..ModelSettings::default() };
        let model = DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
        let settings = TrainSettings { batch_size: 10, ..TrainSettings::default() };
        let mut trainer = Trainer::new(model, &data, None, settings).unwrap();
        let mut passes = Vec::new();
        for _ in 0..2 {
            let mut rows = Vec::new();
            for _ in 0..3 {
                let range = trainer.next_rows();
                assert!((7..=8).contains(&range.len()));
                rows.extend_from_slice(&trainer.order[range]);
            }
            passes.push(rows.clone());
            rows.sort_unstable();
            assert_eq!(rows, (0..23).collect::<Vec<_>>());
        }
        assert_ne!(passes[0], passes[1]);
        assert_eq!(trainer.state.epoch, 2);
    }
}
