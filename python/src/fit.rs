//! Training, with somebody watching: progress, callbacks, a time limit and Ctrl-C around the library's loop.
//!
//! Training runs on a thread of its own; all Python is called on the thread that called. Whatever ends training early, what has
//! been learnt until then is there.

use std::ops::ControlFlow;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deepgp::backend::Backend;
use deepgp::{Dataset, Fit, FitSettings, Training};
use deepgp_io::table::Schema;
use deepgp_io::{
    ClassWeights, History, LikelihoodWatch, ModelFile, Note, Provenance, Record, StopReason, TrainingProgress,
    noise_of_first_target,
};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::background::{self, Caller, Event, Job, TICK};
use crate::columns::Names;
use crate::engine::{self, Engine};
use crate::exposures::{self, Exposures};
use crate::inputs::{Inputs, ReadInputs, TrainingInputs};
use crate::{arrays, columns, device, errors, settings, targets};

/// How often training leaves a copy of what it has learnt, for the case that nobody waits for the next step.
const KEPT_EVERY: Duration = Duration::from_millis(250);
/// How long a watcher has to read before the next line.
const SHOWN_EVERY: Duration = Duration::from_millis(100);
/// How long a caller who was interrupted waits for the step to end.
const GRACE: Duration = Duration::from_millis(300);

/// A step as Python's `StepReport` has it.
fn dictionary<'py>(py: Python<'py>, progress: &TrainingProgress) -> PyResult<Bound<'py, PyDict>> {
    let TrainingProgress { step, epoch, bound, likelihood, learning_rate, validation, seconds } = progress;
    let all = PyDict::new(py);
    all.set_item("step", step)?;
    all.set_item("epoch", epoch)?;
    all.set_item("elbo", bound.as_ref().ok().map(|bound| bound.elbo))?;
    all.set_item("data_term", bound.as_ref().ok().map(|bound| bound.data_term))?;
    all.set_item("kl", bound.as_ref().ok().map(|bound| bound.kl))?;
    all.set_item("noise", noise_of_first_target(likelihood))?;
    all.set_item("learning_rate", learning_rate)?;
    all.set_item("validation", validation)?;
    all.set_item("seconds", seconds)?;
    all.set_item("rolled_back", bound.as_ref().err())?;
    Ok(all)
}

/// A step that the work waits for a word about: whether to end.
struct Question {
    progress: TrainingProgress,
    answer: Sender<bool>,
}

/// What the work leaves for its caller to look at.
#[derive(Default)]
struct Board {
    /// The last step.
    progress: Option<TrainingProgress>,
    /// The model before the first step.
    start: Option<ModelFile>,
    /// What had become of its parameters, and how, a moment ago.
    learnt: Option<Learnt>,
}

/// The best parameters so far by the validation rows, if there are any, else the last ones.
struct Learnt {
    raw: Vec<f64>,
    record: Record,
    history: History,
}

impl Board {
    /// The model as it was a moment ago.
    fn model(&mut self) -> Option<ModelFile> {
        let (mut file, Learnt { raw, record, history }) = (self.start.take()?, self.learnt.take()?);
        file.regressor.model.set_raw(&raw);
        let record = Record { stop: Some(StopReason::Interrupted), ..record };
        Some(ModelFile { record, history, ..file })
    }
}

/// What to do, and how.
struct Order {
    data: Dataset,
    settings: FitSettings,
    schema: Schema,
    /// What is worth knowing about the rows.
    notes: Vec<Note>,
    /// How classes weigh; the rows' weights have it in them.
    class_weights: ClassWeights,
    /// The model to go on with.
    from: Option<Arc<ModelFile>>,
    time_limit: Option<f64>,
    /// Whether every step is asked about.
    ask: bool,
    /// Where to compute.
    accelerator: Option<Arc<dyn Backend>>,
    board: Arc<Mutex<Board>>,
}

/// How training ended: the model, if a step was made, and the exception that ended it, if one did.
type Outcome = (Option<Engine>, Option<Py<PyAny>>);

