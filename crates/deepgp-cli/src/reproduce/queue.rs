//! Works off the runs of an experiment, several at a time, and tells how long the rest will take.
//!
//! On the CPU a run has all threads to itself. A GPU is not filled by one small model, so runs share it, each with a thread of its
//! own here; their results do not hang on it, to the last bit.

use std::fmt::Display;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use deepgp::FitSettings;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::journal::Keyed;
use super::lab::Lab;
use crate::progress::duration;

/// Steps of the bar.
const FINE: u64 = 1000;
/// Seconds between lines where there is no terminal.
const LINE_EVERY: f64 = 30.0;

/// One run of an experiment: what tells it from the others, and how it is made.
pub trait Run: Display + PartialEq + Sync {
    /// What is written down of it.
    type Line: Keyed<Key = Self> + Serialize + DeserializeOwned + Send;

    /// All settings.
    fn settings(&self, lab: &Lab) -> FitSettings;

    /// Makes it. [`Meter::show`] is to be called now and then.
    fn make(&self, lab: &Lab, meter: &Meter) -> Result<Made<Self::Line>>;

    /// Its results in a few words.
    fn told(line: &Self::Line) -> String;

    /// How many steps a line was asked for.
    fn steps_of(line: &Self::Line) -> Option<u64>;
}

/// How a run ended, unless it failed.
#[derive(Debug)]
pub enum Made<T> {
    /// It was made.
    Done(T),
    /// It was cut short, and will be made another time.
    Cut,
    /// Training could not go on, for this reason.
    Stuck(String),
}

/// How far a run is.
#[derive(Debug, Default)]
pub struct Meter(AtomicU64);

impl Meter {
    /// Shows the share of the run that is done.
    pub fn show(&self, share: f64) {
        self.0.store(share.to_bits(), Ordering::Relaxed);
    }

    fn share(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

/// How the work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All runs are there.
    Whole,
    /// Some are left.
    Cut,
}

/// Makes `runs`, and hands each finished one to `keep`.
pub fn work_off<R: Run>(runs: &[&R], lab: &Lab, mut keep: impl FnMut(R::Line) -> Result<()>) -> Result<Ended> {
    let mut bar = Bar::new(runs.iter().map(|run| work(&run.settings(lab))).collect(), lab.voice.quiet);
    let (next, closed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let meters: Vec<Meter> = runs.iter().map(|_| Meter::default()).collect();
    let (mut made, mut stuck, mut failure) = (0, 0, None);
    std::thread::scope(|scope| {
        let (send, receive) = channel();
        for _ in 0..lab.jobs.min(runs.len()) {
            let (send, next, closed, meters) = (send.clone(), &next, &closed, &meters);
            scope.spawn(move || {
                while !closed.load(Ordering::Relaxed) && !lab.closes() {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(run) = runs.get(i) else { break };
                    if send.send((i, run.make(lab, &meters[i]))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        loop {
            let told = match receive.recv_timeout(Duration::from_millis(500)) {
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) | Ok((_, Ok(Made::Cut))) => None,
                Ok((i, Ok(Made::Done(line)))) => {
                    meters[i].show(1.0);
                    made += 1;
                    let told = format!("{}: {}", runs[i], R::told(&line));
                    failure = failure.take().or(keep(line).err());
                    Some(told)
                }
                Ok((i, Ok(Made::Stuck(reason)))) => {
                    meters[i].show(1.0);
                    stuck += 1;
                    Some(format!("{}: training could not go on: {reason}", runs[i]))
                }
                Ok((i, Err(error))) => {
                    failure = failure.take().or(Some(error.context(runs[i].to_string())));
                    None
                }
            };
            closed.store(failure.is_some(), Ordering::Relaxed);
            bar.show(&meters, told, runs.len() - made - stuck);
        }
    });
    bar.finish();
    match failure {
        Some(error) => Err(error),
        None if made + stuck < runs.len() => Ok(Ended::Cut),
        None if stuck > 0 => bail!("{stuck} runs got stuck; the same command tries them again"),
        None => Ok(Ended::Whole),
    }
}

/// About how much work a run is, in no particular unit.
fn work(settings: &FitSettings) -> f64 {
    settings.train.steps as f64 * (settings.model.hidden_layers as f64 + 0.5)
}

/// What is done of all runs, and how long the rest will take: a bar on a terminal, lines elsewhere.
struct Bar {
    work: Vec<f64>,
    started: Instant,
    bar: Option<ProgressBar>,
    quiet: bool,
    last_line: Instant,
}

impl Bar {
    fn new(work: Vec<f64>, quiet: bool) -> Self {
        let bar = (std::io::stderr().is_terminal() && !quiet && !work.is_empty()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(FINE), ProgressDrawTarget::stderr_with_hz(4));
            let style = ProgressStyle::with_template("{bar:30.cyan/dim} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
            bar
        });
        let now = Instant::now();
        Self { work, started: now, bar, quiet, last_line: now }
    }

    /// Shows where all runs are; `told` is news of one of them.
    fn show(&mut self, meters: &[Meter], told: Option<String>, left: usize) {
        let all: f64 = self.work.iter().sum();
        let done = meters.iter().zip(&self.work).map(|(meter, work)| meter.share() * work).sum::<f64>() / all;
        let ahead = duration(self.started.elapsed().as_secs_f64() * (1.0 - done) / done);
        let rest = if left > 0 && done > 0.0 { format!("{left} runs left, about {ahead}") } else { String::new() };
        if let Some(bar) = &self.bar {
            if let Some(told) = told {
                bar.println(told);
            }
            bar.set_position((done * FINE as f64) as u64);
            bar.set_message(rest);
        } else if !self.quiet && (told.is_some() || self.last_line.elapsed().as_secs_f64() >= LINE_EVERY) {
            let parts: Vec<String> = told.into_iter().chain([rest]).filter(|part| !part.is_empty()).collect();
            eprintln!("{}", parts.join("; "));
            self.last_line = Instant::now();
        }
    }

    fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
