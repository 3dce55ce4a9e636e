//! `deepgp fit`: fits a model to a table.

use std::time::Instant;

use anyhow::{Result, bail};
use deepgp_io::table::{Schema, Source};
use deepgp_io::{ModelFile, Note, TableRecord, atomic};

use crate::arguments::FitArgs;
use crate::arguments::paths;
use crate::arguments::usage::Usage;
use crate::fit::checkpoint as checkpoints;
use crate::fit::finish::finish;
use crate::fit::start::{begin, start};
use crate::fit::time_limit::TimeLimit;
use crate::fit::training_run::{self, RunOptions};
use crate::model::description::{columns_in_words, describe, target_in_words};
use crate::model::device;
use crate::model::notes::{inducing_notes, repeated_values, sites_note};
use crate::model::rows::{self, LoadedRows, PlacedRows};
use crate::terminal::explain::{impossible_in_table, in_words_of};
use crate::terminal::output::{self, Outcome};
use crate::terminal::shell;
use crate::terminal::stage::{Extent, Stage};
use crate::terminal::text::count;

/// Fits a model to a table, and saves it as a model file.
pub fn fit(args: FitArgs) -> Result<Outcome> {
    let started = Instant::now();
    let FitArgs { table, out, checkpoint, report, config, overwrite, options, voice } = args;
    let checkpoint = checkpoint.unwrap_or_else(|| paths::beside(&out, "checkpoint"));
    let named = [
        ("the table", Some(&table)),
        ("--config", config.as_ref()),
        ("--out", Some(&out)),
        ("--checkpoint", Some(&checkpoint)),
        ("--report", report.as_ref()),
    ];
    paths::check_distinct(&named)?;
    let options = options.over_config(config.as_deref())?;
    if options.target.is_empty() {
        let columns = Source::open_streamed(&table)?.names().join(", ");
        bail!(Usage(format!("name the column to predict with --target COLUMN; the columns are {columns}")));
    }
    options.check()?;
    let device = options.device.unwrap_or_default();
    let accelerator = device.open(voice)?;
    let lock = checkpoints::lock(&checkpoint)?;
    if checkpoint.exists() {
        let shown = checkpoint.display();
        if !ModelFile::load(&checkpoint).is_ok_and(|file| file.state.is_some()) {
            bail!("{shown} is there, and is no checkpoint: name another place with --checkpoint, or remove it");
        }
        if !overwrite {
            bail!(
                "{shown} is the checkpoint of a fit that has not ended: go on with `deepgp resume {}`, or start over \
                 with --overwrite",
                shell::word(&checkpoint)
            );
        }
    }
    for path in [Some(&out), report.as_ref()].into_iter().flatten() {
        paths::check_writable(path)?;
    }
    let source = Source::open(&table)?;
    let mut all = 0;
    let mut stage = Stage::new(voice, "looking through the table", Extent::UnknownRows);
    let (schema, mut notes) = Schema::scan_watched(&source, &options.wanted(&source), &mut |rows| {
        all = rows;
        stage.show(rows);
    })?;
    drop(stage);
    // Before the rows are read: options that are not for such a target are wrong whatever the rows.
    options.settings_for(1, &schema.target_kind)?;
    let loaded = rows::load(&schema, &source, Stage::new(voice, "reading", Extent::Rows(all)))?;
    let LoadedRows { data, notes: more, positions } = loaded;
    let (schema, data, constant) = options.constant().settle(schema, data)?;
    let rows = PlacedRows { data, positions };
    // Of the whole table, so that a message names its rows, those for testing included.
    let possible = options.transform_target().check(rows.data.y().view());
    possible.map_err(|error| impossible_in_table(&schema, &rows.positions, error))?;
    // Columns that are not used are those that were to be ignored.
    let known = |note: &Note| notes.contains(note) || matches!(note, Note::UnusedColumns { .. });
    let more: Vec<Note> = more.into_iter().filter(|note| !known(note)).collect();
    notes.extend(more.into_iter().chain(constant));
    output::notes(voice, &notes);
    let told = notes.len();
    if out.exists() {
        // For this moment, not for the model's record.
        output::say(voice, &format!("note: {} is there already and will be replaced", out.display()));
    }
    let test = options.test.filter(|share| *share > 0.0);
    let (train, held_out) = rows::split(&rows, &schema.target_kind, test, options.seed.unwrap_or(0))?;
    output::say(
        voice,
        &format!("{}: {}; {}", table.display(), count(rows.data.len(), "row"), columns_in_words(&schema)),
    );
    if let Some(target) = target_in_words(&schema) {
        output::say(voice, &target);
    }
    let table = TableRecord { path: paths::absolute(&table), sha256: source.sha256()?, rows: rows.data.len() };
    // Its bytes need not stay in memory while the model is trained.
    drop(source);
    let settings = options.settings_for(train.len(), &schema.target_kind)?;
    if schema.target_kind.is_numbers() {
        notes.extend(repeated_values(&schema.targets, train.y().view()));
    }
    notes.extend(sites_note(&settings, train.len()));
    let weighted = rows::weighted(&train, options.class_weights())?;
    let limit = options.time_limit.map(|span| TimeLimit::new(started, span.0));
    let (mut training, cut_short) = start(&weighted, &settings, limit, voice).map_err(|e| in_words_of(&schema, e))?;
    notes.extend(inducing_notes(&settings, training.model()).into_iter().chain(cut_short));
    let findings = schema.targets.iter().zip(training.transform_findings());
    // Who asked for nothing need not be told that nothing was done.
    let asked = options.transform_target.is_some();
    let of_transforms = findings.map(|(target, found)| Note::of_transform(target, found));
    notes.extend(of_transforms.filter(|note| asked || !matches!(note, Note::NoTransformChosen { .. })));
    output::notes(voice, &notes[told..]);
    output::say(voice, &describe(training.regressor()));
    device::place_on(accelerator, training.model_mut(), voice);
    let mut file = begin(&schema, &table, settings, &training);
    let every = options.checkpoint_every.unwrap_or_default();
    file.record.test = test;
    file.record.test_rows = held_out.as_ref().map_or(0, |rows| rows.data.len());
    file.record.notes = notes;
    file.record.out = paths::absolute(&out);
    file.record.checkpoint_every = every.to_string();
    file.record.device = device.name().into();
    file.record.class_weights = options.class_weights();
    let threads = file.record.settings.train.threads;
    let room = |limit: TimeLimit| {
        limit.with_scoring(training.regressor(), &train, held_out.as_ref().map(|rows| &rows.data), threads)
    };
    let run = RunOptions { checkpoint, every, time_limit: limit.map(room).transpose()?, quiet: voice.quiet };
    // Even before the first step there is something to go on from.
    file.save(&run.checkpoint)?;
    let finished = training_run::train(file, training, &run).inspect_err(|_| {
        // A run that could not make a step leaves nothing worth going on from.
        if ModelFile::load(&run.checkpoint).is_ok_and(|left| left.record.steps == 0) {
            let _ = atomic::remove(&run.checkpoint);
        }
    })?;
    let outcome = finish(finished, &train, held_out.as_ref(), &run, &out, report.as_deref(), voice);
    drop(lock);
    outcome
}
