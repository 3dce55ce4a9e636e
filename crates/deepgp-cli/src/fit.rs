//! `deepgp fit` and `deepgp resume`: a table in, a model file out.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use deepgp::{ConstantColumns, Dataset, Mat, Regressor};
use deepgp_io::table::{Schema, Source, Targets};
use deepgp_io::{History, ModelFile, Record, TableRecord};

use crate::args::{FitArgs, ResumeArgs, Voice};
use crate::explain::in_words_of;
use crate::output::{self, Outcome};
use crate::run::{self, Ending, Finished, Run};
use crate::score::{self, Scored};

/// Fits a model.
pub fn fit(args: FitArgs) -> Result<Outcome> {
    let FitArgs { table, out, checkpoint, report, config, overwrite, options, voice } = args;
    let options = options.over_config(config.as_deref())?;
    let wanted = options.wanted()?;
    let checkpoint = checkpoint.unwrap_or_else(|| beside(&out, "checkpoint"));
    if checkpoint.exists() && !overwrite {
        let shown = checkpoint.display();
        bail!(
            "{shown} is the checkpoint of a fit that has not ended: go on with `deepgp resume {shown}`, or start over \
             with --overwrite"
        );
    }
    check_writable(&out)?;
    let source = Source::open(&table)?;
    let (schema, mut notes) = Schema::scan(&source, &wanted)?;
    let (data, more) = load(&schema, &source)?;
    notes.extend(more.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
    output::notes(voice, &notes);
    if options.constant != Some(ConstantColumns::Keep) {
        check_constant(&schema, &data)?;
    }
    let seed = options.seed.unwrap_or(0);
    let test = options.test.filter(|share| *share > 0.0);
    let (train, held_out) = split(&data, test, seed)?;
    let validation = options.validation.unwrap_or(0.1);
    let settings = options.settings(((1.0 - validation) * train.len() as f64).round() as usize)?;
    settings.train.check()?;
    output::say(voice, &format!("{}: {} rows, {} inputs", table.display(), data.len(), schema.width()));
    let regressor = Regressor::start(&train, &settings).map_err(|e| in_words_of(&schema, e))?;
    output::say(voice, &describe(&regressor));
    let record = Record {
        table: TableRecord { path: absolute(&table), sha256: source.sha256()?, rows: data.len() },
        settings,
        test,
        steps: 0,
        train_seconds: 0.0,
        elbo: None,
        stop: None,
        written: output::now(),
        version: env!("CARGO_PKG_VERSION").into(),
        test_rows: held_out.as_ref().map_or(0, Dataset::len),
        scores: Vec::new(),
        notes,
        out: absolute(&out),
    };
    let state = Some(regressor.begin(&train, &record.settings)?);
    let file = ModelFile { regressor, schema, record, history: History::default(), state };
    let run = Run {
        checkpoint,
        every: options.checkpoint_every.unwrap_or_default(),
        time_limit: options.time_limit.map(|span| span.0),
        quiet: voice.quiet,
    };
    // Even before the first step there is something to go on from.
    file.save(&run.checkpoint)?;
    let finished = run::train(file, &train, &run)?;
    finish(finished, &train, held_out.as_ref(), &run, &out, report.as_deref(), voice)
}

/// Goes on with a fit.
pub fn resume(args: ResumeArgs) -> Result<Outcome> {
    let ResumeArgs { checkpoint, table, out, steps, time_limit, checkpoint_every, threads, report, voice } = args;
    let mut file = ModelFile::load(&checkpoint)?;
    let Some(state) = &mut file.state else {
        bail!("{} is a finished model, not a checkpoint: there is nothing to go on with", checkpoint.display());
    };
    let settings = &mut file.record.settings.train;
    settings.steps = steps.unwrap_or(settings.steps);
    settings.threads = threads.unwrap_or(settings.threads);
    (state.settings.steps, state.settings.threads) = (settings.steps, settings.threads);
    let data = training_table(&file, table.as_deref())?;
    let (train, held_out) = split(&data, file.record.test, file.record.settings.train.seed)?;
    let out = out.unwrap_or_else(|| PathBuf::from(&file.record.out));
    check_writable(&out)?;
    output::say(voice, &format!("going on from step {} of {}", file.record.steps, file.record.settings.train.steps));
    let every = checkpoint_every.unwrap_or_default();
    let run = Run { checkpoint, every, time_limit: time_limit.map(|span| span.0), quiet: voice.quiet };
    let finished = run::train(file, &train, &run)?;
    finish(finished, &train, held_out.as_ref(), &run, &out, report.as_deref(), voice)
}

/// Scores, saves, tells.
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
    file.record.written = output::now();
    let threads = file.record.settings.train.threads;
    let scored = match held_out {
        Some(test) if ending != Ending::Interrupted => Some(Scored::new(&file, Some(train), test, threads)?),
        _ => None,
    };
    if let Some(scored) = &scored {
        file.record.scores = scored.records();
    }
    file.save(out)?;
    if ending == Ending::Done {
        // The model is safe; a checkpoint that cannot be removed does no harm.
        let _ = deepgp_io::atomic::remove(&run.checkpoint);
    }
    if let Some(path) = report {
        crate::report_command::write(&file, scored.as_ref(), Some(train), path)?;
    }
    let names = &file.schema.targets;
    let Record { steps, train_seconds, stop, .. } = &file.record;
    let stop = stop.as_deref().unwrap_or_default();
    output::say(voice, &format!("{steps} steps in {}: {stop}", crate::progress::duration(*train_seconds)));
    output::notes(voice, &file.record.notes[known_notes.min(file.record.notes.len())..]);
    if let Some(scored) = &scored {
        output::say(voice, &format!("\nOn {} test rows:\n{}", scored.rows(), score::table(scored, names)));
    }
    output::say(voice, &format!("model: {}", out.display()));
    if let Some(path) = report {
        output::say(voice, &format!("report: {}", path.display()));
    }
    if ending != Ending::Done {
        output::say(voice, &format!("to go on: deepgp resume {}", run.checkpoint.display()));
    }
    if voice.json {
        output::json(&output::fit_summary(&file, scored.as_ref(), out, run, ending));
    }
    Ok(if ending == Ending::Interrupted { Outcome::Interrupted } else { Outcome::Done })
}

