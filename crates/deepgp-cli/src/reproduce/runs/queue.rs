//! The queue of an experiment's runs: made several at a time, with a display of how long the rest will take.
//!
//! On the CPU a run has all threads to itself, unless several at a time are asked for. A GPU is not filled by one small
//! model, so that runs share it, each with a thread of its own here. Results are the same to the last bit either way;
//! times are not.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Result, anyhow};
use deepgp::FitSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::journal::Keyed;
use super::progress::ExperimentProgress;
use super::provenance::Provenance;
use super::setup::Setup;

/// The time between two updates of the display.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A run of an experiment: what tells it from the others, and how it is made.
pub trait Run: Display + PartialEq + Sync {
    /// The line of the journal that holds the result of the run.
    type Line: Keyed<Key = Self> + Serialize + DeserializeOwned + Send;

    /// All settings of the run's fit.
    fn settings(&self, setup: &Setup) -> FitSettings;

    /// Trains and scores the model. It calls [`Slot::show`] as it goes.
    fn make(&self, setup: &Setup, slot: &Slot) -> Result<RunOutcome<Self::Line>>;

    /// The result in a few words, for the terminal.
    fn in_words(line: &Self::Line) -> String;

    /// How the result came about.
    fn provenance(line: &Self::Line) -> &Provenance;
}

/// How a run ended, if it did not fail.
#[derive(Debug)]
pub enum RunOutcome<T> {
    /// The run was made, and this is its result.
    Done(T),
    /// The run was cut short, and will be made another time.
    Cut,
    /// The run could not be finished, for this reason, and cannot be another time either.
    Stuck(String),
}

/// A place in the queue: where a run shows how far it is, and learns how many others share the device.
#[derive(Debug)]
pub struct Slot {
    share: AtomicU64,
    /// The number of runs made at a time, this one included.
    pub sharing: usize,
}

impl Slot {
    /// The place of a run that has not begun.
    fn new(sharing: usize) -> Self {
        Self { share: AtomicU64::new(0), sharing }
    }

    /// Shows the share of the run that is done.
    pub fn show(&self, share: f64) {
        self.share.store(share.to_bits(), Ordering::Relaxed);
    }

    /// The share of the run that is done.
    fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }
}

/// How the work on a queue ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueOutcome {
    /// Whether runs are left, cut short or not begun.
    pub cut: bool,
    /// The number of runs that were made.
    pub made: usize,
    /// The number of runs that could not be finished.
    pub stuck: usize,
}

/// What a worker thread sends when its run has ended.
struct FinishedJob<L> {
    run: usize,
    made: Result<RunOutcome<L>>,
    /// Where the worker waits until the result is in the journal.
    handled: Sender<()>,
}

