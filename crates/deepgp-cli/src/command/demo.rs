//! `deepgp demo`: the whole way on simulated data. A table of postures of an eight-link arm; models deep and shallow,
//! full and decoupled, beside baselines; and a report on each.

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};
use deepgp::{CovarianceForm, FitSettings, InducingSize, Schedule, Score, Training, simulate};
use deepgp_io::table::{Missing, Schema, Source, Task, Wanted};
use deepgp_io::{TableRecord, atomic};
use serde_json::{Map, Value, json};

use crate::arguments::DemoArgs;
use crate::arguments::paths;
use crate::arguments::value::duration::CheckpointInterval;
use crate::fit::start;
use crate::fit::training_run::{self, Ending, RunOptions};
use crate::model::description::describe;
use crate::model::score::Scored;
use crate::model::scores::Scores;
use crate::model::{json_summary, rows};
use crate::report;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::{number, percent, table as aligned};
use crate::terminal::{date, interrupt, shell};

/// The number of simulated postures, chosen so that the demo takes about a minute on two cores.
const ROWS: usize = 3000;
/// Steps of training of each model.
const STEPS: u64 = 1000;
/// The seed of simulation, split and training.
const SEED: u64 = 1;
/// The share of postures that models are tested on.
const TEST: f64 = 0.2;

/// The models: name of the file, number of hidden layers, inducing inputs.
const MODELS: [(&str, usize, Sizes); 4] = [
    ("sparse-gp", 0, Sizes::Full(100)),
    ("full", 1, Sizes::Full(100)),
    ("decoupled", 1, Sizes::Decoupled(250, 100)),
    ("decoupled-deep", 2, Sizes::Decoupled(250, 100)),
];

/// Inducing inputs of a model in the comparison: of both, or of the mean and of the covariance.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    Full(usize),
    Decoupled(usize, usize),
}

