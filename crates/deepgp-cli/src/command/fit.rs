//! `deepgp fit`: fits a model to a table.

use std::time::Instant;

use anyhow::{Result, bail};
use deepgp::StoredRows;
use deepgp_io::table::{Schema, Source, random_split_notes};
use deepgp_io::{Note, TableRecord};

use crate::arguments::FitArgs;
use crate::arguments::paths;
use crate::arguments::usage::Usage;
use crate::fit::checkpoint as checkpoints;
use crate::fit::finish::finish;
use crate::fit::folds::{CrossValidation, FoldPlan};
use crate::fit::initial_model::InitialModel;
use crate::fit::interruption;
use crate::fit::read::{Read, ReadPlan, SplitFit};
use crate::fit::start::{TrainingRows, begin, check_memory, start};
use crate::fit::time_limit::TimeLimit;
use crate::fit::training_run::{self, RunOptions};
use crate::model::description::{columns_in_words, describe, target_in_words};
use crate::model::device;
use crate::model::notes::{repeated_values, sites_note};
use crate::processes::Processes;
use crate::terminal::explain::in_words_of;
use crate::terminal::output::{self, Outcome};
use crate::terminal::stage::{Extent, Stage};
use crate::terminal::text::count;
use crate::terminal::waiting::Waiting;

