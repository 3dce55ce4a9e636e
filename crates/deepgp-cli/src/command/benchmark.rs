//! `deepgp benchmark`: the time of training steps on synthetic data, beside what the arithmetic alone would take.
//!
//! Compare two programs alternately in one sitting: on a shared machine only ratios mean anything.

use std::collections::HashMap;
use std::sync::Barrier;
use std::time::Instant;

use anyhow::Result;
use deepgp::noise::{Key, Purpose};
use deepgp::pieces::{self, Shape};
use deepgp::{
    ConstantColumns, Dataset, DeepGp, InducingSize, InducingStart, Mat, ModelSettings, Precision, PredictSettings,
    Real, Standardiser, TrainSettings, Trainer,
};
use serde_json::json;

use crate::arguments::BenchmarkArgs as Plan;
use crate::terminal::output::Voice;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::{number, percent};

/// Times steps, and says how that compares with the machine.
pub fn benchmark(plan: &Plan) -> Result<Outcome> {
    let data = synthetic(plan.rows, plan.columns)?;
    let data = Standardiser::fit(&data, ConstantColumns::Keep)?.apply(&data)?;
    let settings = ModelSettings {
        hidden_layers: plan.hidden_layers,
        width: plan.width,
        inducing: inducing(plan),
        inducing_start: InducingStart::RandomRows,
        covariance_form: plan.covariance_form,
        precision: plan.precision,
        ..ModelSettings::default()
    };
    let accelerator = plan.device.open(Voice { json: plan.json, quiet: false })?;
    let model = DeepGp::for_regression(data.x().view(), 1, &settings)?.computed_on(accelerator.clone());
    let settings = TrainSettings {
        steps: u64::MAX,
        batch_size: plan.batch_size,
        threads: plan.threads,
        ..TrainSettings::default()
    };
    if plan.replicas > 1 {
        return side_by_side(plan, &model, &data, settings);
    }
    let mut trainer = Trainer::new(model, &data, None, settings)?;
    // An accelerator makes ten steps at once, and reports their average.
    for _ in 0..if accelerator.is_some() { 10 } else { 3 } {
        trainer.step()?;
    }
    let mut seconds = Vec::new();
    for _ in 0..plan.steps.max(1) {
        seconds.push(trainer.step()?.seconds);
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let threads = if plan.threads == 0 { std::thread::available_parallelism()?.get() } else { plan.threads };
    let memory = peak_memory_mib();
    let predict = (plan.predict > 0).then(|| time_prediction(&trainer.finish(), plan.predict, plan)).transpose()?;
    if let Some(accelerator) = accelerator {
        return on_accelerator(plan, &accelerator.name(), &seconds, predict);
    }
    let (work, peak) = (work(plan), peak_gflops(threads, plan.precision));
    let flops = work.products + work.sparse + work.symmetric + work.factors;
    let rate = flops / median / 1e9;
    let floor = floor(plan, &work, threads)?;
    if plan.json {
        let mut line = json!({
            "seconds_per_step": median,
            "seconds_min": seconds[0],
            "flops_per_step": flops,
            "gflops": rate,
            "peak_gflops": peak,
            "fraction_of_peak": rate / peak,
            "floor_seconds": floor,
            "peak_memory_mib": memory,
        });
        if let Some(predict) = predict {
            line["predict_seconds"] = json!(predict);
        }
        output::json(&line)?;
    } else {
        let mut text = format!(
            "a step    {} ms (median of {}; at best {})\n\
             floor     {} ms for the arithmetic alone, at this machine's own rates\n\
             rate      {} GFLOP/s, {} of the peak of {threads} threads\n\
             memory    {} MiB at most\n",
            number(1e3 * median),
            seconds.len(),
            number(1e3 * seconds[0]),
            number(1e3 * floor),
            number(rate),
            percent(rate / peak),
            number(memory),
        );
        if let Some(predict) = predict {
            text += &format!("predict   {} ms for {} rows\n", number(1e3 * predict), plan.predict);
        }
        output::print(text.as_bytes())?;
    }
    Ok(Outcome::Done)
}

/// What there is to say of a machine whose rates are not known.
fn on_accelerator(plan: &Plan, device: &str, seconds: &[f64], predict: Option<f64>) -> Result<Outcome> {
    let (median, best) = (seconds[seconds.len() / 2], seconds[0]);
    if plan.json {
        output::json(&json!({
            "device": device, "seconds_per_step": median, "seconds_min": best, "predict_seconds": predict,
        }))?;
    } else {
        let (median, best, steps) = (number(1e3 * median), number(1e3 * best), seconds.len());
        let mut text = format!("device    {device}\na step    {median} ms (median of {steps}; at best {best})\n");
        if let Some(predict) = predict {
            text += &format!("predict   {} ms for {} rows\n", number(1e3 * predict), plan.predict);
        }
        output::print(text.as_bytes())?;
    }
    Ok(Outcome::Done)
}

/// Steps a second of several models together, each trained from a thread of its own, and of one alone.
fn side_by_side(plan: &Plan, model: &DeepGp, data: &Dataset, settings: TrainSettings) -> Result<Outcome> {
    let steps = plan.steps.max(1).next_multiple_of(10);
    let rate = |replicas: usize| -> Result<f64> {
        // All are ready before the clock starts.
        let ready = Barrier::new(replicas);
        let seconds = std::thread::scope(|scope| {
            let one = |seed: usize| {
                let ready = &ready;
                scope.spawn(move || -> Result<f64> {
                    let settings = TrainSettings { seed: seed as u64, ..settings };
                    let trainer = Trainer::new(model.clone(), data, None, settings);
                    ready.wait();
                    let (mut trainer, started) = (trainer?, Instant::now());
                    for _ in 0..steps {
                        trainer.step()?;
                    }
                    Ok(started.elapsed().as_secs_f64())
                })
            };
            let all: Vec<_> = (0..replicas).map(one).collect();
            let joined = all.into_iter().map(|thread| thread.join().expect("no step panics"));
            joined.collect::<Result<Vec<f64>>>()
        })?;
        let longest = seconds.into_iter().fold(0.0, f64::max);
        Ok((replicas * steps) as f64 / longest)
    };
    let (alone, together) = (rate(1)?, rate(plan.replicas)?);
    if plan.json {
        output::json(&json!({
            "replicas": plan.replicas, "steps_per_second_alone": alone, "steps_per_second_together": together,
        }))?;
    } else {
        let (replicas, ratio) = (plan.replicas, number(together / alone));
        let (alone, together) = (number(alone), number(together));
        let text = format!("{alone} steps a second alone, {together} for {replicas} models together: {ratio} times\n");
        output::print(text.as_bytes())?;
    }
    Ok(Outcome::Done)
}

/// `M_a` and `M_b`.
fn sizes(plan: &Plan) -> (usize, usize) {
    plan.inducing.map_or((plan.mean_inducing, plan.covariance_inducing), |m| (m, m))
}

fn inducing(plan: &Plan) -> InducingSize {
    match plan.inducing {
        Some(m) => InducingSize::Tied(m),
        None => InducingSize::decoupled(plan.mean_inducing, plan.covariance_inducing),
    }
}

/// The median of three predictions of fresh rows, 100 samples each, preparation included.
fn time_prediction(model: &DeepGp, rows: usize, plan: &Plan) -> Result<f64> {
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

/// The share of ones among the bits, as in the molecules of the paper.
const DENSITY: f64 = 0.09;

/// A normal number, or a bit where there are many columns.
fn input(key: Key, row: usize, column: usize, columns: usize) -> f64 {
    let place = [row as u32, column as u32, 0, 0];
    if columns >= 100 { f64::from(u8::from(key.uniform(place) < DENSITY)) } else { key.normals(place)[0] }
}

/// A sum of sines of random projections of the inputs.
fn synthetic(rows: usize, columns: usize) -> Result<Dataset> {
    let key = Key::new(1, Purpose::Simulate);
    let x = Mat::from_fn(rows, columns, |i, j| input(key, i, j, columns));
    let y = Mat::from_fn(rows, 1, |i, _| {
        let wave = |w: u32| {
            let each = x.row(i).iter().enumerate().map(|(j, v)| v * key.normals([j as u32, w, 1, 0])[0]);
            (2.0 * each.sum::<f64>() / (columns as f64).sqrt()).sin()
        };
        (0..4).map(wave).sum::<f64>() + 0.1 * key.normals([i as u32, 0, 2, 0])[0]
    });
    Ok(Dataset::new(x, y)?)
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
    let ((m_a, m_b), tied) = (sizes(plan), plan.inducing.is_some());
    let (m_a, m_b) = (m_a as f64, m_b as f64);
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
fn floor(plan: &Plan, work: &Work, threads: usize) -> Result<f64> {
    let (mean_inducing, covariance_inducing) = sizes(plan);
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

/// The rate of large matrix products on all threads at once.
fn peak_gflops(threads: usize, precision: Precision) -> f64 {
    let one = || if precision == Precision::F64 { pieces::peak_gflops::<f64>() } else { pieces::peak_gflops::<f32>() };
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
