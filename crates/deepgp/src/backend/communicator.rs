//! Communicators: several processes that hold some of the rows each, and sum over all of them.
//!
//! A step's rows are independent of one another until their sums are pulled back to the parameters (`cpu/step.rs`). That is the one
//! place of a step where processes must communicate: each has the sums over its own rows, [`Communicator::sum`] makes them those over all
//! rows, and from there on every process does the same work on the same numbers. What is decided before and between steps (units,
//! held-out rows, when to stop) is agreed on in `agreement.rs`, by sums too.

use crate::error::Result;

/// A group of processes, as one of them sees it.
///
/// Every process calls the same methods in the same order with equally many numbers; one that does not come leaves the others waiting. A
/// program whose process fails by itself therefore ends all of them ([`Communicator::abort`]).
pub trait Communicator: std::fmt::Debug + Send + Sync {
    /// The number of this process among all, from 0.
    fn rank(&self) -> usize;

    /// The number of processes.
    fn size(&self) -> usize;

    /// Replaces `values` by the sums over all processes, added up in the order of their ranks, so that all of them hold the same bits.
    fn sum(&self, values: &mut [f64]) -> Result<()>;

    /// Replaces `values` by those of process 0.
    fn broadcast(&self, values: &mut [f64]) -> Result<()> {
        if self.rank() > 0 {
            values.fill(0.0);
        }
        self.sum(values)
    }

    /// Waits until every process has come here.
    fn barrier(&self) -> Result<()> {
        self.sum(&mut [0.0])
    }

    /// Ends all processes with this exit code, if there are others. Where there are none it does nothing: the process ends by itself.
    fn abort(&self, _code: i32) {}
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
