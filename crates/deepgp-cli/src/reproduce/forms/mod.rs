//! The forms of mean and covariance of the paper's Tables 1 and 2: which of them train stably, and how fast.
//!
//! Each form of the mean with each form of the covariance, at learning rates 0.01 and 0.001, from the same start on the
//! same rows: the ELBO and the test log likelihood against steps and seconds. A run that cannot go on is a result too.

mod figures;
mod tables;

use anyhow::Result;
use deepgp::{CovarianceForm, FitSettings, MeanForm};
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::grid::{GridRun, Model};
use super::results::number_text::layers;
use super::results::section::ResultSection;
use super::runs::journal::Keyed;
use super::runs::provenance::Provenance;
use super::runs::queue::{Run, RunOutcome, Slot};
use super::runs::setup::Setup;
use super::runs::training_run::{self, CurvePoint, TrainedModel, TrainingRun};
use crate::arguments::ReproduceArgs;
use crate::terminal::text::{duration, number};

/// The forms of the mean: those of Table 1, with its first row both as equation 7 has it and as the table prints it.
const MEANS: [MeanForm; 4] = [MeanForm::Dual, MeanForm::ScaledDual, MeanForm::Standard, MeanForm::Whitened];
/// The forms of the covariance: those of Table 2, and the whitened one.
const COVARIANCES: [CovarianceForm; 3] = [CovarianceForm::Dual, CovarianceForm::Standard, CovarianceForm::Whitened];
/// Adam's learning rates: the paper's, and a cautious one.
const RATES: [f64; 2] = [0.01, 0.001];

/// A run of one form of the mean with one of the covariance, told from the others by these six.
#[derive(Clone, Debug, PartialEq)]
pub struct FormsRun {
    dataset: String,
    hidden: usize,
    mean: MeanForm,
    covariance: CovarianceForm,
    learning_rate: f64,
    split: u64,
}

/// The result of such a run, finished or not, in the target's units: a line of `forms.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormsLine {
    /// The dataset's name, such as `kin8nm`.
    pub dataset: String,
    /// The number of layers before the last one.
    pub hidden: usize,
    /// The form of the mean.
    pub mean_form: MeanForm,
    /// The form of the covariance.
    pub covariance_form: CovarianceForm,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// The number of the split, which is the seed too.
    pub split: u64,
    /// The number of training rows.
    pub rows: usize,
    /// Mean log density of the test rows at the end; `None` if the model could not be computed there.
    pub test_log_likelihood: Option<f64>,
    /// Steps that had to be rolled back.
    pub rolled_back: u64,
    /// The reason why training could not go on, if it could not.
    pub stuck: Option<String>,
    /// The learning curve.
    pub curve: Vec<CurvePoint>,
    /// How the result came about.
    #[serde(flatten)]
    pub provenance: Provenance,
}

impl Keyed for FormsLine {
    type Key = FormsRun;

    fn key(&self) -> FormsRun {
        FormsRun {
            dataset: self.dataset.clone(),
            hidden: self.hidden,
            mean: self.mean_form,
            covariance: self.covariance_form,
            learning_rate: self.learning_rate,
            split: self.split,
        }
    }
}

impl std::fmt::Display for FormsRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { dataset, hidden, mean, covariance, learning_rate, split } = self;
        let (mean, covariance) = (mean_name(*mean), covariance_name(*covariance));
        write!(
            f,
            "{dataset}, {hidden} hidden, {mean} mean, {covariance} covariance, rate {learning_rate}, split {split}"
        )
    }
}

impl Run for FormsRun {
    type Line = FormsLine;

    fn settings(&self, setup: &Setup) -> FitSettings {
        let Self { dataset, hidden, split, .. } = self.clone();
        let mut settings = GridRun { dataset, hidden, model: Model::Decoupled, split }.settings(setup);
        settings.model.mean_form = self.mean;
        settings.model.covariance_form = self.covariance;
        settings.train.learning_rate = Some(self.learning_rate);
        settings
    }

    fn make(&self, setup: &Setup, slot: &Slot) -> Result<RunOutcome<FormsLine>> {
        let training = TrainingRun::new(setup, &self.dataset, self.split, self.settings(setup))?;
        let (looks, mut curve) = (training_run::evaluation_steps(training.settings.train.steps), Vec::new());
        let trained = training.train(training.start()?, &looks, slot, |_, point| {
            curve.push(point);
            Ok(())
        })?;
        let Some(trained) = trained else { return Ok(RunOutcome::Cut) };
        let provenance = Provenance::new(setup, slot, &training.settings, &trained)?;
        let TrainedModel { regressor, rolled_back, stuck, .. } = trained;
        Ok(RunOutcome::Done(FormsLine {
            dataset: self.dataset.clone(),
            hidden: self.hidden,
            mean_form: self.mean,
            covariance_form: self.covariance,
            learning_rate: self.learning_rate,
            split: self.split,
            rows: training.train.len(),
            test_log_likelihood: training.test_log_likelihood(&regressor)?,
            rolled_back,
            stuck,
            curve,
            provenance,
        }))
    }

