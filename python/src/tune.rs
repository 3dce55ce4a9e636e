//! A search for the settings of a fit, through the library's: what it found, as JSON. The fit with the best is Python's to make.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use deepgp::likelihood::Outcomes;
use deepgp::search::{
    MemoryStore, Search, SearchBudget, SearchEnd, SearchEvent, SearchLog, SearchMetric, SearchPart, SearchSettings,
    SearchSpace, SearchTime, Setting, SettingValue, TrialOutcome,
};
use deepgp::{Dataset, FitSettings, SplitBy, Stratify};
use deepgp_io::memory;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::background::{self, Event, Job, TICK};
use crate::columns::Names;
use crate::exposures::{self, Exposures};
use crate::fit::merged;
use crate::inputs::{Inputs, ReadInputs};
use crate::{arrays, device, engine, errors, settings, targets};

/// The number of candidates that share a GPU, unless another is asked for.
const SHARING: usize = 4;
/// How often a watcher is told what is being tried.
const SHOWN_EVERY: Duration = Duration::from_millis(250);

/// What a search looks for, by the names of Python's arguments.
#[derive(serde::Deserialize)]
struct Wanted {
    metric: Option<SearchMetric>,
    selection: f64,
    folds: Option<usize>,
    candidates: Option<usize>,
    time_limit: Option<f64>,
    jobs: Option<usize>,
    /// Settings with the values that they may have, in place of the usual ones.
    space: Map<String, Value>,
    /// Settings that stay as they are.
    fixed: Vec<Setting>,
}

