//! [`Training`]: a fit from rows in the user's units to a trained model. Rows are split and standardised once.
//!
//! ```text
//! rows → some held out for early stopping → targets transformed → standardised by the others, less their trend → model at its start → Trainer → Regressor
//! ```
//!
//! Several processes that hold some of the rows each go that way together ([`Training::among`], `shared_rows.rs`).
//!
//! The rows that were held out say last how sure of classes the model should be ([`Sharpness`](crate::Sharpness)).

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::minibatch_reader::MinibatchReader;
use super::optimiser::Optimiser;
use super::shared_rows::SharedRows;
use super::state::{StepReport, Stop, TrainState};
use super::stored_start::{self, StoredStart};
use super::trainer::{Method, Trainer};
use super::transform_choice::{self, MOST_FITTED, TransformFinding};
use crate::backend::{Alone, Backend, Communicator, Cpu};
use crate::data::copies::Copies;
use crate::data::{ConstantColumns, Dataset, Standardiser, StoredRows, TargetTransform, TransformChoice, sample};
use crate::error::{Error, Result};
use crate::likelihood::{Likelihood, Outcomes, TargetUnits};
use crate::model::DeepGp;
use crate::model::start::{StartProgress, StartWatch, unwatched};
use crate::numeric::threads::Threads;
use crate::random::noise::{Key, Purpose};
use crate::regressor::Regressor;
use crate::settings::{Draws, FitSettings, PredictSettings, TrainSettings};

/// The most rows that a trend is learnt from.
const MOST_ROWS_OF_TREND: usize = 20_000;

/// The result of a training run: the trained model, why training ended, and the state to go on from.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The trained model.
    pub regressor: Regressor,
    /// Why training ended.
    pub stop: Stop,
    /// The state that training ended in; `state.rolled_back` counts the steps that failed on the way.
    pub state: TrainState,
}

/// A fit that is about to begin, or to go on: rows, held-out rows, units, and the model at its starting point.
///
/// A fraction of the rows, drawn by `settings.train.seed`, is held out for early stopping if the settings say so. Where weights are
/// multiples of a whole number and differ, they count copies, and this fraction of each row's copies is held out; else rows are held out
/// whole. Where the data say what rows are split by ([`Dataset::with_split_by`]), whole groups are held out, or the last rows. Of more than [`TrainSettings::validation_rows`] held out, so many at random are looked at: a look then costs as much for any table.
/// Units are learnt from the other rows. Freeze or change parameters of the model before it runs, if you like:
///
/// ```
/// use deepgp::{FitSettings, Training, simulate};
/// use std::ops::ControlFlow;
///
/// let data = simulate::step_curve(60, 1);
/// let mut settings = FitSettings::default();
/// settings.train.steps = 20;
/// let mut training = Training::new(&data, &settings)?;
/// let known = (0.05 / training.standardiser().y.scale[0]).powi(2); // the noise has a standard deviation of 0.05
/// training.model_mut().set_parameter("likelihood.noise", &[known])?;
/// training.model_mut().freeze("likelihood.noise")?;
/// let fit = training.run(|_, _| ControlFlow::Continue(()))?;
/// assert_eq!(fit.regressor.model.parameters().last().unwrap().values, [known]);
///
/// let fit = training.resume(fit.state).with_steps(30).run(|_, _| ControlFlow::Continue(()))?; // ten more
/// assert_eq!(fit.state.step, 30);
/// # Ok::<(), deepgp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Training {
    /// The model at its starting point, and its units.
    regressor: Regressor,
    /// The training rows, in the model's units; of several processes, this one's.
    rows: Dataset,
    /// The rows to train on, if they are not in memory; then `rows` are a sample of them.
    stored: Option<StoredRows>,
    /// The number of training rows of all processes.
    num_data: usize,
    /// The rows that decide when to stop, in the model's units: those held out, or a sample of them.
    held_out: Option<Dataset>,
    /// The settings of the run.
    settings: TrainSettings,
    /// The state to go on from; `None` to start anew.
    state: Option<TrainState>,
    /// Whether the rows held out say at the end how sure predictions should be.
    calibrate: bool,
    /// What was found out about each target, where its transform was left to the library.
    findings: Vec<TransformFinding>,
    /// The number of rows held out, those that nobody looks at included.
    num_held_out: usize,
}

