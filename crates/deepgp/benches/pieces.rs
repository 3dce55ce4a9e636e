//! Times the pieces that take most of a step: a block of 128 rows in a hidden layer, decoupled 500/100, in both precisions.
//!
//! `cargo bench -p deepgp`; one piece: `cargo bench -p deepgp -- "quadratic forms"`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use deepgp::Real;
use deepgp::pieces::{Shape, each};

fn pieces<T: Real>(criterion: &mut Criterion, precision: &str) {
    let shape = Shape { rows: 128, columns: 10, outputs: 10, mean_inducing: 500, covariance_inducing: 100 };
    let mut group = criterion.benchmark_group(precision);
    each::<T>(shape, |piece, work| {
        group.throughput(Throughput::Elements(piece.work as u64));
        group.bench_function(piece.name, |bencher| bencher.iter(&mut *work));
    })
    .expect("the kernel matrix of distinct random points can be factored");
}

/// Distances from near to far: where a kernel's values would be denormal numbers, each of which takes a hundred cycles, the
/// time must stay as it is.
fn lengthscales(criterion: &mut Criterion) {
    use deepgp::kernel::{Evaluate, Scratch, SquaredExponential};
    let mut group = criterion.benchmark_group("kernel, f32, by lengthscale");
    let x = deepgp::Mat::from_fn(128, 1, |i, _| i as f32 / 128.0);
    let z = deepgp::Mat::from_fn(600, 1, |i, _| i as f32 / 600.0);
    let mut k = deepgp::Mat::zeros(128, 600);
    for lengthscale in [1.0, 0.1, 0.03, 0.01, 0.003] {
        let kernel = SquaredExponential::new(1e-8, vec![lengthscale]);
        let scratch = &mut Scratch::default();
        group.bench_function(lengthscale.to_string(), |bencher| {
            bencher.iter(|| Evaluate::<f32>::cross(&kernel, x.view(), z.view(), k.view_mut(), scratch));
        });
    }
}

fn all(criterion: &mut Criterion) {
    pieces::<f64>(criterion, "f64");
    pieces::<f32>(criterion, "f32");
    lengthscales(criterion);
}

criterion_group!(benches, all);
criterion_main!(benches);
