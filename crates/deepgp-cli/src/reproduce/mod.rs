//! `deepgp reproduce`: the experiments of the paper's section 3, a run at a time, beside the paper's numbers.
//!
//! Each finished run is a line of `results.jsonl`; a run that is there is not made again. So the grid can be cut at any time and
//! goes on where it was, on several machines too, whose results are joined with `cat`. Tables and figures are written anew after every
//! run.

mod baselines;
mod cell;
mod figures;
mod paper;
mod results;
mod summary;
mod tables;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use deepgp::accelerator::Accelerator;
use deepgp::{Dataset, PredictSettings, Regressor, Score, StepOutcome, Stop};
use deepgp_io::NoiseWatch;
use deepgp_io::atomic;
use deepgp_io::table::{Missing, Schema, Source, Wanted};
use serde_json::json;

use crate::args::ReproduceArgs;
use crate::data::Recipe;
use crate::output::{self, Outcome};
use crate::progress::{Progress, Pulse, duration};
use crate::text::number;
use crate::{interrupt, picture, rows};
use baselines::BaselineLine;
use cell::{Cell, TEST};
pub use cell::{DATASETS, MODELS, Model};
use results::{Line, Results};

/// Endings of a dataset's file.
const ENDINGS: [&str; 3] = ["csv.gz", "csv", "parquet"];
/// The target's column.
const TARGET: &str = "y";

/// Runs what is left of the grid.
pub fn reproduce(args: &ReproduceArgs) -> Result<Outcome> {
    let voice = args.voice;
    interrupt::listen();
    let tables: HashMap<&str, Dataset> =
        args.dataset.iter().map(|name| Ok((name.as_str(), load(&args.data, name)?))).collect::<Result<_>>()?;
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot make the folder {}", args.out.display()))?;
    let mut results = Results::<Line>::open(&args.out.join("results.jsonl"))?;
    let accelerator = args.device.open(voice)?;
    if args.baselines {
        for name in &args.dataset {
            let path = args.out.join("baselines.jsonl");
            baselines::fill(&path, name, &tables[name.as_str()], args.splits, args.threads, |line| {
                let scores = [line.test_log_likelihood, line.test_rmse].map(number);
                let (model, split) = (&line.model, line.split);
                output::say(
                    voice,
                    &format!("{name}, {model}, split {split}: log likelihood {}, RMSE {}", scores[0], scores[1]),
                );
            })?;
        }
    }
    publish(&args.out, &results.lines)?;
    let wanted = grid(args);
    let left: Vec<&Cell> = wanted.iter().filter(|cell| !results.has(cell)).collect();
    let device = accelerator.as_ref().map_or_else(|| "the CPU".into(), |accelerator| accelerator.name());
    output::say(
        voice,
        &format!("{} runs, {} of them done; computing on {device}", wanted.len(), wanted.len() - left.len()),
    );
    let started = Instant::now();
    let work = |cell: &Cell| cell.work(steps(cell, args, &tables[cell.dataset.as_str()]));
    let (all_work, mut done, mut cut) = (left.iter().map(|cell| work(cell)).sum::<f64>(), 0.0, false);
    for (i, cell) in left.iter().enumerate() {
        let Some(line) = run(cell, args, &tables[cell.dataset.as_str()], accelerator.as_ref(), started)? else {
            let why = if interrupt::asked() { "interrupted" } else { "the time is up" };
            output::say(voice, &format!("{why}: {} runs are left; the same command goes on", left.len() - i));
            cut = true;
            break;
        };
        done += work(cell);
        let scores = [line.test_log_likelihood, line.test_rmse].map(number);
        let told = format!("{cell}: log likelihood {}, RMSE {}, {}", scores[0], scores[1], duration(line.seconds));
        results.add(line)?;
        publish(&args.out, &results.lines)?;
        let ahead = duration(started.elapsed().as_secs_f64() * (all_work - done) / done);
        let more = left.len() - i - 1;
        output::say(voice, &if more > 0 { format!("{told}; {more} runs left, about {ahead}") } else { told });
    }
    output::say(voice, &format!("tables: {}", args.out.join("tables.md").display()));
    if voice.json {
        let done = wanted.iter().filter(|cell| results.has(cell)).count();
        let (out, version) = (args.out.display().to_string(), env!("CARGO_PKG_VERSION"));
        output::json(&json!({ "runs": wanted.len(), "done": done, "out": out, "version": version }))?;
    }
    Ok(if cut && interrupt::asked() { Outcome::Interrupted } else { Outcome::Done })
}

