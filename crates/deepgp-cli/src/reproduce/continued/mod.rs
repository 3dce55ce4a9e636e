//! The paper, continued: does decoupling pay where the density can follow the inputs?
//!
//! The full model and a decoupled one, nested with a diagonal covariance, are fitted as `deepgp fit` does, zero to four hidden layers deep:
//! once with the paper's density, one noise for all rows, and once with noise that follows the inputs. The two differ in their inducing
//! inputs and their covariance alone. Other programs' scores on the same splits stand beside them, if the folder has them ([`peers`]).

mod density;
mod differences;
mod figures;
mod pair;
pub mod peers;
mod tables;

use anyhow::Result;
use deepgp::{ConstantColumns, FitSettings};
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::datasets::DATASETS;
use super::grid::Model;
use super::results::section::ResultSection;
use super::runs::journal::Keyed;
use super::runs::provenance::Provenance;
use super::runs::queue::{Run, RunOutcome, Slot};
use super::runs::setup::Setup;
use super::runs::test_scores::TestScores;
use super::runs::training_run::TrainingRun;
use crate::arguments::ReproduceArgs;
use crate::terminal::text::{duration, scores};

pub use density::{DENSITIES, Density};
pub use peers::PeerLine;

/// A run of one model with one density, told from the others by these five.
#[derive(Clone, Debug, PartialEq)]
pub struct ContinuedRun {
    dataset: String,
    hidden: usize,
    model: Model,
    density: Density,
    split: u64,
}

/// The result of such a run, in the target's units: a line of `continued.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContinuedLine {
    /// The dataset's name, such as `kin8nm`.
    pub dataset: String,
    /// The number of layers before the last one.
    pub hidden: usize,
    /// The model that was trained.
    pub model: Model,
    /// The density that it was trained with.
    pub density: Density,
    /// The number of the split, which is the seed too.
    pub split: u64,
    /// The scores on the split's test rows.
    #[serde(flatten)]
    pub scores: TestScores,
    /// Median seconds of a step, without validation.
    pub step_seconds: f64,
    /// How the result came about; its seconds include the start of the model and validation.
    #[serde(flatten)]
    pub provenance: Provenance,
}

impl Keyed for ContinuedLine {
    type Key = ContinuedRun;

    fn key(&self) -> ContinuedRun {
        let &Self { hidden, model, density, split, .. } = self;
        ContinuedRun { dataset: self.dataset.clone(), hidden, model, density, split }
    }
}

impl std::fmt::Display for ContinuedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { dataset, hidden, model, density, split } = self;
        write!(f, "{dataset}, {hidden} hidden, {}, {}, split {split}", model.name(), density.name())
    }
}

impl Run for ContinuedRun {
    type Line = ContinuedLine;

    fn settings(&self, setup: &Setup) -> FitSettings {
        // molecules has columns that do not vary.
        let mut settings = FitSettings { constant_columns: ConstantColumns::Keep, ..FitSettings::default() };
        self.density.apply(&mut settings);
        let (model, train) = (&mut settings.model, &mut settings.train);
        model.hidden_layers = self.hidden;
        model.inducing = self.model.usual_inducing();
        model.covariance_form = self.model.covariance_form();
        (model.seed, train.seed) = (self.split, self.split);
        train.steps = setup.steps.unwrap_or(train.steps);
        train.threads = setup.threads;
        settings
    }

    fn make(&self, setup: &Setup, slot: &Slot) -> Result<RunOutcome<ContinuedLine>> {
        let run = TrainingRun::new(setup, &self.dataset, self.split, self.settings(setup))?;
        let Some(trained) = run.fit(slot)? else { return Ok(RunOutcome::Cut) };
        let provenance = Provenance::new(setup, slot, &run.settings, &trained)?;
        let scores = match run.score(&trained)? {
            Ok(score) => TestScores::from(&score),
            Err(reason) => return Ok(RunOutcome::Stuck(reason)),
        };
        let (dataset, step_seconds) = (self.dataset.clone(), trained.step_seconds);
        let &Self { hidden, model, density, split, .. } = self;
        let line = ContinuedLine { dataset, hidden, model, density, split, scores, step_seconds, provenance };
        Ok(RunOutcome::Done(line))
    }

