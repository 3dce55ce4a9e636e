//! Open connections, and which of them keeps us waiting: when there are too many, the one that has done so for longest goes.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::task::AbortHandle;

use super::patient::Traffic;

/// All open connections.
#[derive(Clone, Debug, Default)]
pub struct Connections(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    all: HashMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    phase: Phase,
    traffic: Arc<Traffic>,
    task: Option<AbortHandle>,
}

/// Whose turn it is on a connection.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The client's: to ask, to send the rest of a head, or to take its answer.
    Client(Instant),
    /// The client's, to send the rest of a body.
    Body(Instant),
    /// Ours.
    Work,
}

/// One connection, which is open as long as this value lives.
#[derive(Debug)]
pub struct Ticket {
    open: Connections,
    id: u64,
    /// What the connection is up to.
    pub traffic: Arc<Traffic>,
}

impl Connections {
    /// A new connection, whose client is to ask.
    pub fn open(&self) -> Ticket {
        let mut open = self.all();
        let id = open.next;
        open.next += 1;
        let traffic = Arc::<Traffic>::default();
        let (phase, shared) = (Phase::Client(Instant::now()), Arc::clone(&traffic));
        open.all.insert(id, Connection { phase, traffic: shared, task: None });
        Ticket { open: self.clone(), id, traffic }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all().all.len()
    }

    /// Says how to close a connection.
    pub fn closed_by(&self, id: u64, task: AbortHandle) {
        if let Some(own) = self.all().all.get_mut(&id) {
            own.task = Some(task);
        }
    }

    /// Closes the connection whose client has kept us waiting for longest; false if all of them wait for us.
    pub fn close_slowest(&self) -> bool {
        let mut open = self.all();
        let waiting = open.all.iter().filter_map(|(id, own)| match own.phase {
            Phase::Client(since) | Phase::Body(since) => Some((since, *id)),
            Phase::Work => None,
        });
        let slowest = waiting.min().and_then(|(_, id)| open.all.remove(&id));
        drop(open);
        slowest.and_then(|own| own.task).map(|task| task.abort()).is_some()
    }

    /// Closes all connections whose client has not sent a head, and is not about to take an answer.
    pub fn close_without_head(&self) {
        let open = self.all();
        let takes_nothing = |own: &&Connection| !own.traffic.stalled.load(Ordering::Relaxed);
        let idle = open.all.values().filter(|own| matches!(own.phase, Phase::Client(_))).filter(takes_nothing);
        let tasks: Vec<AbortHandle> = idle.filter_map(|own| own.task.clone()).collect();
        drop(open);
        tasks.iter().for_each(AbortHandle::abort);
    }

    fn all(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// The connection's number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The head of a request is there, and its body is awaited.
    pub fn wait_for_body(&self) {
        self.enter(Phase::Body(Instant::now()));
    }

    /// A request is there, and we work on it.
    pub fn work(&self) {
        self.enter(Phase::Work);
    }

    /// The answer is there: it is the client's turn.
    pub fn answered(&self) {
        self.traffic.heard.store(false, Ordering::Relaxed);
        self.enter(Phase::Client(Instant::now()));
    }

    fn enter(&self, phase: Phase) {
        if let Some(own) = self.open.all().all.get_mut(&self.id) {
            own.phase = phase;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.open.all().all.remove(&self.id);
    }
}
