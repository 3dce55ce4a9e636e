//! [`Mpi`]: deepgp's [`Communicator`] by the Message Passing Interface, so that processes on one machine or on many train one model.
//!
//! # The library is loaded when the program runs
//!
//! | binding | to build | to run |
//! |---|---|---|
//! | the crate `mpi` | an MPI's headers and libclang | that MPI |
//! | a shim in C | an MPI's headers and its compiler | that MPI |
//! | loaded at run time, as here | nothing | Open MPI, or MPICH and what has its ABI (Intel MPI, MVAPICH, Cray MPICH) |
//!
//! Open MPI and MPICH differ in what a program sees of a communicator or a type: a pointer to an object of the library, or a number. The
//! functions that are needed are a dozen, so both are written down here, once (`Functions` is generic in the handle), and
//! one program runs on a laptop and on whatever MPI a cluster has.
//!
//! # Sums
//!
//! `MPI_Allreduce` may add up in any order, and need not leave the same bits in every process. So each of `R` processes adds up one part of
//! the numbers, in the order of ranks, and hands it on:
//!
//! ```text
//! MPI_Alltoallv     part r of every process goes to process r        8 n (R − 1) / R bytes out of each
//!                   process r: total = v_0 + v_1 + … + v_{R−1}
//! MPI_Allgatherv    every total goes to all                          8 n (R − 1) / R bytes out of each
//! ```
//!
//! This is what a good `MPI_Allreduce` sends too. A few numbers go to all processes at once, which add them up themselves: one message.

mod functions;
mod library;

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use deepgp::backend::Communicator;

use library::Library;

/// The most numbers that all processes together send to all at once, in one message.
const FEW: usize = 4096;
/// The most numbers of a sum at a time: their counts must fit into C's `int`.
const AT_ONCE: usize = 1 << 27;

/// What can go wrong with MPI.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// No MPI library could be loaded.
    #[error(
        "no MPI library could be loaded ({tried}): install Open MPI or MPICH, load its module, or name the library file in {}",
        library::VARIABLE
    )]
    NoLibrary {
        /// What was tried, and why it failed.
        tried: String,
    },

    /// The library is one whose handles are not known.
    #[error(
        "{path} is neither Open MPI nor of MPICH's ABI: {version}; name the file of another MPI library in {}",
        library::VARIABLE
    )]
    UnknownLibrary {
        /// The library's file.
        path: String,
        /// What it says of itself.
        version: String,
    },

    /// A function failed.
    #[error("{function} failed with code {code}")]
    Failed {
        /// The function's name.
        function: &'static str,
        /// What it returned.
        code: c_int,
    },
}

/// The processes of `MPI_COMM_WORLD`, as one of them sees them. MPI ends when it is dropped, which waits for all processes.
#[derive(Debug)]
pub struct Mpi {
    /// The functions of the library; one call at a time.
    library: Mutex<Library>,
    /// What the library says of itself.
    version: String,
    rank: usize,
    size: usize,
}

impl Mpi {
    /// Loads an MPI library and begins. A program does this once, in its first thread, and drops it there.
    pub fn begin() -> Result<Self, Error> {
        let (library, version) = Library::open()?;
        library.init()?;
        let (rank, size) = (library.rank()?, library.size()?);
        Ok(Self { library: Mutex::new(library), version, rank, size })
    }

    /// What the MPI library says of itself, in one line.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Calls the library, unless another thread does at the moment.
    fn call<T>(&self, work: impl FnOnce(&Library) -> Result<T, Error>) -> deepgp::Result<T> {
        let library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        work(&library).map_err(|error| deepgp::Error::Device { device: "MPI".into(), what: error.to_string() })
    }

    /// The sums of few numbers: all processes send theirs to all.
    fn sum_at_each(&self, values: &mut [f64]) -> deepgp::Result<()> {
        let mut all = vec![0.0; values.len() * self.size];
        let counts = vec![values.len(); self.size];
        self.call(|library| library.gather(values, &mut all, &counts))?;
        add_up(&all, values);
        Ok(())
    }

    /// The sums of many numbers: each process adds up its part of them.
    fn sum_in_parts(&self, values: &mut [f64]) -> deepgp::Result<()> {
        let upto = |rank: usize| rank * values.len() / self.size;
        let parts: Vec<usize> = (0..self.size).map(|rank| upto(rank + 1) - upto(rank)).collect();
        let own = parts[self.rank];
        let mut received = vec![0.0; own * self.size];
        self.call(|library| library.exchange(values, &parts, &mut received, &vec![own; self.size]))?;
        let mut total = vec![0.0; own];
        add_up(&received, &mut total);
        self.call(|library| library.gather(&total, values, &parts))
    }
}

/// Writes the sums of lists that stand one behind the other, added up in their order.
fn add_up(lists: &[f64], total: &mut [f64]) {
    total.fill(0.0);
    for own in lists.chunks_exact(total.len().max(1)) {
        for (to, from) in total.iter_mut().zip(own) {
            *to += from;
        }
    }
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum(&self, values: &mut [f64]) -> deepgp::Result<()> {
        if values.len() * self.size <= FEW {
            return self.sum_at_each(values);
        }
        values.chunks_mut(AT_ONCE).try_for_each(|values| self.sum_in_parts(values))
    }

    fn broadcast(&self, values: &mut [f64]) -> deepgp::Result<()> {
        values.chunks_mut(AT_ONCE).try_for_each(|values| self.call(|library| library.broadcast(values)))
    }

    fn barrier(&self) -> deepgp::Result<()> {
        self.call(Library::barrier)
    }

    fn abort(&self, code: i32) {
        // Whoever holds the lock waits for a process that may never come: `MPI_Abort` is to be called all the same.
        match self.library.try_lock() {
            Ok(library) => library.abort(code),
            Err(_) => std::process::exit(code),
        }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // Nobody is left to be told that it failed.
        let _ = self.call(|library| library.wait_asleep().and_then(|()| library.finalize()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_added_up_in_their_order() {
        let mut total = [7.0, 7.0];
        add_up(&[1e16, 1.0, 1.0, 2.0, -1e16, 3.0], &mut total);
        assert_eq!(total, [0.0, 6.0]);
        add_up(&[], &mut total[..0]);
    }
}
