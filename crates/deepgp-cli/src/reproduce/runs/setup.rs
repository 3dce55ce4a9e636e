//! What all runs of the experiments share: the data, the machine, the clock.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Result;
use deepgp::backend::Backend;
use deepgp::{Dataset, split_rows};

use crate::arguments::ReproduceArgs;
use crate::reproduce::Experiment;
use crate::reproduce::datasets::load;
use crate::terminal::interrupt;
use crate::terminal::output::Voice;

/// The share of rows that models are tested on.
const TEST: f64 = 0.2;
/// Runs that share a GPU, unless it is told otherwise.
const SHARING: usize = 4;

/// What runs are made with.
#[derive(Debug)]
pub struct Setup {
    tables: HashMap<String, Dataset>,
    /// Where to compute; `None` is the CPU.
    pub accelerator: Option<Arc<dyn Backend>>,
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

impl Setup {
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
    pub fn stop(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Whether to stop: somebody asked for it, something failed, or the time is up.
    pub fn is_stopping(&self) -> bool {
        let closed = interrupt::asked() || self.closed.load(Ordering::Relaxed);
        closed || self.deadline.is_some_and(|limit| self.started.elapsed().as_secs_f64() >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Setup {
        /// One without tables, on the CPU.
        pub fn empty(jobs: usize) -> Self {
            let voice = Voice { json: false, quiet: true };
            let (tables, accelerator, deadline) = (HashMap::new(), None, None);
            let (started, closed) = (Instant::now(), AtomicBool::new(false));
            Self { tables, accelerator, epochs: 1, threads: 1, jobs, deadline, started, closed, voice }
        }
    }
}
