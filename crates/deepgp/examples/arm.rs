//! The main job on built-in data: full and decoupled deep GPs on a simulated 8-link robot arm, side by side.
//!
//! ```text
//! cargo run --release --example arm
//! ```

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::Instant;

use deepgp::simulate::eight_link_arm;
use deepgp::{FitSettings, InducingSize, ModelSettings, PredictSettings, Regressor, StepOutcome, TrainSettings};

const STEPS: u64 = 500;

fn main() -> deepgp::Result<()> {
    let (train, test) = eight_link_arm(3000, 1).split(0.2, 1)?;
    eprintln!("8-link arm: {} training rows, {} test rows, {STEPS} steps a model", train.len(), test.len());
    let live = std::io::stderr().is_terminal();
    println!("| hidden layers | inducing inputs | test LL | test RMSE | 95 % coverage | seconds |");
    println!("|---|---|---:|---:|---:|---:|");
    for hidden_layers in 0..=2 {
        for inducing in [InducingSize::Tied(100), InducingSize::Decoupled { mean: 250, covariance: 50 }] {
            let label = match inducing {
                InducingSize::Tied(m) => format!("{m}"),
                InducingSize::Decoupled { mean, covariance } => format!("{mean} / {covariance}"),
            };
            let settings = FitSettings {
                model: ModelSettings { hidden_layers, inducing: Some(inducing), ..ModelSettings::default() },
                train: TrainSettings { steps: STEPS, ..TrainSettings::default() },
                validation: None,
                ..FitSettings::default()
            };
            let started = Instant::now();
            let fit = Regressor::fit(&train, &settings, |report, _| {
                if let (StepOutcome::Taken(elbo), 0, true) = (&report.outcome, report.step % 50, live) {
                    eprint!("\r{hidden_layers} hidden, {label}: step {}, ELBO {:.1}    ", report.step, elbo.total());
                }
                ControlFlow::Continue(())
            })?;
            let seconds = started.elapsed().as_secs_f64();
            let score = fit.regressor.predictor(PredictSettings::default())?.score(&test)?;
            if live {
                eprint!("\r{:60}\r", "");
            }
            println!(
                "| {hidden_layers} | {label} | {:.3} | {:.4} | {:.1} % | {seconds:.1} |",
                score.log_likelihood,
                score.rmse[0],
                100.0 * score.coverage_95[0],
            );
        }
    }
    Ok(())
}