/// Searches for better settings than `words`, and gives all that was found as JSON; with an exception if one ended it.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place, by keyword")]
#[pyo3(signature = (*, x, y, weights, exposure, words, names, balanced, device, groups, wanted, progress))]
pub fn tune(
    py: Python<'_>,
    x: Inputs<'_>,
    y: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    exposure: Exposures<'_>,
    words: &str,
    mut names: Names,
    balanced: bool,
    device: &str,
    groups: Option<Vec<u32>>,
    wanted: &str,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Option<Py<PyAny>>)> {
    // Weights have those of classes in them already.
    let (_, began) = (balanced, Instant::now());
    let wanted: Wanted = serde_json::from_str(wanted).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let mut base = settings::parse(words)?;
    base.train.check().map_err(errors::library)?;
    let kind = targets::kind(base.model.likelihood, names.labels.take())?;
    base.model.likelihood = targets::informed(base.model.likelihood, &kind);
    let y = arrays::matrix(&y)?;
    let ReadInputs { x, meaning } = x.read(py, &y, names, kind, None)?;
    let mut data = engine::dataset(x, y, weights.as_ref())?;
    let likelihood = base.model.likelihood.start(data.y().ncols());
    likelihood.check(data.y().view()).map_err(errors::library)?;
    let outcomes = likelihood.outcomes();
    if let Some(offsets) = exposures::offsets(&exposure, outcomes, data.len())? {
        data = data.with_offsets(offsets).map_err(errors::library)?;
    }
    if let Some(groups) = groups {
        data = data.with_split_by(SplitBy::Groups(groups)).map_err(errors::library)?;
    }
    let stratify = if matches!(outcomes, Outcomes::Classes(_)) { Stratify::Classes } else { Stratify::Rows };
    let seed = base.train.seed;
    let splits = match wanted.folds {
        Some(folds) => data.folds(folds, stratify, seed),
        None => data.row_split(wanted.selection, stratify, seed.wrapping_add(1)).map(|one| vec![one]),
    };
    let part = |(train, judge): &(Vec<u32>, Vec<u32>)| -> PyResult<SearchPart> {
        let (train, judge) = meaning.settle_apart(&data, (train, judge), &base)?;
        let judge = deepgp::search::judging_rows(&judge, seed).map_err(errors::library)?;
        Ok(SearchPart { train: merged(train, &base).map_err(errors::library)?, judge })
    };
    let parts: Vec<SearchPart> = splits.map_err(errors::library)?.iter().map(part).collect::<PyResult<_>>()?;
    let accelerator = device::open(device)?;
    let jobs = wanted.jobs.unwrap_or(if accelerator.is_some() { SHARING } else { 1 });
    let growth = data.len() as f64 / parts.iter().map(|part| part.train.len()).min().unwrap_or(1).max(1) as f64;
    let metric = wanted.metric.unwrap_or(SearchMetric::usual(outcomes));
    if !metric.suits(outcomes) {
        let suiting: Vec<&str> =
            SearchMetric::ALL.into_iter().filter(|own| own.suits(outcomes)).map(SearchMetric::name).collect();
        let message =
            format!("`metric` is {:?}, but must be one of {} for such targets", metric.name(), suiting.join(", "));
        return Err(PyValueError::new_err(message));
    }
    let space = space(&parts, &base, &wanted)?;
    let steps = base.train.steps;
    let budget = match (wanted.candidates, wanted.time_limit) {
        (Some(candidates), _) => SearchBudget::Candidates { candidates, steps },
        (None, limit) => {
            let until = began + Duration::from_secs_f64(limit.unwrap_or(0.0).clamp(0.0, 1e9));
            SearchBudget::Time(SearchTime { began, until, afterwards: 0.0, predictions: 0.0, growth, steps })
        }
    };
    let settings = SearchSettings { base, space, metric, budget, seed, jobs, memory: memory::free() };
    let search = Search { parts, settings, accelerator };
    let job = Job::start(move |caller: &background::Caller<String>| {
        let (mut log, mut store) = (SearchLog::new(metric), MemoryStore::default());
        let mut told = Instant::now();
        let end = search.run(&mut log, &mut store, &mut |log, event| {
            if matches!(event, SearchEvent::Judged(_)) || told.elapsed() >= SHOWN_EVERY {
                told = Instant::now();
                caller.tell(line(log));
            }
            if caller.has_left() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        end.map(|end| (log, end))
    })?;
    let mut interrupted = None;
    loop {
        let watched = match job.next(py, TICK) {
            Event::Done(Ok(result)) => {
                let (log, end) = result.map_err(errors::library)?;
                return Ok((found(&log, end, growth).to_string(), interrupted));
            }
            Event::Done(Err(panic)) => return Err(background::panicked(panic.as_ref())),
            Event::Message(line) => progress.as_ref().map_or(Ok(()), |progress| progress.call1((line,)).map(drop)),
            Event::Silence => Ok(()),
        };
        if let Err(error) = watched.and_then(|()| py.check_signals()) {
            job.stop();
            interrupted = Some(error.into_value(py).into_any());
        }
    }
}

/// The usual space for these rows, restricted and fixed as it is wanted.
fn space(parts: &[SearchPart], base: &FitSettings, wanted: &Wanted) -> PyResult<SearchSpace> {
    let empty = || PyValueError::new_err("there are no rows to search with");
    let train: &Dataset = &parts.first().ok_or_else(empty)?.train;
    let mut space = SearchSpace::usual(train, base).without(&wanted.fixed);
    for (name, values) in &wanted.space {
        let wrong = |reason: String| PyValueError::new_err(format!("`space`: {}: {reason}", name.replace('-', "_")));
        let names = Setting::ALL.map(|own| own.name().replace('-', "_")).join(", ");
        if !Setting::ALL.iter().any(|own| own.name() == name) {
            return Err(wrong(format!("there is no such setting to search; there are {names}")));
        }
        let Value::Array(values) = values else { return Err(wrong("give a list of values".into())) };
        let value = |own: &Value| {
            serde_json::from_value::<SettingValue>(json!({ name: own }))
                .map_err(|error| wrong(format!("{own}: {error}")))
        };
        let values = values.iter().map(value).collect::<PyResult<_>>()?;
        space = space.with(values).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(space)
}

/// How a search is going, in a line.
fn line(log: &SearchLog) -> String {
    let best = log.leader().and_then(|(best, rung)| Some((best, log.trial(best, rung)?.score()?)));
    let best = best.map_or(String::new(), |(best, score)| format!("; best: {best}, {} {score:.4}", log.metric.name()));
    format!(
        "{} of {} candidates judged{best}",
        log.trials().filter(|own| own.rung == 0).count(),
        log.candidates().count()
    )
}

/// All that was found.
fn found(log: &SearchLog, end: SearchEnd, growth: f64) -> Value {
    let changes = |number: usize| -> Map<String, Value> {
        let own = log.candidate(number).into_iter().flat_map(|own| &own.changes);
        own.filter_map(|value| json!(value).as_object().cloned()).flatten().collect()
    };
    let trial = |own: &deepgp::search::Trial| {
        json!({
            "candidate": own.candidate,
            "step": log.plan().and_then(|plan| plan.rungs.get(own.rung)),
            "score": own.score(),
            "failed": match &own.outcome {
                TrialOutcome::Failed { reason } => json!(reason),
                TrialOutcome::TooSlow { .. } => json!("too slow"),
                TrialOutcome::Scored { .. } => Value::Null,
            },
            "seconds": own.seconds,
            "settings": changes(own.candidate),
        })
    };
    let (best, rung) = log.leader().unwrap_or((0, 0));
    let score = |number: usize| log.trial(number, rung).and_then(deepgp::search::Trial::score);
    json!({
        "metric": log.metric,
        "more_is_better": log.metric.more_is_better(),
        "interrupted": end == SearchEnd::Interrupted,
        "best": best,
        "settings": changes(best),
        "score": score(best),
        "default_score": score(0),
        "steps": log.plan().map(|plan| plan.steps),
        "seconds_a_step": log.pace(best).or(log.plan().and_then(|plan| plan.pace)).map(|pace| pace * growth),
        "trials": log.trials().map(trial).collect::<Vec<_>>(),
    })
}