/// Trains a model. `progress` is called now and then, `callback` at every step, which ends training by returning true.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place, by keyword")]
#[pyo3(signature = (*, x, y, weights, exposure, words, names, balanced, engine, device, time_limit, progress, callback))]
pub fn fit(
    py: Python<'_>,
    x: Inputs<'_>,
    y: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    exposure: Exposures<'_>,
    words: &str,
    mut names: Names,
    balanced: bool,
    engine: Option<&Engine>,
    device: &str,
    time_limit: Option<f64>,
    progress: Option<Bound<'_, PyAny>>,
    callback: Option<Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let mut settings = settings::parse(words)?;
    settings.train.check().map_err(errors::library)?;
    let kind = targets::kind(settings.model.likelihood, names.labels.take())?;
    settings.model.likelihood = targets::informed(settings.model.likelihood, &kind);
    let board = Arc::new(Mutex::new(Board::default()));
    let from = engine.map(Engine::file);
    let y = arrays::matrix(&y)?;
    let ReadInputs { x, meaning } = x.read(py, &y, names, kind, from.as_deref())?;
    let mut data = engine::dataset(x, y, weights.as_ref())?;
    // Before rows are merged, so that a message names the user's row.
    let likelihood = settings.model.likelihood.start(data.y().ncols());
    likelihood.check(data.y().view()).map_err(errors::library)?;
    let offsets = match &from {
        Some(file) => exposures::offsets_for(file, &exposure, data.len())?,
        None => exposures::offsets(&exposure, likelihood.outcomes(), data.len())?,
    };
    if let Some(offsets) = offsets {
        data = data.with_offsets(offsets).map_err(errors::library)?;
    }
    let TrainingInputs { data, schema, notes } = meaning.settle(data, &settings)?;
    settings.trend_columns = schema.inputs_of_dates();
    let order = Order {
        schema,
        notes,
        class_weights: if balanced { ClassWeights::Balanced } else { ClassWeights::None },
        data,
        settings,
        from,
        time_limit,
        ask: callback.is_some(),
        accelerator: device::open(device)?,
        board: board.clone(),
    };
    let job = Job::start(move |caller| order.carry_out(caller))?;
    let (mut shown, mut shown_at) = (0, Instant::now());
    let mut show = |every: Duration| match &progress {
        Some(progress) if shown_at.elapsed() >= every => {
            shown_at = Instant::now();
            let step = latest(&board, &mut shown);
            step.map_or(Ok(()), |step| progress.call1((dictionary(py, &step)?,)).map(drop))
        }
        _ => Ok(()),
    };
    loop {
        let watched = match job.next(py, TICK) {
            Event::Done(Ok(result)) => {
                show(Duration::ZERO)?;
                let file = result.map_err(errors::library)?;
                return Ok((Some(Engine::new(file)), None));
            }
            Event::Done(Err(panic)) => return Err(background::panicked(panic.as_ref())),
            Event::Message(Question { progress, answer }) => {
                let asked = callback
                    .as_ref()
                    .map_or(Ok(false), |callback| callback.call1((dictionary(py, &progress)?,))?.is_truthy());
                // If it hears nothing, the work ends.
                asked.map(|end| answer.send(end).unwrap_or_default())
            }
            Event::Silence => Ok(()),
        };
        let watched = watched.and_then(|()| py.check_signals()).and_then(|()| show(SHOWN_EVERY));
        if let Err(error) = watched {
            let learnt = end_early(py, &job, &board)?;
            return Ok((learnt.map(Engine::new), Some(error.into_value(py).into_any())));
        }
    }
}

