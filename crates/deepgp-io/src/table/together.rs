//! What is found out about a table of which several processes read a part each.
//!
//! A pass over a table takes down *facts*: how many cells are missing, which levels there are, which cell was the first that is no number. Facts of two
//! parts, one behind the other, are those of both together, so each process takes down those of the records that it reads, all send theirs to
//! all, and every process puts them together in the order of ranks, which is that of the table. From there on each decides by itself, from the same
//! facts.

use deepgp::backend::Communicator;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// What a pass over records takes down.
pub(super) trait Facts: Serialize + DeserializeOwned {
    /// Adds what was found in the records that come next.
    fn then(&mut self, next: Self);
}

/// What all processes have found, in the order of their ranks. Fails if one of them has failed; the first of those says why.
pub(super) fn together<F: Facts>(processes: &dyn Communicator, own: Result<F>) -> Result<F> {
    if processes.size() == 1 {
        return own;
    }
    let own = processes.all_fine(own.and_then(|own| serde_json::to_vec(&own).map_err(unexpected)))?;
    let mut all: Option<F> = None;
    for bytes in processes.gather_bytes(&own)? {
        let next: F = serde_json::from_slice(&bytes).map_err(unexpected)?;
        match &mut all {
            None => all = Some(next),
            Some(all) => all.then(next),
        }
    }
    Ok(all.expect("there is a process, this one"))
}

/// Facts that cannot be sent, or are not what was sent.
fn unexpected(cause: serde_json::Error) -> Error {
    Error::damaged(std::path::Path::new("what another process has read"), cause)
}

/// Lists are put one behind the other.
impl<T: Serialize + DeserializeOwned> Facts for Vec<T> {
    fn then(&mut self, next: Self) {
        self.extend(next);
    }
}

/// The first of two, if there is one.
pub(super) fn first<T>(own: &mut Option<T>, next: Option<T>) {
    if own.is_none() {
        *own = next;
    }
}
