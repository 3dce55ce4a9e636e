//! `deepgp benchmark`: times training steps on synthetic data, beside what their arithmetic alone would take.
//!
//! Compare two programs alternately in one sitting: on a shared machine only ratios mean anything.

use std::sync::Barrier;
use std::time::Instant;

use anyhow::Result;
use deepgp::noise::{Key, Purpose};
use deepgp::{
    ConstantColumns, Dataset, DeepGp, InducingStart, Mat, ModelSettings, ObjectiveChoice, PredictSettings, Sites,
    Standardiser, TrainSettings, Trainer,
};
use serde_json::json;

use crate::arguments::BenchmarkArgs;
use crate::benchmark::synthetic::{input, observed, synthetic};
use crate::benchmark::work::{Work, floor, peak_gflops};
use crate::terminal::output::{self, Outcome, Voice};
use crate::terminal::text::{number, percent};

/// Times training steps, and says how that compares with the machine's own rates.
pub fn benchmark(args: &BenchmarkArgs) -> Result<Outcome> {
    let data = synthetic(args.rows, args.columns)?;
    let likelihood = args.likelihood();
    let data = Standardiser::fit(&data, ConstantColumns::Keep)?.apply(&data)?;
    let data = observed(data, likelihood.start(1).outcomes())?;
    let settings = ModelSettings {
        hidden_layers: args.hidden_layers,
        width: args.width,
        inducing: args.inducing_size(),
        inducing_start: InducingStart::RandomRows,
        covariance_form: args.covariance_form,
        precision: args.precision,
        sites: (args.objective == ObjectiveChoice::Sites).then_some(Sites::USUAL),
        ..ModelSettings::plain()
    };
    let accelerator = args.device.open(Voice { json: args.json, quiet: false })?;
    let model = DeepGp::with_likelihood(data.x().view(), likelihood.start_for(&data)?, &settings)?
        .computed_on(accelerator.clone());
    let settings = TrainSettings {
        steps: u64::MAX,
        batch_size: args.batch_size,
        threads: args.threads,
        objective: args.objective.form(None),
        ..TrainSettings::plain()
    };
    if args.replicas > 1 {
        return side_by_side(args, &model, &data, settings);
    }
    let mut trainer = Trainer::new(model, &data, None, settings)?;
    // An accelerator makes ten steps at once, and reports their average.
    for _ in 0..if accelerator.is_some() { 10 } else { 3 } {
        trainer.step()?;
    }
    let mut seconds = Vec::new();
    for _ in 0..args.steps.max(1) {
        seconds.push(trainer.step()?.seconds);
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let threads = if args.threads == 0 { std::thread::available_parallelism()?.get() } else { args.threads };
    let memory = peak_memory_mib();
    let predict = (args.predict > 0).then(|| time_prediction(&trainer.finish(), args.predict, args)).transpose()?;
    if let Some(accelerator) = accelerator {
        return on_accelerator(args, &accelerator.name(), &seconds, predict);
    }
    let (work, peak) = (Work::of_step(args), peak_gflops(threads, args.precision));
    let flops = work.flops();
    let rate = flops / median / 1e9;
    let floor = floor(args, &work, threads)?;
    if args.json {
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
            text += &format!("predict   {} ms for {} rows\n", number(1e3 * predict), args.predict);
        }
        output::print_text(&text)?;
    }
    Ok(Outcome::Done)
}

/// Sums up the times of steps on an accelerator, whose rates are not known.
fn on_accelerator(args: &BenchmarkArgs, device: &str, seconds: &[f64], predict: Option<f64>) -> Result<Outcome> {
    let (median, best) = (seconds[seconds.len() / 2], seconds[0]);
    if args.json {
        output::json(&json!({
            "device": device, "seconds_per_step": median, "seconds_min": best, "predict_seconds": predict,
        }))?;
    } else {
        let (median, best, steps) = (number(1e3 * median), number(1e3 * best), seconds.len());
        let mut text = format!("device    {device}\na step    {median} ms (median of {steps}; at best {best})\n");
        if let Some(predict) = predict {
            text += &format!("predict   {} ms for {} rows\n", number(1e3 * predict), args.predict);
        }
        output::print_text(&text)?;
    }
    Ok(Outcome::Done)
}

/// Times several models trained together, each from a thread of its own, and one alone, in steps a second.
fn side_by_side(args: &BenchmarkArgs, model: &DeepGp, data: &Dataset, settings: TrainSettings) -> Result<Outcome> {
    let steps = args.steps.max(1).next_multiple_of(10);
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
    let (alone, together) = (rate(1)?, rate(args.replicas)?);
    if args.json {
        output::json(&json!({
            "replicas": args.replicas, "steps_per_second_alone": alone, "steps_per_second_together": together,
        }))?;
    } else {
        let (replicas, ratio) = (args.replicas, number(together / alone));
        let (alone, together) = (number(alone), number(together));
        let text = format!("{alone} steps a second alone, {together} for {replicas} models together: {ratio} times\n");
        output::print_text(&text)?;
    }
    Ok(Outcome::Done)
}

/// The median time of three predictions of fresh rows, 100 samples each, preparation included.
fn time_prediction(model: &DeepGp, rows: usize, args: &BenchmarkArgs) -> Result<f64> {
    let key = Key::new(2, Purpose::Simulate);
    let x = Mat::from_fn(rows, args.columns, |i, j| input(key, i, j, args.columns));
    let mut seconds = Vec::new();
    for _ in 0..3 {
        let started = Instant::now();
        let settings = PredictSettings { samples: 100, threads: args.threads, ..PredictSettings::default() };
        std::hint::black_box(model.predictor(settings)?.moments(x.view())?);
        seconds.push(started.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[1])
}

/// The largest resident size of the process so far, in MiB; NaN where the system does not say.
fn peak_memory_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib / 1024.0)
}
