//! Work that does not look for signals itself, such as reading a table or a regression. If a signal comes meanwhile, or a deadline, the process
//! says its last words and ends at once: whatever is finished has been saved before such work begins.
//!
//! A thread looks for both a few times a second. One such piece of work is watched at a time.

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::low_level;

use super::{interrupt, output};

/// How often it is looked for signals.
const EVERY: Duration = Duration::from_millis(20);

/// What is done before the process ends; returns its exit code.
type LastWords = Box<dyn FnOnce() -> u8 + Send>;

/// The work that is watched, if any.
static WATCHED: Mutex<Option<Watched>> = Mutex::new(None);
/// Whether there is a thread that watches.
static WATCHER: OnceLock<()> = OnceLock::new();

/// What is to happen if the work is cut short.
struct Watched {
    on_signal: LastWords,
    deadline: Option<(Instant, LastWords)>,
}

impl Watched {
    /// The last words, if it is time for them.
    fn last_words(self) -> Result<LastWords, Self> {
        match self {
            Self { on_signal, .. } if interrupt::asked() => Ok(on_signal),
            Self { deadline: Some((at, words)), .. } if Instant::now() >= at => Ok(words),
            other => Err(other),
        }
    }
}

/// Work that may be abandoned, as long as this value lives.
#[must_use = "work may be abandoned only while this value lives"]
pub struct Abandonable(());

impl Abandonable {
    /// Work that begins now, and is abandoned if a signal comes: then `last_words` are said, and the process ends as an interrupted one.
    pub fn new(last_words: impl FnOnce() + Send + 'static) -> Self {
        interrupt::listen();
        let on_signal: LastWords = Box::new(|| {
            last_words();
            interrupt::EXIT_CODE
        });
        *watched() = Some(Watched { on_signal, deadline: None });
        // Without a thread, signals are heard where work looks for them itself.
        WATCHER.get_or_init(|| drop(thread::Builder::new().name("signals".into()).spawn(watch)));
        Self(())
    }

    /// The same work, which is also abandoned at this moment: then `last_words` are said, which return the exit code.
    pub fn until(self, moment: Instant, last_words: impl FnOnce() -> u8 + Send + 'static) -> Self {
        if let Some(own) = &mut *watched() {
            own.deadline = Some((moment, Box::new(last_words)));
        }
        self
    }

    /// The work is done. A signal of the last moment counts too, as the work may have heard it, and have been cut short; a deadline does not.
    pub fn done(self) {
        if let Some(Watched { on_signal, .. }) = watched().take().filter(|_| interrupt::asked()) {
            end(on_signal);
        }
    }
}

impl fmt::Debug for Abandonable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Abandonable")
    }
}

impl Drop for Abandonable {
    fn drop(&mut self) {
        *watched() = None;
    }
}

/// Looks for signals and deadlines. The lock is held until the process has ended, so that work which is just done does not go on.
fn watch() {
    loop {
        thread::sleep(EVERY);
        let mut own = watched();
        match own.take().map(Watched::last_words) {
            None => {}
            Some(Err(later)) => *own = Some(later),
            Some(Ok(last_words)) => end(last_words),
        }
    }
}

/// Says the last words, and ends the process.
fn end(last_words: LastWords) -> ! {
    if io::stderr().is_terminal() {
        // A progress bar may stand there.
        output::clear_line();
    }
    low_level::exit(i32::from(last_words()))
}

fn watched() -> MutexGuard<'static, Option<Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}
