//! Progress of work that cannot say how far it is, such as a regression: whoever waits sees what is being done, and for how long.

use std::convert::Infallible;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::output::Voice;
use super::stage::{Extent, Stage};

/// How often it is looked whether a line is due.
const EVERY: Duration = Duration::from_millis(100);

/// The display of work that cannot say how far it is. It goes when it is dropped.
#[derive(Debug)]
pub struct Waiting {
    /// Closed when the work is done.
    work: Option<Sender<Infallible>>,
    teller: Option<JoinHandle<()>>,
}

impl Waiting {
    /// The display of work that begins now.
    pub fn new(voice: Voice, what: impl Into<String>) -> Self {
        if voice.quiet {
            return Self { work: None, teller: None };
        }
        let (work, done) = channel::<Infallible>();
        let mut stage = Stage::new(voice, what, Extent::Unmeasured);
        let tell = move || {
            while matches!(done.recv_timeout(EVERY), Err(RecvTimeoutError::Timeout)) {
                stage.show(0);
            }
        };
        // Work is done without a display too.
        Self { work: Some(work), teller: thread::Builder::new().name("progress".into()).spawn(tell).ok() }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.work.take());
        if let Some(teller) = self.teller.take() {
            let _ = teller.join();
        }
    }
}
