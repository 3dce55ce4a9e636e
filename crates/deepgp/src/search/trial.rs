//! One candidate on one part of the rows: trained up to a rung, from where it was.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::backend::Backend;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::random::noise::{Key, Purpose};
use crate::regressor::Regressor;
use crate::settings::FitSettings;
use crate::train::state::{StepReport, Stop, TrainState};
use crate::train::{Fit, Training};

/// Rows to train candidates on, and other rows that judge them.
#[derive(Clone, Debug)]
pub struct SearchPart {
    /// The rows to train on. Those that decide when to stop are among them, as in any fit.
    pub train: Dataset,
    /// The rows that judge.
    pub judge: Dataset,
}

/// The most rows that judge: more would tell little more, and cost as much again for each candidate.
const MOST_JUDGING: usize = 10_000;

/// The rows that judge out of those that were set aside for it: all, or 10,000 of them at random.
pub fn judging_rows(rows: &Dataset, seed: u64) -> Result<Dataset> {
    if rows.len() <= MOST_JUDGING {
        return Ok(rows.clone());
    }
    let mut chosen = Key::new(seed, Purpose::Search).permutation(rows.len(), 1);
    chosen.truncate(MOST_JUDGING);
    chosen.sort_unstable();
    rows.gather(&chosen)
}

/// A model of a candidate on one part, and what it takes to go on.
#[derive(Clone, Debug)]
pub struct TrialModel {
    /// The model as it predicts: the best so far, calibrated.
    pub regressor: Regressor,
    /// The state of its training.
    pub state: TrainState,
    /// Whether its training has ended by itself: then there is nothing to go on with.
    pub ended: bool,
}

/// How far a trial got.
pub(super) enum Advance {
    /// The rung, or the end of training before it.
    There(Box<TrialModel>),
    /// It was cut short.
    Cut,
    /// It could not go on, for this reason.
    Failed(Error),
}

/// Trains a candidate with these settings on a part up to a step, from `before` if it has been trained already. `watch` sees every step, and can cut it
/// short.
pub(super) fn advance(
    part: &SearchPart,
    settings: &FitSettings,
    accelerator: Option<Arc<dyn Backend>>,
    (before, to): (Option<&TrialModel>, u64),
    watch: &mut (dyn FnMut(u64) -> ControlFlow<()> + Send),
) -> Advance {
    if let Some(ended) = before.filter(|own| own.ended) {
        return Advance::There(Box::new(ended.clone()));
    }
    let mut cut = false;
    let begun = match before {
        Some(before) => Training::of(before.regressor.clone(), &part.train, settings)
            .map(|training| training.resume(before.state.clone())),
        None => Training::watched(&part.train, settings, |_| {
            let go_on = watch(0);
            cut |= go_on.is_break();
            go_on
        }),
    };
    let mut training = match begun {
        _ if cut => return Advance::Cut,
        Ok(training) => training,
        Err(reason) => return Advance::Failed(reason),
    };
    *training.model_mut() = training.model().clone().computed_on(accelerator);
    let step = |report: &StepReport, _: &TrainState| {
        cut |= watch(report.step).is_break();
        if cut || report.step >= to { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let Fit { regressor, stop, state } = match training.run(step) {
        Ok(fit) => fit,
        Err(reason) => return Advance::Failed(reason),
    };
    match stop {
        Stop::Stuck(reason) => Advance::Failed(reason),
        Stop::Callback if cut => Advance::Cut,
        Stop::Callback => Advance::There(Box::new(TrialModel { regressor, state, ended: false })),
        Stop::Steps | Stop::Patience => Advance::There(Box::new(TrialModel { regressor, state, ended: true })),
    }
}
