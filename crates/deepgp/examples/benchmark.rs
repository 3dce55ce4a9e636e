//! Times training steps on synthetic data and prints one line of JSON.
//!
//! ```text
//! cargo run --release --example benchmark -- --rows 6554 --columns 8 --batch-size 10000 --hidden-layers 1 \
//!     --mean-inducing 500 --covariance-inducing 100 --precision f64 --threads 2 --steps 20
//! ```
//!
//! `--inducing M` in place of the two numbers is the full DGP; `--predict ROWS` also times a prediction. `floor_seconds` is what the
//! arithmetic alone would take. Compare two programs alternately in one sitting: on a shared
//! machine only ratios mean anything.

use std::collections::HashMap;
use std::error::Error;
use std::time::Instant;

use deepgp::noise::{Key, Purpose};
use deepgp::pieces::{self, Shape};
use deepgp::{
    ConstantColumns, Dataset, DeepGp, InducingSize, InducingStart, Mat, ModelSettings, Precision, PredictSettings,
    Real, Standardiser, TrainSettings, Trainer,
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
    predict: usize,
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
    let memory = peak_memory_mib();
    let predict = match plan.predict {
        0 => String::new(),
        rows => format!(", \"predict_seconds\": {:.6}", time_prediction(&trainer.finish(), rows, &plan)?),
    };
    let (work, peak) = (work(&plan), peak_gflops(threads, plan.precision));
    let flops = work.products + work.sparse + work.symmetric + work.factors;
    let rate = flops / median / 1e9;
    println!(
        "{{\"seconds_per_step\": {median:.6}, \"seconds_min\": {:.6}, \"flops_per_step\": {flops:.4e}, \
         \"gflops\": {rate:.1}, \"peak_gflops\": {peak:.1}, \"fraction_of_peak\": {:.3}, \"floor_seconds\": {:.6}, \
         \"peak_memory_mib\": {memory:.1}{predict}}}",
        seconds[0],
        rate / peak,
        floor(&plan, &work, threads)?,
    );
    Ok(())
}

/// The median of three predictions of fresh rows, 100 samples each, preparation included.
fn time_prediction(model: &DeepGp, rows: usize, plan: &Plan) -> Result<f64, Box<dyn Error>> {
    let key = Key::new(2, Purpose::Simulate);
    let x = Mat::from_fn(rows, plan.columns, |i, j| input(key, i, j, plan.columns));
    let mut seconds = Vec::new();
    for _ in 0..3 {
        let started = Instant::now();
        let settings = PredictSettings { samples: 100, threads: plan.threads, ..PredictSettings::default() };
        std::hint::black_box(model.predictor(settings)?.moments(x.view())?);
        seconds.push(started.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[1])
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
        predict: 0,
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
            "--predict" => plan.predict = number()?,
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

/// The share of ones among the bits, as in the molecules of the paper.
const DENSITY: f64 = 0.09;

/// A normal number, or a bit where there are many columns.
fn input(key: Key, row: usize, column: usize, columns: usize) -> f64 {
    let place = [row as u32, column as u32, 0, 0];
    if columns >= 100 { f64::from(u8::from(key.uniform(place) < DENSITY)) } else { key.normals(place)[0] }
}

/// A sum of sines of random projections of the inputs.
fn synthetic(rows: usize, columns: usize) -> Dataset {
    let key = Key::new(1, Purpose::Simulate);
    let x = Mat::from_fn(rows, columns, |i, j| input(key, i, j, columns));
    let y = Mat::from_fn(rows, 1, |i, _| {
        let wave = |w: u32| {
            let each = x.row(i).iter().enumerate().map(|(j, v)| v * key.normals([j as u32, w, 1, 0])[0]);
            (2.0 * each.sum::<f64>() / (columns as f64).sqrt()).sin()
        };
        (0..4).map(wave).sum::<f64>() + 0.1 * key.normals([i as u32, 0, 2, 0])[0]
    });
    Dataset::new(x, y).expect("synthetic numbers are finite")
}

/// What a lean program has to do in a step, in floating-point operations and exponentials.
#[derive(Default)]
struct Work {
    products: f64,
    /// With inputs of which only the ones are stored.
    sparse: f64,
    /// With symmetric or triangular structure, which halves them.
    symmetric: f64,
    factors: f64,
    exponentials: f64,
}

fn work(plan: &Plan) -> Work {
    let (m_a, m_b, tied) = match plan.inducing {
        InducingSize::Tied(m) => (m as f64, m as f64, true),
        InducingSize::Decoupled { mean, covariance } => (mean as f64, covariance as f64, false),
    };
    let batches = plan.rows.div_ceil(plan.batch_size);
    let n = (plan.rows / batches) as f64;
    let mut work = Work::default();
    for l in 0..=plan.hidden_layers {
        let sparse = l == 0 && plan.columns >= 100;
        let d = if l == 0 { plan.columns } else { plan.width } as f64;
        let p = if l == plan.hidden_layers { 1 } else { plan.width } as f64;
        let points = if tied { m_a } else { m_a + m_b };
        if sparse {
            work.sparse += 4.0 * n * points * d * DENSITY;
        } else {
            work.products += 2.0 * n * points * d * if l == 0 { 2.0 } else { 3.0 };
        }
        work.products += 6.0 * n * m_a * p + 2.0 * n * m_b * m_b * p;
        work.symmetric += n * m_b * m_b * (p + 3.0);
        // A factor, its gradient, and what is made of it for each output.
        let factor = |m: f64| m.powi(3) / 3.0 + 2.0 * m.powi(3);
        work.factors += factor(m_b) + if tied { 0.0 } else { factor(m_a) } + m_b.powi(3) * (1.0 + 4.0 / 3.0 * p);
        work.exponentials += n * points;
    }
    work
}

/// The time of that work at the rates of our own products (dense, sparse, symmetric), exponentials and factorisations, measured here
/// and now on all threads at once, for the shapes of a hidden layer; layers can be factored side by side.
fn floor(plan: &Plan, work: &Work, threads: usize) -> Result<f64, Box<dyn Error>> {
    let (mean_inducing, covariance_inducing) = match plan.inducing {
        InducingSize::Tied(m) => (m, m),
        InducingSize::Decoupled { mean, covariance } => (mean, covariance),
    };
    let shape = Shape { rows: 128, columns: plan.width, outputs: plan.width, mean_inducing, covariance_inducing };
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
    let one = || if plan.precision == Precision::F64 { measure::<f64>(shape) } else { measure::<f32>(shape) };
    let all: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        running.into_iter().map(|thread| thread.join().expect("no piece panics")).collect::<Result<_, _>>()
    })?;
    let rate = |name: &str| all.iter().map(|rates| rates[name]).sum::<f64>();
    let side_by_side = (plan.hidden_layers + 1).min(threads) as f64 / threads as f64;
    Ok(work.products / rate("product")
        + work.sparse / rate("sparse product")
        + work.symmetric / rate("symmetric product")
        + work.exponentials / rate("exp")
        + work.factors / (rate("factorisation") * side_by_side))
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
