//! Weights by the noise, as an objective of one's own, beside the library's on one table. docs/densities.md has what came of it.
//!
//! Seitzer, Tavakoli, Antic and Martius ("On the pitfalls of heteroscedastic uncertainty estimation", 2022) multiply the log density of a row
//! by the power `β` of its noise variance, which no gradient goes through: at `β = 1` the mean is fitted as if noise were constant, at 0 as
//! the density has it.
//!
//! It reads CSV with a header from standard input, the target in the last column:
//!
//! ```text
//! gunzip -c concrete.csv.gz | cargo run --release --example beta_nll -- split=0 steps=3000 threads=0
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;

use deepgp::objective::{EvidenceLowerBound, Objective, ObjectiveForm, RowBars, RowTerm, Samples};
use deepgp::{Dataset, FitSettings, Mat, Method, OptimiserForm, PredictSettings, Training};

/// The evidence lower bound of a heteroscedastic likelihood with one target, whose rows have the gradient of `exp(β m_g)` times their term,
/// with the mean `m_g` of the function that the noise follows.
#[derive(Debug)]
struct WeightedByNoise {
    beta: f64,
}

impl Objective for WeightedByNoise {
    fn name(&self) -> &'static str {
        "ELBO, weighted by the noise"
    }

    fn add(&self, row: &RowTerm<'_>, sum: &mut f64) {
        EvidenceLowerBound.add(row, sum);
    }

    fn pullback(&self, row: &RowTerm<'_>, bars: RowBars<'_>) {
        let RowBars { mean, variance, likelihood, shared, .. } = bars;
        let width = row.f.width;
        for s in 0..row.f.len() {
            let own = s * width..(s + 1) * width;
            let sample = Samples::alike(&row.f.mean[own.clone()], &row.f.variance[own.clone()], width);
            let weight = row.weight * row.f.weight(s) * (self.beta * sample.mean[1]).exp();
            let bars = RowBars {
                mean: &mut mean[own.clone()],
                variance: &mut variance[own],
                conditional: &mut [],
                log_weights: &mut [],
                likelihood: &mut *likelihood,
                shared: &mut *shared,
            };
            EvidenceLowerBound.pullback(&RowTerm { f: sample, weight, ..*row }, bars);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = BTreeMap::from([("split", 0), ("steps", 3000), ("threads", 0)]);
    for argument in std::env::args().skip(1) {
        let (name, value) = argument.split_once('=').ok_or(format!("`{argument}` is not of the form name=value"))?;
        *options.get_mut(name).ok_or(format!("there is no option `{name}`"))? = value.parse()?;
    }
    let split = options["split"];
    let (train, test) = read(std::io::stdin().lock())?.split(0.2, split)?;
    let mut settings = FitSettings { calibrate: false, ..FitSettings::default() };
    (settings.model.seed, settings.train.seed) = (split, split);
    (settings.train.steps, settings.train.threads) = (options["steps"], usize::try_from(options["threads"])?);
    let training = Training::new(&train, &settings)?;
    let candidates: [(&str, Arc<dyn Objective>); 4] = [
        ("elbo", ObjectiveForm::Elbo.objective()),
        ("weighted, 1/2", Arc::new(WeightedByNoise { beta: 0.5 })),
        ("weighted, 1", Arc::new(WeightedByNoise { beta: 1.0 })),
        ("faithful", ObjectiveForm::FAITHFUL.objective()),
    ];
    for (name, objective) in candidates {
        let method = Method { objective, optimiser: OptimiserForm::Adam.optimiser() };
        let fit = training.run_by(method, |_, _| ControlFlow::Continue(()))?;
        let score = fit.regressor.predictor(PredictSettings::default())?.score(&test)?;
        println!(
            "{name}: test log likelihood {:.3}, CRPS {:.4}, RMSE {:.4}, in the 95 % interval {:.1} %",
            score.log_likelihood,
            score.crps[0],
            score.rmse[0],
            100.0 * score.coverage_95[0],
        );
    }
    Ok(())
}

/// The table: a header, then a row a line, its cells separated by commas and the target in the last one.
fn read(text: impl std::io::BufRead) -> Result<Dataset, Box<dyn Error>> {
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for line in text.lines().skip(1) {
        rows.push(line?.split(',').map(|cell| cell.trim().parse()).collect::<Result<_, _>>()?);
    }
    let inputs = rows.first().map_or(0, Vec::len).checked_sub(1).ok_or("the table has no rows")?;
    if rows.iter().any(|row| row.len() != inputs + 1) {
        return Err("rows differ in length".into());
    }
    let x = Mat::from_fn(rows.len(), inputs, |i, j| rows[i][j]);
    Ok(Dataset::new(x, Mat::from_fn(rows.len(), 1, |i, _| rows[i][inputs]))?)
}
