//! The arithmetic of a training step, and how fast this machine could do it.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::Result;
use deepgp::pieces::{self, Shape};
use deepgp::{CovarianceForm, InducingSize, Precision, Real};

use super::synthetic::{DENSITY, SPARSE_FROM};
use crate::arguments::BenchmarkArgs;

/// The arithmetic that a lean program does in a training step, in floating-point operations and exponentials.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    products: f64,
    /// Matrix products with inputs of which only the ones are stored.
    sparse: f64,
    /// Matrix products with symmetric or triangular structure, which halves them.
    symmetric: f64,
    factors: f64,
    exponentials: f64,
}

impl Work {
    /// The work of a training step of the model that the arguments describe.
    pub fn of_step(args: &BenchmarkArgs) -> Self {
        let (m_a, m_b) = args.inducing_numbers();
        // One set and one factor serve both in a tied and in a nested layer.
        let one_set = match args.inducing_size() {
            InducingSize::Tied(_) | InducingSize::Nested { .. } => true,
            InducingSize::Decoupled { .. } => false,
        };
        let (m_a, m_b) = (m_a as f64, m_b as f64);
        let batches = args.rows.div_ceil(args.batch_size);
        let n = (args.rows / batches) as f64;
        let outputs = args.likelihood().start(1).latent_width();
        let mut work = Self::default();
        for l in 0..=args.hidden_layers {
            let sparse = l == 0 && args.columns >= SPARSE_FROM;
            let d = if l == 0 { args.columns } else { args.width } as f64;
            let p = if l == args.hidden_layers { outputs } else { args.width } as f64;
            let points = if one_set { m_a } else { m_a + m_b };
            if sparse {
                work.sparse += 4.0 * n * points * d * DENSITY;
            } else {
                work.products += 2.0 * n * points * d * if l == 0 { 2.0 } else { 3.0 };
            }
            work.products += 6.0 * n * m_a * p;
            work.symmetric += 3.0 * n * m_b * m_b;
            // A factor and its gradient.
            let factor = |m: f64| m.powi(3) / 3.0 + 2.0 * m.powi(3);
            work.factors += factor(m_a) + m_b.powi(3) + if one_set { 0.0 } else { factor(m_b) };
            match args.covariance_form {
                CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => {
                    work.products += 2.0 * n * m_b * m_b * p;
                    work.symmetric += n * m_b * m_b * p;
                    work.factors += m_b.powi(3) * 4.0 / 3.0 * p;
                }
                CovarianceForm::Diagonal => work.products += 6.0 * n * m_b * p,
            }
            work.exponentials += n * points;
        }
        work
    }

    /// All floating-point operations, exponentials not counted.
    pub fn flops(&self) -> f64 {
        self.products + self.sparse + self.symmetric + self.factors
    }
}

/// The time of a step's work at the rates of our own products (dense, sparse, symmetric), exponentials and
/// factorisations, measured here and now on all threads at once, for the shapes of a hidden layer; layers can be
/// factored side by side.
pub fn floor(args: &BenchmarkArgs, work: &Work, threads: usize) -> Result<f64> {
    let (mean_inducing, covariance_inducing) = args.inducing_numbers();
    let shape = Shape { rows: 128, columns: args.width, outputs: args.width, mean_inducing, covariance_inducing };
    fn measure<T: Real>(shape: Shape) -> deepgp::Result<HashMap<&'static str, f64>> {
        let mut rates = HashMap::new();
        pieces::each::<T>(shape, |piece, run| {
            let best = (0..15).map(|_| {
                let started = Instant::now();
                run();
                started.elapsed().as_secs_f64()
            });
            rates.insert(piece.name, piece.work / best.fold(f64::INFINITY, f64::min));
        })?;
        Ok(rates)
    }
    let one = || if args.precision == Precision::F64 { measure::<f64>(shape) } else { measure::<f32>(shape) };
    let all: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        running.into_iter().map(|thread| thread.join().expect("no piece panics")).collect::<Result<_, _>>()
    })?;
    let rate = |name: &str| all.iter().map(|rates| rates[name]).sum::<f64>();
    let side_by_side = (args.hidden_layers + 1).min(threads) as f64 / threads as f64;
    Ok(work.products / rate("product")
        + work.sparse / rate("sparse product")
        + work.symmetric / rate("symmetric product")
        + work.exponentials / rate("exp")
        + work.factors / (rate("factorisation") * side_by_side))
}

/// The rate of large matrix products on all threads at once, in GFLOP/s.
pub fn peak_gflops(threads: usize, precision: Precision) -> f64 {
    let one = || if precision == Precision::F64 { pieces::peak_gflops::<f64>() } else { pieces::peak_gflops::<f32>() };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|thread| thread.join().unwrap_or(f64::NAN)).sum()
    })
}
