//! The paper's Tables 3 to 6 and Figures 1 and 2: full against decoupled models on three datasets, zero to four hidden layers
//! deep, on random splits.

pub mod baselines;
mod cell;
mod contrast;
mod figures;
mod paper;
mod summary;
mod tables;
mod verdict;

use anyhow::Result;
use deepgp::FitSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Experiment;
use super::journal::Keyed;
use super::lab::Lab;
use super::part::Part;
use super::queue::{Made, Meter, Run};
use super::trial::{self, Point, Trained, Trial};
use crate::args::ReproduceArgs;
use crate::progress::duration;
use crate::text::number;
pub use baselines::BaselineLine;
pub use cell::{Cell, DATASETS, DISTINCT, MODELS, Model, TEST};
pub use summary::spread;
pub use tables::latex;
pub use verdict::{Verdict, verdicts};

/// One finished run. Scores are in the target's units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// One of [`DATASETS`].
    pub dataset: String,
    /// Which model.
    pub model: Model,
    /// Layers before the last one.
    pub hidden: usize,
    /// The number of the split.
    pub split: u64,
    /// What seeded it.
    pub seed: u64,
    /// Mean log density of the test rows.
    pub test_log_likelihood: f64,
    /// Root mean squared error there.
    pub test_rmse: f64,
    /// Continuous ranked probability score there.
    pub test_crps: f64,
    /// The share of test rows in their central 95 % interval.
    pub test_coverage_95: f64,
    /// Of training, by the clock.
    pub seconds: f64,
    /// How many runs shared the device meanwhile, this one included.
    pub sharing: usize,
    /// The learning curve of a run that had the device to itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<Point>,
    /// Of the optimiser.
    pub steps: u64,
    /// Where it was computed.
    pub device: String,
    /// All settings.
    pub settings: Value,
    /// Of deepgp.
    pub version: String,
}

impl Keyed for Line {
    type Key = Cell;

    fn key(&self) -> Cell {
        Cell { dataset: self.dataset.clone(), hidden: self.hidden, model: self.model, split: self.split }
    }
}

impl Run for Cell {
    type Line = Line;

    fn settings(&self, lab: &Lab) -> FitSettings {
        self.fit_settings(lab.epochs, lab.training_rows(&self.dataset), lab.threads)
    }

    fn make(&self, lab: &Lab, meter: &Meter) -> Result<Made<Line>> {
        let trial = Trial::new(lab, &self.dataset, self.split, self.settings(lab))?;
        // Seconds mean something where nobody else computes.
        let looks = if lab.jobs == 1 { trial::looks(trial.settings.train.steps) } else { Vec::new() };
        let mut curve = Vec::new();
        let trained = trial.run(trial.start()?, &looks, meter, |_, point| {
            curve.push(point);
            Ok(())
        })?;
        let Some(Trained { regressor, seconds, steps, stuck, .. }) = trained else { return Ok(Made::Cut) };
        if let Some(reason) = stuck {
            return Ok(Made::Stuck(reason));
        }
        let score = trial.score(&regressor)?;
        Ok(Made::Done(Line {
            dataset: self.dataset.clone(),
            model: self.model,
            hidden: self.hidden,
            split: self.split,
            seed: self.split,
            test_log_likelihood: score.log_likelihood,
            test_rmse: score.rmse[0],
            test_crps: score.crps[0],
            test_coverage_95: score.coverage_95[0],
            seconds,
            sharing: lab.jobs,
            curve,
            steps,
            device: lab.device(),
            settings: serde_json::to_value(&trial.settings)?,
            version: env!("CARGO_PKG_VERSION").into(),
        }))
    }

    fn told(line: &Line) -> String {
        let [likelihood, rmse] = [line.test_log_likelihood, line.test_rmse].map(number);
        format!("log likelihood {likelihood}, RMSE {rmse}, {}", duration(line.seconds))
    }

    fn steps_of(line: &Line) -> Option<u64> {
        Some(line.steps)
    }
}

/// All runs that were asked for: shallow ones first, so that a cut leaves whole rows of the tables.
pub fn runs(args: &ReproduceArgs) -> Vec<Cell> {
    let splits = args.splits_of(Experiment::Tables);
    let mut all = Vec::new();
    for dataset in args.datasets_of(Experiment::Tables) {
        for hidden in args.depths_of(Experiment::Tables) {
            for &model in &args.models {
                all.extend((0..splits).map(|split| Cell { dataset: dataset.clone(), hidden, model, split }));
            }
        }
    }
    all
}

/// What to show: whether the paper's numbers are reached, its figures, and a table for each dataset.
pub fn parts(lines: &[Line], baselines: &[BaselineLine]) -> Vec<Part> {
    let mut all = Vec::new();
    let part = |id: &str, title: &str, lead: &str, tables, figures| Part {
        id: id.into(),
        title: title.into(),
        lead: lead.into(),
        tables,
        figures,
    };
    let (tables, drawn) = (verdict::tables(&verdicts(lines)), figures::figures(lines));
    if !tables.is_empty() || !drawn.is_empty() {
        let lead = "Does a mean over splits, rounded to the paper's digits, reach what the paper prints: a log likelihood at \
                    least as high, an RMSE at most as high? molecules is a rebuilt dataset and has no verdict.";
        all.push(part("verdict", "Against the paper", lead, tables, drawn));
    }
    if let Some(table) = contrast::table(lines) {
        let lead = "Is a decoupled model better than the full one: after as many steps, and after as much time?";
        all.push(part("contrast", "Decoupled against full", lead, vec![table], contrast::figures(lines)));
    }
    for dataset in DATASETS {
        let table = tables::table(lines, baselines, dataset);
        all.extend(table.map(|table| part(dataset, dataset, about(dataset), vec![table], Vec::new())));
    }
    all
}

/// What to know of a dataset.
fn about(dataset: &str) -> &'static str {
    match dataset {
        "kin8nm" => "The paper's Tables 3 and 4.",
        "protein" => "The paper's Tables 3 and 5.",
        "molecules" => {
            "The paper's Tables 3 and 6, on a rebuilt dataset: its numbers stand beside ours without a verdict."
        }
        DISTINCT => {
            "protein, of rows with equal inputs the first alone: random splits of the whole put equal rows on both sides."
        }
        _ => "",
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A line with scores that follow from the likelihood.
    pub fn line(model: Model, hidden: usize, split: u64, log_likelihood: f64) -> Line {
        Line {
            dataset: "kin8nm".into(),
            model,
            hidden,
            split,
            seed: split,
            test_log_likelihood: log_likelihood,
            test_rmse: 0.1 - 0.02 * log_likelihood,
            test_crps: 0.03,
            test_coverage_95: 0.95,
            seconds: 10.0 + split as f64,
            sharing: 1,
            curve: Vec::new(),
            steps: 5000,
            device: "cpu".into(),
            settings: Value::Null,
            version: "0".into(),
        }
    }
}
