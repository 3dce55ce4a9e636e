//! `deepgp tune`: searches for better settings than those of a fit, and fits a model with the best.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use deepgp::FitSettings;
use deepgp::search::{
    Search, SearchBudget, SearchEnd, SearchEvent, SearchLog, SearchMetric, SearchPart, SearchSettings, SearchSpace,
    SearchStore, SearchTime,
};
use deepgp_io::memory;
use deepgp_io::table::Source;

use crate::arguments::TuneArgs;
use crate::arguments::fit_options::FitOptions;
use crate::arguments::paths;
use crate::arguments::usage::Usage;
use crate::fit::checkpoint as checkpoints;
use crate::fit::interruption;
use crate::fit::start::check_memory;
use crate::fit::time_limit::TimeLimit;
use crate::report;
use crate::terminal::interrupt;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::count;
use crate::tune::SHARING;
use crate::tune::comparison::Comparison;
use crate::tune::journal::{SearchFolder, SearchSubject};
use crate::tune::page::{self, PageSubject};
use crate::tune::progress::SearchProgress;
use crate::tune::refit::{self, Refit};
use crate::tune::rows::{self, SearchRows, SetAside};
use crate::tune::space;
use crate::tune::summary::SearchSummary;

/// Searches for the settings of a fit, fits a model with the best, and saves it as a model file.
pub fn tune(args: TuneArgs) -> Result<Outcome> {
    let started = Instant::now();
    let TuneArgs { table, config, metric, candidates, search, selection, jobs, overwrite, options, voice } = args;
    paths::check_distinct(&[("the table", Some(&table)), ("--config", config.as_ref())])?;
    let mut options = options.over_config(config.as_deref())?;
    // Folds judge settings, beside test rows that judge the result.
    let aside = SetAside { selection, folds: options.folds.take() };
    let (out, report) = (options.out(), options.report.clone());
    let checkpoint = options.checkpoint.clone().unwrap_or_else(|| paths::beside(&out, "checkpoint"));
    let folder = paths::beside(&out, "search");
    paths::check_distinct(&[
        ("the table", Some(&table)),
        ("--config", config.as_ref()),
        ("--out", Some(&out)),
        ("--checkpoint", Some(&checkpoint)),
        ("--report", report.as_ref()),
    ])?;
    if options.target.is_empty() {
        let columns = Source::open_streamed_with(&table, options.read_options())?.names().join(", ");
        bail!(Usage(format!("name the column to predict with --target COLUMN; the columns are {columns}")));
    }
    options.check()?;
    let span = match (candidates, options.time_limit) {
        (Some(count), Some(limit)) => bail!(Usage(format!(
            "--candidates {count} and --time-limit {limit} contradict each other: leave out one of the two"
        ))),
        (None, None) => bail!(Usage(
            "say how long to search: --time-limit 10m, or --candidates 27 for so many settings whatever the time"
                .into()
        )),
        (_, span) => span,
    };
    if aside.folds.is_some_and(|folds| folds < 2) {
        bail!(Usage("--folds: give at least 2".into()));
    }
    let device = options.device.unwrap_or_default();
    let accelerator = device.open(voice)?;
    let lock = Some(checkpoints::lock(&checkpoint)?);
    let limit = span.map(|span| TimeLimit::new(started, span.0));
    let reading = interruption::while_reading(lock.as_ref(), limit, voice);
    refit::check_replaceable(&checkpoint, overwrite)?;
    for path in [Some(&out), report.as_ref()].into_iter().flatten() {
        paths::check_writable(path)?;
    }
    let found = rows::read(&table, &options, aside, voice)?;
    drop(reading);
    interrupt::listen();

    let SearchRows { schema, train, parts, .. } = &found;
    let whole = options.settings_of(train.len(), schema)?;
    let rows: Vec<SearchPart> = parts.iter().map(|part| part.rows.clone()).collect();
    let [first, ..] = &rows[..] else { bail!("there are no rows to search with") };
    let mut base = options.settings_of(first.train.len(), schema)?;
    base.train.steps = whole.train.steps;
    check_memory(train.len(), train.x().ncols(), &whole)?;
    let outcomes = base.model.likelihood.start(train.y().ncols()).outcomes();
    let metric = metric.unwrap_or(SearchMetric::usual(outcomes));
    if !metric.suits(outcomes) {
        let suiting: Vec<&str> =
            SearchMetric::ALL.into_iter().filter(|own| own.suits(outcomes)).map(SearchMetric::name).collect();
        bail!(Usage(format!("--metric {} is not for such a target: take {}", metric.name(), suiting.join(", "))));
    }
    let space = space::space(SearchSpace::usual(&first.train, &base), &options, &search)?;
    let jobs = jobs.map_or(if accelerator.is_some() { SHARING } else { 1 }, usize::from);
    let budget = match (candidates, span) {
        (Some(candidates), _) => SearchBudget::Candidates { candidates: candidates as usize, steps: whole.train.steps },
        (None, span) => {
            SearchBudget::Time(time(&found, started, span.map_or(0.0, |own| own.0), &whole, report.is_some()))
        }
    };

    let schemas = parts.iter().map(|part| part.schema.clone()).collect();
    let subject = subject(&found, (metric, &space), &base, &options);
    let (mut store, mut log) = SearchFolder::open(&folder, subject, (schemas, found.table.clone()), overwrite)?;
    if log.trials().next().is_some() {
        output::say(voice, &format!("going on with {}", store.journal().display()));
    }
    let settings = SearchSettings {
        base: base.clone(),
        space: space.clone(),
        metric,
        budget,
        seed: options.seed.unwrap_or(0),
        jobs,
        memory: memory::free(),
    };
    if let Some(accelerator) = &accelerator {
        output::say(voice, &format!("computing on {}", accelerator.name()));
    }
    let search = Search { parts: rows, settings, accelerator: accelerator.clone() };
    let mut progress = SearchProgress::new(voice);
    let mut watch = |log: &SearchLog, event: SearchEvent<'_>| {
        progress.show(log, event);
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let end = search.run(&mut log, &mut store, &mut watch)?;
    drop(progress);
    let comparison = match end {
        SearchEnd::Interrupted => None,
        SearchEnd::Done | SearchEnd::OutOfTime => Comparison::of(&log, &store, parts, whole.train.threads, voice)?,
    };
    let summary = SearchSummary { log: &log, end, comparison, page: store.page(), journal: store.journal() };
    let target = schema.targets.join(", ");
    let page_subject = PageSubject { table: &paths::file_name(&table), target: &target, base: &base, space: &space };
    page::write(&summary, page_subject)?;
    summary.tell(voice);
    if end == SearchEnd::Interrupted || interrupt::asked() {
        output::say(voice, "interrupted: the same command goes on; there is no model yet");
        if voice.json {
            output::json(&SearchSummary { end: SearchEnd::Interrupted, ..summary }.json(None))?;
        }
        return Ok(Outcome::Interrupted);
    }
    tidy(&log, &mut store)?;
    output::say(voice, &format!("\nthe model of {} with these settings:", count(train.len(), "row")));
    let best = summary.best();
    let refit = Refit {
        options: &options,
        rows: &found,
        candidate: &best,
        record: summary.record(),
        out: out.clone(),
        checkpoint,
        lock,
        limit,
        device,
        accelerator,
        voice,
    };
    let outcome = refit.run(&log)?;
    if voice.json {
        let model = Some(&*out).filter(|path: &&Path| path.exists());
        output::json(&summary.json(model))?;
    }
    Ok(outcome)
}