/// All runs that were asked for: shallow ones first, so that a cut leaves whole rows of the tables.
fn grid(args: &ReproduceArgs) -> Vec<Cell> {
    let mut all = Vec::new();
    for dataset in &args.dataset {
        for &hidden in &args.hidden_layers {
            for &model in &args.models {
                let cell = |split| Cell { dataset: dataset.clone(), hidden, model, split };
                all.extend((0..args.splits).map(cell));
            }
        }
    }
    all
}

fn steps(cell: &Cell, args: &ReproduceArgs, data: &Dataset) -> u64 {
    let test = (TEST * data.len() as f64).round() as usize;
    cell.settings(args.epochs, data.len() - test, args.threads).train.steps
}

/// A dataset of the paper from its file in `folder`.
fn load(folder: &Path, name: &str) -> Result<Dataset> {
    let paths: Vec<PathBuf> = ENDINGS.iter().map(|ending| folder.join(format!("{name}.{ending}"))).collect();
    let Some(path) = paths.iter().find(|path| path.exists()) else {
        let tried: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let help = match Recipe::find(name) {
            Some(_) => format!("run `deepgp data fetch {name} --out {}`, or ", folder.display()),
            None => String::new(),
        };
        bail!(
            "{name} was not found: {help}put it at one of {}, with the target in the column `{TARGET}`",
            tried.join(", ")
        );
    };
    let source = Source::open(path)?;
    let (targets, ignore, categorical) = (vec![TARGET.to_string()], Vec::new(), Vec::new());
    let (schema, _) = Schema::scan(&source, &Wanted { targets, ignore, categorical, missing: Missing::Reject })?;
    Ok(rows::load(&schema, &source)?.0)
}

/// Makes one run; nothing if it was cut short.
fn run(
    cell: &Cell,
    args: &ReproduceArgs,
    data: &Dataset,
    accelerator: Option<&Arc<dyn Accelerator>>,
    grid_started: Instant,
) -> Result<Option<Line>> {
    let (train, test) = data.split(TEST, cell.split)?;
    let settings = cell.settings(args.epochs, train.len(), args.threads);
    let mut start = Regressor::start(&train, &settings).with_context(|| cell.to_string())?;
    start.model = start.model.computed_on(accelerator.cloned());
    let watch = NoiseWatch::new(&start);
    let mut progress = Progress::new(settings.train.steps, 0, args.voice.quiet);
    let started = Instant::now();
    let fit = start.train(&train, &settings, |report, state| {
        if let StepOutcome::Taken(elbo) = &report.outcome {
            progress.show(Pulse {
                step: report.step,
                epoch: report.epoch,
                elbo: elbo.total(),
                data_term: elbo.data_term,
                kl: elbo.kl.iter().sum(),
                noise: watch.deviation(state),
                validation: None,
            });
        }
        let late = args.time_limit.is_some_and(|limit| grid_started.elapsed().as_secs_f64() >= limit.0);
        if late || interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let seconds = started.elapsed().as_secs_f64();
    progress.finish();
    let fit = fit.with_context(|| cell.to_string())?;
    match fit.stop {
        Stop::Callback => return Ok(None),
        Stop::Stuck(reason) => bail!("{cell}: training could not go on: {reason}"),
        Stop::Steps | Stop::Patience => {}
    }
    let predict = PredictSettings { threads: args.threads, ..PredictSettings::default() };
    let score = Score::new(test.y().view(), &fit.regressor.predictor(predict)?.assess(&test)?);
    Ok(Some(Line {
        dataset: cell.dataset.clone(),
        model: cell.model,
        hidden: cell.hidden,
        split: cell.split,
        seed: cell.split,
        test_log_likelihood: score.log_likelihood,
        test_rmse: score.rmse[0],
        test_crps: score.crps[0],
        test_coverage_95: score.coverage_95[0],
        seconds,
        steps: fit.state.step,
        device: accelerator.map_or_else(|| "cpu".into(), |accelerator| accelerator.name()),
        settings: serde_json::to_value(&settings)?,
        version: env!("CARGO_PKG_VERSION").into(),
    }))
}

/// Tables and figures of all results so far.
fn publish(folder: &Path, lines: &[Line]) -> Result<()> {
    let write = |name: String, bytes: &[u8]| {
        let path = folder.join(name);
        atomic::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    let path = folder.join("baselines.jsonl");
    let baselines = if path.exists() { Results::<BaselineLine>::open(&path)?.lines } else { Vec::new() };
    write("tables.md".into(), tables::markdown(lines, &baselines).as_bytes())?;
    write("tables.tex".into(), tables::latex(lines).as_bytes())?;
    for (name, picture) in figures::figures(lines) {
        let svg = picture.standalone();
        write(format!("{name}.svg"), svg.as_bytes())?;
        write(format!("{name}.png"), &picture::png(&svg).map_err(|reason| anyhow!("{name}: {reason}"))?)?;
    }
    Ok(())
}
