//! Long work, on a thread of its own: the caller's thread has let go of the interpreter and hears signals all the while, and
//! what it waits for need not be at a place where it could stop.

use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How long the caller waits before it looks for signals again.
pub const TICK: Duration = Duration::from_millis(50);

/// The process that loaded this module. After a fork it is another one, in which the shared threads are gone.
static HOME: OnceLock<u32> = OnceLock::new();

/// Takes note of the process.
pub fn remember_process() {
    HOME.get_or_init(std::process::id);
}

/// Does `work` without the interpreter and waits for it, or for a signal: then the work is left to itself, and asked to end.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Caller<Infallible>) -> T + Send + 'static,
) -> PyResult<T> {
    let job = Job::start(work)?;
    loop {
        match job.next(py, TICK) {
            Event::Done(Ok(result)) => return Ok(result),
            Event::Done(Err(panic)) => return Err(panicked(panic.as_ref())),
            Event::Message(never) => match never {},
            Event::Silence => py.check_signals()?,
        }
    }
}

/// An error that `except Exception` sees: a panic is a fault of ours, and no reason to end a program that can go on.
pub fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("it did not say why");
    PyRuntimeError::new_err(format!("deepgp failed, which it should not: {text}; please report what you did"))
}

/// A fork takes none of the threads along that all work shares; there it gets threads that live.
fn on_living_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if HOME.get().is_none_or(|home| *home == std::process::id()) {
        return work();
    }
    match rayon::ThreadPoolBuilder::new().build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// What the work says while it goes on, and at its end.
pub enum Event<M, T> {
    /// In between.
    Message(M),
    /// It is done, or has panicked.
    Done(Result<T, Box<dyn Any + Send>>),
    /// Nothing for so long.
    Silence,
}

/// What the work sees of its caller.
pub struct Caller<M> {
    messages: Box<dyn Fn(M) + Send + Sync>,
    stop: Arc<AtomicBool>,
}

impl<M> Caller<M> {
    /// Whether it wants the work to end.
    pub fn has_left(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Tells it something.
    pub fn tell(&self, message: M) {
        (self.messages)(message);
    }
}

/// Work that goes on. It is asked to end when this is dropped.
pub struct Job<M, T> {
    /// Locked by the one who waits, and by nobody else: a receiver alone cannot be shared.
    events: Mutex<Receiver<Event<M, T>>>,
    stop: Arc<AtomicBool>,
}

impl<M: Send + 'static, T: Send + 'static> Job<M, T> {
    /// Begins the work.
    pub fn start(work: impl FnOnce(&Caller<M>) -> T + Send + 'static) -> PyResult<Self> {
        let (sender, events): (Sender<Event<M, T>>, _) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let messages = sender.clone();
        // A caller that has left is told nothing.
        let messages = Box::new(move |message| drop(messages.send(Event::Message(message))));
        let caller = Caller { messages, stop: stop.clone() };
        let run = move || {
            let done = catch_unwind(AssertUnwindSafe(|| on_living_threads(move || work(&caller))));
            drop(sender.send(Event::Done(done)));
        };
        let refused = |e: std::io::Error| PyRuntimeError::new_err(format!("no thread could be started: {e}"));
        std::thread::Builder::new().name("deepgp".into()).spawn(run).map_err(refused)?;
        Ok(Self { events: Mutex::new(events), stop })
    }

    /// Waits for what the work says next, for so long at most.
    pub fn next(&self, py: Python<'_>, patience: Duration) -> Event<M, T> {
        let wait = || self.events.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(patience);
        match py.detach(wait) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => Event::Silence,
            Err(RecvTimeoutError::Disconnected) => Event::Done(Err(Box::new("the work ended without a result"))),
        }
    }

    /// Asks it to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl<M, T> Drop for Job<M, T> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
