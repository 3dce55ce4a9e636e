//! A training run whose model is scored along the way, for learning curves.
//!
//! The clock stands while the model is scored, so that curves against time do not depend on how often that is.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use deepgp::backend::BURST;
use deepgp::{
    Dataset, DeepGp, Draws, FitSettings, PredictSettings, Regressor, Score, StepOutcome, Stop, Trainer, Training,
};
use serde::{Deserialize, Serialize};

use super::journal::{six_digits, six_digits_if_any};
use super::queue::Slot;
use super::setup::Setup;
use crate::reproduce::results::summary::median;

/// The shares of the steps after which the model is scored at first, densely, since most happens early.
const EARLY: [f64; 9] = [0.002, 0.004, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1];
/// The share of the steps between two scorings from then on.
const LATER: f64 = 0.05;
/// Samples behind each test log likelihood of a learning curve: fewer than behind a final one, which is a little higher
/// for it.
pub const CURVE_SAMPLES: usize = 20;
/// Samples behind a score on the test rows.
const SCORE_SAMPLES: usize = 100;

/// A point of a learning curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Steps made so far.
    pub step: u64,
    /// Seconds of training so far, by the wall clock.
    #[serde(serialize_with = "six_digits")]
    pub seconds: f64,
    /// The ELBO of the last step, an estimate from its minibatch.
    #[serde(serialize_with = "six_digits")]
    pub elbo: f64,
    /// The lowest ELBO of a step since the point before.
    #[serde(serialize_with = "six_digits")]
    pub lowest_elbo: f64,
    /// Mean log density of the test rows, in the target's units; `None` if the model could not be computed there.
    #[serde(serialize_with = "six_digits_if_any")]
    pub test_log_likelihood: Option<f64>,
}

/// What a training run leaves: the model, and how it went.
#[derive(Debug)]
pub struct TrainedModel {
    /// The model at the end, or the last one that could be computed.
    pub regressor: Regressor,
    /// Seconds of training, by the wall clock.
    pub seconds: f64,
    /// Median seconds of a step, by the wall clock: neither the start of the model nor validation are in it.
    pub step_seconds: f64,
    /// Steps made.
    pub steps: u64,
    /// Steps that had to be rolled back.
    pub rolled_back: u64,
    /// The reason why training could not go on, if it could not.
    pub stuck: Option<String>,
}

/// The steps after which the model is scored: multiples of [`BURST`], where there are enough, since accelerators make
/// as many steps at once.
pub fn evaluation_steps(steps: u64) -> Vec<u64> {
    let shares = EARLY.into_iter().chain((3..=20).map(|k| f64::from(k) * LATER));
    let rounded = |share: f64| {
        let step = share * steps as f64;
        // At least one burst, if there is one.
        let least = if steps >= BURST { BURST } else { 1 };
        ((step / least as f64).round() as u64 * least).max(least).min(steps)
    };
    let mut all: Vec<u64> = shares.map(rounded).collect();
    all.dedup();
    all
}

/// A training run: training rows, test rows, and the settings of the fit.
#[derive(Debug)]
pub struct TrainingRun<'a> {
    setup: &'a Setup,
    /// The rows to train on.
    pub train: Dataset,
    /// The rows to test on.
    pub test: Dataset,
    /// All settings of the fit.
    pub settings: FitSettings,
}

impl<'a> TrainingRun<'a> {
    /// A training run on one split of a dataset.
    pub fn new(setup: &'a Setup, dataset: &str, split: u64, settings: FitSettings) -> Result<Self> {
        let (train, test) = setup.split(dataset, split)?;
        Ok(Self { setup, train, test, settings })
    }

    /// The model before its first step.
    pub fn start(&self) -> Result<Regressor> {
        Ok(Training::new(&self.train, &self.settings)?.regressor().clone())
    }