impl Training {
    /// The training of a new model for `data`, with the likelihood that `settings` name.
    pub fn new(data: &Dataset, settings: &FitSettings) -> Result<Self> {
        Self::watched(data, settings, unwatched)
    }

    /// The training of a new model for `data` like [`Training::new`]'s, for somebody who waits: `watch` sees how far the choice of inducing
    /// inputs is, and can cut it short by breaking. Random rows then take the place of those that are missing.
    pub fn watched(
        data: &Dataset,
        settings: &FitSettings,
        mut watch: impl FnMut(StartProgress) -> ControlFlow<()> + Send,
    ) -> Result<Self> {
        Self::start_by_settings(Cpu::shared(), data, settings, &mut StartWatch::new(&mut watch))
    }

    /// The training of a new model for the rows of several processes, of which `share` is this one's: those of all follow one another in the
    /// order of ranks. All processes call this, and [`Training::run`] after it, with the same settings, and end with the same model.
    ///
    /// It is that of one process with all rows but for the rounding of sums. Every process knows of all rows their targets, weights, offsets, groups and times, and of up to
    /// [`SUBSAMPLE`](crate::SUBSAMPLE) of them the inputs.
    pub fn among(
        communicator: Arc<dyn Communicator>,
        share: &Dataset,
        settings: &FitSettings,
        mut watch: impl FnMut(StartProgress) -> ControlFlow<()> + Send,
    ) -> Result<Self> {
        Self::start_by_settings(Arc::new(Cpu::among(communicator)), share, settings, &mut StartWatch::new(&mut watch))
    }

    /// The training of a new model with the likelihood that `settings` name.
    fn start_by_settings(
        backend: Arc<dyn Backend>,
        data: &Dataset,
        settings: &FitSettings,
        watch: &mut StartWatch<'_>,
    ) -> Result<Self> {
        let form = settings.model.likelihood;
        form.check()?;
        let communicator = backend.communicator();
        let all = SharedRows::new(&*communicator, data)?;
        let likelihood = form.start_for(all.outline())?;
        Self::start(backend, &all, settings, likelihood, watch)
    }

    /// The training of a new model for `data` with a program's own likelihood, at its starting parameters.
    pub fn with_likelihood(data: &Dataset, settings: &FitSettings, likelihood: Box<dyn Likelihood>) -> Result<Self> {
        let all = SharedRows::new(&Alone, data)?;
        Self::start(Cpu::shared(), &all, settings, likelihood, &mut StartWatch::new(&mut unwatched))
    }

    /// The training of a new model with this likelihood, for somebody who watches its start.
    fn start(
        backend: Arc<dyn Backend>,
        all: &SharedRows<'_>,
        settings: &FitSettings,
        likelihood: Box<dyn Likelihood>,
        watch: &mut StartWatch<'_>,
    ) -> Result<Self> {
        // Before rows are held out, so that a message names the user's row.
        let y = all.outline().y().view();
        likelihood.check(y)?;
        settings.transform_target.check(y)?;
        let (train, held_out) = hold_out_of(all.outline(), settings, likelihood.outcomes())?;
        let (units, processes) = (likelihood.target_units(), all.processes());
        // An input that varies may be constant among the rows left to train on: whether it is refused, all rows decide.
        Standardiser::fit_among(processes, all.held(), all.outline(), settings.constant_columns, units)?;
        let threads = Threads::new(settings.train.threads)?;
        let own = all.own(&train)?;
        let standardiser = Standardiser::fit_among(processes, &own, &train, ConstantColumns::Keep, units)?;
        let (transforms, findings) =
            transforms(&train, settings.transform_target, (units, &standardiser), all, &threads)?;
        let standardiser = standardiser.with_transforms(&train, transforms)?;
        let standardiser = with_trend(standardiser, &train, settings, &*likelihood, all)?;
        let rows = processes.all_fine(standardiser.apply(&own))?;
        let first = all.start_inputs(&train, &rows, &standardiser, settings.model.seed)?;
        let model =
            threads.run(|| DeepGp::with_likelihood_watched(first.view(), likelihood, &settings.model, watch))?;
        let num_held_out = held_out.as_ref().map_or(0, Dataset::len);
        let held_out = held_out.map(|rows| looked_at(all, &rows, &standardiser, settings)).transpose()?;
        let mut model = model.computed_on(Some(backend));
        if !processes.is_alone() {
            // The choice of inducing inputs may have been cut short in some processes alone.
            let mut raw = model.raw();
            processes.broadcast(&mut raw)?;
            model.set_raw(&raw);
        }
        Ok(Self {
            regressor: Regressor::new(model, standardiser),
            rows,
            stored: None,
            num_data: train.len(),
            held_out,
            settings: settings.train,
            state: None,
            calibrate: settings.calibrate,
            findings,
            num_held_out,
        })
    }

