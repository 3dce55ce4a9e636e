//! The training loop: minibatch, objective, step, report.
//!
//! [`TrainState`] is all there is to a run beside model, data and settings: parameters, the optimiser's state, counters. Noise and
//! minibatches are functions of the counters, so a run that is saved, loaded and continued takes the same steps to the
//! last bit. A step whose objective or gradient cannot be computed is rolled back: parameters and the optimiser's state return to what
//! they were before the last update, and the learning rate halves; it grows back by 1 % with each good step. At step `t` it is
//!
//! ```text
//! rate_t = learning_rate · schedule(t, steps) · factor_t
//! factor_{t+1} = ½ factor_t after a roll-back, min(1, 1.01 factor_t) otherwise
//! ```
//!
//! Steps are taken by a [`Run`] of the model's backend, in *bursts* of as many as it likes to be asked for at once, up to
//! [`crate::backend::BURST`], with nothing in between. Where bursts begin depends on the number of the step alone, so it does not
//! change a bit either.
//!
//! Where the model's backend computes together with other processes ([`Backend::communicator`](crate::backend::Backend::communicator)), each has
//! its own rows, in the order of ranks, and all of them the same validation rows. Minibatches and noise are those of one process with all
//! rows: rows are known by their numbers among all. Each process scores its part of the validation rows; a step after which a callback breaks
//! is the last one of all; and every [`LOOK_EVERY`] steps all make sure that they hold the same parameters.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::minibatch_reader::MinibatchReader;
use super::optimiser::Optimiser;
use super::row_order::{Minibatches, RowOrder};
use super::state::{Best, StepOutcome, StepReport, Stop, TrainState};
use crate::backend::agreement::Share;
use crate::backend::{BURST, Communicator, Evaluation, Run, StepPlan, TrainingTask};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::DeepGp;
use crate::model::batch::Shard;
use crate::numeric::threads::Threads;
use crate::objective::{Objective, ObjectiveForm};
use crate::predict::metrics::weighted_mean;
use crate::settings::{Draws, PredictSettings, TrainSettings, learning_rate_for};

/// The number of steps in a row that may be rolled back before training gives up.
const MAX_FAILURES: u32 = 20;
/// The factor on the learning rate after a step that was rolled back.
const ROLL_BACK_FACTOR: f64 = 0.5;
/// The growth of the factor on the learning rate after a good step, until it is 1 again.
const RECOVERY_FACTOR: f64 = 1.01;

/// The objective and the optimiser of a run: those that settings name, or a program's own.
#[derive(Clone, Debug)]
pub struct Method<'a> {
    /// The objective that is maximised.
    pub objective: Arc<dyn Objective>,
    /// The optimiser that moves the parameters.
    pub optimiser: &'a dyn Optimiser,
}

impl Method<'static> {
    /// The library's objective and optimiser that `settings` name, or that suit the model.
    pub fn of(settings: &TrainSettings, model: &DeepGp) -> Self {
        let objective = settings.objective.unwrap_or_else(|| ObjectiveForm::suiting(model.likelihood()));
        Self { objective: objective.objective(), optimiser: settings.optimiser.optimiser() }
    }
}

/// The number of steps after which several processes compare their parameters.
const LOOK_EVERY: u64 = 50;

/// A step that is planned but not yet computed.
#[derive(Debug)]
struct PlannedStep {
    /// The counters before the step, to return to if it is not computed.
    before: Counters,
    /// The range of its rows in the trainer's order.
    rows: Range<usize>,
    /// The number of its rows, those of other processes included.
    batch_rows: usize,
    /// The learning rate, schedule and roll-backs included.
    learning_rate: f64,
    /// The factor on the KL.
    kl_weight: f64,
    /// The number of passes over the data after the step, with its fraction.
    epoch: f64,
}

/// The counters of a [`TrainState`] that move on with every step, under the same names.
#[derive(Clone, Copy, Debug)]
struct Counters {
    step: u64,
    epoch: u64,
    batches_used: u64,
    rate_factor: f64,
}

impl Counters {
    /// The counters of a state.
    fn of(state: &TrainState) -> Self {
        let &TrainState { step, epoch, batches_used, rate_factor, .. } = state;
        Self { step, epoch, batches_used, rate_factor }
    }

    /// Sets the counters of a state to these.
    fn restore(self, state: &mut TrainState) {
        let Self { step, epoch, batches_used, rate_factor } = self;
        (state.step, state.epoch, state.batches_used, state.rate_factor) = (step, epoch, batches_used, rate_factor);
    }
}

