//! Communicators: several processes that hold some of the rows each, and sum over all of them.
//!
//! A step's rows are independent of one another until their sums are pulled back to the parameters (`cpu/step.rs`). That is the one
//! place where processes must communicate: each has the sums over its own rows, [`Communicator::sum`] makes them those over all rows, and
//! from there on every process does the same work on the same numbers.

use crate::error::Result;

/// A group of processes, as one of them sees it.
pub trait Communicator: std::fmt::Debug + Send + Sync {
    /// The number of this process among all, from 0.
    fn rank(&self) -> usize;

    /// The number of processes.
    fn size(&self) -> usize;

    /// Replaces `values` by the sums over all processes, added up in the order of their ranks, so that all of them hold the same bits.
    /// Every process calls it with equally many numbers, equally often.
    fn sum(&self, values: &mut [f64]) -> Result<()>;
}

/// The communicator of a single process: every sum is its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Communicator for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn sum(&self, _values: &mut [f64]) -> Result<()> {
        Ok(())
    }
}
