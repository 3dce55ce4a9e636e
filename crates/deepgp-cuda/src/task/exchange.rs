//! What several processes add up in the middle of a step: the sums over rows, on their way through the host.
//!
//! A step of one process is one piece of work. That of one of several is cut in two where the sums over its own rows are there
//! (`schedule.rs`): they come to memory of the host, [`Communicator::sum`] makes them those over all rows, in the order of ranks, and they go
//! back. All of them lie one behind the other (`arrays/row_sums.rs`), so each way is one copy. From there on all processes do the same with
//! the same numbers, and decide the same: whether a factor failed follows from parameters, whether all is finite from sums.

use std::sync::Arc;

use cudarc::driver::CudaContext;
use deepgp::backend::Communicator;

use crate::arrays::row_sums::DataSums;
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::pinned::Pinned;
use crate::fault::Outcome;

/// The way of the sums over rows to the other processes and back.
#[derive(Debug)]
pub struct Exchange {
    communicator: Arc<dyn Communicator>,
    /// The sums on the device.
    there: Span<f64>,
    /// The sums on the host.
    here: Pinned,
}

impl Exchange {
    /// An exchange of these sums.
    pub fn new(context: &Arc<CudaContext>, sums: &DataSums, communicator: Arc<dyn Communicator>) -> Outcome<Self> {
        let (there, here) = (sums.all, Pinned::zeroed(context, sums.all.len())?);
        Ok(Self { communicator, there, here })
    }

    /// Has the sums of this process come to the host, in order with a lane's other work.
    pub fn hand_out(&self, lane: &Lane) -> Outcome<()> {
        lane.hand_out(self.there, &self.here)
    }

    /// Makes the sums on the host those of all processes, once the lane has handed them out.
    pub fn sum(&mut self, lane: &Lane) -> Outcome<()> {
        lane.wait_for_all()?;
        Ok(self.communicator.sum(self.here.numbers())?)
    }

    /// Has the sums of all processes go to the device, in order with a lane's other work.
    pub fn take_in(&self, lane: &Lane) -> Outcome<()> {
        lane.take_in(&self.here, self.there)
    }
}
