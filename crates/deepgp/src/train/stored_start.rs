//! The start of training on rows that are not in memory: what [`Training`](super::Training) does of a dataset, in passes over the rows.
//!
//! Which rows are held out, the units, and the rows that a model starts from are the same, and sums are taken in the same order, so that the model is
//! that of the same rows in memory to the bit. What needs single rows takes a sample that does not grow with the table.

use super::training::{
    check_hold_out, fit_transforms, no_transform_for_such_targets, places_fitted_to, places_looked_at,
};
use super::transform_choice::{self, TransformFinding};
use crate::data::{
    ConstantColumns, Dataset, Standardiser, StoredRows, Stratify, TargetTransform, TransformChoice, sample,
};
use crate::error::Result;
use crate::likelihood::{Outcomes, TargetUnits};
use crate::model::DeepGp;
use crate::model::inducing::SUBSAMPLE;
use crate::model::start::StartWatch;
use crate::numeric::threads::Threads;
use crate::random::noise::{Key, Purpose};
use crate::regressor::Regressor;
use crate::settings::FitSettings;

/// A model and its rows before training.
pub(super) struct StoredStart {
    /// The model, and its units.
    pub regressor: Regressor,
    /// The rows to train on.
    pub train: StoredRows,
    /// Some of them, in the model's units.
    pub sample: Dataset,
    /// The rows that decide when to stop, in the model's units.
    pub held_out: Option<Dataset>,
    /// What was found out about the transform of each target.
    pub findings: Vec<TransformFinding>,
}

/// A new model for these rows.
pub(super) fn begin(rows: &StoredRows, settings: &FitSettings, watch: &mut StartWatch<'_>) -> Result<StoredStart> {
    let form = settings.model.likelihood;
    form.check()?;
    let likelihood = match form.start(rows.targets()).outcomes() {
        // Where it starts does not depend on the targets.
        Outcomes::Real => form.start_for(&rows.gather(&[0])?)?,
        Outcomes::Classes(_) | Outcomes::Counts => form.start_for(&rows.targets_alone()?)?,
    };
    let units = likelihood.target_units();
    rows.check_targets(settings.transform_target)?;
    let (train, held_out) = hold_out(rows, settings, likelihood.outcomes())?;
    // An input that varies may be constant among the rows left to train on: whether it is refused, all rows decide.
    Standardiser::fit_stored(rows, settings.constant_columns, units)?;
    let threads = Threads::new(settings.train.threads)?;
    let standardiser = Standardiser::fit_stored(&train, ConstantColumns::Keep, units)?;
    let (transforms, findings) = transforms(&train, settings.transform_target, (units, &standardiser), &threads)?;
    let standardiser = standardiser.with_transforms_of_stored(&train, transforms)?;
    let sample = start_rows(&train, &standardiser, settings.model.seed)?;
    let first = sample.x().view();
    let model = threads.run(|| DeepGp::with_likelihood_watched(first, likelihood, &settings.model, watch))?;
    let held_out = held_out.map(|rows| looked_at(&rows, &standardiser, settings)).transpose()?;
    Ok(StoredStart { regressor: Regressor::new(model, standardiser), train, sample, held_out, findings })
}

/// An existing model, in its own units, for these rows.
pub(super) fn go_on(regressor: Regressor, rows: &StoredRows, settings: &FitSettings) -> Result<StoredStart> {
    let (train, held_out) = hold_out(rows, settings, regressor.model.likelihood().outcomes())?;
    let sample = start_rows(&train, &regressor.standardiser, settings.model.seed)?;
    let held_out = held_out.map(|rows| looked_at(&rows, &regressor.standardiser, settings)).transpose()?;
    Ok(StoredStart { regressor, train, sample, held_out, findings: Vec::new() })
}

/// The rows to train on, and those held out.
fn hold_out(rows: &StoredRows, settings: &FitSettings, outcomes: Outcomes) -> Result<(StoredRows, Option<StoredRows>)> {
    let Some(fraction) = settings.validation else { return Ok((rows.clone(), None)) };
    check_hold_out(rows.len(), fraction)?;
    let stratify = match outcomes {
        Outcomes::Classes(_) => Stratify::Classes,
        Outcomes::Real | Outcomes::Counts => Stratify::Rows,
    };
    let (train, held_out) = rows.split(fraction, stratify, settings.train.seed)?;
    Ok((train, Some(held_out)))
}

/// The rows that a model starts from, in its units: those that it starts from where all are in memory.
fn start_rows(train: &StoredRows, units: &Standardiser, seed: u64) -> Result<Dataset> {
    let places = sample(train.len(), SUBSAMPLE, Key::new(seed, Purpose::Inducing), 0);
    Ok(units.apply(&train.gather(&places)?)?.kept_dense())
}

/// The rows among those held out that decide when to stop, in the model's units.
fn looked_at(held_out: &StoredRows, units: &Standardiser, settings: &FitSettings) -> Result<Dataset> {
    units.apply(&held_out.gather(&places_looked_at(held_out.len(), settings))?)
}

/// The transform of each target, with what was found out about it if the choice was left to the library.
fn transforms(
    train: &StoredRows,
    choice: TransformChoice,
    (units, plain): (TargetUnits, &Standardiser),
    threads: &Threads,
) -> Result<(Vec<TargetTransform>, Vec<TransformFinding>)> {
    use TransformChoice as Choice;
    let some = || train.gather(&places_fitted_to(train.len()));
    match (choice, units) {
        (Choice::None, TargetUnits::Standardised | TargetUnits::AsTheyAre) | (Choice::Auto, TargetUnits::AsTheyAre) => {
            Ok((vec![TargetTransform::Identity; train.targets()], Vec::new()))
        }
        (Choice::Auto, TargetUnits::Standardised) => {
            let (some, smallest) = (some()?, train.smallest_targets()?);
            let fetch = |rows: &[u32]| some.gather(rows);
            Ok(transform_choice::choose(&some, &smallest, plain, &fetch, threads)?.into_iter().unzip())
        }
        (fixed @ (Choice::Log | Choice::Log1p | Choice::YeoJohnson | Choice::Quantile), TargetUnits::Standardised) => {
            Ok((fit_transforms(fixed, &some()?)?, Vec::new()))
        }
        (fixed @ (Choice::Log | Choice::Log1p | Choice::YeoJohnson | Choice::Quantile), TargetUnits::AsTheyAre) => {
            Err(no_transform_for_such_targets(fixed))
        }
    }
}