    /// The training of an existing model, in its own units, on `data`. The same rows are held out as by [`Training::new`] with these
    /// settings.
    pub fn of(regressor: Regressor, data: &Dataset, settings: &FitSettings) -> Result<Self> {
        Self::of_shared(regressor, &SharedRows::new(&Alone, data)?, settings)
    }

    /// The training of an existing model like [`Training::of`]'s, on the rows of several processes, of which `share` is this one's. The
    /// state of a run of any number of processes can be gone on with ([`Training::resume`]).
    pub fn of_among(
        communicator: Arc<dyn Communicator>,
        regressor: Regressor,
        share: &Dataset,
        settings: &FitSettings,
    ) -> Result<Self> {
        let Regressor { model, standardiser, sharpness, spread } = regressor;
        let model = model.computed_on(Some(Arc::new(Cpu::among(communicator.clone()))));
        let regressor = Regressor { model, standardiser, sharpness, spread };
        Self::of_shared(regressor, &SharedRows::new(&*communicator, share)?, settings)
    }

    /// The training of an existing model on all rows, or on a share.
    fn of_shared(regressor: Regressor, all: &SharedRows<'_>, settings: &FitSettings) -> Result<Self> {
        let (train, held_out) = hold_out_of(all.outline(), settings, regressor.model.likelihood().outcomes())?;
        let rows = all.processes().all_fine(all.own(&train).and_then(|own| regressor.standardiser.apply(&own)))?;
        let num_held_out = held_out.as_ref().map_or(0, Dataset::len);
        let held_out = held_out.map(|rows| looked_at(all, &rows, &regressor.standardiser, settings)).transpose()?;
        Ok(Self {
            regressor,
            rows,
            stored: None,
            num_data: train.len(),
            held_out,
            settings: settings.train,
            state: None,
            calibrate: settings.calibrate,
            findings: Vec::new(),
            num_held_out,
        })
    }

    /// The training of a new model for rows that are not in memory: that of [`Training::watched`] for the same rows in memory, to the bit, where they
    /// are dense there. Rows have no weights, and are split at random. In memory are two minibatches, the order of the rows (4 bytes for
    /// each), and some thousands of rows; where targets are classes or counts, all targets while the model is begun.
    pub fn stored(
        rows: &StoredRows,
        settings: &FitSettings,
        mut watch: impl FnMut(StartProgress) -> ControlFlow<()> + Send,
    ) -> Result<Self> {
        Ok(Self::of_start(stored_start::begin(rows, settings, &mut StartWatch::new(&mut watch))?, settings))
    }

    /// The training of an existing model like [`Training::of`]'s, on rows that are not in memory.
    pub fn of_stored(regressor: Regressor, rows: &StoredRows, settings: &FitSettings) -> Result<Self> {
        Ok(Self::of_start(stored_start::go_on(regressor, rows, settings)?, settings))
    }

    /// The training of a model that is begun.
    fn of_start(start: StoredStart, settings: &FitSettings) -> Self {
        let StoredStart { regressor, train, sample, held_out, num_held_out, findings } = start;
        Self {
            regressor,
            rows: sample,
            num_data: train.len(),
            stored: Some(train),
            held_out,
            settings: settings.train,
            state: None,
            calibrate: settings.calibrate,
            findings,
            num_held_out,
        }
    }

