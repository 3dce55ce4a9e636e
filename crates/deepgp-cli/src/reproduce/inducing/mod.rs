//! The paper's open question, where inducing inputs should be: three ways to start them, moved by the gradient or left there.
//!
//! Along each run the gradient of the ELBO in the inducing inputs is looked at: how large it is, and whether two estimates of it
//! from different samples (and minibatches, where there are several) point the same way. A gradient that vanishes is small; one
//! that drowns in noise is not, but its estimates disagree.

mod figures;
mod gradient;
mod tables;

use anyhow::Result;
use deepgp::{FitSettings, InducingStart};
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::datasets::DATASETS;
use super::grid::{GridRun, Model};
use super::results::number_text::layers;
use super::results::section::ResultSection;
use super::runs::journal::Keyed;
use super::runs::provenance::Provenance;
use super::runs::queue::{Run, RunOutcome, Slot};
use super::runs::setup::Setup;
use super::runs::training_run::{self, CurvePoint, TrainingRun};
use crate::arguments::ReproduceArgs;
use crate::terminal::text::{duration, scores};
use gradient::{LayerGradient, gradients, inducing_names};

/// The ways to start inducing inputs that are compared.
const STARTS: [InducingStart; 3] = [InducingStart::KMeans, InducingStart::RandomRows, InducingStart::GreedyVariance];

/// A run of one start, told from the others by these five.
#[derive(Clone, Debug, PartialEq)]
pub struct InducingRun {
    dataset: String,
    hidden: usize,
    start: InducingStart,
    moved: bool,
    split: u64,
}

/// A look at the inducing inputs after some step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// The point of the learning curve at that step.
    #[serde(flatten)]
    pub point: CurvePoint,
    /// The gradients of each layer; empty if they could not be computed.
    pub layers: Vec<LayerGradient>,
}

/// The result of such a run, in the target's units: a line of `inducing.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InducingLine {
    /// The dataset's name, such as `kin8nm`.
    pub dataset: String,
    /// The number of layers before the last one.
    pub hidden: usize,
    /// Where inducing inputs started.
    pub start: InducingStart,
    /// Whether training moved the inducing inputs.
    pub moved: bool,
    /// The number of the split, which is the seed too.
    pub split: u64,
    /// Mean log density of the test rows.
    pub test_log_likelihood: f64,
    /// Root mean squared error on the test rows.
    pub test_rmse: f64,
    /// The looks at the inducing inputs along the way.
    pub looks: Vec<Look>,
    /// How the result came about.
    #[serde(flatten)]
    pub provenance: Provenance,
}

impl Keyed for InducingLine {
    type Key = InducingRun;

    fn key(&self) -> InducingRun {
        let &Self { hidden, start, moved, split, .. } = self;
        InducingRun { dataset: self.dataset.clone(), hidden, start, moved, split }
    }
}

impl std::fmt::Display for InducingRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { dataset, hidden, start, moved, split } = self;
        let moved = if *moved { "moved" } else { "left there" };
        write!(f, "{dataset}, {hidden} hidden, started by {}, {moved}, split {split}", start_name(*start))
    }
}

impl Run for InducingRun {
    type Line = InducingLine;

    fn settings(&self, setup: &Setup) -> FitSettings {
        let Self { dataset, hidden, split, .. } = self.clone();
        let mut settings = GridRun { dataset, hidden, model: Model::DecoupledWhitened, split }.settings(setup);
        settings.model.inducing_start = self.start;
        settings
    }

    fn make(&self, setup: &Setup, slot: &Slot) -> Result<RunOutcome<InducingLine>> {
        let training = TrainingRun::new(setup, &self.dataset, self.split, self.settings(setup))?;
        let mut start = training.start()?;
        if !self.moved {
            for name in inducing_names(&start.model) {
                start.model.freeze(&name)?;
            }
        }
        let (first, scaled) = (start.model.clone(), start.standardiser.apply(&training.train)?);
        let (steps, mut looks) = (training_run::evaluation_steps(training.settings.train.steps), Vec::new());
        let trained = training.train(start, &steps, slot, |model, point| {
            let layers = match gradients(model, &first, &scaled, &training.settings.train) {
                Err(error) if error.can_be_rolled_back() => Vec::new(),
                other => other?,
            };
            looks.push(Look { point, layers });
            Ok(())
        })?;
        let Some(trained) = trained else { return Ok(RunOutcome::Cut) };
        let provenance = Provenance::new(setup, slot, &training.settings, &trained)?;
        let score = match training.score(&trained)? {
            Ok(score) => score,
            Err(reason) => return Ok(RunOutcome::Stuck(reason)),
        };
        Ok(RunOutcome::Done(InducingLine {
            dataset: self.dataset.clone(),
            hidden: self.hidden,
            start: self.start,
            moved: self.moved,
            split: self.split,
            test_log_likelihood: score.log_likelihood,
            test_rmse: score.rmse[0],
            looks,
            provenance,
        }))
    }

