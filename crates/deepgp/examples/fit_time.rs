//! Times one fit on the simulated arm and prints its seconds and steps; `python/benchmarks/fit.py` compares Python with it.
//!
//! ```sh
//! cargo run --release --example fit_time -- rows=2000 steps=200 hidden=2
//! ```

use std::ops::ControlFlow;
use std::time::Instant;

use deepgp::{ConstantColumns, FitSettings, Regressor, simulate};

fn main() -> deepgp::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: usize| {
        let given = arguments.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
        given.unwrap_or(default)
    };
    let mut settings =
        FitSettings { validation: None, constant_columns: ConstantColumns::Keep, ..FitSettings::default() };
    settings.train.steps = number("steps", 200) as u64;
    settings.model.hidden_layers = number("hidden", 2);
    let data = simulate::eight_link_arm(number("rows", 2000), 1);
    let started = Instant::now();
    let fit = Regressor::fit(&data, &settings, |_, _| ControlFlow::Continue(()))?;
    println!("{:.6} {}", started.elapsed().as_secs_f64(), fit.state.step);
    Ok(())
}
