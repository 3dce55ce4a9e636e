//! `deepgp fit` and `deepgp resume`: a table in, a model file out.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use deepgp::{ConstantColumns, Dataset, Error, FitSettings, Inducing, InducingSize, Regressor};
use deepgp_io::atomic::{self, Lock};
use deepgp_io::note::ScoredRows;
use deepgp_io::table::{Kind, Schema, Source};
use deepgp_io::{History, ModelFile, Note, Provenance, Record, StopReason, TableRecord};

use super::report;
use crate::arguments::paths;
use crate::arguments::usage::Usage;
use crate::arguments::{FitArgs, ResumeArgs, Voice};
use crate::model::device::{self, Device};
use crate::model::score::{self, Scored};
use crate::model::training_run::{self, Ending, Finished, Run};
use crate::model::{learned_nothing, rows};
use crate::terminal::explain::in_words_of;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::count;
use crate::terminal::{progress, shell};

/// Fits a model.
pub fn fit(args: FitArgs) -> Result<Outcome> {
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
        let columns = Source::open(&table)?.names().join(", ");
        bail!(Usage(format!("name the column to predict with --target COLUMN; the columns are {columns}")));
    }
    options.check()?;
    let device = options.device.unwrap_or_default();
    let accelerator = device.open(voice)?;
    let lock = lock(&checkpoint)?;
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
    let (schema, mut notes) = Schema::scan(&source, &options.wanted(&source))?;
    let (data, more) = rows::load(&schema, &source)?;
    // Columns that are not used are those that were to be ignored.
    let told = |note: &Note| notes.contains(note) || matches!(note, Note::UnusedColumns { .. });
    let more: Vec<Note> = more.into_iter().filter(|note| !told(note)).collect();
    notes.extend(more);
    output::notes(voice, &notes);
    if out.exists() {
        // For this moment, not for the model's record.
        output::say(voice, &format!("note: {} is there already and will be replaced", out.display()));
    }
    if options.constant != Some(ConstantColumns::Keep) {
        rows::check_constant(&schema, &data)?;
    }
    let test = options.test.filter(|share| *share > 0.0);
    let (train, held_out) = rows::split(&data, test, options.seed.unwrap_or(0))?;
    output::say(voice, &format!("{}: {}; {}", table.display(), count(data.len(), "row"), columns_in_words(&schema)));
    let table = TableRecord { path: paths::absolute(&table), sha256: source.sha256()?, rows: data.len() };
    let mut settings = options.settings(train.len());
    let mut started = begin(&schema, &table, settings.clone(), &train);
    // Of two sizes, the one that was not asked for gives way to what the table has.
    if let (Err(Error::TooManyInducing { distinct, .. }), Some(InducingSize::Decoupled { mean, covariance })) =
        (&started, settings.model.inducing)
    {
        settings.model.inducing = Some(InducingSize::Decoupled {
            mean: if options.mean_inducing.is_none() { mean.min(*distinct) } else { mean },
            covariance: if options.covariance_inducing.is_none() { covariance.min(*distinct) } else { covariance },
        });
        started = begin(&schema, &table, settings, &train);
    }
    let mut file = started.map_err(|e| in_words_of(&schema, e))?;
    output::say(voice, &describe(&file.regressor));
    device::place_on(accelerator, &mut file.regressor, voice);
    let every = options.checkpoint_every.unwrap_or_default();
    file.record.test = test;
    file.record.test_rows = held_out.as_ref().map_or(0, Dataset::len);
    file.record.notes = notes;
    file.record.out = paths::absolute(&out);
    file.record.checkpoint_every = every.to_string();
    file.record.device = device.name().into();
    let run = Run { checkpoint, every, time_limit: options.time_limit.map(|span| span.0), quiet: voice.quiet };
    // Even before the first step there is something to go on from.
    file.save(&run.checkpoint)?;
    let finished = training_run::train(file, &train, &run).inspect_err(|_| {
        // A run that could not make a step leaves nothing worth going on from.
        if ModelFile::load(&run.checkpoint).is_ok_and(|left| left.record.steps == 0) {
            let _ = atomic::remove(&run.checkpoint);
        }
    })?;
    let outcome = finish(finished, &train, held_out.as_ref(), &run, &out, report.as_deref(), voice);
    drop(lock);
    outcome
}

/// Goes on with a fit.
pub fn resume(args: ResumeArgs) -> Result<Outcome> {
    let ResumeArgs { checkpoint, table, out, steps, time_limit, checkpoint_every, threads, device, report, voice } =
        args;
    // Before it is read: whoever has it may be about to move on.
    let lock = lock(&checkpoint)?;
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
    let data = rows::of_fit(&file, table.as_deref()).map_err(|error| match table {
        None => error.context("name the table of the fit with --table FILE"),
        Some(_) => error,
    })?;
    let (train, held_out) = rows::split(&data, file.record.test, file.record.settings.train.seed)?;
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
    device::place_on(accelerator, &mut file.regressor, voice);
    let run = Run { checkpoint, every, time_limit: time_limit.map(|span| span.0), quiet: voice.quiet };
    let finished = training_run::train(file, &train, &run)?;
    let outcome = finish(finished, &train, held_out.as_ref(), &run, &out, report.as_deref(), voice);
    drop(lock);
    outcome
}

/// A model at its starting point, with the state of a run that has not begun.
pub fn begin(
    schema: &Schema,
    table: &TableRecord,
    settings: FitSettings,
    train: &Dataset,
) -> deepgp::Result<ModelFile> {
    let regressor = Regressor::start(train, &settings)?;
    let state = Some(regressor.begin(train, &settings)?);
    let record = Record::new(Provenance::Table(table.clone()), settings);
    Ok(ModelFile { regressor, schema: schema.clone(), record, history: History::default(), state })
}