/// The time of a search, with what follows it.
fn time(found: &SearchRows, started: Instant, seconds: f64, settings: &FitSettings, report: bool) -> SearchTime {
    let limit = TimeLimit::new(started, seconds);
    let tested = found.test.as_ref().map_or(0, |rows| rows.data.len());
    let compared: usize = found.parts.iter().filter_map(|part| part.test.as_ref()).map(|rows| 2 * rows.len()).sum();
    let of_step = refit::rows_of_step(found.fewest_to_train_on(), settings);
    // A prediction goes forward through its samples, and a step forward and back through one.
    let samples = deepgp::PredictSettings::default().samples as f64 / (3.0 * settings.train.samples.max(1) as f64);
    let shown = if report { report::predicted_rows(tested) } else { 0 };
    SearchTime {
        began: started,
        until: limit.end(),
        afterwards: 1.0 + 0.02 * seconds,
        predictions: samples * (compared + 3 * tested + shown) as f64 / of_step,
        growth: refit::growth(found, settings),
        steps: settings.train.steps,
    }
}

/// What a search is of.
fn subject(
    found: &SearchRows,
    (metric, space): (SearchMetric, &SearchSpace),
    base: &FitSettings,
    options: &FitOptions,
) -> SearchSubject {
    let mut settings = base.clone();
    settings.train.threads = 0;
    SearchSubject {
        table: found.table.sha256.clone(),
        columns: (found.schema.targets.clone(), found.schema.feature_names()),
        test: options.test_share(),
        split: found.split.clone(),
        parts: found.parts.iter().map(|part| (part.rows.train.len(), part.rows.judge.len())).collect(),
        class_weights: options.class_weights(),
        metric,
        space: space.clone(),
        settings,
    }
}

/// Removes the models of a search that nobody needs any more: all but those of candidate 0 and of the best where they are compared.
fn tidy(log: &SearchLog, store: &mut SearchFolder) -> Result<()> {
    let Some((best, rung)) = log.leader() else { return Ok(()) };
    for trial in log.trials() {
        let kept = trial.rung == rung && (trial.candidate == 0 || trial.candidate == best);
        if !kept {
            store.forget(trial.candidate, trial.rung)?;
        }
    }
    Ok(())
}
