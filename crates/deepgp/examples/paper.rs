//! Runs the paper's experiment on one table: an 80/20 split, the paper's settings, test log likelihood and RMSE.
//!
//! It reads CSV with a header from standard input, the target in the last column:
//!
//! ```text
//! gunzip -c kin8nm.csv.gz | cargo run --release --example paper -- hidden=1
//! ```
//!
//! Options, their defaults first: `hidden=1` layers, `model=decoupled` or `full`, `covariance=standard`, `whitened` or `dual`,
//! `mean=whitened`, `standard`, `dual` or `scaled-dual`, `steps=5000`, `split=0`, `precision=f64` or `mixed`, `threads=0` (all).

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;
use std::ops::ControlFlow;
use std::time::Instant;

use deepgp::likelihood::LikelihoodForm;
use deepgp::{
    ConstantColumns, CovarianceForm, Dataset, FitSettings, InducingSize, Mat, MeanForm, ModelSettings, Precision,
    PredictSettings, Regressor, StepOutcome, TrainSettings,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = BTreeMap::from(
        [
            ("hidden", "1"),
            ("model", "decoupled"),
            ("covariance", "standard"),
            ("mean", "whitened"),
            ("steps", "5000"),
            ("split", "0"),
            ("precision", "f64"),
            ("threads", "0"),
        ]
        .map(|(name, value)| (name.to_string(), value.to_string())),
    );
    for argument in std::env::args().skip(1) {
        let (name, value) = argument.split_once('=').ok_or(format!("`{argument}` is not of the form name=value"))?;
        *options.get_mut(name).ok_or(format!("there is no option `{name}`"))? = value.to_string();
    }

    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let data = parse(&text)?;
    let split: u64 = options["split"].parse()?;
    let (train, test) = data.split(0.2, split)?;

    let settings = FitSettings {
        model: ModelSettings {
            hidden_layers: options["hidden"].parse()?,
            likelihood: LikelihoodForm::Gaussian { noise: 0.05 },
            inducing: match options["model"].as_str() {
                "full" => InducingSize::Tied(200),
                "decoupled" => InducingSize::decoupled(500, 100),
                other => return Err(format!("`model` cannot be `{other}`").into()),
            },
            mean_form: match options["mean"].as_str() {
                "whitened" => MeanForm::Whitened,
                "standard" => MeanForm::Standard,
                "dual" => MeanForm::Dual,
                "scaled-dual" => MeanForm::ScaledDual,
                other => return Err(format!("`mean` cannot be `{other}`").into()),
            },
            covariance_form: match options["covariance"].as_str() {
                "standard" => CovarianceForm::Standard,
                "whitened" => CovarianceForm::Whitened,
                "dual" => CovarianceForm::Dual,
                other => return Err(format!("`covariance` cannot be `{other}`").into()),
            },
            precision: match options["precision"].as_str() {
                "f64" => Precision::F64,
                "mixed" => Precision::Mixed,
                other => return Err(format!("`precision` cannot be `{other}`").into()),
            },
            seed: split,
            ..ModelSettings::default()
        },
        train: TrainSettings {
            steps: options["steps"].parse()?,
            threads: options["threads"].parse()?,
            seed: split,
            ..TrainSettings::default()
        },
        validation: None,
        constant_columns: ConstantColumns::Keep,
        ..FitSettings::default()
    };
    eprintln!("{} training rows, {} test rows, {} inputs", train.len(), test.len(), train.x().ncols());
    let started = Instant::now();
    let mut times = Vec::new();
    let fit = Regressor::fit(&train, &settings, |report, state| {
        times.push(report.seconds);
        match &report.outcome {
            StepOutcome::Taken(elbo) if report.step % 250 == 0 => eprintln!(
                "step {:5}  ELBO {:10.2}  data {:10.2}  KL {:9.2}  {:6.1} ms a step  {} clamped  {} rolled back",
                report.step,
                elbo.total(),
                elbo.data_term,
                elbo.kl.iter().sum::<f64>(),
                1e3 * times.iter().sum::<f64>() / times.len() as f64,
                elbo.clamped,
                state.rolled_back,
            ),
            StepOutcome::RolledBack(reason) => eprintln!("step {:5}  rolled back: {reason}", report.step),
            StepOutcome::Taken(_) => {}
        }
        ControlFlow::Continue(())
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let score = fit.regressor.predictor(PredictSettings::default())?.score(&test)?;
    times.sort_by(f64::total_cmp);
    println!(
        "{options:?}: test LL {:.4}, RMSE {:.4}, coverage {:.3}; {seconds:.0} s, median step {:.1} ms",
        score.log_likelihood,
        score.rmse[0],
        score.coverage_95[0],
        1e3 * times.get(times.len() / 2).unwrap_or(&f64::NAN),
    );
    Ok(())
}

/// The table in `text`: a header, then a row a line, its cells separated by commas and the target in the last one.
fn parse(text: &str) -> Result<Dataset, Box<dyn Error>> {
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.split(',').map(|cell| cell.trim().parse()).collect())
        .collect::<Result<_, _>>()?;
    let width = rows.first().ok_or("no rows")?.len();
    if rows.iter().any(|row| row.len() != width) {
        return Err("rows differ in length".into());
    }
    let x = Mat::from_fn(rows.len(), width - 1, |i, j| rows[i][j]);
    Ok(Dataset::new(x, Mat::from_fn(rows.len(), 1, |i, _| rows[i][width - 1]))?)
}
