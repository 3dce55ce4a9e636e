//! Proves that several processes, here threads, that hold some of the rows each and sum over all of them, find the objective and the
//! gradient of all rows, the same bits in every process.

mod common;

use std::sync::Arc;

use common::processes::processes;
use common::*;
use deepgp::backend::Cpu;
use deepgp::{Batch, CovarianceForm, Dataset, DeepGp, Evaluation, MeanForm, MeanFunction, Precision, Shard};

fn model(precision: Precision) -> DeepGp {
    let forms = (MeanForm::Whitened, CovarianceForm::Whitened);
    let first = random_layer((2, 2), forms, false, MeanFunction::Identity, 1);
    let last = random_layer((2, 1), forms, true, MeanFunction::Zero, 2);
    let likelihood = deepgp::likelihood::LikelihoodForm::GAUSSIAN.start(1);
    DeepGp::new(vec![first, last], likelihood).unwrap().with_precision(precision)
}

/// Every seat evaluates its rows of `data`, of which the first seats have one more where they cannot be shared evenly.
fn together(data: &Dataset, seats: usize, precision: Precision) -> Vec<(Evaluation, Vec<f64>)> {
    let n = data.len();
    processes(seats, |communicator| {
        let rank = communicator.rank();
        let (first, end) = (rank * n / seats, (rank + 1) * n / seats);
        let own = data.gather(&(first as u32..end as u32).collect::<Vec<_>>()).unwrap();
        let rows: Vec<u32> = (0..own.len() as u32).collect();
        let shard = Some(Shard { offset: first as u32, batch_rows: n });
        let batch = Batch { num_data: 2 * n, samples: 2, shard, ..Batch::of(&own, &rows) };
        let cpu = Cpu::among(communicator);
        let model = model(precision).computed_on(Some(Arc::new(cpu)));
        model.objective_gradient(batch, training_noise(3)).unwrap()
    })
}

#[test]
fn shares_of_the_rows_add_up_to_the_gradient_of_all_of_them() {
    let data = random_data(301, 1);
    let weights = (0..301).map(|i| 0.5 + f64::from(i % 3)).collect();
    let data = data.with_weights(weights).unwrap();
    let rows = all_rows(&data);
    for precision in [Precision::F64, Precision::Mixed] {
        let batch = Batch { num_data: 602, samples: 2, ..full_batch(&data, &rows) };
        let (alone, gradient) = model(precision).objective_gradient(batch, training_noise(3)).unwrap();
        let tolerance = if precision == Precision::F64 { 1e-12 } else { 1e-5 };
        for seats in [1, 2, 3, 5] {
            let all = together(&data, seats, precision);
            for (evaluation, found) in &all {
                assert!((evaluation.total() / alone.total() - 1.0).abs() < tolerance, "{seats}");
                let scale = gradient.iter().fold(0.0f64, |a, b| a.max(b.abs()));
                for (a, b) in gradient.iter().zip(found) {
                    assert!((a - b).abs() <= tolerance * scale, "{seats} seats: {a} {b}");
                }
            }
            // All of them hold the same bits.
            assert!(all.iter().all(|own| own == &all[0]), "{seats}");
        }
        assert_eq!(together(&data, 1, precision)[0].1, gradient, "one alone has the bits of none");
    }
}
