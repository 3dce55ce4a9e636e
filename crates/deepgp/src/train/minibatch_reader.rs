//! The rows of minibatches that are not in memory: read by a thread of its own while the step before is computed.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use crate::data::{Dataset, Standardiser, StoredRows};
use crate::error::{Error, Result};

/// Minibatches of stored rows, in the model's units. Two of them are in memory at a time.
#[derive(Debug)]
pub(super) struct MinibatchReader {
    /// Where the thread is told which rows are wanted.
    wanted: Sender<Vec<u32>>,
    /// Where it gives them.
    read: Receiver<(Vec<u32>, Result<Dataset>)>,
    /// The rows that it was told to read and has not given yet.
    asked: Option<Vec<u32>>,
}

impl MinibatchReader {
    /// A reader of these rows, with a thread that ends when the reader is dropped.
    pub fn new(rows: StoredRows, units: Standardiser) -> Result<Self> {
        let (wanted, orders) = mpsc::channel::<Vec<u32>>();
        let (deliver, read) = mpsc::channel();
        let work = move || {
            for places in orders {
                let found = rows.gather(&places).and_then(|raw| units.apply(&raw)).map(Dataset::kept_dense);
                if deliver.send((places, found)).is_err() {
                    break;
                }
            }
        };
        let spawned = thread::Builder::new().name("rows".into()).spawn(work);
        spawned.map_err(|cause| Error::StoredRows { reason: cause.to_string() })?;
        Ok(Self { wanted, read, asked: None })
    }

    /// The rows at these places; those of the `next` minibatch, if it is known, are read from now on.
    pub fn minibatch(&mut self, places: &[u32], next: Option<&[u32]>) -> Result<Dataset> {
        if self.asked.as_deref() != Some(places) {
            self.ask(places)?;
        }
        let found = loop {
            // What was asked for before and turned out not to be wanted comes first.
            let (of, found) = self.read.recv().map_err(|_| gone())?;
            if of == places {
                break found;
            }
        };
        self.asked = None;
        next.map_or(Ok(()), |next| self.ask(next))?;
        found
    }

    /// Has the thread read these rows.
    fn ask(&mut self, places: &[u32]) -> Result<()> {
        self.asked = Some(places.to_vec());
        self.wanted.send(places.to_vec()).map_err(|_| gone())
    }
}

/// The error of a thread that has ended, as it does only if it panics.
fn gone() -> Error {
    Error::StoredRows { reason: "the thread that reads them has ended".into() }
}