/// Simulates a table, trains the models, compares them, and writes a report on each.
pub fn demo(args: DemoArgs) -> Result<Outcome> {
    let DemoArgs { out, threads, voice } = args;
    interrupt::listen();
    fs::create_dir_all(&out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let path = out.join("arm.csv");
    atomic::write(&path, arm().as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    output::say(voice, "How far is the tip of a robot arm from a point, given the angles of its eight joints?");
    output::say(voice, &format!("{ROWS} simulated postures: {}\n", path.display()));
    let source = Source::open(&path)?;
    // Missing cells are refused: these tables have none.
    let targets = vec!["distance".to_string()];
    let wanted = Wanted { targets, missing: Missing::Reject, task: Task::Regression, ..Wanted::default() };
    let (schema, _) = Schema::scan(&source, &wanted)?;
    let data = rows::load(&schema, &source, rows::reading(voice))?.data;
    let (train, test) = data.split(TEST, SEED)?;
    let table =
        TableRecord { path: paths::absolute(&path), more: Vec::new(), sha256: source.sha256()?, rows: data.len() };
    let mut lines: Vec<Line> = Vec::new();
    let mut summary = Map::new();
    for (name, hidden_layers, inducing) in MODELS {
        let started = Instant::now();
        let out_file = out.join(format!("{name}.deepgp"));
        let settings = settings(hidden_layers, inducing, threads);
        let training = Training::new(&train, &settings)?;
        let mut file = start::begin(&schema, &table, settings, &training);
        file.record.test = Some(TEST);
        file.record.test_rows = test.len();
        file.record.out = paths::absolute(&out_file);
        output::say(voice, &describe(&file.regressor));
        let checkpoint = paths::beside(&out_file, "checkpoint");
        let run = RunOptions {
            checkpoint,
            every: CheckpointInterval::default(),
            time_limit: None,
            lock: None,
            quiet: voice.quiet,
        };
        let training_run::FinishedRun { mut file, ending, .. } = training_run::train(file, training, &run)?;
        if ending == Ending::Interrupted {
            output::say(voice, &format!("to go on: deepgp resume {}", shell::word(&run.checkpoint)));
            return Ok(Outcome::Interrupted);
        }
        let seconds = started.elapsed().as_secs_f64();
        let Some(scored) = Scored::new(&file, Some(&train), &test, threads, voice)? else {
            output::say(voice, "interrupted");
            return Ok(Outcome::Interrupted);
        };
        file.record.scores = scored.records();
        file.record.written = date::now();
        file.save(&out_file)?;
        let _ = atomic::remove(&run.checkpoint);
        output::notes(voice, &file.record.notes);
        if lines.is_empty() {
            let baselines = scored.scores.iter().filter(|own| own.of.baseline().is_some());
            lines.extend(baselines.map(|own| Line {
                name: own.of.to_string(),
                score: own.score.clone(),
                seconds: None,
            }));
        }
        let label = format!("{} ({name})", own_name(hidden_layers, inducing));
        summary.insert(name.into(), json_summary::score(&scored.scores[0].score, test.len(), &schema.targets));
        lines.push(Line { name: label, score: scored.scores[0].score.clone(), seconds: Some(seconds) });
        let scored = Scores::Numbers(scored);
        let content = report::of_fit(&file, Some(&scored), Some(&train), None)?;
        report::write_page(&content, &out.join(format!("{name}.html")))?;
    }
    lines.sort_by(|a, b| a.score.log_likelihood.total_cmp(&b.score.log_likelihood));
    let result = format!("\nOn {} test postures:\n{}", test.len(), comparison(&lines));
    if voice.json {
        output::say(voice, &result);
    } else {
        output::print_text(&format!("{result}\n"))?;
    }
    let report = out.join("decoupled-deep.html");
    output::say(voice, &format!("report: {}", report.display()));
    output::say(
        voice,
        &format!(
            "try:    deepgp predict {} {} --quantiles 0.05,0.95 --out predictions.csv",
            shell::word(&out.join("decoupled-deep.deepgp")),
            shell::word(&path)
        ),
    );
    if voice.json {
        for own in lines.iter().filter(|own| own.seconds.is_none()) {
            summary.insert(own.name.clone(), json_summary::score(&own.score, test.len(), &schema.targets));
        }
        let version = env!("CARGO_PKG_VERSION");
        output::json(&json!({ "test": Value::Object(summary), "out": out.display().to_string(), "version": version }))?;
    }
    Ok(Outcome::Done)
}

/// The settings of a model's fit.
fn settings(hidden_layers: usize, sizes: Sizes, threads: usize) -> FitSettings {
    let mut settings = FitSettings { validation: None, ..FitSettings::plain() };
    settings.model.hidden_layers = hidden_layers;
    (settings.model.inducing, settings.model.covariance_form) = match sizes {
        Sizes::Full(m) => (InducingSize::Tied(m), CovarianceForm::Whitened),
        Sizes::Decoupled(mean, covariance) => (InducingSize::nested(mean, covariance), CovarianceForm::Diagonal),
    };
    settings.train.steps = STEPS;
    settings.train.schedule = Schedule::COSINE;
    settings.train.seed = SEED;
    settings.train.threads = threads;
    settings
}

/// The simulated table as CSV.
fn arm() -> String {
    let data = simulate::eight_link_arm(ROWS, SEED);
    let mut text = (1..=8).map(|joint| format!("angle{joint},")).collect::<String>() + "distance\n";
    for i in 0..data.len() {
        for angle in data.x().row(i) {
            // Writing to a text cannot fail.
            let _ = write!(text, "{angle},");
        }
        let _ = writeln!(text, "{}", data.y()[(i, 0)]);
    }
    text
}

/// The name of a model in the comparison.
fn own_name(hidden: usize, sizes: Sizes) -> String {
    let sizes = match sizes {
        Sizes::Full(m) => format!("full {m}"),
        Sizes::Decoupled(mean, covariance) => format!("decoupled {mean}/{covariance}"),
    };
    match hidden {
        0 => format!("one layer, {sizes}"),
        1 => format!("1 hidden layer, {sizes}"),
        _ => format!("{hidden} hidden layers, {sizes}"),
    }
}

/// A model in the comparison of all.
struct Line {
    name: String,
    score: Score,
    /// Seconds of training; `None` for a baseline.
    seconds: Option<f64>,
}

/// A table that compares the models, from worst to best.
fn comparison(lines: &[Line]) -> String {
    let mut rows = vec![["", "log likelihood", "RMSE", "in 95 %", "seconds"].map(String::from).to_vec()];
    for Line { name, score, seconds } in lines {
        let seconds = seconds.map_or(String::new(), |seconds| format!("{seconds:.1}"));
        let numbers = [number(score.log_likelihood), number(score.rmse[0]), percent(score.coverage_95[0]), seconds];
        rows.push([name.clone()].into_iter().chain(numbers).collect());
    }
    aligned(&rows)
}