/// Fits a model to a table, and saves it as a model file.
pub fn fit(args: FitArgs, processes: &Processes) -> Result<Outcome> {
    let started = Instant::now();
    let FitArgs { tables, config, init, overwrite, options, voice } = args;
    let voice = processes.voice(voice);
    paths::check_distinct(&paths::with_tables(&tables, &[("--config", config.as_ref())]))?;
    let options = options.over_config(config.as_deref())?;
    let (out, report) = (options.out(), options.report.clone());
    let checkpoint = options.checkpoint.clone().unwrap_or_else(|| paths::beside(&out, "checkpoint"));
    let named = [
        ("--config", config.as_ref()),
        ("--out", Some(&out)),
        ("--checkpoint", Some(&checkpoint)),
        ("--report", report.as_ref()),
    ];
    paths::check_distinct(&paths::with_tables(&tables, &named))?;
    let initial = init.as_deref().map(InitialModel::load).transpose()?;
    let options = match &initial {
        Some(model) => model.complete(options)?,
        None => options,
    };
    if options.target.is_empty() {
        let columns = Source::open_streamed_with(&tables[0], options.read_options())?.names().join(", ");
        bail!(Usage(format!("name the column to predict with --target COLUMN; the columns are {columns}")));
    }
    options.check()?;
    if options.folds.is_some() {
        processes.check_alone("--folds")?;
    }
    let device = options.device.unwrap_or_default();
    let accelerator = processes.open(device, voice)?;
    let lock = processes.first(|| checkpoints::lock(&checkpoint))?;
    let limit = options.time_limit.map(|span| TimeLimit::new(started, span.0));
    let reading = interruption::while_reading(lock.as_ref(), limit.filter(|_| processes.is_first()), voice);
    if processes.is_first() {
        checkpoints::check_replaceable(&checkpoint, overwrite, "start over with --overwrite")?;
        for path in [Some(&out), report.as_ref()].into_iter().flatten() {
            paths::check_writable(path)?;
        }
    }
    let source = Source::open_among(&tables, options.read_options(), processes.communicator())?;
    let mut all = 0;
    let mut stage = Stage::new(voice, "looking through the table", Extent::UnknownRows);
    let wanted = options.wanted(&source);
    let (schema, mut notes) = match &initial {
        Some(model) => (model.schema(wanted.row_columns), vec![model.note()]),
        None => Schema::scan_watched(&source, &wanted, &mut |rows| {
            all = rows;
            stage.show(rows);
        })?,
    };
    drop(stage);
    // Before the rows are read: options that are not for such a target are wrong whatever the rows.
    options.settings_for(1, &schema.target_kind)?;
    let (split, by_time) = options.split_rule(&schema);
    let plan = ReadPlan { options: &options, initial: initial.as_ref(), split: &split, records: all, device, voice };
    let Read { schema, rows, notes: more, constant, undated } = plan.read(schema, &source, &checkpoint, processes)?;
    notes.extend(by_time.map(|note| note.with_undated(undated)));
    if split.is_random() && (options.test_share().is_some() || options.folds.is_some()) {
        notes.extend(random_split_notes(&source, &schema)?);
    }
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
    let test = options.test_share();
    let unsettled = schema;
    let parts = rows.split(&unsettled, test, options.seed.unwrap_or(0))?;
    let weighted = rows.share(&parts, options.class_weights())?;
    let SplitFit { schema, train, held_out, held_out_rows, stored, among, note } = parts;
    notes.extend(note);
    // It has all rows on board, or none.
    let accelerator = accelerator.filter(|_| !rows.are_on_disk());
    output::say(
        voice,
        &format!("{}: {}; {}", source.path().display(), count(rows.len(), "row"), columns_in_words(&schema)),
    );
    if let Some(target) = target_in_words(&schema) {
        output::say(voice, &target);
    }
    let mut every = tables.iter().map(|table| paths::absolute(table));
    let path = every.next().unwrap_or_default();
    let table = TableRecord { path, more: every.collect(), sha256: source.sha256()?, rows: rows.len() };
    // Its bytes need not stay in memory while the model is trained.
    drop(source);
    drop(reading);
    let cross_validation = match options.folds {
        None => None,
        Some(folds) => {
            let accelerator = accelerator.clone();
            let lock = lock.as_ref();
            let plan =
                FoldPlan { options: &options, schema: &unsettled, table: &table, lock, limit, accelerator, voice };
            match plan.run(rows.in_memory()?, folds, &out)? {
                CrossValidation::Done(scores) => Some(scores),
                CrossValidation::Interrupted(scores) => return plan.interrupted(scores.as_ref()),
            }
        }
    };
    if cross_validation.is_some() {
        output::say(voice, &format!("all folds are scored; the model of {}:", count(train.len(), "row")));
    }
    let all = among.as_ref().map_or(&train, |train| &train.rows);
    let train_rows = stored.as_ref().map_or(all.len(), StoredRows::len);
    let mut settings = options.settings_of(train_rows, &schema)?;
    if let Some(model) = &initial {
        settings = model.settings(settings, &options);
    }
    if schema.target_kind.is_numbers() && stored.is_none() {
        notes.extend(repeated_values(&schema.targets, all.y().view()));
    }
    notes.extend(sites_note(&settings, train_rows));
    check_memory(weighted.len(), weighted.x().ncols(), &settings)?;
    drop(rows);
    // The process that scores keeps all rows, the others their shares.
    let (train, held_out) = if processes.is_first() { (train, held_out) } else { (weighted.clone(), None) };
    let starting = interruption::before_training(lock.as_ref(), limit.filter(|_| processes.is_first()), voice);
    let begun = match &initial {
        Some(model) => model.training(processes, &weighted, &settings).map(|training| (training, None)),
        None => {
            let of = stored.map_or(TrainingRows::Share(&weighted), TrainingRows::OnDisk);
            start(processes, &of, &settings, limit, voice)
        }
    };
    let (mut training, cut_short) = begun.map_err(|e| in_words_of(&schema, e))?;
    // There is a model now, and whatever the clock says, it makes a step.
    starting.done();
    let starting = interruption::before_training(lock.as_ref(), None, voice);
    notes.extend(Note::fewer_inducing(&settings, training.model()).into_iter().chain(cut_short));
    let findings = schema.targets.iter().zip(training.transform_findings());
    // Who asked for nothing need not be told that nothing was done.
    let asked = options.transform_target.is_some();
    let of_transforms = findings.map(|(target, found)| Note::of_transform(target, found));
    notes.extend(of_transforms.filter(|note| asked || !matches!(note, Note::NoTransformChosen { .. })));
    notes.extend(Note::of_trend(&schema, training.standardiser()));
    output::notes(voice, &notes[told..]);
    output::say(voice, &describe(training.regressor()));
    device::place_on(accelerator, training.model_mut(), voice);
    let mut limit = limit.filter(|_| processes.is_first());
    if let Some(own) = limit {
        let _shown = Waiting::new(voice, "finding out how long validation takes");
        // What several processes look at is not one's to decide.
        let (own, fewer) = match processes.are_several() {
            false => own.with_validation(training, &mut settings)?,
            true => (own.with_given_validation(&training, &settings)?, training),
        };
        (limit, training) = (Some(own), fewer);
    }
    let mut file = begin(&schema, &table, settings, &training);
    let every = options.checkpoint_every.unwrap_or_default();
    file.record.test = test;
    file.record.split = split;
    file.record.cross_validation = cross_validation;
    file.record.test_rows = held_out_rows;
    file.record.notes = notes;
    file.record.out = paths::absolute(&out);
    file.record.checkpoint_every = every.to_string();
    file.record.device = device.name().into();
    file.record.class_weights = options.class_weights();
    let threads = file.record.settings.train.threads;
    let room = |limit: TimeLimit| {
        let _shown = Waiting::new(voice, "finding out how long scoring takes");
        let test = held_out.as_ref().map(|rows| &rows.data);
        limit.with_scoring(training.regressor(), &train, test, threads, report.is_some())
    };
    let time_limit = limit.map(room).transpose()?;
    starting.done();
    let run = RunOptions { checkpoint, every, time_limit, lock, quiet: voice.quiet };
    if !processes.is_first() {
        return training_run::accompany(file, training);
    }
    // Even before the first step there is something to go on from.
    file.save(&run.checkpoint)?;
    let finished =
        training_run::train(file, training, &run).inspect_err(|_| checkpoints::remove_unless_begun(&run.checkpoint))?;
    finish(finished, &train, held_out.as_ref(), &run, &out, report.as_deref(), voice)
}
