//! The paper's Tables 3 to 6 and Figures 1 and 2: full against decoupled models on three datasets, zero to four hidden layers
//! deep, on random splits.

pub mod baselines;
mod figures;
mod latex;
mod paired_comparison;
mod paper;
mod run;
mod summary;
mod tables;
mod verdict;

use anyhow::Result;
use deepgp::FitSettings;
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::datasets::{DATASETS, DISTINCT};
use super::results::section::ResultSection;
use super::runs::journal::Keyed;
use super::runs::provenance::Provenance;
use super::runs::queue::{Run, RunOutcome, Slot};
use super::runs::setup::Setup;
use super::runs::training_run::{self, CurvePoint, TrainingRun};
use crate::arguments::ReproduceArgs;
use crate::terminal::text::{duration, scores};
pub use baselines::BaselineLine;
pub use latex::latex;
pub use run::{GridRun, MODELS, Model};
pub use tables::digits;
pub use verdict::{Verdict, verdicts};

/// The result of one run of the grid, in the target's units: a line of `results.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridLine {
    /// The dataset's name, such as `kin8nm`.
    pub dataset: String,
    /// The model that was trained.
    pub model: Model,
    /// The number of layers before the last one.
    pub hidden: usize,
    /// The number of the split.
    pub split: u64,
    /// The seed of the run.
    pub seed: u64,
    /// Mean log density of the test rows.
    pub test_log_likelihood: f64,
    /// Root mean squared error on the test rows.
    pub test_rmse: f64,
    /// Mean continuous ranked probability score of the test rows.
    pub test_crps: f64,
    /// The share of test rows in their central 95 % interval.
    pub test_coverage_95: f64,
    /// The learning curve; empty unless the run had the device to itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
    /// How the result came about.
    #[serde(flatten)]
    pub provenance: Provenance,
}

impl Keyed for GridLine {
    type Key = GridRun;

    fn key(&self) -> GridRun {
        GridRun { dataset: self.dataset.clone(), hidden: self.hidden, model: self.model, split: self.split }
    }
}

impl Run for GridRun {
    type Line = GridLine;

    fn settings(&self, setup: &Setup) -> FitSettings {
        self.fit_settings(setup.epochs, setup.training_rows(&self.dataset), setup.threads)
    }

    fn make(&self, setup: &Setup, slot: &Slot) -> Result<RunOutcome<GridLine>> {
        let training = TrainingRun::new(setup, &self.dataset, self.split, self.settings(setup))?;
        // Seconds mean something where nobody else computes.
        let looks =
            if slot.sharing == 1 { training_run::evaluation_steps(training.settings.train.steps) } else { Vec::new() };
        let mut curve = Vec::new();
        let trained = training.train(training.start()?, &looks, slot, |_, point| {
            curve.push(point);
            Ok(())
        })?;
        let Some(trained) = trained else { return Ok(RunOutcome::Cut) };
        let provenance = Provenance::new(setup, slot, &training.settings, &trained)?;
        let score = match training.score(&trained)? {
            Ok(score) => score,
            Err(reason) => return Ok(RunOutcome::Stuck(reason)),
        };
        Ok(RunOutcome::Done(GridLine {
            dataset: self.dataset.clone(),
            model: self.model,
            hidden: self.hidden,
            split: self.split,
            seed: self.split,
            test_log_likelihood: score.log_likelihood,
            test_rmse: score.rmse[0],
            test_crps: score.crps[0],
            test_coverage_95: score.coverage_95[0],
            curve,
            provenance,
        }))
    }

    fn in_words(line: &GridLine) -> String {
        scores(line.test_log_likelihood, line.test_rmse) + ", " + &duration(line.provenance.seconds)
    }

    fn provenance(line: &GridLine) -> &Provenance {
        &line.provenance
    }
}

/// All runs of the grid that the arguments ask for: shallow models first, so that a cut leaves whole rows of the
/// tables.
pub fn runs(args: &ReproduceArgs) -> Vec<GridRun> {
    let splits = args.splits_of(Experiment::Tables);
    let mut all = Vec::new();
    for dataset in args.datasets_of(Experiment::Tables) {
        for hidden in args.depths_of(Experiment::Tables) {
            for model in args.models_of(Experiment::Tables) {
                all.extend((0..splits).map(|split| GridRun { dataset: dataset.clone(), hidden, model, split }));
            }
        }
    }
    all
}

/// The sections of the grid: whether the paper's numbers are reached, decoupled against full models, and a table for
/// each dataset.
pub fn sections(lines: &[GridLine], baselines: &[BaselineLine]) -> Vec<ResultSection> {
    let mut all = Vec::new();
    let section = |id: &str, title: &str, lead: &str, tables, figures| ResultSection {
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
        all.push(section("verdict", "Against the paper", lead, tables, drawn));
    }
    if let Some(table) = paired_comparison::table(lines) {
        let lead = "Is a decoupled model better than the full one, and is it faster?";
        all.push(section("contrast", "Decoupled against full", lead, vec![table], paired_comparison::figures(lines)));
    }
    for dataset in DATASETS {
        let table = tables::table(lines, baselines, dataset);
        all.extend(table.map(|table| section(dataset, dataset, about(dataset), vec![table], Vec::new())));
    }
    all
}

/// What to know of a dataset before its table.
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
    use crate::reproduce::runs::provenance::tests::provenance;

    /// A result whose other scores follow from the log likelihood.
    pub fn line(model: Model, hidden: usize, split: u64, log_likelihood: f64) -> GridLine {
        GridLine {
            dataset: "kin8nm".into(),
            model,
            hidden,
            split,
            seed: split,
            test_log_likelihood: log_likelihood,
            test_rmse: 0.1 - 0.02 * log_likelihood,
            test_crps: 0.03,
            test_coverage_95: 0.95,
            curve: Vec::new(),
            provenance: provenance(10.0 + split as f64, 5000),
        }
    }
}
