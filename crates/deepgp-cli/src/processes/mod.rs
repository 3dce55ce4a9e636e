//! Several processes that fit one model: started by `mpirun` or `srun`, each with its share of the training rows.
//!
//! All run the same command on the same table, of which each reads a share. The first one speaks, writes and scores; the others read, train and are
//! silent. A process that fails says why and ends all of them with its exit code.
//!
//! | | first process | others |
//! |---|---|---|
//! | the table | its share | their shares |
//! | rows to train on | its share, and some of all for baselines | their shares |
//! | rows to test on | all, or some of very many | |
//! | checkpoint, model, report, scores | written | |
//!
//! Without the feature `mpi` this program knows of no other process: several copies of it would each fit the whole table and write the same
//! file, so it refuses to be one of several.

mod launcher;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use deepgp::Error;
use deepgp::backend::{Alone, Backend, Communicator};

use crate::arguments::usage::Usage;
use crate::model::device::Device;
use crate::terminal::output::{self, Voice};
use launcher::Launch;

/// How long a process waits for another one that has failed to speak first.
const PATIENCE: Duration = Duration::from_secs(3);

/// The processes of this run, as one of them sees them.
#[derive(Debug)]
pub struct Processes {
    /// What they train by.
    communicator: Arc<dyn Communicator>,
}

impl Processes {
    /// A process without others.
    pub fn alone() -> Self {
        Self { communicator: Arc::new(Alone) }
    }

    /// The processes that this one was started with.
    pub fn begin() -> Result<Self> {
        match Launch::of_several() {
            None => Ok(Self::alone()),
            Some(launch) => Ok(Self { communicator: communicator(launch)? }),
        }
    }

    /// The communicator that they train by.
    pub fn communicator(&self) -> Arc<dyn Communicator> {
        self.communicator.clone()
    }

    /// Whether there are others.
    pub fn are_several(&self) -> bool {
        self.communicator.size() > 1
    }

    /// Whether this is the one that speaks and writes.
    pub fn is_first(&self) -> bool {
        self.communicator.rank() == 0
    }

    /// The value in the first process, nothing in the others.
    pub fn first<T>(&self, value: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        if self.is_first() { value().map(Some) } else { Ok(None) }
    }

    /// How this process talks: the first as asked, the others not at all.
    pub fn voice(&self, asked: Voice) -> Voice {
        if self.is_first() { asked } else { Voice::SILENT }
    }

    /// Opens what this process computes on; `None` is the processor. Of several processes each takes a GPU of its machine, and either all of them
    /// have one or none.
    pub fn open(&self, asked: Device, voice: Voice) -> Result<Option<Arc<dyn Backend>>> {
        if !self.are_several() {
            return asked.open(voice);
        }
        let own = asked.open_for(launcher::local_rank(), voice)?;
        let mut count = [f64::from(u8::from(own.is_some()))];
        self.communicator.sum(&mut count)?;
        let (found, size) = (count[0] as usize, self.communicator.size());
        if found < size && found > 0 {
            output::say(voice, &format!("note: {found} of {size} processes have a GPU; all compute on processors"));
        }
        let own = own.filter(|_| found == size);
        Ok(own.map(|gpu| Arc::new(gpu.among(self.communicator())) as Arc<dyn Backend>))
    }

    /// Fails if there are others: what is asked for is the work of one process.
    pub fn check_alone(&self, what: &str) -> Result<()> {
        if self.are_several() {
            let size = self.communicator.size();
            bail!(Usage(format!(
                "{what} is the work of one process, and there are {size}: run it without mpirun or srun (`fit` and `resume` are for several)"
            )));
        }
        Ok(())
    }

    /// Leaves time for another process to say that it failed for this reason too, and to end this one: first to the first process, which may have failed
    /// alike, and then to the one that the error is about.
    pub fn let_others_speak(&self, error: &anyhow::Error) {
        let of_reading = error.downcast_ref::<deepgp_io::Error>().and_then(|error| match error {
            deepgp_io::Error::Processes(error) => Some(error),
            _ => None,
        });
        let by_another = matches!(of_reading.or(error.downcast_ref::<Error>()), Some(Error::OtherProcess { .. }));
        if by_another {
            std::thread::sleep(2 * PATIENCE);
        } else if self.are_several() && !self.is_first() {
            std::thread::sleep(PATIENCE);
        }
    }

    /// Ends all processes with this exit code, if there are others.
    pub fn end(&self, code: u8) {
        self.communicator.abort(i32::from(code));
    }
}

/// How a message of this process begins: with its number, if it is one of several and not the first.
pub fn name() -> String {
    match (Launch::of_several(), launcher::rank()) {
        (None, _) | (_, 0) => String::new(),
        (Some(_), rank) => format!("process {rank}: "),
    }
}

/// Leaves time for the first process to say what is wrong for all of them, and for its launcher to end this one, if it is another.
pub fn let_the_first_speak() {
    if !name().is_empty() {
        std::thread::sleep(PATIENCE);
    }
}

/// What several processes train by.
#[cfg(feature = "mpi")]
fn communicator(launch: Launch) -> Result<Arc<dyn Communicator>> {
    let Launch { by, size } = launch;
    let mpi = deepgp_mpi::Mpi::begin()?;
    if mpi.size() != size {
        let (version, found) = (mpi.version(), mpi.size());
        bail!(
            "{by} started {size} processes, but the MPI library sees {found} ({version}): it belongs to another launcher; name the file of \
             the right one in DEEPGP_MPI_LIBRARY"
        );
    }
    Ok(Arc::new(mpi))
}

/// What several processes would train by.
#[cfg(not(feature = "mpi"))]
fn communicator(launch: Launch) -> Result<Arc<dyn Communicator>> {
    let Launch { by, size } = launch;
    bail!(
        "{by} started {size} processes, and this deepgp was built without MPI: each would fit the whole table by itself; build it with \
         `cargo install --path crates/deepgp-cli --features mpi`, or start one process"
    )
}