    /// This training with other minibatches and noise, as after runs that took `steps_before` steps. The optimiser's state, the schedule
    /// and the count of steps begin anew; [`Training::resume`] does not take the state of such a run unless this is said of the one that
    /// goes on too.
    pub fn further(mut self, steps_before: u64) -> Self {
        self.settings.seed = further_seed(self.settings.seed, steps_before);
        self
    }

    /// This training from the state of a run on the same data with the same settings (`steps` and `threads` may differ). With as many
    /// steps it ends with the same bits as a run that was never interrupted; with more it goes on after a run that had ended.
    pub fn resume(mut self, state: TrainState) -> Self {
        self.state = Some(state);
        self
    }

    /// This training with another number of steps.
    pub fn with_steps(mut self, steps: u64) -> Self {
        self.settings.steps = steps;
        self
    }

    /// This training with at most so many of the held-out rows to decide when to stop, for whoever has little time: as with
    /// [`TrainSettings::validation_rows`] of that number. Those of a run that is gone on with have to be as many.
    pub fn with_validation_rows(mut self, rows: usize) -> Result<Self> {
        let before = self.settings;
        self.settings.validation_rows = rows;
        self.settings.check()?;
        let Some(held_out) = self.held_out.take() else { return Ok(self) };
        let fewer = rows < held_out.len();
        self.held_out = Some(held_out);
        if fewer {
            let (known, wanted) =
                (places_looked_at(self.num_held_out, &before), places_looked_at(self.num_held_out, &self.settings));
            let places: Vec<u32> =
                wanted.iter().filter_map(|row| known.binary_search(row).ok()).map(|at| at as u32).collect();
            self.held_out = self.held_out.map(|own| own.gather(&places)).transpose()?;
        }
        Ok(self)
    }

    /// A model as sure of its predictions as these rows say, in the model's units, if the settings ask for that: what a run does last, with the rows that were
    /// held out.
    pub fn calibrated(&self, regressor: Regressor, rows: &Dataset) -> Result<Regressor> {
        if !self.calibrate {
            return Ok(regressor);
        }
        let TrainSettings { validation_samples: samples, seed, threads, .. } = self.settings;
        regressor.calibrated_by(rows, PredictSettings { samples, seed, threads, draws: Draws::Balanced })
    }

    /// The model at its starting point and its units.
    pub fn regressor(&self) -> &Regressor {
        &self.regressor
    }

    /// The model at its starting point.
    pub fn model(&self) -> &DeepGp {
        &self.regressor.model
    }

    /// The model at its starting point, to change or freeze parameters, or to compute it elsewhere.
    pub fn model_mut(&mut self) -> &mut DeepGp {
        &mut self.regressor.model
    }

    /// The change between the user's units and the model's.
    pub fn standardiser(&self) -> &Standardiser {
        &self.regressor.standardiser
    }

    /// The rows to train on, in the model's units; of several processes, this one's; of rows that are not in memory, a sample.
    pub fn rows(&self) -> &Dataset {
        &self.rows
    }

    /// The number of rows to train on, those of all processes.
    pub fn num_data(&self) -> usize {
        self.num_data
    }

    /// The rows that decide when to stop, in the model's units: those held out, or [`TrainSettings::validation_rows`] of them at random if there are more.
    pub fn held_out(&self) -> Option<&Dataset> {
        self.held_out.as_ref()
    }

    /// What was found out about the transform of each target, where the settings leave it to the library ([`TransformChoice::Auto`]); else
    /// nothing.
    pub fn transform_findings(&self) -> &[TransformFinding] {
        &self.findings
    }

    /// The state that the run begins with: a program that saves states can save this one too.
    pub fn state(&self) -> TrainState {
        let optimiser: &dyn Optimiser = self.settings.optimiser.optimiser();
        let start = || TrainState::start(&self.regressor.model, optimiser, self.num_data, self.settings);
        self.state.clone().unwrap_or_else(start)
    }

    /// Trains the model. `callback` sees every step and can end training by breaking. A run that gets stuck is not an error:
    /// [`Fit::stop`] says so, and the model is the last good one.
    pub fn run(&self, callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>) -> Result<Fit> {
        self.run_by(Method::of(&self.settings, &self.regressor.model), callback)
    }