/// Makes all of `runs`, and hands each result to `keep`. After an error those under way are cut short, and no other is
/// begun.
pub fn make_all<R: Run>(
    runs: &[&R],
    setup: &Setup,
    mut keep: impl FnMut(R::Line) -> Result<()>,
) -> Result<QueueOutcome> {
    let mut progress =
        ExperimentProgress::new(runs.iter().map(|run| work(&run.settings(setup))).collect(), setup.voice.quiet);
    let (next, jobs) = (AtomicUsize::new(0), setup.jobs.min(runs.len()));
    let slots: Vec<Slot> = runs.iter().map(|_| Slot::new(jobs)).collect();
    let (mut made, mut stuck, mut failure) = (0, 0, None);
    std::thread::scope(|scope| {
        let (send, receive) = channel();
        for _ in 0..jobs {
            let (send, next, slots) = (send.clone(), &next, &slots);
            scope.spawn(move || {
                while !setup.is_stopping() {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(run) = runs.get(i) else { break };
                    let made = catch_unwind(AssertUnwindSafe(|| run.make(setup, &slots[i])));
                    let made = made.unwrap_or_else(|_| Err(anyhow!("it broke off; this is a defect of deepgp")));
                    if made.is_err() {
                        // Before anybody, this thread included, looks for the next run.
                        setup.stop();
                    }
                    let (handled, wait) = channel();
                    let sent = send.send(FinishedJob { run: i, made, handled });
                    // A run that has the machine to itself begins when nobody writes tables any more.
                    if sent.is_err() || jobs == 1 && wait.recv().is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        loop {
            let (told, handled) = match receive.recv_timeout(POLL_INTERVAL) {
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => (None, None),
                Ok(FinishedJob { run, made: Ok(RunOutcome::Done(line)), handled }) => {
                    slots[run].show(1.0);
                    made += 1;
                    let told = format!("{}: {}", runs[run], R::in_words(&line));
                    failure = failure.take().or(keep(line).err());
                    (Some(told), Some(handled))
                }
                Ok(FinishedJob { run, made: Ok(RunOutcome::Stuck(reason)), handled }) => {
                    slots[run].show(1.0);
                    stuck += 1;
                    (Some(format!("{}: could not be finished: {reason}", runs[run])), Some(handled))
                }
                Ok(FinishedJob { made: Ok(RunOutcome::Cut), .. }) => (None, None),
                Ok(FinishedJob { run, made: Err(error), .. }) => {
                    failure = failure.take().or(Some(error.context(runs[run].to_string())));
                    (None, None)
                }
            };
            if failure.is_some() {
                setup.stop();
            }
            // Whoever waits for this goes on with the next run, unless all are to stop by then.
            if let Some(handled) = handled {
                let _ = handled.send(());
            }
            progress.show(slots.iter().map(Slot::share), told, runs.len() - made - stuck);
        }
    });
    progress.finish();
    failure.map_or(Ok(QueueOutcome { cut: made + stuck < runs.len(), made, stuck }), Err)
}

/// A rough measure of the work of a run, in no particular unit.
fn work(settings: &FitSettings) -> f64 {
    settings.train.steps as f64 * (settings.model.hidden_layers as f64 + 0.5)
}

#[cfg(test)]
mod tests {
    use std::fmt::{Formatter, Result as Written};

    use serde::Deserialize;

    use super::*;
    use crate::reproduce::runs::provenance::tests::provenance;

    /// A run that ends as its name says.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    enum Fake {
        Good(u32),
        Stuck,
        Wrong,
        Broken,
        /// A run that goes on until all are stopped.
        Long,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct FakeLine {
        run: Fake,
        sharing: usize,
        provenance: Provenance,
    }

    impl Keyed for FakeLine {
        type Key = Fake;

        fn key(&self) -> Fake {
            self.run
        }
    }

    impl Display for Fake {
        fn fmt(&self, f: &mut Formatter<'_>) -> Written {
            write!(f, "{self:?}")
        }
    }

    impl Run for Fake {
        type Line = FakeLine;

        fn settings(&self, _: &Setup) -> FitSettings {
            FitSettings::default()
        }

        fn make(&self, setup: &Setup, slot: &Slot) -> Result<RunOutcome<FakeLine>> {
            slot.show(0.5);
            match self {
                Self::Good(_) => {
                    Ok(RunOutcome::Done(FakeLine { run: *self, sharing: slot.sharing, provenance: provenance(1.0, 1) }))
                }
                Self::Stuck => Ok(RunOutcome::Stuck("no way".into())),
                Self::Wrong => Err(anyhow!("wrong")),
                Self::Broken => panic!("expected by the test"),
                Self::Long => {
                    while !setup.is_stopping() {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    Ok(RunOutcome::Cut)
                }
            }
        }

        fn in_words(_: &FakeLine) -> String {
            String::new()
        }

        fn provenance(line: &FakeLine) -> &Provenance {
            &line.provenance
        }
    }

    /// The results that were kept of `runs`, made `jobs` at a time, and how the queue ended.
    fn worked(runs: &[Fake], jobs: usize) -> (Vec<FakeLine>, Result<QueueOutcome>) {
        let (setup, mut kept) = (Setup::empty(jobs), Vec::new());
        let ended = make_all(&runs.iter().collect::<Vec<_>>(), &setup, |line| {
            kept.push(line);
            Ok(())
        });
        (kept, ended)
    }

    #[test]
    fn every_run_is_made_once_and_one_that_is_stuck_holds_up_nobody() {
        for jobs in [1, 2, 9] {
            let runs = [Fake::Good(0), Fake::Stuck, Fake::Good(1), Fake::Good(2)];
            let (mut kept, ended) = worked(&runs, jobs);
            assert_eq!(ended.unwrap(), QueueOutcome { cut: false, made: 3, stuck: 1 });
            kept.sort_by_key(|line| format!("{:?}", line.run));
            assert_eq!(kept.iter().map(|line| line.run).collect::<Vec<_>>(), [0, 1, 2].map(Fake::Good));
            assert!(kept.iter().all(|line| line.sharing == jobs.min(4)), "no more share it than there are");
        }
        let (kept, ended) = worked(&[], 2);
        assert_eq!((kept.len(), ended.unwrap()), (0, QueueOutcome::default()));
    }

    #[test]
    fn an_error_or_a_panic_ends_the_others_and_is_told() {
        for (bad, told) in [(Fake::Wrong, "Wrong: wrong"), (Fake::Broken, "Broken: it broke off")] {
            let (kept, ended) = worked(&[Fake::Good(0), bad, Fake::Long, Fake::Long, Fake::Good(1)], 2);
            assert!(format!("{:#}", ended.unwrap_err()).starts_with(told));
            assert_eq!(kept.len(), 1, "what was made is kept, and nothing new is begun");
        }
    }

    #[test]
    fn what_cannot_be_kept_ends_the_work() {
        // Often: it is a matter of which thread comes first.
        for _ in 0..1000 {
            let (setup, runs) = (Setup::empty(1), [0, 1, 2].map(Fake::Good));
            let mut asked = 0;
            let ended = make_all(&runs.iter().collect::<Vec<_>>(), &setup, |_| {
                asked += 1;
                Err(anyhow!("the disk is full"))
            });
            assert_eq!(ended.unwrap_err().to_string(), "the disk is full");
            assert_eq!(asked, 1, "no other is begun");
        }
    }

    #[test]
    fn runs_are_cut_when_all_are_to_stop() {
        let setup = Setup::empty(2);
        let runs = [Fake::Long, Fake::Long, Fake::Good(0)];
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                setup.stop();
            });
            make_all(&runs.iter().collect::<Vec<_>>(), &setup, |_| Ok(()))
        });
        assert_eq!(ended.unwrap(), QueueOutcome { cut: true, made: 0, stuck: 0 });
    }
}
