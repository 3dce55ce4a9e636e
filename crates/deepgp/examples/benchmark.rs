//! Times training steps on synthetic data and prints one line of JSON.
//!
//! ```text
//! cargo run --release --example benchmark -- --rows 6554 --columns 8 --batch-size 10000 --hidden-layers 1 \
//!     --mean-inducing 500 --covariance-inducing 100 --precision f64 --threads 2 --steps 20
//! ```
//!
//! `--inducing M` in place of the two numbers is the full DGP. Compare two programs alternately in one sitting: on a shared
//! machine only ratios mean anything.

use std::error::Error;
use std::time::Instant;

use deepgp::noise::{Key, Purpose};
use deepgp::{
    ConstantColumns, Dataset, DeepGp, InducingSize, InducingStart, Mat, ModelSettings, Precision, Standardiser,
    TrainSettings, Trainer,
};

/// What to time.
struct Plan {
    rows: usize,
    columns: usize,
    batch_size: usize,
    hidden_layers: usize,
    width: usize,
    inducing: InducingSize,
    precision: Precision,
    threads: usize,
    steps: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let plan = parse()?;
    let data = synthetic(plan.rows, plan.columns);
    let data = Standardiser::fit(&data, ConstantColumns::Keep)?.apply(&data)?;
    let settings = ModelSettings {
        hidden_layers: plan.hidden_layers,
        width: plan.width,
        inducing: Some(plan.inducing),
        inducing_start: InducingStart::RandomRows,
        precision: plan.precision,
        ..ModelSettings::default()
    };
    let model = DeepGp::for_regression(data.x().view(), 1, &settings)?;
    let settings = TrainSettings {
        steps: u64::MAX,
        batch_size: plan.batch_size,
        threads: plan.threads,
        ..TrainSettings::default()
    };
    let mut trainer = Trainer::new(model, &data, None, settings)?;
    for _ in 0..3 {
        trainer.step()?;
    }
    let mut seconds = Vec::new();
    for _ in 0..plan.steps {
        seconds.push(trainer.step()?.seconds);
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let threads = if plan.threads == 0 { std::thread::available_parallelism()?.get() } else { plan.threads };
    let (flops, peak) = (flops(&plan), peak_gflops(threads, plan.precision));
    let rate = flops / median / 1e9;
    println!(
        "{{\"seconds_per_step\": {median:.6}, \"seconds_min\": {:.6}, \"flops_per_step\": {flops:.4e}, \
         \"gflops\": {rate:.1}, \"peak_gflops\": {peak:.1}, \"fraction_of_peak\": {:.3}, \"peak_memory_mib\": {:.1}}}",
        seconds[0],
        rate / peak,
        peak_memory_mib(),
    );
    Ok(())
}

fn parse() -> Result<Plan, Box<dyn Error>> {
    let mut plan = Plan {
        rows: 6554,
        columns: 8,
        batch_size: 10_000,
        hidden_layers: 1,
        width: 10,
        inducing: InducingSize::Decoupled { mean: 500, covariance: 100 },
        precision: Precision::F64,
        threads: 0,
        steps: 20,
    };
    let (mut mean, mut covariance) = (500, 100);
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        if flag == "--json" {
            continue; // there is no other output
        }
        let value = words.next().ok_or(format!("{flag} needs a value"))?;
        let number = || value.parse::<usize>().map_err(|_| format!("{flag}: `{value}` is not a number"));
        match flag.as_str() {
            "--rows" => plan.rows = number()?,
            "--columns" => plan.columns = number()?,
            "--batch-size" => plan.batch_size = number()?,
            "--hidden-layers" => plan.hidden_layers = number()?,
            "--width" => plan.width = number()?,
            "--threads" => plan.threads = number()?,
            "--steps" => plan.steps = number()?.max(1),
            "--inducing" => plan.inducing = InducingSize::Tied(number()?),
            "--mean-inducing" => {
                mean = number()?;
                plan.inducing = InducingSize::Decoupled { mean, covariance };
            }
            "--covariance-inducing" => {
                covariance = number()?;
                plan.inducing = InducingSize::Decoupled { mean, covariance };
            }
            "--precision" => {
                plan.precision = match value.as_str() {
                    "f64" => Precision::F64,
                    "mixed" => Precision::Mixed,
                    other => return Err(format!("--precision: `{other}` is neither `f64` nor `mixed`").into()),
                }
            }
            other => return Err(format!("there is no flag `{other}`").into()),
        }
    }
    Ok(plan)
}

