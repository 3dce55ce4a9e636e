//! `deepgp reproduce`: the paper's experiments, a run at a time, beside the paper's numbers.
//!
//! Three experiments: the paper's [`grid`] of models (its section 3), the [`forms`] of its Tables 1 and 2, and where [`inducing`]
//! inputs start. Each finished run is a line of the experiment's [`journal`]; a run that is there is not made again. So the work
//! can be cut at any time and goes on where it was, on several machines too, whose journals are joined with `cat`. Tables, figures
//! and the page that shows them are written anew after every run.

mod bar;
mod forms;
mod grid;
mod inducing;
mod journal;
mod lab;
mod origin;
mod page;
mod part;
mod publish;
mod queue;
mod table;
mod trial;
mod window;
mod wording;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::ReproduceArgs;
use crate::interrupt;
use crate::output::{self, Outcome};
use crate::text::{count, scores};
use grid::baselines;
pub use grid::{MODELS, Model};
pub use lab::DATASETS;
use lab::Lab;
use publish::Folder;

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// The grid of Tables 3 to 6 and Figures 1 and 2.
    Tables,
    /// The forms of Tables 1 and 2.
    Forms,
    /// Where inducing inputs start, and whether they move.
    Inducing,
}

/// The names of [`Experiment`].
pub const EXPERIMENTS: &[&str] = &["tables", "forms", "inducing"];

impl Experiment {
    /// The datasets, unless others are asked for.
    pub fn datasets(self) -> &'static [&'static str] {
        match self {
            Self::Tables => &["kin8nm", "protein", "molecules"],
            Self::Forms => &["kin8nm"],
            Self::Inducing => &["kin8nm", "molecules"],
        }
    }

    /// The hidden layers, likewise.
    pub fn depths(self) -> &'static [usize] {
        match self {
            Self::Tables => &[0, 1, 2, 3, 4],
            Self::Forms => &[1, 2],
            Self::Inducing => &[1],
        }
    }

    /// The splits, likewise.
    pub fn splits(self) -> u64 {
        match self {
            Self::Tables => 5,
            Self::Forms => 1,
            Self::Inducing => 3,
        }
    }
}

/// Runs what is left of the experiments.
pub fn reproduce(args: &ReproduceArgs) -> Result<Outcome> {
    let voice = args.voice;
    interrupt::listen();
    let lab = Lab::open(args)?;
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot make the folder {}", args.out.display()))?;
    let mut folder = Folder::open(&args.out)?;
    if args.baselines {
        for name in args.datasets_of(Experiment::Tables) {
            let splits = args.splits_of(Experiment::Tables);
            baselines::fill(&mut folder.baselines, &name, splits, &lab, |line| {
                let (model, split) = (&line.model, line.split);
                let scores = scores(line.test_log_likelihood, line.test_rmse);
                output::say(voice, &format!("{name}, {model}, split {split}: {scores}"));
            })?;
        }
    }
    folder.publish()?;
    let (mut made, mut stuck) = (0, 0);
    for experiment in args.experiments() {
        let ended = folder.perform(experiment, args, &lab)?;
        made += ended.made;
        stuck += ended.stuck;
        if ended.cut {
            break;
        }
    }
    let counts = args.experiments().into_iter().map(|experiment| folder.count(experiment, args));
    let (runs, done) = counts.fold((0, 0), |(runs, done), (more, of_them)| (runs + more, done + of_them));
    let left = runs - done - stuck;
    let ended = match (left > 0, interrupt::asked()) {
        (false, _) => "done",
        (true, true) => "interrupted",
        (true, false) => "time",
    };
    if left > 0 {
        let why = if interrupt::asked() { "interrupted" } else { "the time is up" };
        let left = if left == 1 { "1 run is left".into() } else { format!("{left} runs are left") };
        output::say(voice, &format!("{why}: {left}; the same command goes on"));
        if made == 0 && !interrupt::asked() {
            output::say(voice, "note: no run was finished in this time, and each begins anew: give it longer");
        }
    }
    output::say(voice, &format!("results: {}", args.out.join("index.html").display()));
    if voice.json {
        let (out, version) = (args.out.display().to_string(), env!("CARGO_PKG_VERSION"));
        output::json(&json!({
            "runs": runs,
            "done": done,
            "stuck": stuck,
            "ended": ended,
            "out": out,
            "version": version
        }))?;
    }
    if stuck > 0 {
        bail!("{} could not be finished: see above for the reasons", count(stuck, "run"));
    }
    Ok(if ended == "interrupted" { Outcome::Interrupted } else { Outcome::Done })
}
