//! Works off the runs of an experiment, several at a time, and tells how long the rest will take.
//!
//! On the CPU a run has all threads to itself, unless several are asked for. A GPU is not filled by one small model, so runs share it, each with a thread of its
//! own here. What they find does not hang on it, to the last bit; how long they take does.

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

/// How often to look how far runs are.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// One run of an experiment: what tells it from the others, and how it is made.
pub trait Run: Display + PartialEq + Sync {
    /// What is written down of it.
    type Line: Keyed<Key = Self> + Serialize + DeserializeOwned + Send;

    /// All settings.
    fn settings(&self, setup: &Setup) -> FitSettings;

    /// Makes it. [`Slot::show`] is to be called now and then.
    fn make(&self, setup: &Setup, slot: &Slot) -> Result<RunOutcome<Self::Line>>;

    /// Its results in a few words.
    fn in_words(line: &Self::Line) -> String;

    /// How it came about.
    fn provenance(line: &Self::Line) -> &Provenance;
}

/// How a run ended, unless it failed.
#[derive(Debug)]
pub enum RunOutcome<T> {
    /// It was made.
    Done(T),
    /// It was cut short, and will be made another time.
    Cut,
    /// It could not be finished, for this reason, and cannot be another time either.
    Stuck(String),
}

/// A run's place among those made at the same time.
#[derive(Debug)]
pub struct Slot {
    share: AtomicU64,
    /// How many runs are made at a time, this one included.
    pub sharing: usize,
}

impl Slot {
    fn new(sharing: usize) -> Self {
        Self { share: AtomicU64::new(0), sharing }
    }

    /// Shows the share of the run that is done.
    pub fn show(&self, share: f64) {
        self.share.store(share.to_bits(), Ordering::Relaxed);
    }

    fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }
}

/// How the work ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueOutcome {
    /// Whether runs are left that were cut short or not begun.
    pub cut: bool,
    /// How many were made.
    pub made: usize,
    /// How many could not be finished.
    pub stuck: usize,
}

/// FinishedJob of one run.
struct FinishedJob<L> {
    run: usize,
    made: Result<RunOutcome<L>>,
    /// To be told when it has been dealt with.
    handled: Sender<()>,
}

/// Makes `runs`, and hands each finished one to `keep`. After an error those under way are cut, and no other is begun.
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
            // Whoever waits for this goes on with the next run, unless the lab has closed by then.
            if let Some(handled) = handled {
                let _ = handled.send(());
            }
            progress.show(slots.iter().map(Slot::share), told, runs.len() - made - stuck);
        }
    });
    progress.finish();
    failure.map_or(Ok(QueueOutcome { cut: made + stuck < runs.len(), made, stuck }), Err)
}

/// About how much work a run is, in no particular unit.
fn work(settings: &FitSettings) -> f64 {
    settings.train.steps as f64 * (settings.model.hidden_layers as f64 + 0.5)
}

#[cfg(test)]
mod tests {
    use std::fmt::{Formatter, Result as Written};

    use serde::Deserialize;

    use super::*;
    use crate::reproduce::runs::provenance::tests::provenance;

    /// A run that ends as it is told to.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    enum Fake {
        Good(u32),
        Stuck,
        Wrong,
        Broken,
        /// Until the lab closes.
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

    /// What was kept, and how it ended.
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
    fn runs_are_cut_when_the_lab_closes() {
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