    /// Trains the model like [`Training::run`], with a program's own objective or optimiser.
    pub fn run_by(
        &self,
        method: Method<'_>,
        callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>,
    ) -> Result<Fit> {
        let Regressor { model, standardiser, .. } = self.regressor.clone();
        let (rows, held_out) = (&self.rows, self.held_out.as_ref());
        let mut trainer = match (&self.stored, self.state.clone()) {
            (None, None) => Trainer::by(method, model, rows, held_out, self.settings)?,
            (None, Some(state)) => Trainer::resume_by(method, model, rows, held_out, self.settings, state)?,
            (Some(stored), state) => {
                let start = || TrainState::start(&model, method.optimiser, stored.len(), self.settings);
                let state = state.unwrap_or_else(start);
                let reader = MinibatchReader::new(stored.clone(), standardiser.clone())?;
                Trainer::of_stored(method, model, (reader, rows, stored.len()), held_out, self.settings, state)?
            }
        };
        let stop = trainer.run(callback)?;
        let state = trainer.state().clone();
        let together = !trainer.model().backend().communicator().is_alone();
        let model = trainer.finish();
        // Whoever has the model asks it by itself.
        let alone = model.backend().alone();
        let model = if together { model.computed_on(alone) } else { model };
        let regressor = Regressor::new(model, standardiser);
        let regressor = match held_out {
            Some(rows) => self.calibrated(regressor, rows)?,
            None => regressor,
        };
        Ok(Fit { regressor, stop, state })
    }
}

/// The transform of each target, fitted to these training rows, which are standardised by `plain` without any, with what was found out about it if the choice was left to the library.
fn transforms(
    train: &Dataset,
    choice: TransformChoice,
    (units, plain): (TargetUnits, &Standardiser),
    all: &SharedRows<'_>,
    threads: &Threads,
) -> Result<(Vec<TargetTransform>, Vec<TransformFinding>)> {
    use TransformChoice as Choice;
    let targets = train.y().ncols();
    match (choice, units) {
        (Choice::None, TargetUnits::Standardised | TargetUnits::AsTheyAre) | (Choice::Auto, TargetUnits::AsTheyAre) => {
            Ok((vec![TargetTransform::Identity; targets], Vec::new()))
        }
        (Choice::Auto, TargetUnits::Standardised) => {
            let some = fitted_to(train)?;
            let fetch = |rows: &[u32]| all.fetch_rows(&some, rows);
            let smallest = transform_choice::smallest(train.y());
            Ok(transform_choice::choose(&some, &smallest, plain, &fetch, threads)?.into_iter().unzip())
        }
        (fixed @ (Choice::Log | Choice::Log1p | Choice::YeoJohnson | Choice::Quantile), TargetUnits::Standardised) => {
            fixed.check(train.y().view())?;
            Ok((fit_transforms(fixed, &*fitted_to(train)?)?, Vec::new()))
        }
        (fixed @ (Choice::Log | Choice::Log1p | Choice::YeoJohnson | Choice::Quantile), TargetUnits::AsTheyAre) => {
            Err(no_transform_for_such_targets(fixed))
        }
    }
}

/// The units with the trend that `settings` ask for, as some of these training rows have it.
fn with_trend(
    standardiser: Standardiser,
    train: &Dataset,
    settings: &FitSettings,
    likelihood: &dyn Likelihood,
    all: &SharedRows<'_>,
) -> Result<Standardiser> {
    if settings.trend_columns.is_empty() {
        return Ok(standardiser);
    }
    let some = all.fetch_rows(train, &places_of_trend(train.len()))?;
    standardiser.with_trend(&some, (settings.trend, &settings.trend_columns), likelihood)
}

/// The places among so many training rows of those that a trend is learnt from.
pub(super) fn places_of_trend(train: usize) -> Vec<u32> {
    sample(train, MOST_ROWS_OF_TREND, Key::new(0, Purpose::Split), 6)
}

/// The rows that transforms are fitted to: all of these, or so many at random that more would say no more.
fn fitted_to(train: &Dataset) -> Result<Cow<'_, Dataset>> {
    if train.len() <= MOST_FITTED {
        return Ok(Cow::Borrowed(train));
    }
    train.gather(&places_fitted_to(train.len())).map(Cow::Owned)
}

