//! Threads that predict: each takes the request that has waited longest, and works on it until it is answered or its time is up.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::sync::oneshot;

use super::predictions::{Answer, Predictions};
use super::refusal::Refusal;

/// How many requests may wait to be worked on.
const QUEUE: usize = 64;

/// A request that has come whole.
#[derive(Debug)]
pub struct Job {
    /// Its body.
    pub body: Bytes,
    /// When its time is up.
    pub deadline: Instant,
    /// Where its answer goes.
    pub answer: oneshot::Sender<Result<Answer, Refusal>>,
}

/// Runs `work` beside threads that do the jobs it is given a queue for, and waits for both.
pub fn beside<R>(predictions: &Predictions<'_>, work: impl FnOnce(SyncSender<Job>) -> R) -> R {
    // Two at least, so that a small request need not wait for a large one.
    let threads = thread::available_parallelism().map_or(2, |count| count.get().max(2));
    let (queue, jobs) = sync_channel(QUEUE);
    let jobs = Mutex::new(jobs);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(job) = next(&jobs) {
                    job.run(predictions)
                }
            });
        }
        work(queue)
    })
}

/// The next job; `None` when nobody can send one any more.
fn next(jobs: &Mutex<Receiver<Job>>) -> Option<Job> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Job {
    fn run(self, predictions: &Predictions<'_>) {
        let Self { body, deadline, answer } = self;
        let go_on = || {
            if answer.is_closed() || Instant::now() >= deadline { Err(late(predictions.limits().time)) } else { Ok(()) }
        };
        // A request must not take the server down, whatever is wrong with us.
        let done = panic::catch_unwind(AssertUnwindSafe(|| go_on().and_then(|()| predictions.answer(&body, &go_on))));
        let broken = |_| {
            Err(Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the request hit a mistake of the program: please report it",
            ))
        };
        // Whoever has gone away does not hear it.
        let _ = answer.send(done.unwrap_or_else(broken));
    }
}

/// The refusal of a request whose time is up.
pub fn late(time: Duration) -> Refusal {
    let seconds = time.as_secs_f64();
    let message = format!(
        "there was no answer within {seconds} s (--request-time): send fewer rows, or ask again when the server has less to do"
    );
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message)
}
