//! `deepgp resume`: goes on with a fit from its checkpoint, or from a finished model.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use deepgp::Training;
use deepgp_io::{ModelFile, Provenance};

use crate::arguments::ResumeArgs;
use crate::arguments::paths;
use crate::arguments::usage::Usage;
use crate::arguments::value::duration::Seconds;
use crate::fit::checkpoint as checkpoints;
use crate::fit::continuation::Continuation;
use crate::fit::finish::finish;
use crate::fit::interruption;
use crate::fit::model_place;
use crate::fit::read::{self, SplitFit};
use crate::fit::time_limit::TimeLimit;
use crate::fit::training_run::{self, RunOptions};
use crate::model::device::{self, Device};
use crate::model::rows;
use crate::processes::Processes;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::count;
use crate::terminal::waiting::Waiting;

/// Goes on with a fit from its checkpoint or from a finished model, on the same rows.
pub fn resume(args: ResumeArgs, processes: &Processes) -> Result<Outcome> {
    let started = Instant::now();
    let ResumeArgs {
        from,
        table,
        out,
        steps,
        time_limit,
        checkpoint_every,
        threads,
        device,
        rows_in,
        report,
        limits,
        voice,
    } = args;
    let voice = processes.voice(voice);
    let Continuation { mut file, checkpoint, out, lock } = Continuation::of(&from, out, processes)?;
    let fitted = file.record.data.table().map(rows::files_of).unwrap_or_default();
    let tables = if table.is_empty() { fitted } else { table.clone() };
    let others = [("the checkpoint", Some(&checkpoint)), ("--out", Some(&out)), ("--report", report.as_ref())];
    paths::check_distinct(&paths::with_tables(&tables, &others))?;
    model_place::check_replaceable(&out)?;
    check_length(&file, &from, steps, time_limit)?;
    let settings = &mut file.record.settings.train;
    settings.steps = steps.unwrap_or(settings.steps);
    settings.threads = threads.unwrap_or(settings.threads);
    if let Some(state) = &mut file.state {
        (state.settings.steps, state.settings.threads) = (settings.steps, settings.threads);
    }
    let limit = time_limit.map(|span| TimeLimit::new(started, span.0));
    let reading = interruption::while_reading(lock.as_ref(), limit.filter(|_| processes.is_first()), voice);
    let device = device.or_else(|| Device::named(&file.record.device)).unwrap_or_default();
    let accelerator = processes.open(device, voice)?;
    for path in [Some(&out), report.as_ref()].into_iter().flatten().filter(|_| processes.is_first()) {
        paths::check_writable(path)?;
    }
    let source = rows::table_of_fit(&file, &table, limits.limits(), processes).map_err(|error| match table[..] {
        [] => error.context("name the table of the fit with --table FILE"),
        [..] => error,
    })?;
    let rows = read::of_fit(&file, (&source, device), rows_in, &checkpoint, processes, voice)?;
    let split = rows.split(&file.schema.unsettled(), file.record.test, file.record.settings.train.seed)?;
    let weighted = rows.share(&split, file.record.class_weights)?;
    let SplitFit { train, held_out, stored, note, .. } = split;
    note.into_iter().for_each(|note| file.record.remark(note));
    // It has all rows on board, or none.
    let accelerator = accelerator.filter(|_| !rows.are_on_disk());
    let every = match checkpoint_every {
        Some(every) => every,
        None => file.record.checkpoint_every.parse().unwrap_or_default(),
    };
    if let ([first, more @ ..], Provenance::Table(fitted)) = (&table[..], &mut file.record.data) {
        (fitted.path, fitted.more) = (paths::absolute(first), more.iter().map(|path| paths::absolute(path)).collect());
    }
    file.record.out = paths::absolute(&out);
    file.record.checkpoint_every = every.to_string();
    file.record.device = device.name().into();
    // There is a model, and whatever the clock says, it makes a step.
    reading.done();
    let starting = interruption::before_training(lock.as_ref(), None, voice);
    output::say(voice, &beginning(&file, &from));
    drop((rows, source));
    // The process that scores keeps all rows, the others their shares.
    let (train, held_out) = if processes.is_first() { (train, held_out) } else { (weighted.clone(), None) };
    let (regressor, settings) = (file.regressor.clone(), &file.record.settings);
    let training = match &stored {
        None => Training::of_among(processes.communicator(), regressor, &weighted, settings)?,
        Some(rows) => Training::of_stored(regressor, rows, settings)?,
    };
    let mut training = training.further(file.record.steps_before);
    device::place_on(accelerator, training.model_mut(), voice);
    let threads = file.record.settings.train.threads;
    let room = |limit: TimeLimit| {
        let _shown = Waiting::new(voice, "finding out how long scoring takes");
        let test = held_out.as_ref().map(|rows| &rows.data);
        limit.with_scoring(training.regressor(), &train, test, threads, report.is_some())
    };
    let limit = limit.filter(|_| processes.is_first());
    let limit = limit.map(|own| own.with_given_validation(&training, &file.record.settings)).transpose()?;
    let time_limit = limit.map(room).transpose()?;
    starting.done();
    let is_new = file.state.is_none();
    if is_new {
        file.state = Some(training.state());
    }
    if !processes.is_first() {
        return training_run::accompany(file, training);
    }
    if is_new {
        // Even before the first step there is something to go on from.
        file.save(&checkpoint)?;
    }
    let run = RunOptions { checkpoint, every, time_limit, lock, quiet: voice.quiet };
    let finished =
        training_run::train(file, training, &run).inspect_err(|_| checkpoints::remove_unless_begun(&run.checkpoint))?;
    finish(finished, &train, held_out.as_ref(), &run, &out, report.as_deref(), voice)
}

/// Fails if it is not said how far to go on with a finished model, or if a run is to end where it has been already.
fn check_length(file: &ModelFile, from: &Path, steps: Option<u64>, time_limit: Option<Seconds>) -> Result<()> {
    let wrong = |text: String| Err(Usage(text).into());
    match (&file.state, steps) {
        (Some(state), Some(steps)) if steps <= state.step => {
            wrong(format!("--steps {steps}: {} steps are made already; give more, or leave it out", state.step))
        }
        (None, None) if time_limit.is_none() => wrong(format!(
            "{} is a finished model: say how far to go on with --steps N, for so many further steps, or with --time-limit TIME",
            from.display()
        )),
        (None, Some(0)) => wrong("--steps 0: give at least 1".into()),
        (Some(_) | None, Some(_) | None) => Ok(()),
    }
}

/// Where a run goes on, for people.
fn beginning(file: &ModelFile, from: &Path) -> String {
    let steps = file.record.settings.train.steps;
    match &file.state {
        Some(state) => format!("going on from step {} of {steps}", state.step),
        None => format!(
            "note: {} is a finished model, which keeps no state of its training: the optimiser, the schedule and minibatches begin anew, \
             from its parameters\ngoing on after {} with {} further",
            from.display(),
            count(file.record.steps_before as usize, "step"),
            steps
        ),
    }
}
