//! A training run: progress, checkpoints, time limit and Ctrl-C around the library's loop. `fit` begins one, `resume`
//! goes on with it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use deepgp::{Dataset, Fit, StepOutcome, StepReport, Stop, TrainState};
use deepgp_io::{ModelFile, NoiseWatch};

use super::checkpoint;
use crate::arguments::value::duration::CheckpointInterval;
use crate::model::{device, units};
use crate::terminal::interrupt;
use crate::terminal::progress::{Progress, StepProgress};

/// What a training run does beside training: checkpoints, a time limit, progress.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The file of the checkpoint.
    pub checkpoint: PathBuf,
    /// How often a checkpoint is saved.
    pub every: CheckpointInterval,
    /// Seconds after which the run ends, those of earlier runs from the same start not counted.
    pub time_limit: Option<f64>,
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
}

/// Trains the model of `file` on `data`, from the state that the file holds.
pub fn train(mut file: ModelFile, data: &Dataset, run: &RunOptions) -> Result<FinishedRun> {
    interrupt::listen();
    let settings = file.record.settings.clone();
    let start = file.regressor.clone();
    let state = file.state.take().context("a run needs a state to begin with")?;
    let watch = NoiseWatch::new(&start);
    let earlier = file.record.train_seconds;
    let known_notes = file.record.notes.len();
    let mut progress = Progress::new(settings.train.steps, state.step, run.quiet);
    let started = Instant::now();
    let mut saved = Instant::now();
    let (mut time_up, mut failed, mut due) = (false, None, false);
    let volume = start.standardiser.y.log_volume();
    let mut last_look = units::validation(&file).last().map(|(_, score)| *score);

    let callback = |report: &StepReport, state: &TrainState| {
        let (seconds, noise) = (started.elapsed().as_secs_f64(), watch.deviation(state));
        file.log(report, state, noise, earlier + seconds);
        last_look = report.validation.map(|score| score - volume).or(last_look);
        if let StepOutcome::Taken(elbo) = &report.outcome {
            let (step, epoch, validation) = (report.step, report.epoch, last_look);
            let (elbo, data_term, kl) = (elbo.total(), elbo.data_term, elbo.kl.iter().sum());
            progress.show(StepProgress { step, epoch, elbo, data_term, kl, noise, validation });
        }
        due |= match run.every {
            CheckpointInterval::Steps(steps) => report.step.is_multiple_of(steps),
            CheckpointInterval::Seconds(seconds) => saved.elapsed().as_secs_f64() >= seconds,
        };
        time_up = run.time_limit.is_some_and(|limit| seconds >= limit);
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
    let fit = start.clone().resume(data, &settings, state, callback).map_err(device::explain)?;
    progress.finish();
    if let Some(error) = failed {
        return Err(error.into());
    }
    let Fit { regressor, stop, state } = fit;
    let ending = match stop {
        Stop::Callback if time_up => Ending::TimeUp,
        Stop::Callback => Ending::Interrupted,
        _ => Ending::Done,
    };
    // On an accelerator a run ends with a burst, beyond the last step that was told of.
    file.record.steps = state.step;
    file.log_start(&state);
    if ending != Ending::Done {
        checkpoint::save(&file, &start, &state, &run.checkpoint)?;
    }
    file.record.end(&stop, time_up);
    if let Stop::Stuck(reason) = &stop {
        file.record.note("training could not go on; the model is the last good one", &reason.to_string());
    }
    file.regressor = regressor;
    Ok(FinishedRun { file, ending, known_notes })
}