    fn in_words(line: &FormsLine) -> String {
        let likelihood = line.test_log_likelihood.map_or_else(|| "none".into(), number);
        let end = line.stuck.as_ref().map_or_else(String::new, |reason| format!(", stuck: {reason}"));
        let back =
            if line.rolled_back > 0 { format!(", {} steps rolled back", line.rolled_back) } else { String::new() };
        format!("log likelihood {likelihood}, {}{back}{end}", duration(line.provenance.seconds))
    }

    fn provenance(line: &FormsLine) -> &Provenance {
        &line.provenance
    }
}

/// All runs that the arguments ask for: each form of the mean with each of the covariance.
pub fn runs(args: &ReproduceArgs) -> Vec<FormsRun> {
    let mut all = Vec::new();
    for dataset in args.datasets_of(Experiment::Forms) {
        for hidden in args.depths_of(Experiment::Forms) {
            for split in 0..args.splits_of(Experiment::Forms) {
                for learning_rate in RATES {
                    for mean in MEANS {
                        let run = |covariance| FormsRun {
                            dataset: dataset.clone(),
                            hidden,
                            mean,
                            covariance,
                            learning_rate,
                            split,
                        };
                        all.extend(COVARIANCES.map(run));
                    }
                }
            }
        }
    }
    all
}

/// The sections of the forms: for each dataset and depth how the runs end, and their learning curves.
pub fn sections(lines: &[FormsLine]) -> Vec<ResultSection> {
    let mut kinds: Vec<(&str, usize)> = lines.iter().map(|line| (line.dataset.as_str(), line.hidden)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let section = |(dataset, hidden): (&str, usize)| {
        let own: Vec<&FormsLine> =
            lines.iter().filter(|line| (line.dataset.as_str(), line.hidden) == (dataset, hidden)).collect();
        let id = format!("forms-{dataset}-{hidden}");
        ResultSection {
            title: format!("Forms, {}, {dataset}", layers(hidden)),
            lead: "Which forms of the mean and the covariance (the paper's Tables 1 and 2) train stably, and how fast? Each run has \
                   the same start and the same rows."
                .into(),
            tables: tables::tables(&own),
            figures: figures::figures(&id, hidden, &own),
            id,
        }
    };
    kinds.into_iter().map(section).collect()
}

/// The name of a form of the mean in tables and figures.
fn mean_name(form: MeanForm) -> &'static str {
    match form {
        MeanForm::Dual => "dual",
        MeanForm::ScaledDual => "scaled dual",
        MeanForm::Standard => "standard",
        MeanForm::Whitened => "whitened",
    }
}

/// The name of a form of the covariance in tables and figures.
fn covariance_name(form: CovarianceForm) -> &'static str {
    match form {
        CovarianceForm::Dual => "dual",
        CovarianceForm::Standard => "standard",
        CovarianceForm::Whitened => "whitened",
        CovarianceForm::Diagonal => "diagonal",
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::reproduce::runs::provenance::tests::provenance;

    /// A result whose learning curve of 20 points rises to `end`.
    pub fn line(mean_form: MeanForm, covariance_form: CovarianceForm, learning_rate: f64, end: f64) -> FormsLine {
        let point = |i: u64| {
            let value = end - 10.0 / (i * i) as f64;
            let (step, seconds, elbo) = (100 * i, i as f64, 1000.0 * (value - 0.3));
            CurvePoint { step, seconds, elbo, lowest_elbo: elbo - 1.0, test_log_likelihood: Some(value) }
        };
        FormsLine {
            dataset: "kin8nm".into(),
            hidden: 1,
            mean_form,
            covariance_form,
            learning_rate,
            split: 0,
            rows: 1000,
            test_log_likelihood: Some(end),
            rolled_back: 0,
            stuck: None,
            curve: (1..=20).map(point).collect(),
            provenance: provenance(20.0, 2000),
        }
    }

    #[test]
    fn depths_and_datasets_are_told_apart() {
        let own = |dataset: &str, hidden| FormsLine {
            dataset: dataset.into(),
            hidden,
            ..line(MeanForm::Whitened, CovarianceForm::Whitened, 0.01, 1.0)
        };
        let ids = |lines: &[FormsLine]| sections(lines).into_iter().map(|section| section.id).collect::<Vec<_>>();
        assert!(ids(&[]).is_empty());
        assert_eq!(ids(&[own("kin8nm", 2), own("kin8nm", 1)]), ["forms-kin8nm-1", "forms-kin8nm-2"]);
        assert_eq!(ids(&[own("protein", 1), own("kin8nm", 1)]), ["forms-kin8nm-1", "forms-protein-1"]);
    }
}