    fn in_words(line: &InducingLine) -> String {
        scores(line.test_log_likelihood, line.test_rmse) + ", " + &duration(line.provenance.seconds)
    }

    fn provenance(line: &InducingLine) -> &Provenance {
        &line.provenance
    }
}

/// All runs that the arguments ask for: each start, with inputs that training moves and with inputs that stay.
pub fn runs(args: &ReproduceArgs) -> Vec<InducingRun> {
    let mut all = Vec::new();
    for dataset in args.datasets_of(Experiment::Inducing) {
        for hidden in args.depths_of(Experiment::Inducing) {
            for split in 0..args.splits_of(Experiment::Inducing) {
                for start in STARTS {
                    let run = |moved| InducingRun { dataset: dataset.clone(), hidden, start, moved, split };
                    all.extend([true, false].map(run));
                }
            }
        }
    }
    all
}

/// The sections of each depth: where the runs end, their learning curves, and the gradients in inducing inputs on the
/// way.
pub fn sections(lines: &[InducingLine]) -> Vec<ResultSection> {
    let mut depths: Vec<usize> = lines.iter().map(|line| line.hidden).collect();
    depths.sort_unstable();
    depths.dedup();
    let section = |hidden: usize| {
        let of = |dataset: &&'static str| -> Vec<&InducingLine> {
            lines.iter().filter(|line| line.dataset == *dataset && line.hidden == hidden).collect()
        };
        let sets = DATASETS.iter().map(|dataset| (*dataset, of(dataset)));
        let sets: Vec<(&str, Vec<&InducingLine>)> = sets.filter(|(_, own)| !own.is_empty()).collect();
        ResultSection {
            id: format!("inducing-{hidden}"),
            title: format!("Inducing inputs, {}", layers(hidden)),
            lead: "Where should inducing inputs start, is it worth moving them, and do their gradients vanish, as the paper \
                   reports? The model is the decoupled one with a whitened covariance."
                .into(),
            tables: sets.iter().map(|(dataset, own)| tables::table(dataset, hidden, own)).collect(),
            figures: figures::figures(hidden, &sets),
        }
    };
    depths.into_iter().map(section).collect()
}

/// The name of a start in tables and figures.
fn start_name(start: InducingStart) -> &'static str {
    match start {
        InducingStart::KMeans => "k-means",
        InducingStart::RandomRows => "random rows",
        InducingStart::GreedyVariance => "greedy variance",
    }
}

#[cfg(test)]
pub mod tests {
    use super::gradient::GradientStatistics;
    use super::*;
    use crate::reproduce::runs::provenance::tests::provenance;

    /// A result of 20 looks at two layers, whose curve rises to `end`.
    pub fn line(start: InducingStart, moved: bool, split: u64, end: f64) -> InducingLine {
        let look = |i: u64| {
            let value = end - 10.0 / (i * i) as f64;
            let (step, seconds, elbo) = (100 * i, i as f64, 1000.0 * (value - 0.3));
            let pull = |size: f64| GradientStatistics { size: size / i as f64, agreement: 1.0 / i as f64 };
            let far = if moved { i as f64 / 100.0 } else { 0.0 };
            let layer = |l: f64| LayerGradient {
                mean_inducing: pull(l - 1.0),
                covariance_inducing: pull(2.0),
                mean: pull(5.0),
                mean_moved: l * far,
                covariance_moved: 2.0 * l * far,
            };
            let point = CurvePoint { step, seconds, elbo, lowest_elbo: elbo, test_log_likelihood: Some(value) };
            Look { point, layers: vec![layer(1.0), layer(2.0)] }
        };
        InducingLine {
            dataset: "kin8nm".into(),
            hidden: 1,
            start,
            moved,
            split,
            test_log_likelihood: end,
            test_rmse: 0.1 - 0.02 * end,
            looks: (1..=20).map(look).collect(),
            provenance: provenance(20.0, 2000),
        }
    }
}