/// A model being trained.
#[derive(Debug)]
pub struct Trainer<'a> {
    /// The model, at the parameters of [`Trainer::state`] or newer ones.
    model: DeepGp,
    /// The processes that train together.
    communicator: Arc<dyn Communicator>,
    /// The training rows among those of all processes.
    share: Share,
    /// The validation rows, in the model's units.
    validation: Option<Validation<'a>>,
    /// The state of the run; its counters are always current.
    state: TrainState,
    /// The backend's side of the run.
    run: Box<dyn Run + 'a>,
    /// The whole state when it was last fetched, where the run holds parameters elsewhere: in `state` they are then out of date.
    fetched: Option<Fetched>,
    /// The threads to work on.
    threads: Threads,
    /// The rows in the order of the current epoch.
    order: RowOrder,
    /// What reads the rows of each step, if they are not in memory.
    reader: Option<MinibatchReader>,
    /// Reports of steps that were taken but not yet handed out.
    reports: VecDeque<StepReport>,
}

/// The rows that a trainer is started on.
struct TrainerRows<'a> {
    /// The rows, or some of them if there is a reader.
    data: &'a Dataset,
    /// The rows among those of all processes.
    share: Share,
    /// What reads the rows of each step, if they are not in memory.
    reader: Option<MinibatchReader>,
}

/// The rows that decide when to stop.
#[derive(Debug)]
struct Validation<'a> {
    /// All of them.
    rows: &'a Dataset,
    /// Those that this process scores, if there are enough for it to have some.
    own: Option<Cow<'a, Dataset>>,
}

impl<'a> Validation<'a> {
    /// These rows, of which each process scores its part.
    fn new(rows: &'a Dataset, communicator: &dyn Communicator) -> Result<Self> {
        if communicator.is_alone() {
            return Ok(Self { rows, own: Some(Cow::Borrowed(rows)) });
        }
        let upto = |rank: usize| (rank * rows.len() / communicator.size()) as u32;
        let part: Vec<u32> = (upto(communicator.rank())..upto(communicator.rank() + 1)).collect();
        let own = if part.is_empty() { None } else { Some(Cow::Owned(rows.gather(&part)?)) };
        Ok(Self { rows, own })
    }
}

/// A state that was fetched from a device, and when.
#[derive(Debug)]
struct Fetched {
    /// The state that was fetched.
    state: Box<TrainState>,
    /// The time at which it was fetched.
    at: Instant,
}

impl<'a> Trainer<'a> {
    /// A trainer of `model` on `data`, both in the model's units; `validation` decides when to stop, if given.
    pub fn new(
        model: DeepGp,
        data: &'a Dataset,
        validation: Option<&'a Dataset>,
        settings: TrainSettings,
    ) -> Result<Self> {
        Self::by(Method::of(&settings, &model), model, data, validation, settings)
    }

    /// A trainer like [`Trainer::new`]'s, with a program's own objective or optimiser.
    pub fn by(
        method: Method<'a>,
        model: DeepGp,
        data: &'a Dataset,
        validation: Option<&'a Dataset>,
        settings: TrainSettings,
    ) -> Result<Self> {
        let rows = model.backend().communicator().share(data.len())?.total;
        let state = TrainState::start(&model, method.optimiser, rows, settings);
        Self::resume_by(method, model, data, validation, settings, state)
    }

    /// A trainer that goes on from a saved state. Model, data and settings must be those it was saved with; `steps` and `threads` may
    /// differ.
    pub fn resume(
        model: DeepGp,
        data: &'a Dataset,
        validation: Option<&'a Dataset>,
        settings: TrainSettings,
        state: TrainState,
    ) -> Result<Self> {
        Self::resume_by(Method::of(&settings, &model), model, data, validation, settings, state)
    }

    /// A trainer like [`Trainer::resume`]'s, with a program's own objective or optimiser.
    pub fn resume_by(
        method: Method<'a>,
        model: DeepGp,
        data: &'a Dataset,
        validation: Option<&'a Dataset>,
        settings: TrainSettings,
        state: TrainState,
    ) -> Result<Self> {
        let share = model.backend().communicator().share(data.len())?;
        Self::start(method, model, TrainerRows { data, share, reader: None }, validation, settings, state)
    }