/// The places among so many training rows of those that transforms are fitted to.
pub(super) fn places_fitted_to(train: usize) -> Vec<u32> {
    sample(train, MOST_FITTED, Key::new(0, Purpose::Split), 7)
}

/// This transform for each target, fitted to these rows.
pub(super) fn fit_transforms(fixed: TransformChoice, rows: &Dataset) -> Result<Vec<TargetTransform>> {
    let column = |p: usize| (0..rows.len()).map(|i| rows.y()[(i, p)]).collect::<Vec<f64>>();
    (0..rows.y().ncols()).map(|p| fixed.fit_column(p, &column(p), rows.weights())).collect()
}

/// The error of a transform for a likelihood that takes targets as they are.
pub(super) fn no_transform_for_such_targets(fixed: TransformChoice) -> Error {
    let requirement = "`none` for a likelihood that takes targets as they are";
    Error::Setting { name: "transform_target", value: fixed.name().into(), requirement }
}

/// The rows to train on, and those held out for early stopping, if `settings` ask for any: the split of every run with these settings.
/// Rows of weight 0 are in neither. Where targets are classes, every class gives its share. Groups and times are respected
/// ([`Dataset::with_split_by`]).
pub fn hold_out(data: &Dataset, settings: &FitSettings) -> Result<(Dataset, Option<Dataset>)> {
    hold_out_of(data, settings, settings.model.likelihood.start(1).outcomes())
}

/// [`hold_out`] for a likelihood of these outcomes, which need not be that of the settings.
fn hold_out_of(data: &Dataset, settings: &FitSettings, outcomes: Outcomes) -> Result<(Dataset, Option<Dataset>)> {
    let data = data.with_positive_weights();
    let Some(fraction) = settings.validation else { return Ok((data.into_owned(), None)) };
    // What rows are split by decides for all copies of a row alike.
    let copies = if data.split_by().is_none() { Copies::of(&data) } else { None };
    let rows = copies.as_ref().map_or(data.len(), Copies::len);
    check_hold_out(rows, fraction)?;
    let (train, held_out) = match (copies, outcomes) {
        (Some(copies), _) => copies.split(fraction, settings.train.seed)?,
        (None, Outcomes::Classes(_)) => data.split_by_class(fraction, settings.train.seed)?,
        (None, Outcomes::Real | Outcomes::Counts) => data.split(fraction, settings.train.seed)?,
    };
    Ok((train, Some(held_out)))
}

/// Fails if so many rows cannot give a fraction for validation.
pub(super) fn check_hold_out(rows: usize, fraction: f64) -> Result<()> {
    if !(fraction > 0.0 && fraction < 1.0) {
        let requirement = "above 0 and below 1, or `None`";
        return Err(Error::Setting { name: "validation", value: fraction.to_string(), requirement });
    }
    if rows < 3 {
        let advice = "give more rows, or set `validation` to `None`";
        return Err(Error::TooFewRows { what: "holding rows out for validation", needed: 3, rows, advice });
    }
    Ok(())
}

/// The rows among those held out that decide when to stop, in the model's units: all of them, or so many as `settings` allow at random.
fn looked_at(
    all: &SharedRows<'_>,
    held_out: &Dataset,
    units: &Standardiser,
    settings: &FitSettings,
) -> Result<Dataset> {
    if held_out.len() <= settings.train.validation_rows {
        return units.apply(&*all.fetch(held_out)?);
    }
    units.apply(&all.fetch_rows(held_out, &places_looked_at(held_out.len(), &settings.train))?)
}

/// The places, in ascending order, of those rows among so many held out that decide when to stop; of fewer rows all are among those of more.
pub(super) fn places_looked_at(held_out: usize, settings: &TrainSettings) -> Vec<u32> {
    sample(held_out, settings.validation_rows, Key::new(settings.seed, Purpose::Split), 1)
}

/// The seed of a run after others that took `steps_before` steps; without any steps it is theirs.
fn further_seed(seed: u64, steps_before: u64) -> u64 {
    if steps_before == 0 {
        return seed;
    }
    let counter = [steps_before as u32, (steps_before >> 32) as u32, u32::MAX, u32::MAX];
    let [low, high, ..] = Key::new(seed, Purpose::Train).bits(counter);
    u64::from(high) << 32 | u64::from(low)
}