/// Reads the table that the model was fitted to, from where it was or from `elsewhere`, and checks that it is the same.
pub fn training_table(file: &ModelFile, elsewhere: Option<&Path>) -> Result<Dataset> {
    let TableRecord { path, sha256, .. } = &file.record.table;
    let path = elsewhere.unwrap_or(Path::new(path));
    let source = Source::open(path).with_context(|| match elsewhere {
        None => "the table of the fit is not where it was; name it with --table FILE".to_string(),
        Some(_) => "the table of the fit".to_string(),
    })?;
    let found = source.sha256()?;
    if found != *sha256 {
        bail!(
            "{} has changed since the fit began (SHA-256 {}… then, {}… now); name the original with --table FILE",
            path.display(),
            &sha256[..sha256.len().min(12)],
            &found[..12]
        );
    }
    Ok(load(&file.schema, &source)?.0)
}

/// All rows, with their targets, and what is worth knowing about them.
pub fn load(schema: &Schema, source: &Source) -> Result<(Dataset, Vec<String>)> {
    let (chunk, notes) = schema.encoder(source, Targets::Needed)?.read_all()?;
    let y = chunk.y.context("the table has no targets")?;
    Ok((Dataset::new(chunk.x, y)?, notes))
}

/// Training and test rows. The same share and seed give the same rows.
pub fn split(data: &Dataset, test: Option<f64>, seed: u64) -> Result<(Dataset, Option<Dataset>)> {
    Ok(match test {
        None => (data.clone(), None),
        Some(share) => {
            let (train, test) = data.split(share, seed)?;
            (train, Some(test))
        }
    })
}

/// `model.deepgp` and `checkpoint` give `model.deepgp.checkpoint`.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}

/// Before the work, not after it.
fn check_writable(out: &Path) -> Result<()> {
    drop(deepgp_io::atomic::AtomicFile::create(out).with_context(|| format!("cannot write {}", out.display()))?);
    Ok(())
}

fn check_constant(schema: &Schema, data: &Dataset) -> Result<()> {
    let constant = |m: &Mat, c: usize| (1..m.nrows()).all(|i| m[(i, c)] == m[(0, c)]);
    let names = schema.feature_names();
    let found: Vec<&str> = (0..names.len()).filter(|&c| constant(data.x(), c)).map(|c| names[c].as_str()).collect();
    if data.len() > 1 && !found.is_empty() {
        let shown: Vec<String> = found.iter().take(10).map(|name| format!("`{name}`")).collect();
        let value = data.x()[(0, names.iter().position(|name| name == found[0]).unwrap_or(0))];
        bail!(
            "{} of the inputs {} the same in every row ({}: {value}), so nothing can be learnt from {}: leave out with \
             --ignore COLUMN, or keep with --constant keep",
            found.len(),
            if found.len() == 1 { "is" } else { "are" },
            shown.join(", "),
            if found.len() == 1 { "it" } else { "them" },
        );
    }
    Ok(())
}

/// The model in a sentence.
pub fn describe(regressor: &Regressor) -> String {
    let layers = regressor.model.layers();
    let hidden = layers.len() - 1;
    let sizes = match &layers[0].inducing {
        deepgp::Inducing::Tied(z) => format!("{} inducing inputs", z.nrows()),
        deepgp::Inducing::Decoupled { mean, covariance } => {
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