/// Saves, scores, tells.
fn finish(
    finished: Finished,
    train: &Dataset,
    held_out: Option<&Dataset>,
    run: &Run,
    out: &Path,
    report: Option<&Path>,
    voice: Voice,
) -> Result<Outcome> {
    let Finished { mut file, ending, known_notes } = finished;
    file.record.written = deepgp_io::now();
    // A finished model is worth more than one that was cut short, and that one is in the checkpoint too.
    let stays = ending == Ending::Interrupted && is_finished(out);
    let model = if stays { &run.checkpoint } else { out };
    if !stays {
        // Before the scores, which may take a while.
        file.save(out)?;
    }
    let threads = file.record.settings.train.threads;
    let scored = match held_out {
        Some(test) if ending != Ending::Interrupted => Some(Scored::new(&file, Some(train), test, threads)?),
        _ => None,
    };
    if let Some(scored) = &scored {
        file.record.scores = scored.records();
        if let Some(note) = rows::copies_note(train, scored.data, ScoredRows::Test) {
            file.record.remark(note);
        }
        file.save(out)?;
    } else if ending != Ending::Interrupted {
        for doubt in learned_nothing::remarks(&file, train)? {
            file.record.remark(doubt);
        }
        file.save(out)?;
    }
    if ending == Ending::Done {
        // The model is safe; a checkpoint that cannot be removed does no harm.
        let _ = atomic::remove(&run.checkpoint);
    }
    if let Some(path) = report {
        report::write(&file, scored.as_ref(), Some(train), path)?;
    }
    let Record { steps, train_seconds, stop, notes, .. } = &file.record;
    let (steps, stop) = (count(*steps as usize, "step"), stop.as_ref().map_or(String::new(), StopReason::to_string));
    output::say(voice, &format!("{steps} in {}: {stop}", progress::duration(*train_seconds)));
    output::notes(voice, &notes[known_notes.min(notes.len())..]);
    output::notes(voice, &score::remarks_of_fit(&file));
    if let Some(scored) = &scored {
        let table = score::table(scored, &file.schema.targets);
        output::say(voice, &format!("\nOn {}:\n{table}", count(scored.rows(), "test row")));
    }
    let instead = if stays { format!(" ({} stays as it was)", out.display()) } else { String::new() };
    output::say(voice, &format!("model: {}{instead}", model.display()));
    if let Some(path) = report {
        output::say(voice, &format!("report: {}", path.display()));
    }
    if ending != Ending::Done {
        output::say(voice, &format!("to go on: deepgp resume {}", shell::word(&run.checkpoint)));
    }
    if voice.json {
        output::json(&output::fit_summary(&file, scored.as_ref(), model, run, ending))?;
    }
    Ok(if ending == Ending::Interrupted { Outcome::Interrupted } else { Outcome::Done })
}

/// Whether there is a model whose training nobody cut short.
fn is_finished(path: &Path) -> bool {
    let stop = ModelFile::load(path).ok().and_then(|file| file.record.stop);
    stop.is_some_and(|stop| match stop {
        StopReason::Interrupted => false,
        StopReason::Steps | StopReason::Patience | StopReason::TimeLimit | StopReason::Stuck { .. } => true,
    })
}

fn lock(checkpoint: &Path) -> Result<Lock> {
    Lock::take(checkpoint).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => {
            anyhow!("another deepgp is working on {}: wait for it, or stop it", checkpoint.display())
        }
        _ => anyhow!("cannot write {}: {error}", checkpoint.display()),
    })
}

/// What the columns were taken for: `9 numbers, 1 boolean, 2 categories (colour of 3, city of 12)`.
fn columns_in_words(schema: &Schema) -> String {
    let count = |wanted: fn(&Kind) -> bool| schema.inputs.iter().filter(|column| wanted(&column.kind)).count();
    let levels: Vec<String> = schema
        .inputs
        .iter()
        .filter_map(|column| match &column.kind {
            Kind::Category { levels } => Some(format!("{} of {}", column.name, levels.len())),
            _ => None,
        })
        .collect();
    let plural = |n: usize, one: &str, many: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {many}") };
    let mut parts =
        vec![plural(count(|kind| matches!(kind, Kind::Number { .. } | Kind::Date { .. })), "number", "numbers")];
    let booleans = count(|kind| matches!(kind, Kind::Boolean { .. }));
    if booleans > 0 {
        parts.push(plural(booleans, "boolean", "booleans"));
    }
    if !levels.is_empty() {
        parts.push(format!("{} ({})", plural(levels.len(), "category", "categories"), levels.join(", ")));
    }
    format!("inputs: {}", parts.join(", "))
}

/// The model in a sentence.
pub fn describe(regressor: &Regressor) -> String {
    let layers = regressor.model.layers();
    let hidden = layers.len() - 1;
    let sizes = match &layers[0].inducing {
        Inducing::Tied(z) => format!("{} inducing inputs", z.nrows()),
        Inducing::Decoupled { mean, covariance } => {
            format!("{} inducing inputs for the mean and {} for the covariance", mean.nrows(), covariance.nrows())
        }
    };
    let shape = match hidden {
        0 => "a sparse GP".to_string(),
        1 => format!("a deep GP with 1 hidden layer of {}", layers[0].output_width()),
        _ => format!("a deep GP with {hidden} hidden layers of {}", layers[0].output_width()),
    };
    format!("{shape}, {sizes} a layer, {} kernel", layers[0].kernel.name())
}
