//! A run of training: progress, checkpoints, time limit and Ctrl-C around the library's loop. `fit` begins one, `resume` goes on.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use deepgp::params::Constraint;
use deepgp::{Dataset, Elbo, Fit, Regressor, StepOutcome, StepReport, Stop, TrainState};
use deepgp_io::{HistoryPoint, ModelError, ModelFile};

use crate::interrupt;
use crate::progress::{Progress, Pulse};
use crate::span::Every;

/// Kinds of note that are told once each, not at every step.
const MOST_NOTES: usize = 20;

/// What goes on around training.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where the state is kept.
    pub checkpoint: PathBuf,
    /// How often.
    pub every: Every,
    /// Seconds after which it ends, those of earlier parts not counted.
    pub time_limit: Option<f64>,
    /// Whether to show nothing.
    pub quiet: bool,
}

/// Why a run ended, for people and scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All steps were made, or patience ran out, or it could not go on.
    Done,
    /// The time was up: there is a checkpoint to go on from.
    TimeUp,
    /// Somebody asked for it: likewise.
    Interrupted,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Model, record and history; no state.
    pub file: ModelFile,
    /// Why it ended.
    pub ending: Ending,
    /// How many of the record's notes are older than this run, and have been told.
    pub known_notes: usize,
}

/// Trains `file`'s model on `data`, from the state that it holds.
pub fn train(mut file: ModelFile, data: &Dataset, run: &Run) -> Result<Finished> {
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
    let mut last_look = file.history.validation().last().map(|(_, score)| *score);

    let callback = |report: &StepReport, state: &TrainState| {
        let seconds = started.elapsed().as_secs_f64();
        file.record.steps = report.step;
        file.record.train_seconds = earlier + seconds;
        if let Some(score) = report.validation {
            file.history.push_validation(report.step, score);
            last_look = Some(score);
        }
        match &report.outcome {
            StepOutcome::Taken(elbo) => {
                file.record.elbo = Some(elbo.total());
                note_jitter(&mut file.record.notes, elbo);
                let noise = watch.deviation(state);
                let (data_term, kl) = (elbo.data_term, elbo.kl.iter().sum());
                let (step, elbo) = (report.step, elbo.total());
                file.history.push(HistoryPoint { step, seconds: earlier + seconds, elbo, data_term, kl, noise });
                let validation = last_look;
                progress.show(Pulse { step, epoch: report.epoch, elbo, data_term, kl, noise, validation });
            }
            StepOutcome::RolledBack(reason) => {
                note(&mut file.record.notes, format!("a step was rolled back: {reason}"))
            }
        }
        due |= match run.every {
            Every::Steps(steps) => report.step.is_multiple_of(steps),
            Every::Seconds(seconds) => saved.elapsed().as_secs_f64() >= seconds,
        };
        time_up = run.time_limit.is_some_and(|limit| seconds >= limit);
        // An accelerator's state is not fetched at every step.
        if due && report.step < settings.train.steps && state.step == report.step {
            (saved, due) = (Instant::now(), false);
            if let Err(error) = save_checkpoint(&file, &start, state, &run.checkpoint) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
        }
        if time_up || interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let fit = start.clone().resume(data, &settings, state, callback)?;
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
    if ending != Ending::Done {
        save_checkpoint(&file, &start, &state, &run.checkpoint)?;
    }
    file.record.stop = Some(match &stop {
        Stop::Steps => "all steps were made".into(),
        Stop::Patience => "the validation rows saw nothing better for a while".into(),
        Stop::Callback if time_up => "the time was up".into(),
        Stop::Callback => "it was interrupted".into(),
        Stop::Stuck(reason) => format!("it could not go on: {reason}"),
    });
    if let Stop::Stuck(reason) = &stop {
        note(&mut file.record.notes, format!("training could not go on; the model is the last good one: {reason}"));
    }
    file.record.steps = state.step;
    file.regressor = regressor;
    Ok(Finished { file, ending, known_notes })
}

/// Saves where a run stands. The file is a model too: the best one so far.
pub fn save_checkpoint(file: &ModelFile, start: &Regressor, state: &TrainState, path: &Path) -> Result<(), ModelError> {
    let mut regressor = start.clone();
    regressor.model.set_raw(state.best.as_ref().map_or(&state.now.raw, |best| &best.raw));
    ModelFile { regressor, state: Some(state.clone()), ..file.clone() }.save(path)
}

/// Reads the first target's noise off the raw parameters.
struct NoiseWatch {
    at: Option<(usize, Constraint)>,
    scale: f64,
}

impl NoiseWatch {
    fn new(regressor: &Regressor) -> Self {
        let parameters = regressor.model.parameters();
        let noise = parameters.iter().find(|p| p.name == "likelihood.noise");
        let at = noise.map(|p| (p.range.start, p.constraint));
        Self { at, scale: regressor.standardiser.y.scale.first().copied().unwrap_or(1.0) }
    }

    /// In the target's units.
    fn deviation(&self, state: &TrainState) -> f64 {
        self.at.map_or(f64::NAN, |(at, constraint)| constraint.value(state.now.raw[at]).sqrt() * self.scale)
    }
}

fn note_jitter(notes: &mut Vec<String>, elbo: &Elbo) {
    for event in &elbo.jitter {
        let (layer, matrix, cause) = (event.layer, event.matrix, &event.cause);
        note(notes, format!("layer {layer}: {matrix} needed more jitter than asked for; {cause}"));
    }
}

/// Once each.
fn note(notes: &mut Vec<String>, text: String) {
    if notes.len() < MOST_NOTES && !notes.contains(&text) {
        notes.push(text);
    }
}