/// Asks training to end, and takes what there is: the end itself if it comes soon, or else what had been learnt a moment ago.
fn end_early(
    py: Python<'_>,
    job: &Job<Question, deepgp::Result<ModelFile>>,
    board: &Mutex<Board>,
) -> PyResult<Option<ModelFile>> {
    job.stop();
    let asked = Instant::now();
    loop {
        match job.next(py, TICK) {
            // Before the first step there is nothing worth keeping.
            Event::Done(Ok(result)) => return Ok(result.ok().filter(|file| file.record.steps > 0)),
            Event::Done(Err(panic)) => return Err(background::panicked(panic.as_ref())),
            Event::Message(Question { answer, .. }) => answer.send(true).unwrap_or_default(),
            Event::Silence => {}
        }
        if asked.elapsed() >= GRACE {
            return Ok(lock(board).model());
        }
    }
}

/// The last step, if it is not the one that was shown already.
fn latest(board: &Mutex<Board>, shown: &mut u64) -> Option<TrainingProgress> {
    let progress = lock(board).progress.clone().filter(|progress| progress.step > *shown)?;
    *shown = progress.step;
    Some(progress)
}

fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Order {
    /// Trains.
    fn carry_out(self, caller: &Caller<Question>) -> deepgp::Result<ModelFile> {
        let Self { data, settings, schema, notes, class_weights, from, time_limit, ask, accelerator, board } = self;
        let started = Instant::now();
        let data = merged(data, &settings)?;
        let (mut training, made) = match from {
            Some(file) => {
                let made = file.record.steps_before + file.record.steps;
                (Training::of(file.regressor.clone(), &data, &settings)?.further(made), made)
            }
            None => {
                // Whoever has left does not wait for inducing inputs either.
                let is_over =
                    || caller.has_left() || time_limit.is_some_and(|limit| started.elapsed().as_secs_f64() >= limit);
                let watch = |_| if is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
                (Training::watched(&data, &settings, watch)?, 0)
            }
        };
        *training.model_mut() = training.model().clone().computed_on(accelerator);
        let start = training.regressor().clone();
        let mut file = columns::file(start, schema, settings, Provenance::Arrays { rows: data.len() });
        file.record.notes = notes;
        file.record.notes.extend(Note::of_trend(&file.schema, training.standardiser()));
        file.record.note_start(&training, &file.schema.targets);
        file.record.steps_before = made;
        file.record.class_weights = class_weights;
        lock(&board).start = Some(file.clone());
        let watch = LikelihoodWatch::new(training.regressor());
        let (mut time_up, mut kept) = (false, None);
        let fit = training.run(|report, state| {
            let seconds = started.elapsed().as_secs_f64();
            let progress = file.log(report, state, watch.summary(state), seconds);
            let mut end = caller.has_left();
            if ask && !end {
                let (answer, heard) = channel();
                caller.tell(Question { progress: progress.clone(), answer });
                end = heard.recv().unwrap_or(true);
            }
            let mut board = lock(&board);
            board.progress = Some(progress);
            if kept.is_none_or(|kept: Instant| kept.elapsed() >= KEPT_EVERY) {
                kept = Some(Instant::now());
                let raw = state.best_raw().to_vec();
                board.learnt = Some(Learnt { raw, record: file.record.clone(), history: file.history.clone() });
            }
            time_up = time_limit.is_some_and(|limit| seconds >= limit);
            if time_up || end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let Fit { regressor, stop, state } = fit;
        file.regressor = regressor;
        file.log_end(&state);
        file.record.end(StopReason::new(&stop, time_up));
        Ok(file)
    }
}

/// Equal rows as one that weighs as much, so that repeated rows and their counts as weights give the same bits. Other weights do not say how
/// many rows there were, which matters where some are held out: then these rows stay as they are, without those of weight 0.
pub fn merged(data: Dataset, settings: &FitSettings) -> deepgp::Result<Dataset> {
    let (Some(weights), Some(_)) = (data.weights(), settings.validation) else { return data.merged() };
    let merged = data.clone().merged()?;
    if merged.weights().is_none_or(|all| all.iter().all(|weight| weight.fract() == 0.0)) {
        return Ok(merged);
    }
    let rows: Vec<u32> = (0u32..).zip(weights).filter(|(_, weight)| **weight > 0.0).map(|(row, _)| row).collect();
    data.gather(&rows)
}
