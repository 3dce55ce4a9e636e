//! `deepgp reproduce`: makes the runs of the paper's experiments that are not made yet.

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::arguments::ReproduceArgs;
use crate::reproduce::folder::Folder;
use crate::reproduce::runs::setup::Setup;
use crate::reproduce::{Experiment, baselines};
use crate::terminal::interrupt;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::{count, scores};

/// Makes the runs that the folder of results lacks, and says how many are left.
pub fn reproduce(args: &ReproduceArgs) -> Result<Outcome> {
    let voice = args.voice;
    interrupt::listen();
    let setup = Setup::open(args)?;
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot make the folder {}", args.out.display()))?;
    let mut folder = Folder::open(&args.out)?;
    if args.baselines {
        for name in args.datasets_of(Experiment::Tables) {
            let splits = args.splits_of(Experiment::Tables);
            baselines::fill(&mut folder.baselines, &name, splits, &setup, |line| {
                let (model, split) = (&line.model, line.split);
                let scores = scores(line.test_log_likelihood, line.test_rmse);
                output::say(voice, &format!("{name}, {model}, split {split}: {scores}"));
            })?;
        }
    }
    folder.publish()?;
    let (mut made, mut stuck) = (0, 0);
    for experiment in args.experiments() {
        let ended = folder.perform(experiment, args, &setup)?;
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
