//! A training run: progress, checkpoints, time limit and Ctrl-C around the library's loop. `fit` begins one, `resume`
//! goes on with it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use deepgp::{Fit, StepReport, TrainState, Training};
use deepgp_io::atomic::Lock;
use deepgp_io::{LikelihoodWatch, ModelFile, StopReason};

use super::checkpoint;
use super::step_pace::StepPace;
use super::time_limit::TimeLimit;
use crate::arguments::value::duration::CheckpointInterval;
use crate::model::{device, units};
use crate::terminal::interrupt;
use crate::terminal::output::Outcome;
use crate::terminal::progress::Progress;

/// What a training run does beside training: checkpoints, a time limit, progress.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The file of the checkpoint.
    pub checkpoint: PathBuf,
    /// How often a checkpoint is saved.
    pub every: CheckpointInterval,
    /// The limit on the time of the command, if it has one.
    pub time_limit: Option<TimeLimit>,
    /// The right to write the checkpoint, if it was taken.
    pub lock: Option<Arc<Lock>>,
    /// Whether no progress is shown.
    pub quiet: bool,
}

/// Why a training run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All steps were made, or patience ran out, or training could not go on.
    Done,
    /// The time was up: there is a checkpoint to go on from.
    TimeUp,
    /// Somebody interrupted the run: there is a checkpoint to go on from.
    Interrupted,
}

/// What a training run leaves when it has ended.
#[derive(Debug)]
pub struct FinishedRun {
    /// The model with its record and history, without the state of training.
    pub file: ModelFile,
    /// Why the run ended.
    pub ending: Ending,
    /// The number of the record's notes that are older than this run, and have been shown before.
    pub known_notes: usize,
    /// The rows, held-out rows and units that the model was trained with.
    pub training: Training,
}

/// Trains as the first process does, in another one, which neither says nor writes anything.
pub fn accompany(file: ModelFile, training: Training) -> Result<Outcome> {
    interrupt::listen();
    let state = file.state.context("a run needs a state to begin with")?;
    let go_on = |_: &StepReport, _: &TrainState| match interrupt::asked() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    training.resume(state).run(go_on)?;
    Ok(Outcome::Done)
}

/// Trains the model of `training`, which is that of `file`, from the state that the file holds.
pub fn train(mut file: ModelFile, training: Training, run: &RunOptions) -> Result<FinishedRun> {
    interrupt::listen();
    let settings = file.record.settings.clone();
    let start = training.regressor().clone();
    // Until it ends again.
    file.record.stop = None;
    let state = file.state.take().context("a run needs a state to begin with")?;
    let first_step = state.step;
    let training = training.resume(state);
    let watch = LikelihoodWatch::new(&start);
    let earlier = file.record.train_seconds;
    let known_notes = file.record.notes.len();
    let mut pace =
        StepPace::new(&training, &settings, run.time_limit.map_or(1.0, |limit| limit.looks_of_calibration()));
    let mut progress = Progress::new(settings.train.steps, first_step, run.quiet);
    let started = Instant::now();
    let mut saved = Instant::now();
    let (mut time_up, mut failed, mut due) = (false, None, false);
    let judge = units::judge(&file);
    let target_units = start.standardiser.clone();
    let log_volume = file.record.validation_log_volume;
    let mut last_look = units::validation(&file).last().map(|(_, score)| judge.in_words(*score));

    let callback = |report: &StepReport, state: &TrainState| {
        let seconds = started.elapsed().as_secs_f64();
        let step = file.log(report, state, watch.summary(state), earlier + seconds);
        let look = step.validation.map(|score| units::validation_score(judge, score, &target_units, log_volume));
        last_look = look.map(|score| judge.in_words(score)).or_else(|| last_look.take());
        progress.show(&step, last_look.as_deref(), run.time_limit.map(|limit| limit.left_to_train()));
        due |= match run.every {
            CheckpointInterval::Steps(steps) => report.step.is_multiple_of(steps),
            CheckpointInterval::Seconds(seconds) => saved.elapsed().as_secs_f64() >= seconds,
        };
        let ahead = pace.ahead(report);
        time_up = run.time_limit.is_some_and(|limit| limit.is_up(ahead));
        // An accelerator's state is not fetched at every step.
        if due && report.step < settings.train.steps && state.step == report.step {
            (saved, due) = (Instant::now(), false);
            if let Err(error) = checkpoint::save(&file, &start, state, &run.checkpoint) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
        }
        if time_up || interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let fit = training.run(callback).map_err(device::explain)?;
    progress.finish();
    if let Some(error) = failed {
        return Err(error.into());
    }
    let Fit { regressor, stop, state } = fit;
    let reason = StopReason::new(&stop, time_up);
    let ending = match reason {
        StopReason::TimeLimit => Ending::TimeUp,
        StopReason::Interrupted => Ending::Interrupted,
        StopReason::Steps | StopReason::Patience | StopReason::Stuck { .. } => Ending::Done,
    };
    file.log_end(&state);
    match ending {
        Ending::Done => file.record.end(reason),
        Ending::TimeUp => {
            // The checkpoint says so too: it is that of a fit that has ended.
            file.record.end(reason);
            checkpoint::save(&file, &start, &state, &run.checkpoint)?;
        }
        Ending::Interrupted => {
            checkpoint::save(&file, &start, &state, &run.checkpoint)?;
            file.record.end(reason);
        }
    }
    file.regressor = regressor;
    Ok(FinishedRun { file, ending, known_notes, training })
}
