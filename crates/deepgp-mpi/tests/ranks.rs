//! Proves that processes started by a real `mpirun` sum in the order of ranks, to the same bits in each, and that one of them can end all.
//! Says that it was skipped where there is none. The processes are this test's own program, started again.

use std::process::{Command, Output};

use deepgp::backend::Communicator;
use deepgp_mpi::Mpi;

/// The variable that tells a process what to do.
const TASK: &str = "DEEPGP_MPI_TEST_TASK";

/// Runs a task in so many processes; `None` if there is no `mpirun`.
fn run(task: &str, count: usize) -> Option<Output> {
    if Command::new("mpirun").arg("--version").output().is_err() {
        return None;
    }
    let mut command = Command::new("mpirun");
    let version = Command::new("mpirun").arg("--version").output().ok()?;
    if String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
        // More processes than processors, and by whoever runs tests.
        command.args(["--oversubscribe", "--allow-run-as-root"]);
    }
    let program = std::env::current_exe().unwrap();
    command.args(["-n", &count.to_string()]).arg(program).args(["--exact", "a_process", "--nocapture"]);
    Some(command.env(TASK, task).output().unwrap())
}

/// Tells people that a test did not run; the harness would swallow it.
fn skipped() {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: there is no mpirun (install Open MPI or MPICH)");
}

/// Numbers whose sum depends on its order.
fn numbers(rank: usize, length: usize) -> Vec<f64> {
    (0..length).map(|i| ((i * 31 + rank * 17) as f64).sin() * 10f64.powi((i + 5 * rank) as i32 % 17 - 8)).collect()
}

/// The sums of [`numbers`] in the order of ranks.
fn expected(size: usize, length: usize) -> Vec<f64> {
    let mut total = vec![0.0; length];
    for rank in 0..size {
        for (to, from) in total.iter_mut().zip(numbers(rank, length)) {
            *to += from;
        }
    }
    total
}

/// What a process does that was started by one of the tests below; nothing otherwise.
#[test]
fn a_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let mpi = Mpi::begin().unwrap();
    let (rank, size) = (mpi.rank(), mpi.size());
    match task.as_str() {
        "sum" => {
            for length in [0, 1, 7, 1000, 4096, 100_003] {
                let mut values = numbers(rank, length);
                mpi.sum(&mut values).unwrap();
                let bits = |all: &[f64]| all.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&values), bits(&expected(size, length)), "{length} of {size}");
            }
            let mut values = numbers(rank, 12);
            mpi.broadcast(&mut values).unwrap();
            assert_eq!(values, numbers(0, 12));
            mpi.barrier().unwrap();
            // From another thread too, one at a time.
            std::thread::scope(|scope| scope.spawn(|| mpi.barrier().unwrap()).join().unwrap());
            println!("summed by {rank} of {size} with {}", mpi.version());
        }
        "abort" => {
            if rank == 1 {
                mpi.abort(7);
            }
            mpi.barrier().unwrap();
        }
        other => panic!("{other}"),
    }
}

#[test]
fn sums_have_the_order_of_ranks() {
    for count in [1, 2, 3] {
        let Some(ended) = run("sum", count) else { return skipped() };
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{said}\n{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(said.matches("summed by").count(), count, "{said}");
    }
}

#[test]
fn one_process_can_end_all() {
    let Some(ended) = run("abort", 2) else { return skipped() };
    assert_eq!(ended.status.code(), Some(7), "{}", String::from_utf8_lossy(&ended.stderr));
}