/// Normal inputs, or sparse bits where there are many columns; a sum of sines of random projections.
fn synthetic(rows: usize, columns: usize) -> Dataset {
    let key = Key::new(1, Purpose::Simulate);
    let x = Mat::from_fn(rows, columns, |i, j| {
        let place = [i as u32, j as u32, 0, 0];
        if columns >= 100 { f64::from(u8::from(key.uniform(place) < 0.09)) } else { key.normals(place)[0] }
    });
    let y = Mat::from_fn(rows, 1, |i, _| {
        let wave = |w: u32| {
            let each = x.row(i).iter().enumerate().map(|(j, v)| v * key.normals([j as u32, w, 1, 0])[0]);
            (2.0 * each.sum::<f64>() / (columns as f64).sqrt()).sin()
        };
        (0..4).map(wave).sum::<f64>() + 0.1 * key.normals([i as u32, 0, 2, 0])[0]
    });
    Dataset::new(x, y).expect("synthetic numbers are finite")
}

/// Floating-point operations of a step with symmetric and triangular structure used: what a lean program has to do.
fn flops(plan: &Plan) -> f64 {
    let (m_a, m_b, tied) = match plan.inducing {
        InducingSize::Tied(m) => (m as f64, m as f64, true),
        InducingSize::Decoupled { mean, covariance } => (mean as f64, covariance as f64, false),
    };
    let batches = plan.rows.div_ceil(plan.batch_size);
    let n = (plan.rows / batches) as f64;
    let layer = |l: usize| {
        let d = if l == 0 { plan.columns } else { plan.width } as f64;
        let p = if l == plan.hidden_layers { 1 } else { plan.width } as f64;
        let points = if tied { m_a } else { m_a + m_b };
        let distances = 2.0 * n * points * d * if l == 0 { 2.0 } else { 3.0 };
        let means = 6.0 * n * m_a * p;
        let variances = n * m_b * m_b * (3.0 * p + 3.0);
        let factors = if tied { 3.0 * m_a.powi(3) } else { 3.0 * (m_a.powi(3) + m_b.powi(3)) };
        distances + means + variances + factors + 3.0 * p * m_b.powi(3)
    };
    (0..=plan.hidden_layers).map(layer).sum()
}

/// The rate of a 1024³ matrix product on each of `threads` threads at once.
fn peak_gflops(threads: usize, precision: Precision) -> f64 {
    fn rate<T: deepgp::Real>() -> f64 {
        const N: usize = 1024;
        let a = faer::Mat::<T>::from_fn(N, N, |i, j| T::of((i + j) as f64 / N as f64));
        let mut out = faer::Mat::<T>::zeros(N, N);
        let once = |out: &mut faer::Mat<T>| {
            let started = Instant::now();
            faer::linalg::matmul::matmul(out, faer::Accum::Replace, &a, &a, T::ONE, faer::Par::Seq);
            2.0 * (N as f64).powi(3) / started.elapsed().as_secs_f64() / 1e9
        };
        (0..5).map(|_| once(&mut out)).fold(0.0, f64::max)
    }
    let one = || if precision == Precision::F64 { rate::<f64>() } else { rate::<f32>() };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|thread| thread.join().unwrap_or(f64::NAN)).sum()
    })
}

/// The largest resident size so far, where the system tells.
fn peak_memory_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib / 1024.0)
}
