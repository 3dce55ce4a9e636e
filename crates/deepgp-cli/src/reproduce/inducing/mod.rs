//! The paper's open question, where inducing inputs should be: three ways to start them, moved by the gradient or left there.
//!
//! Along each run the gradient of the ELBO in the inducing inputs is looked at: how large it is, and whether two estimates of it
//! from different samples (and minibatches, where there are several) point the same way. A gradient that vanishes is small; one
//! that drowns in noise is not, but its estimates disagree.

mod figures;
mod gradient;

use anyhow::Result;
use deepgp::{FitSettings, InducingStart, Regressor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Experiment;
use super::grid::{Cell, Model, TEST};
use super::journal::Keyed;
use super::lab::Lab;
use super::queue::{Made, Meter, Run};
use super::trial::{self, Point, Trained};
use crate::args::ReproduceArgs;
use crate::progress::duration;
use crate::text::number;
pub use figures::figures;
use gradient::{LayerGradient, gradients, inducing_names};

/// The ways to start.
const STARTS: [InducingStart; 3] = [InducingStart::KMeans, InducingStart::RandomRows, InducingStart::GreedyVariance];

/// Which run.
#[derive(Clone, Debug, PartialEq)]
pub struct InducingRun {
    dataset: String,
    hidden: usize,
    start: InducingStart,
    moved: bool,
    split: u64,
}

/// The inducing inputs at some step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Where the run was.
    #[serde(flatten)]
    pub point: Point,
    /// One for each layer.
    pub layers: Vec<LayerGradient>,
}

/// A finished run. Scores are in the target's units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InducingLine {
    /// Which data.
    pub dataset: String,
    /// Layers before the last one.
    pub hidden: usize,
    /// Where inducing inputs started.
    pub start: InducingStart,
    /// Whether training moved them.
    pub moved: bool,
    /// The number of the split, which seeded it too.
    pub split: u64,
    /// Mean log density of the test rows.
    pub test_log_likelihood: f64,
    /// Root mean squared error there.
    pub test_rmse: f64,
    /// What was seen on the way.
    pub looks: Vec<Look>,
    /// Of training, by the clock.
    pub seconds: f64,
    /// How many runs shared the device meanwhile, this one included.
    pub sharing: usize,
    /// Steps made.
    pub steps: u64,
    /// Where it was computed.
    pub device: String,
    /// All settings.
    pub settings: Value,
    /// Of deepgp.
    pub version: String,
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

    fn settings(&self, lab: &Lab) -> FitSettings {
        let Self { dataset, hidden, split, .. } = self.clone();
        let mut settings = Cell { dataset, hidden, model: Model::DecoupledWhitened, split }.settings(lab);
        settings.model.inducing_start = self.start;
        settings
    }

    fn make(&self, lab: &Lab, meter: &Meter) -> Result<Made<InducingLine>> {
        let (train, test) = lab.table(&self.dataset).split(TEST, self.split)?;
        let settings = self.settings(lab);
        let mut start = Regressor::start(&train, &settings)?;
        if !self.moved {
            for name in inducing_names(&start.model) {
                start.model.freeze(&name)?;
            }
        }
        let (units, first) = (start.standardiser.clone(), start.model.clone());
        let scaled = units.apply(&train)?;
        let mut looks = Vec::new();
        let steps = trial::looks(settings.train.steps);
        let trained = trial::train(lab, start, &train, &settings, &steps, meter, |model, mut point| {
            let regressor = Regressor { model: model.clone(), standardiser: units.clone() };
            point.test_log_likelihood = trial::glance(lab, &regressor, &test)?;
            looks.push(Look { point, layers: gradients(model, &first, &scaled, &settings.train)? });
            Ok(())
        })?;
        let Some(Trained { regressor, seconds, steps, stuck, .. }) = trained else { return Ok(Made::Cut) };
        if let Some(reason) = stuck {
            return Ok(Made::Stuck(reason));
        }
        let score = trial::score(lab, &regressor, &test)?;
        Ok(Made::Done(InducingLine {
            dataset: self.dataset.clone(),
            hidden: self.hidden,
            start: self.start,
            moved: self.moved,
            split: self.split,
            test_log_likelihood: score.log_likelihood,
            test_rmse: score.rmse[0],
            looks,
            seconds,
            sharing: lab.jobs,
            steps,
            device: lab.device(),
            settings: serde_json::to_value(&settings)?,
            version: env!("CARGO_PKG_VERSION").into(),
        }))
    }

    fn told(line: &InducingLine) -> String {
        let [likelihood, rmse] = [line.test_log_likelihood, line.test_rmse].map(number);
        format!("log likelihood {likelihood}, RMSE {rmse}, {}", duration(line.seconds))
    }

    fn steps_of(line: &InducingLine) -> Option<u64> {
        Some(line.steps)
    }
}

/// All runs: each start, moved and not.
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

/// What a start is called.
fn start_name(start: InducingStart) -> &'static str {
    match start {
        InducingStart::KMeans => "k-means",
        InducingStart::RandomRows => "random rows",
        InducingStart::GreedyVariance => "greedy variance",
    }
}
