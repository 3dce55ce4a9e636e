//! `deepgp resume`: goes on with a fit from its checkpoint.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use deepgp::Training;
use deepgp_io::{ModelFile, Provenance};

use crate::arguments::ResumeArgs;
use crate::arguments::paths;
use crate::arguments::usage::Usage;
use crate::fit::checkpoint as checkpoints;
use crate::fit::finish::finish;
use crate::fit::time_limit::TimeLimit;
use crate::fit::training_run::{self, RunOptions};
use crate::model::device::{self, Device};
use crate::model::rows;
use crate::terminal::output::{self, Outcome};

/// Goes on with a fit from its checkpoint, on the same rows.
pub fn resume(args: ResumeArgs) -> Result<Outcome> {
    let started = Instant::now();
    let ResumeArgs { checkpoint, table, out, steps, time_limit, checkpoint_every, threads, device, report, voice } =
        args;
    // Before it is read: whoever has it may be about to move on.
    let lock = checkpoints::lock(&checkpoint)?;
    let mut file = ModelFile::load(&checkpoint)?;
    let Some(state) = &mut file.state else {
        bail!("{} is a finished model, not a checkpoint: there is nothing to go on with", checkpoint.display());
    };
    let out = out.unwrap_or_else(|| PathBuf::from(&file.record.out));
    let fitted = file.record.data.table().map(|table| PathBuf::from(&table.path));
    paths::check_distinct(&[
        ("the table", table.as_ref().or(fitted.as_ref())),
        ("the checkpoint", Some(&checkpoint)),
        ("--out", Some(&out)),
        ("--report", report.as_ref()),
    ])?;
    let settings = &mut file.record.settings.train;
    if let Some(steps) = steps.filter(|steps| *steps <= state.step) {
        bail!(Usage(format!("--steps {steps}: {} steps are made already; give more, or leave it out", state.step)));
    }
    settings.steps = steps.unwrap_or(settings.steps);
    settings.threads = threads.unwrap_or(settings.threads);
    (state.settings.steps, state.settings.threads) = (settings.steps, settings.threads);
    let device = device.or_else(|| Device::named(&file.record.device)).unwrap_or_default();
    let accelerator = device.open(voice)?;
    for path in [Some(&out), report.as_ref()].into_iter().flatten() {
        paths::check_writable(path)?;
    }
    let all = rows::of_fit(&file, table.as_deref(), voice).map_err(|error| match table {
        None => error.context("name the table of the fit with --table FILE"),
        Some(_) => error,
    })?;
    let (train, held_out) =
        rows::split(&all, &file.schema.target_kind, file.record.test, file.record.settings.train.seed)?;
    let every = match checkpoint_every {
        Some(every) => every,
        None => file.record.checkpoint_every.parse().unwrap_or_default(),
    };
    if let (Some(table), Provenance::Table(fitted)) = (&table, &mut file.record.data) {
        fitted.path = paths::absolute(table);
    }
    file.record.out = paths::absolute(&out);
    file.record.checkpoint_every = every.to_string();
    file.record.device = device.name().into();
    output::say(voice, &format!("going on from step {} of {}", file.record.steps, file.record.settings.train.steps));
    let weighted = rows::weighted(&train, file.record.class_weights)?;
    let mut training = Training::of(file.regressor.clone(), &weighted, &file.record.settings)?;
    device::place_on(accelerator, training.model_mut(), voice);
    let threads = file.record.settings.train.threads;
    let limit = time_limit.map(|span| TimeLimit::new(started, span.0));
    let room = |limit: TimeLimit| {
        limit.with_scoring(training.regressor(), &train, held_out.as_ref().map(|rows| &rows.data), threads)
    };
    let run = RunOptions { checkpoint, every, time_limit: limit.map(room).transpose()?, quiet: voice.quiet };
    let finished = training_run::train(file, training, &run)?;
    let outcome = finish(finished, &train, held_out.as_ref(), &run, &out, report.as_deref(), voice);
    drop(lock);
    outcome
}