    /// Trains from `start`. After each of the steps in `evaluation_steps`, `observe` sees the model and the point of
    /// its learning curve. Returns `None` if the run was cut short.
    pub fn train(
        &self,
        start: Regressor,
        evaluation_steps: &[u64],
        slot: &Slot,
        mut observe: impl FnMut(&DeepGp, CurvePoint) -> Result<()>,
    ) -> Result<Option<TrainedModel>> {
        let Regressor { model, standardiser, .. } = start;
        let (data, settings) = (standardiser.apply(&self.train)?, self.settings.train);
        let mut trainer = Trainer::new(model.computed_on(self.setup.accelerator.clone()), &data, None, settings)?;
        let (mut seconds, mut elbo, mut lowest, mut cut) = (0.0, f64::NAN, f64::INFINITY, false);
        let mut each = Vec::new();
        let (mut ahead, mut stuck) = (evaluation_steps.iter().copied(), None);
        while trainer.state().step < settings.steps && stuck.is_none() {
            let until = ahead.next();
            let stop = trainer.run(|report, _| {
                seconds += report.seconds;
                each.push(report.seconds);
                if let StepOutcome::Taken(own) = &report.outcome {
                    elbo = own.total();
                    lowest = lowest.min(elbo);
                }
                slot.show(report.step as f64 / settings.steps as f64);
                cut = self.setup.is_stopping();
                let there = until.is_some_and(|until| report.step >= until);
                if cut || there { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            match stop {
                Ok(Stop::Stuck(reason)) => stuck = Some(reason.to_string()),
                // The first step of all cannot be rolled back.
                Err(reason) if reason.can_be_rolled_back() => stuck = Some(reason.to_string()),
                Err(other) => return Err(other.into()),
                Ok(_) => {}
            }
            if cut {
                return Ok(None);
            }
            if until.is_some() && elbo.is_finite() {
                let now = Regressor::new(trainer.model().clone(), standardiser.clone());
                let (step, test_log_likelihood) = (trainer.state().step, self.test_log_likelihood(&now)?);
                // Steps that were rolled back have no ELBO.
                let lowest_elbo = lowest.min(elbo);
                observe(&now.model, CurvePoint { step, seconds, elbo, lowest_elbo, test_log_likelihood })?;
                lowest = f64::INFINITY;
            }
        }
        let (steps, rolled_back) = (trainer.state().step, trainer.state().rolled_back);
        let regressor = Regressor::new(trainer.finish(), standardiser);
        let step_seconds = median(each);
        Ok(Some(TrainedModel { regressor, seconds, step_seconds, steps, rolled_back, stuck }))
    }

    /// Fits a model as `deepgp fit` does, with rows held out for early stopping if the settings ask for it. Its seconds include the start
    /// of the model and validation. Returns `None` if the run was cut short.
    pub fn fit(&self, slot: &Slot) -> Result<Option<TrainedModel>> {
        let (started, planned) = (Instant::now(), self.settings.train.steps);
        let mut training = Training::new(&self.train, &self.settings)?;
        let model = training.model().clone().computed_on(self.setup.accelerator.clone());
        *training.model_mut() = model;
        let (mut cut, mut each) = (false, Vec::new());
        let fit = training.run(|report, _| {
            each.push(report.seconds);
            slot.show(report.step as f64 / planned as f64);
            cut = self.setup.is_stopping();
            if cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if cut {
            return Ok(None);
        }
        let stuck = match &fit.stop {
            Stop::Stuck(reason) => Some(reason.to_string()),
            Stop::Steps | Stop::Patience | Stop::Callback => None,
        };
        let (seconds, step_seconds) = (started.elapsed().as_secs_f64(), median(each));
        let (steps, rolled_back) = (fit.state.step, fit.state.rolled_back);
        Ok(Some(TrainedModel { regressor: fit.regressor, seconds, step_seconds, steps, rolled_back, stuck }))
    }

    /// Predictions by so many independent samples, as all recorded runs have had them.
    fn by_samples(&self, samples: usize) -> PredictSettings {
        PredictSettings { samples, seed: 0, threads: self.setup.threads, draws: Draws::Independent }
    }

    /// The score of a trained model on the test rows; in words why there is none, if training could not be finished or
    /// the model cannot be computed there.
    pub fn score(&self, trained: &TrainedModel) -> Result<std::result::Result<Score, String>> {
        if let Some(reason) = &trained.stuck {
            return Ok(Err(reason.clone()));
        }
        let settings = self.by_samples(SCORE_SAMPLES);
        match trained.regressor.predictor(settings).and_then(|predictor| predictor.score(&self.test)) {
            Ok(score) if score.log_likelihood.is_finite() && score.rmse[0].is_finite() => Ok(Ok(score)),
            Ok(_) => Ok(Err("its scores on the test rows are not finite".into())),
            Err(error) if error.can_be_rolled_back() => Ok(Err(error.to_string())),
            Err(other) => Err(other.into()),
        }
    }

    /// Mean log density of the test rows by [`CURVE_SAMPLES`] samples; `None` if the model cannot be computed there.
    pub fn test_log_likelihood(&self, regressor: &Regressor) -> Result<Option<f64>> {
        let settings = self.by_samples(CURVE_SAMPLES);
        let (x, y) = (self.test.x().view(), self.test.y().view());
        match regressor.predictor(settings).and_then(|predictor| predictor.log_density(x, y)) {
            Ok(densities) => {
                let mean = densities.iter().sum::<f64>() / densities.len() as f64;
                Ok(mean.is_finite().then_some(mean))
            }
            Err(error) if error.can_be_rolled_back() => Ok(None),
            Err(other) => Err(other.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_dense_at_first_and_end_with_the_run() {
        let all = evaluation_steps(5000);
        assert_eq!(all[..5], [10, 20, 50, 100, 150]);
        assert_eq!((all.len(), all.last()), (27, Some(&5000)));
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]) && all.iter().all(|step| step % 10 == 0));
        assert_eq!(evaluation_steps(3), [1, 2, 3]);
        assert_eq!(evaluation_steps(100), [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
        assert!(evaluation_steps(1200).iter().all(|step| step % 10 == 0));
    }
}