    fn in_words(line: &ContinuedLine) -> String {
        let TestScores { test_log_likelihood, test_rmse, .. } = line.scores;
        scores(test_log_likelihood, test_rmse) + ", " + &duration(line.provenance.seconds)
    }

    fn provenance(line: &ContinuedLine) -> &Provenance {
        &line.provenance
    }
}

/// All runs that the arguments ask for, a split after the other, so that a cut leaves whole ones.
pub fn runs(args: &ReproduceArgs) -> Vec<ContinuedRun> {
    let mut all = Vec::new();
    for split in 0..args.splits_of(Experiment::Continued) {
        for dataset in args.datasets_of(Experiment::Continued) {
            for hidden in args.depths_of(Experiment::Continued) {
                for density in args.densities() {
                    let run = |model| ContinuedRun { dataset: dataset.clone(), hidden, model, density, split };
                    all.extend(args.models_of(Experiment::Continued).into_iter().map(run));
                }
            }
        }
    }
    all
}

/// The section of the experiment, if there are any runs: differences from the full model in a table and figures, and all scores of each
/// dataset.
pub fn sections(lines: &[ContinuedLine], peers: &[PeerLine]) -> Vec<ResultSection> {
    if lines.is_empty() && peers.is_empty() {
        return Vec::new();
    }
    let each = DATASETS.iter().filter_map(|dataset| tables::of_dataset(dataset, lines, peers));
    vec![ResultSection {
        id: "continued".into(),
        title: "The paper, continued".into(),
        lead: "Does decoupling pay where the density can follow the inputs? Every model is fitted as `deepgp fit` does, a tenth of the \
               training rows held out for early stopping. `full` has one set of 200 inducing inputs and a whitened covariance; \
               `nested-diagonal` up to 500 for the mean, of which up to 200 serve a diagonal covariance. `one-noise` is one Gaussian noise \
               for all rows by the ELBO, as in the paper; `input-dependent` is noise that follows the inputs by the objective that suits \
               it, on targets that are transformed where that helps: the defaults of `fit`."
            .into(),
        tables: differences::table(lines).into_iter().chain(each).collect(),
        figures: figures::figures(lines),
    }]
}

#[cfg(test)]
pub mod tests {
    use deepgp::{CovarianceForm, InducingSize};

    use super::*;
    use crate::reproduce::runs::provenance::tests::provenance;

    /// A result on kin8nm whose other scores follow from its log likelihood.
    pub fn line(model: Model, density: Density, hidden: usize, split: u64, log_likelihood: f64) -> ContinuedLine {
        let scores = TestScores {
            test_log_likelihood: log_likelihood,
            test_rmse: 0.2 - 0.1 * log_likelihood,
            test_crps: 0.1 - 0.05 * log_likelihood,
            test_coverage_95: 0.95,
        };
        let seconds = if model == Model::Full { 20.0 } else { 10.0 };
        let (dataset, step_seconds) = ("kin8nm".into(), 1e-3 * seconds);
        ContinuedLine {
            dataset,
            hidden,
            model,
            density,
            split,
            scores,
            step_seconds,
            provenance: provenance(seconds, 3000),
        }
    }

    #[test]
    fn models_differ_in_their_inducing_inputs_and_covariance_alone() {
        let setup = Setup::empty(1);
        let of = |model| {
            let run = ContinuedRun { dataset: "kin8nm".into(), hidden: 3, model, density: Density::OneNoise, split: 2 };
            run.settings(&setup)
        };
        let (full, mut nested) = (of(Model::Full), of(Model::NestedDiagonal));
        assert_eq!(nested.model.inducing, FitSettings::default().model.inducing);
        assert_eq!(nested.model.covariance_form, CovarianceForm::Diagonal);
        assert_eq!((full.model.seed, full.train.seed, full.model.hidden_layers), (2, 2, 3));
        (nested.model.inducing, nested.model.covariance_form) = (InducingSize::Tied(200), CovarianceForm::Whitened);
        assert_eq!(full, nested);
    }

    #[test]
    fn without_runs_there_is_no_section() {
        assert!(sections(&[], &[]).is_empty());
        let all = sections(&[line(Model::Full, Density::OneNoise, 1, 0, 1.0)], &[]);
        assert_eq!((all.len(), all[0].tables.len(), all[0].figures.len()), (1, 1, 0), "nothing to compare");
    }
}
