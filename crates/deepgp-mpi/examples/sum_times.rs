//! How long sums over processes take: `mpirun -n 2 sum_times` prints numbers and seconds, the least and the median of several sums of each length.
//! `benchmarks/processes.py` fits latency and bandwidth to them.

use std::time::Instant;

use deepgp::backend::Communicator;
use deepgp_mpi::Mpi;

/// The lengths of the sums.
const LENGTHS: [usize; 8] = [1, 1000, 4096, 10_000, 50_000, 150_000, 500_000, 2_000_000];
/// The sums of each length that are timed.
const ROUNDS: usize = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mpi = Mpi::begin()?;
    for length in LENGTHS {
        let mut values = vec![1.0; length];
        let mut seconds = Vec::new();
        for _ in 0..ROUNDS {
            mpi.barrier()?;
            let started = Instant::now();
            mpi.sum(&mut values)?;
            seconds.push(started.elapsed().as_secs_f64());
            // They would grow beyond all numbers.
            values.fill(1.0);
        }
        seconds.sort_by(f64::total_cmp);
        if mpi.rank() == 0 {
            println!("{} {length} {:.9} {:.9}", mpi.size(), seconds[0], seconds[ROUNDS / 2]);
        }
    }
    Ok(())
}
