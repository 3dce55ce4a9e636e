//! The setup that all runs of the experiments share: the datasets, the machine, the time.

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
/// The number of runs that share a GPU, unless another is asked for.
const SHARING: usize = 4;

/// What every run is made with: datasets, device, threads, and when to stop.
#[derive(Debug)]
pub struct Setup {
    tables: HashMap<String, Dataset>,
    /// The device to compute on; `None` is the CPU.
    pub accelerator: Option<Arc<dyn Backend>>,
    /// Passes over the training rows in each run.
    pub epochs: u64,
    /// Steps of each run that is fitted as `deepgp fit` does; `None` for as many as its settings say.
    pub steps: Option<u64>,
    /// Threads of each run.
    pub threads: usize,
    /// The number of runs made at a time.
    pub jobs: usize,
    /// Seconds after the start when all runs are to stop.
    deadline: Option<f64>,
    /// The moment when the command began.
    started: Instant,
    /// Whether all runs are to stop because one failed.
    stopped: AtomicBool,
    /// What is said, and to whom.
    pub voice: Voice,
}

impl Setup {
    /// Reads the datasets that the arguments ask for, and opens the device.
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
            steps: args.steps,
            threads,
            jobs,
            deadline: args.time_limit.map(|limit| limit.0),
            started: Instant::now(),
            stopped: AtomicBool::new(false),
            voice: args.voice,
        })
    }

    /// A dataset that was asked for, whole.
    pub fn table(&self, name: &str) -> &Dataset {
        &self.tables[name]
    }

    /// The training rows and the test rows of a split.
    pub fn split(&self, name: &str, split: u64) -> Result<(Dataset, Dataset)> {
        Ok(self.table(name).split(TEST, split)?)
    }

    /// The number of training rows of a dataset: every split has as many.
    pub fn training_rows(&self, name: &str) -> usize {
        split_rows(self.table(name).len(), TEST, 0).map_or(0, |(train, _)| train.len())
    }

    /// The device's name, as results state it.
    pub fn device(&self) -> String {
        self.accelerator.as_ref().map_or_else(|| "cpu".into(), |accelerator| accelerator.name())
    }

    /// Asks all runs to stop.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether runs are to stop: somebody asked for it, a run failed, or the time is up.
    pub fn is_stopping(&self) -> bool {
        let stopped = interrupt::asked() || self.stopped.load(Ordering::Relaxed);
        stopped || self.deadline.is_some_and(|limit| self.started.elapsed().as_secs_f64() >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Setup {
        /// A setup without datasets, on the CPU.
        pub fn empty(jobs: usize) -> Self {
            let voice = Voice { json: false, quiet: true };
            let (tables, accelerator, deadline) = (HashMap::new(), None, None);
            let (started, stopped) = (Instant::now(), AtomicBool::new(false));
            Self { tables, accelerator, epochs: 1, steps: None, threads: 1, jobs, deadline, started, stopped, voice }
        }
    }
}