    /// A trainer like [`Trainer::resume_by`]'s on `count` rows that `reader` reads; `sample` has some of them.
    pub(super) fn of_stored(
        method: Method<'a>,
        model: DeepGp,
        (reader, sample, count): (MinibatchReader, &'a Dataset, usize),
        validation: Option<&'a Dataset>,
        settings: TrainSettings,
        state: TrainState,
    ) -> Result<Self> {
        if !model.backend().takes_stored_rows() || !model.backend().communicator().is_alone() {
            let reason = format!("{} takes none, or there are several processes", model.backend().name());
            return Err(Error::StoredRows { reason });
        }
        let share = Share { offset: 0, rows: count, total: count };
        let rows = TrainerRows { data: sample, share, reader: Some(reader) };
        Self::start(method, model, rows, validation, settings, state)
    }

    /// A trainer on these rows from a saved state.
    fn start(
        method: Method<'a>,
        mut model: DeepGp,
        rows: TrainerRows<'a>,
        validation: Option<&'a Dataset>,
        settings: TrainSettings,
        mut state: TrainState,
    ) -> Result<Self> {
        let TrainerRows { data, share, reader } = rows;
        settings.check()?;
        for data in [Some(data), validation].into_iter().flatten() {
            model.check_data(data)?;
        }
        method.objective.check(&model)?;
        let communicator = model.backend().communicator();
        state.check(&model, method.optimiser, share.total, &settings)?;
        let validation = validation.map(|rows| Validation::new(rows, &*communicator)).transpose()?;
        (state.settings.steps, state.settings.threads) = (settings.steps, settings.threads);
        model.set_raw(&state.now.raw);
        let threads = Threads::new(settings.threads)?;
        let Method { objective, optimiser } = method;
        let task = TrainingTask { data, settings, objective, optimiser };
        let mut run = model.backend().train(&model, task)?;
        run.load(&model, &state)?;
        let fetched = (run.fetch_every() > Duration::ZERO)
            .then(|| Fetched { state: Box::new(state.clone()), at: Instant::now() });
        let (order, reports) = (RowOrder::default(), VecDeque::new());
        Ok(Self { model, communicator, share, validation, state, run, fetched, threads, order, reader, reports })
    }

    /// The model at the parameters of [`Trainer::state`], or newer ones.
    pub fn model(&self) -> &DeepGp {
        &self.model
    }

    /// The state to save in order to go on later. Where a device holds the parameters, this is the state when it was last fetched, which
    /// happens once a second and when a run ends.
    pub fn state(&self) -> &TrainState {
        self.fetched.as_ref().map_or(&self.state, |fetched| &fetched.state)
    }

    /// The settings of the run.
    pub fn settings(&self) -> &TrainSettings {
        &self.state.settings
    }

    /// Trains until all steps are taken, patience runs out, or the callback breaks. Can be called again to go on.
    ///
    /// The callback sees every step. On a device it sees them burst by burst, beside a state that may be a second old; if it
    /// breaks, the run ends with the burst, whose other steps it still sees: they have been taken.
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
            let breaks = callback(&report, self.state()).is_break();
            if self.communicator.any(breaks)? {
                break Stop::Callback;
            }
        };
        // The rest of a burst has been taken, whoever wanted to stop.
        for report in std::mem::take(&mut self.reports) {
            let _ = callback(&report, self.state());
        }
        self.fetch(Duration::ZERO)?;
        self.check_same_parameters()?;
        Ok(stop)
    }

    /// Fails if processes that train together hold different parameters.
    fn check_same_parameters(&mut self) -> Result<()> {
        if self.communicator.is_alone() {
            return Ok(());
        }
        // Devices have been asked for theirs at different times.
        self.run.store_raw(&mut self.state)?;
        let advice = "run all of them with the same program and settings, on processors of one kind";
        self.communicator.check_same("the parameters", &self.state.now.raw, advice)
    }

    /// Whether the validation rows have seen nothing better `patience` times in a row.
    fn out_of_patience(&self) -> bool {
        self.validation.is_some() && self.state.looks_since_best >= self.state.settings.patience
    }

    /// Fetches the state from the device that holds it, if the one that was fetched last is older than `age`.
    fn fetch(&mut self, age: Duration) -> Result<()> {
        if let Some(fetched) = &mut self.fetched
            && fetched.at.elapsed() >= age
            && fetched.state.step != self.state.step
        {
            self.run.store(&mut self.state)?;
            self.model.set_raw(&self.state.now.raw);
            *fetched = Fetched { state: Box::new(self.state.clone()), at: Instant::now() };
        }
        Ok(())
    }

    /// The report of the next step: takes a burst of steps, or hands out what the last burst has left.
    pub fn step(&mut self) -> Result<StepReport> {
        if self.reports.is_empty() {
            self.burst()?;
        }
        self.fetch(self.run.fetch_every())?;
        Ok(self.reports.pop_front().expect("a burst takes a step"))
    }

    /// Takes as many steps as the run likes to be asked for at once, and leaves their reports.
    fn burst(&mut self) -> Result<()> {
        if let (true, 0, None) = (self.validation.is_some(), self.state.step, &self.state.best) {
            // Training may lead to nothing better than where it began, above all where it goes on from a trained model.
            self.score_validation()?;
            self.state.looks_since_best = 0;
        }
        let mut plans = vec![self.plan()];
        while (plans.len() as u64) < self.run.burst() && !self.burst_ends() {
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
        let taken = outcomes.len();
        // What was planned beyond a step that failed is planned anew.
        self.unplan(&plans[taken..]);
        let mut rolled_back = Ok(());
        for (plan, outcome) in plans.into_iter().zip(outcomes) {
            let PlannedStep { before, epoch, learning_rate, kl_weight, .. } = plan;
            let outcome = match outcome {
                Ok(evaluation) => {
                    self.state.failures = 0;
                    StepOutcome::Taken(evaluation)
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
        if self.state.step.is_multiple_of(LOOK_EVERY) {
            self.check_same_parameters()?;
        }
        let validation = self.validate()?;
        if let Some(last) = self.reports.back_mut() {
            last.validation = validation;
        }
        Ok(())
    }

    /// Whether a burst cannot go on: it is full, the run ends, or validation or a new order of rows comes first.
    fn burst_ends(&self) -> bool {
        let TrainSettings { steps, validate_every, .. } = self.state.settings;
        let step = self.state.step;
        let new_order = self.state.batches_used == 0 && self.minibatches().count > 1;
        let validation = self.validation.is_some() && step.is_multiple_of(validate_every);
        step.is_multiple_of(BURST) || step == steps || validation || new_order
    }

    /// Plans the next step, on the assumption that it will go well: moves all counters on.
    fn plan(&mut self) -> PlannedStep {
        let settings = self.state.settings;
        let before = Counters::of(&self.state);
        let (step, rate_factor) = (self.state.step, self.state.rate_factor);
        let (rows, batch_rows) = self.next_rows();
        let rate = settings.learning_rate.unwrap_or_else(|| learning_rate_for(self.share.total));
        let learning_rate = rate * settings.schedule.factor(step, settings.steps) * rate_factor;
        let kl_weight = settings.kl_weight_at(step);
        self.state.step += 1;
        self.state.rate_factor = (rate_factor * RECOVERY_FACTOR).min(1.0);
        let epoch = self.state.epoch as f64 + self.state.batches_used as f64 / self.minibatches().count as f64;
        PlannedStep { before, rows, batch_rows, learning_rate, kl_weight, epoch }
    }

    /// Moves the counters back to where the first of these was planned.
    fn unplan(&mut self, plans: &[PlannedStep]) {
        if let Some(first) = plans.first() {
            first.before.restore(&mut self.state);
        }
    }

    /// Takes the planned steps up to the first that fails.
    fn compute(&mut self, plans: &[PlannedStep]) -> Result<Vec<Result<Evaluation>>> {
        let minibatches = self.read_minibatches(plans)?;
        let Self { model, state, run, order, threads, communicator, share, .. } = self;
        let (steps, offset) = (state.settings.steps, share.offset as u32);
        let shard = |batch_rows| (!communicator.is_alone()).then_some(Shard { offset, batch_rows });
        let plan = |(i, p): (usize, &PlannedStep)| StepPlan {
            step: p.before.step,
            rows: order.rows(p.rows.clone()),
            shard: shard(p.batch_rows),
            minibatch: minibatches.get(i),
            num_data: share.total,
            learning_rate: p.learning_rate,
            kl_weight: p.kl_weight,
            progress: p.before.step as f64 / steps as f64,
        };
        let plans: Vec<StepPlan<'_>> = plans.iter().enumerate().map(plan).collect();
        let outcomes = threads.run(|| run.steps(&plans, model, state))?;
        if outcomes.iter().any(Result::is_ok) {
            // There is something to return to; what it is, the run knows.
            state.before.get_or_insert_with(|| state.now.clone());
        }
        Ok(outcomes)
    }

    /// The rows of these steps, if they are not in memory. Those of the step after them are read meanwhile, if they are of the same epoch.
    fn read_minibatches(&mut self, plans: &[PlannedStep]) -> Result<Vec<Dataset>> {
        let Some(reader) = &mut self.reader else { return Ok(Vec::new()) };
        let rows: Vec<&[u32]> = plans.iter().map(|plan| self.order.rows(plan.rows.clone())).collect();
        let used = self.state.batches_used;
        let after = (used > 0).then(|| self.order.rows(self.order.range(used)));
        let next = rows.iter().copied().skip(1).map(Some).chain([after]);
        rows.iter().zip(next).map(|(own, next)| reader.minibatch(own, next)).collect()
    }

    /// How an epoch is cut into minibatches.
    fn minibatches(&self) -> Minibatches {
        Minibatches::new(self.share.total, &self.state.settings)
    }

    /// The rows of the next minibatch as a range in the order of its epoch, and the number of those of all processes.
    fn next_rows(&mut self) -> (Range<usize>, usize) {
        let (minibatches, index) = (self.minibatches(), self.state.batches_used);
        minibatches.shuffle(&mut self.order, self.share, self.state.epoch, self.state.settings.seed);
        let next = (self.order.range(index), minibatches.range(index).len());
        self.state.batches_used += 1;
        if self.state.batches_used == minibatches.count {
            (self.state.epoch, self.state.batches_used) = (self.state.epoch + 1, 0);
        }
        next
    }

    /// Returns to the parameters before the last update and lowers the learning rate. Fails if there are none, or after
    /// [`MAX_FAILURES`] in a row.
    fn roll_back(&mut self, reason: Error) -> Result<()> {
        let state = &mut self.state;
        state.failures += 1;
        state.rolled_back += 1;
        state.rate_factor *= ROLL_BACK_FACTOR;
        // Before the first update there is nothing to return to: the start itself is at fault.
        if state.before.is_none() {
            return Err(reason);
        }
        self.run.roll_back(&mut self.model, state)?;
        if state.failures >= MAX_FAILURES {
            return Err(Error::Stuck { step: state.step, attempts: state.failures, reason: Box::new(reason) });
        }
        Ok(())
    }

    /// Scores the validation rows, if it is time to: every `validate_every` steps, and after the last one.
    fn validate(&mut self) -> Result<Option<f64>> {
        let TrainSettings { steps, validate_every, .. } = self.state.settings;
        let is_time = self.state.step == steps || self.state.step.is_multiple_of(validate_every);
        (self.validation.is_some() && is_time).then(|| self.score_validation()).transpose()
    }

    /// The score of the validation rows, which there must be; the parameters become the best ones if it was never higher.
    fn score_validation(&mut self) -> Result<f64> {
        let TrainSettings { validation_samples: samples, seed, .. } = self.state.settings;
        if self.fetched.is_some() {
            self.run.store_raw(&mut self.state)?;
            self.model.set_raw(&self.state.now.raw);
        }
        let (model, settings) = (&self.model, PredictSettings { samples, seed, threads: 0, draws: Draws::Independent });
        let judge = self.state.settings.validation_score;
        let Validation { rows, own } = self.validation.as_ref().expect("there are validation rows");
        let mut each = Vec::new();
        if let Some(own) = own {
            each = match self.threads.run(|| judge.of_rows(&model.predictor(settings)?, own)) {
                Ok(each) => each,
                // A model that cannot predict is no better than any other.
                Err(reason) if reason.can_be_rolled_back() => vec![f64::NEG_INFINITY; own.len()],
                Err(other) => return Err(other),
            };
        }
        if !self.communicator.is_alone() {
            each = self.communicator.gather(&each)?;
        }
        let score = weighted_mean(&each, rows.weights());
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
        // A device that no longer answers has answered before: the model then holds what it said last.
        let _ = self.fetch(Duration::ZERO);
        match (&self.state.best, &self.state.before) {
            (Some(best), _) if self.validation.is_some() => self.model.set_raw(&best.raw),
            (_, Some(before)) if !self.model.is_sound() => self.model.set_raw(&before.raw),
            _ => {}
        }
        self.model
    }
}
