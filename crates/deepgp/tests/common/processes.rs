//! Threads that are to each other what processes are: each holds a communicator, and sums over all of them behind a barrier.

use std::sync::{Arc, Barrier, Mutex};

use deepgp::Result;
use deepgp::backend::Communicator;

/// The memory that the threads share: a place for each one's numbers, and a barrier around it.
#[derive(Debug)]
struct Table {
    places: Mutex<Vec<Vec<f64>>>,
    barrier: Barrier,
}

/// The communicator of one thread: its seat at the table.
#[derive(Debug)]
struct Seat {
    rank: usize,
    size: usize,
    table: Arc<Table>,
}

impl Communicator for Seat {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum(&self, values: &mut [f64]) -> Result<()> {
        self.table.places.lock().unwrap()[self.rank] = values.to_vec();
        self.table.barrier.wait();
        let places = self.table.places.lock().unwrap().clone();
        values.fill(0.0);
        for own in &places {
            assert_eq!(own.len(), values.len(), "all processes sum as many numbers");
            for (to, from) in values.iter_mut().zip(own) {
                *to += from;
            }
        }
        self.table.barrier.wait();
        Ok(())
    }
}

/// What each of `count` processes makes of its communicator, in the order of ranks.
pub fn processes<R: Send>(count: usize, work: impl Fn(Arc<dyn Communicator>) -> R + Sync) -> Vec<R> {
    let table = Arc::new(Table { places: Mutex::new(vec![Vec::new(); count]), barrier: Barrier::new(count) });
    std::thread::scope(|scope| {
        let seat = |rank| Arc::new(Seat { rank, size: count, table: table.clone() });
        let all: Vec<_> = (0..count).map(|rank| (seat(rank), &work)).collect();
        let all: Vec<_> = all.into_iter().map(|(seat, work)| scope.spawn(move || work(seat))).collect();
        all.into_iter().map(|process| process.join().unwrap()).collect()
    })
}
