//! What all runs of the experiments share: the data, the machine, the clock.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Result, bail};
use deepgp::accelerator::Accelerator;
use deepgp::{Dataset, split_rows};
use deepgp_io::table::{Missing, Schema, Source, Wanted};

use crate::arguments::ReproduceArgs;
use crate::data::{RECIPES, Recipe};
use crate::model::rows;
use crate::reproduce::Experiment;
use crate::terminal::interrupt;
use crate::terminal::output::Voice;

/// The datasets of the paper, as files are named after them, and [`DISTINCT`].
pub const DATASETS: &[&str] = &["kin8nm", "protein", "molecules", DISTINCT];
/// The rows of protein whose inputs no earlier row has: random splits of the whole put equal rows on both sides.
pub const DISTINCT: &str = "protein-distinct";
/// The share of rows that models are tested on.
const TEST: f64 = 0.2;
/// Endings of a dataset's file.
const ENDINGS: [&str; 3] = ["csv.gz", "csv", "parquet"];
/// The target's column.
const TARGET: &str = "y";
/// Runs that share a GPU, unless it is told otherwise.
const SHARING: usize = 4;

/// What runs are made with.
#[derive(Debug)]
pub struct Lab {
    tables: HashMap<String, Dataset>,
    /// Where to compute; `None` is the CPU.
    pub accelerator: Option<Arc<dyn Accelerator>>,
    /// Passes over the training rows.
    pub epochs: u64,
    /// Threads of each run.
    pub threads: usize,
    /// Runs made at a time.
    pub jobs: usize,
    /// When to stop, in seconds from the start.
    deadline: Option<f64>,
    /// When the command began.
    started: Instant,
    /// Whether somebody closed it.
    closed: AtomicBool,
    /// How to talk.
    pub voice: Voice,
}

impl Lab {
    /// Reads the tables and opens the device.
    pub fn open(args: &ReproduceArgs) -> Result<Self> {
        let mut tables = HashMap::new();
        // Baselines are those of the tables.
        let also = args.baselines.then_some(Experiment::Tables);
        for name in args.experiments().into_iter().chain(also).flat_map(|experiment| args.datasets_of(experiment)) {
            if !tables.contains_key(&name) {
                tables.insert(name.clone(), load(&args.data, &name)?);
            }
        }
        let accelerator = args.device.open(args.voice)?;
        let jobs = args.jobs.map_or(if accelerator.is_some() { SHARING } else { 1 }, usize::from);
        // Runs that are made at a time have the processor's threads among them.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if args.threads == 0 && jobs > 1 { (cores / jobs).max(1) } else { args.threads };
        Ok(Self {
            tables,
            accelerator,
            epochs: args.epochs,
            threads,
            jobs,
            deadline: args.time_limit.map(|limit| limit.0),
            started: Instant::now(),
            closed: AtomicBool::new(false),
            voice: args.voice,
        })
    }

    /// A dataset that was asked for.
    pub fn table(&self, name: &str) -> &Dataset {
        &self.tables[name]
    }

    /// The rows of a split to learn from, and those to be tested on.
    pub fn split(&self, name: &str, split: u64) -> Result<(Dataset, Dataset)> {
        Ok(self.table(name).split(TEST, split)?)
    }

    /// How many of its rows are trained on.
    pub fn training_rows(&self, name: &str) -> usize {
        split_rows(self.table(name).len(), TEST, 0).map_or(0, |(train, _)| train.len())
    }

    /// The device's name in results.
    pub fn device(&self) -> String {
        self.accelerator.as_ref().map_or_else(|| "cpu".into(), |accelerator| accelerator.name())
    }

    /// Has all runs end.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Whether to stop: somebody asked for it, something failed, or the time is up.
    pub fn closes(&self) -> bool {
        let closed = interrupt::asked() || self.closed.load(Ordering::Relaxed);
        closed || self.deadline.is_some_and(|limit| self.started.elapsed().as_secs_f64() >= limit)
    }
}

/// A dataset of the paper from its file in `folder`.
fn load(folder: &Path, name: &str) -> Result<Dataset> {
    let file = if name == DISTINCT { "protein" } else { name };
    let paths: Vec<PathBuf> = ENDINGS.iter().map(|ending| folder.join(format!("{file}.{ending}"))).collect();
    let Some(path) = paths.iter().find(|path| path.exists()) else {
        let tried: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let help = match Recipe::find(file) {
            Some(_) => format!("run `deepgp data fetch {file} --out {}`, or ", folder.display()),
            None => {
                let others: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
                format!("leave it out with --dataset {}, or ", others.join(","))
            }
        };
        bail!(
            "{name} was not found: {help}put it at one of {}, with the target in the column `{TARGET}`",
            tried.join(", ")
        );
    };
    let source = Source::open(path)?;
    let (targets, ignore, categorical) = (vec![TARGET.to_string()], Vec::new(), Vec::new());
    let (schema, _) = Schema::scan(&source, &Wanted { targets, ignore, categorical, missing: Missing::Reject })?;
    let data = rows::load(&schema, &source)?.0;
    if name == DISTINCT { distinct(&data) } else { Ok(data) }
}

/// The first of all rows with the same inputs, in their order.
fn distinct(data: &Dataset) -> Result<Dataset> {
    let mut seen = std::collections::HashSet::new();
    let bits = |i: u32| data.x().row(i as usize).iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
    let first: Vec<u32> = (0..data.len() as u32).filter(|&i| seen.insert(bits(i))).collect();
    Ok(data.gather(&first)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::Mat;

    impl Lab {
        /// One without tables, on the CPU.
        pub fn empty(jobs: usize) -> Self {
            let voice = Voice { json: false, quiet: true };
            let (tables, accelerator, deadline) = (HashMap::new(), None, None);
            let (started, closed) = (Instant::now(), AtomicBool::new(false));
            Self { tables, accelerator, epochs: 1, threads: 1, jobs, deadline, started, closed, voice }
        }
    }

    #[test]
    fn of_equal_inputs_the_first_row_stays() {
        let x = Mat::from_fn(5, 2, |i, j| [[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [2.0, 4.0], [2.0, 3.0]][i][j]);
        let y = Mat::from_fn(5, 1, |i, _| i as f64);
        let kept = distinct(&Dataset::new(x, y).unwrap()).unwrap();
        assert_eq!(kept.y().as_slice(), [0.0, 1.0, 3.0]);
    }
}
