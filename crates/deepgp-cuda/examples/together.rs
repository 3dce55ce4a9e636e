//! Times a training step on one GPU: in one process, in one process whose sums over rows go through the host as if there were others, and in
//! several processes, here threads, that share the GPU and hold a part of the rows each.
//!
//! ```sh
//! cargo run --release -p deepgp-cuda --example together -- 2 300     # two processes, 300 steps
//! ```

use std::sync::{Arc, Barrier, Mutex, RwLock};
use std::time::{Duration, Instant};

use deepgp::backend::{Backend, Communicator};
use deepgp::noise::{Key, Purpose};
use deepgp::{
    CovarianceForm, Dataset, DeepGp, InducingSize, InducingStart, Mat, ModelSettings, TrainSettings, Trainer,
};
use deepgp_cuda::Cuda;

/// Steps before the clock starts.
const WARM_UP: usize = 30;

/// What one process did in the sums of its steps.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    /// Waiting until all had come.
    waiting: Duration,
    /// Adding up.
    adding: Duration,
    /// Numbers of the longest sum.
    longest: usize,
}

/// The memory that threads share in place of a network, and what each spent there.
#[derive(Debug)]
struct Table {
    places: Vec<RwLock<Vec<f64>>>,
    barrier: Barrier,
}

/// The communicator of one thread. Alone at its table it says that there is another, who has no rows.
#[derive(Debug)]
struct Seat {
    rank: usize,
    table: Arc<Table>,
    spent: Mutex<Spent>,
}

impl Seat {
    /// The seats of so many threads.
    fn all(size: usize) -> Vec<Arc<Self>> {
        let places = (0..size).map(|_| RwLock::default()).collect();
        let table = Arc::new(Table { places, barrier: Barrier::new(size) });
        (0..size).map(|rank| Arc::new(Self { rank, table: table.clone(), spent: Mutex::default() })).collect()
    }
}

impl Communicator for Seat {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.table.places.len().max(2)
    }

    fn sum(&self, values: &mut [f64]) -> deepgp::Result<()> {
        let begun = Instant::now();
        let Table { places, barrier } = &*self.table;
        if places.len() > 1 {
            let mut own = places[self.rank].write().expect("no thread panics");
            own.clear();
            own.extend_from_slice(values);
        }
        let left = Instant::now();
        barrier.wait();
        let met = Instant::now();
        if places.len() > 1 {
            values.fill(0.0);
            for place in places {
                for (to, from) in values.iter_mut().zip(&*place.read().expect("no thread panics")) {
                    *to += from;
                }
            }
        }
        let added = Instant::now();
        barrier.wait();
        let mut spent = self.spent.lock().expect("no thread panics");
        spent.waiting += (met - left) + added.elapsed();
        spent.adding += (left - begun) + (added - met);
        spent.longest = spent.longest.max(values.len());
        Ok(())
    }
}

/// The time of a step of these rows: the mean of so many, after a few that are not counted.
fn time(model: &DeepGp, data: &Dataset, steps: usize, start: &dyn Fn()) -> deepgp::Result<f64> {
    let settings = TrainSettings { steps: u64::MAX, batch_size: 1 << 30, ..TrainSettings::plain() };
    let mut trainer = Trainer::new(model.clone(), data, None, settings)?;
    for _ in 0..WARM_UP {
        trainer.step()?;
    }
    start();
    let started = Instant::now();
    for _ in 0..steps {
        trainer.step()?;
    }
    Ok(started.elapsed().as_secs_f64() / steps as f64)
}

/// The times of a step in each of the threads at these seats, which hold equal shares of the rows, and what they spent in sums meanwhile.
fn time_at(
    seats: &[Arc<Seat>],
    gpu: &Cuda,
    model: &DeepGp,
    data: &Dataset,
    steps: usize,
) -> deepgp::Result<Vec<(f64, Spent)>> {
    let upto = |rank: usize| (rank * data.len() / seats.len()) as u32;
    std::thread::scope(|scope| {
        let one = |seat: &Arc<Seat>| {
            let seat = seat.clone();
            scope.spawn(move || {
                let own = data.gather(&(upto(seat.rank)..upto(seat.rank + 1)).collect::<Vec<_>>())?;
                let backend: Arc<dyn Backend> = Arc::new(gpu.clone().among(seat.clone()));
                let model = model.clone().computed_on(Some(backend));
                let start = || *seat.spent.lock().expect("no thread panics") = Spent::default();
                let seconds = time(&model, &own, steps, &start)?;
                Ok((seconds, *seat.spent.lock().expect("no thread panics")))
            })
        };
        let all: Vec<_> = seats.iter().map(one).collect();
        all.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    })
}

/// Rows of so many inputs.
fn rows(rows: usize, columns: usize) -> deepgp::Result<Dataset> {
    let key = Key::new(1, Purpose::Simulate);
    let x = Mat::from_fn(rows, columns, |i, j| 3.4 * key.uniform([i as u32, j as u32, 0, 0]) - 1.7);
    let y = Mat::from_fn(rows, 1, |i, _| (2.0 * x[(i, 0)]).sin() + x[(i, 1)] * x[(i, 2)]);
    Dataset::new(x, y)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|own| own.parse::<usize>());
    let count = arguments.next().transpose()?.unwrap_or(2).max(2);
    let steps = arguments.next().transpose()?.unwrap_or(300).next_multiple_of(10).max(10);
    let gpu = match Cuda::open(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return Ok(());
        }
    };
    println!("{}, the mean of {steps} steps, ms", gpu.name());
    for (name, number, columns) in [("kin8nm", 6554, 8), ("protein", 10_000, 9)] {
        let data = rows(number, columns)?;
        let settings = ModelSettings {
            hidden_layers: 4,
            inducing: InducingSize::nested(500, 100),
            covariance_form: CovarianceForm::Diagonal,
            inducing_start: InducingStart::RandomRows,
            ..ModelSettings::plain()
        };
        let model = DeepGp::for_regression(data.x().view(), 1, &settings)?;
        let alone = time(&model.clone().computed_on(Some(Arc::new(gpu.clone()))), &data, steps, &|| ())?;
        let (through, spent) = time_at(&Seat::all(1), &gpu, &model, &data, steps)?[0];
        println!("{name}, {number} x {columns}");
        println!("  one process                      {:8.3}", 1e3 * alone);
        println!(
            "  one, its sums through the host   {:8.3}   {:.1} % of it the way of {} numbers there and back",
            1e3 * through,
            1e2 * (through - alone) / through,
            spent.longest
        );
        for (rank, (seconds, spent)) in time_at(&Seat::all(count), &gpu, &model, &data, steps)?.iter().enumerate() {
            let share = |part: Duration| 1e2 * part.as_secs_f64() / steps as f64 / seconds;
            println!(
                "  process {rank} of {count}                   {:8.3}   {:.1} % of it adding up, {:.1} % waiting for others",
                1e3 * seconds,
                share(spent.adding),
                share(spent.waiting)
            );
        }
    }
    Ok(())
}
