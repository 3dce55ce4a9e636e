//! Which settings should be the defaults: version 0.1's beside one change after the other, fitted as `deepgp fit` does, with rows held
//! out for early stopping, on many tables.

mod candidate;
mod tables;

use anyhow::Result;
use deepgp::{ConstantColumns, FitSettings};
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::datasets::DATASETS;
use super::results::section::ResultSection;
use super::runs::journal::Keyed;
use super::runs::provenance::Provenance;
use super::runs::queue::{Run, RunOutcome, Slot};
use super::runs::setup::Setup;
use super::runs::training_run::TrainingRun;
use crate::arguments::ReproduceArgs;
use crate::terminal::text::{duration, scores};

pub use candidate::{CANDIDATES, Candidate};

/// A run of one candidate, told from the others by these four.
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultsRun {
    dataset: String,
    hidden: usize,
    candidate: Candidate,
    split: u64,
}

/// The result of such a run, in the target's units: a line of `defaults.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DefaultsLine {
    /// The dataset's name, such as `kin8nm`.
    pub dataset: String,
    /// The number of layers before the last one.
    pub hidden: usize,
    /// The settings that were tried.
    pub candidate: Candidate,
    /// The number of the split, which is the seed too.
    pub split: u64,
    /// Mean log density of the test rows.
    pub test_log_likelihood: f64,
    /// Root mean squared error on the test rows.
    pub test_rmse: f64,
    /// Mean continuous ranked probability score of the test rows.
    pub test_crps: f64,
    /// The share of the test rows in their central 95 % interval.
    pub test_coverage_95: f64,
    /// How the result came about; its seconds include the start of the model.
    #[serde(flatten)]
    pub provenance: Provenance,
}

impl Keyed for DefaultsLine {
    type Key = DefaultsRun;

    fn key(&self) -> DefaultsRun {
        let &Self { hidden, candidate, split, .. } = self;
        DefaultsRun { dataset: self.dataset.clone(), hidden, candidate, split }
    }
}

impl std::fmt::Display for DefaultsRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { dataset, hidden, candidate, split } = self;
        write!(f, "{dataset}, {hidden} hidden, {}, split {split}", candidate.name())
    }
}

impl Run for DefaultsRun {
    type Line = DefaultsLine;

    fn settings(&self, setup: &Setup) -> FitSettings {
        let mut settings = FitSettings { constant_columns: ConstantColumns::Keep, ..FitSettings::default() };
        let rows = settings.training_rows(setup.training_rows(&self.dataset));
        self.candidate.apply(&mut settings, rows);
        settings.train.steps = setup.steps.unwrap_or(settings.train.steps);
        settings.model.hidden_layers = self.hidden;
        (settings.model.seed, settings.train.seed) = (self.split, self.split);
        settings.train.threads = setup.threads;
        settings
    }

    fn make(&self, setup: &Setup, slot: &Slot) -> Result<RunOutcome<DefaultsLine>> {
        let run = TrainingRun::new(setup, &self.dataset, self.split, self.settings(setup))?;
        let Some(trained) = run.fit(slot)? else { return Ok(RunOutcome::Cut) };
        let provenance = Provenance::new(setup, slot, &run.settings, &trained)?;
        let score = match run.score(&trained)? {
            Ok(score) => score,
            Err(reason) => return Ok(RunOutcome::Stuck(reason)),
        };
        Ok(RunOutcome::Done(DefaultsLine {
            dataset: self.dataset.clone(),
            hidden: self.hidden,
            candidate: self.candidate,
            split: self.split,
            test_log_likelihood: score.log_likelihood,
            test_rmse: score.rmse[0],
            test_crps: score.crps[0],
            test_coverage_95: score.coverage_95[0],
            provenance,
        }))
    }

    fn in_words(line: &DefaultsLine) -> String {
        scores(line.test_log_likelihood, line.test_rmse) + ", " + &duration(line.provenance.seconds)
    }

    fn provenance(line: &DefaultsLine) -> &Provenance {
        &line.provenance
    }
}

/// All runs that the arguments ask for: each candidate on each split of each dataset.
pub fn runs(args: &ReproduceArgs) -> Vec<DefaultsRun> {
    let mut all = Vec::new();
    for split in 0..args.splits_of(Experiment::Defaults) {
        for dataset in args.datasets_of(Experiment::Defaults) {
            for hidden in args.depths_of(Experiment::Defaults) {
                let run = |candidate| DefaultsRun { dataset: dataset.clone(), hidden, candidate, split };
                all.extend(args.candidates().into_iter().map(run));
            }
        }
    }
    all
}

/// The section of the defaults, if there are any runs: all datasets in one table, and each by itself.
pub fn sections(lines: &[DefaultsLine]) -> Vec<ResultSection> {
    if lines.is_empty() {
        return Vec::new();
    }
    let of = |dataset: &&'static str| -> Vec<&DefaultsLine> {
        lines.iter().filter(|line| line.dataset == *dataset).collect()
    };
    let sets = DATASETS.iter().map(|dataset| (*dataset, of(dataset)));
    let sets: Vec<(&str, Vec<&DefaultsLine>)> = sets.filter(|(_, own)| !own.is_empty()).collect();
    let each = sets.iter().map(|(dataset, own)| tables::of_dataset(dataset, own));
    vec![ResultSection {
        id: "defaults".into(),
        title: "Defaults".into(),
        lead: "Which settings should be the defaults? Each is fitted as `deepgp fit` does, a tenth of the training rows held out for \
               early stopping, and scored on test rows that neither saw."
            .into(),
        tables: std::iter::once(tables::over_datasets(&sets)).chain(each).collect(),
        figures: Vec::new(),
    }]
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::reproduce::runs::provenance::tests::provenance;

    /// A result whose scores follow from its log likelihood.
    pub fn line(dataset: &str, candidate: Candidate, split: u64, log_likelihood: f64) -> DefaultsLine {
        DefaultsLine {
            dataset: dataset.into(),
            hidden: 2,
            candidate,
            split,
            test_log_likelihood: log_likelihood,
            test_rmse: (-log_likelihood).exp(),
            test_crps: 0.5 * (-log_likelihood).exp(),
            test_coverage_95: 0.95,
            provenance: provenance(20.0 / (1.0 + candidate as usize as f64), 2000),
        }
    }
}
