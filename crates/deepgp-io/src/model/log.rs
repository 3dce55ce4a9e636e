//! What a model file takes down while its model is trained: the same for every program that trains one.

use deepgp::params::Constraint;
use deepgp::{Best, Regressor, StepOutcome, StepReport, Stop, TrainState};

use super::{HistoryPoint, ModelFile, Record};

/// Kinds of note that are kept, once each.
const MOST_NOTES: usize = 20;

/// Reads the first target's noise off the raw parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct NoiseWatch {
    at: Option<(usize, Constraint)>,
    scale: f64,
}

impl NoiseWatch {
    /// For runs that begin with this model.
    pub fn new(regressor: &Regressor) -> Self {
        let parameters = regressor.model.parameters();
        let noise = parameters.iter().find(|p| p.name == "likelihood.noise");
        let at = noise.map(|p| (p.range.start, p.constraint));
        Self { at, scale: regressor.standardiser.y.scale.first().copied().unwrap_or(1.0) }
    }

    /// Its standard deviation, in the target's units.
    pub fn deviation(&self, state: &TrainState) -> f64 {
        self.at.map_or(f64::NAN, |(at, constraint)| constraint.value(state.now.raw[at]).sqrt() * self.scale)
    }
}

impl ModelFile {
    /// Takes down a step and the state beside it. `noise` is the deviation of the first target's, `seconds` those of training until
    /// then.
    pub fn log(&mut self, report: &StepReport, state: &TrainState, noise: f64, seconds: f64) {
        self.record.steps = report.step;
        self.record.train_seconds = seconds;
        self.log_start(state);
        if let Some(score) = report.validation {
            self.history.push_validation(report.step, score);
        }
        match &report.outcome {
            StepOutcome::Taken(elbo) => {
                let (total, data_term, kl) = (elbo.total(), elbo.data_term, elbo.kl.iter().sum());
                self.record.elbo = Some(total);
                self.history.push(HistoryPoint { step: report.step, seconds, elbo: total, data_term, kl, noise });
                for event in &elbo.jitter {
                    let (layer, matrix, cause) = (event.layer, event.matrix, &event.cause);
                    self.record.note(&format!("layer {layer}: {matrix} needed more jitter than asked for"), cause);
                }
            }
            StepOutcome::RolledBack(reason) => self.record.note("a step was rolled back", &reason.to_string()),
        }
    }

    /// Takes down the look at the validation rows before the first step, if nothing was better until now. Once more after a run: on an
    /// accelerator the state beside a step may be an old one.
    pub fn log_start(&mut self, state: &TrainState) {
        if let Some(Best { step: 0, score, .. }) = &state.best {
            self.history.begin_validation(*score);
        }
    }
}

impl Record {
    /// What is said of a run that somebody ended.
    pub const INTERRUPTED: &str = "it was interrupted";

    /// Notes that something happened, with the cause of the first time, unless there are too many notes.
    pub fn note(&mut self, what: &str, cause: &str) {
        if self.notes.len() < MOST_NOTES && !self.notes.iter().any(|note| note.starts_with(what)) {
            self.notes.push(format!("{what}: {cause}"));
        }
    }

    /// Adds a note, unless it is there already.
    pub fn remark(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Takes down why a run ended; `time_up` tells an end by the clock from one that somebody asked for.
    pub fn end(&mut self, stop: &Stop, time_up: bool) {
        self.stop = Some(match stop {
            Stop::Steps => "all steps were made".into(),
            Stop::Patience => "the validation rows saw nothing better for a while".into(),
            Stop::Callback if time_up => "the time was up".into(),
            Stop::Callback => Self::INTERRUPTED.into(),
            Stop::Stuck(reason) => format!("it could not go on: {reason}"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::{FitSettings, simulate};

    #[test]
    fn notes_are_taken_once_each_and_not_without_end() {
        let settings = FitSettings::default();
        let mut record = Record {
            table: crate::TableRecord { path: String::new(), sha256: String::new(), rows: 0 },
            settings: settings.clone(),
            test: None,
            steps: 0,
            train_seconds: 0.0,
            elbo: None,
            stop: None,
            written: 0,
            version: String::new(),
            test_rows: 0,
            scores: Vec::new(),
            notes: Vec::new(),
            out: String::new(),
            checkpoint_every: String::new(),
            device: String::new(),
            prediction_samples: None,
            steps_before: 0,
        };
        for i in 0..100 {
            record.note(&format!("note {} of many", i / 2), &i.to_string());
        }
        assert_eq!(record.notes.len(), MOST_NOTES);
        assert_eq!(record.notes[1], "note 1 of many: 2");
        record.end(&Stop::Callback, false);
        assert_eq!(record.stop.as_deref(), Some(Record::INTERRUPTED));
        record.end(&Stop::Callback, true);
        assert_eq!(record.stop.as_deref(), Some("the time was up"));
    }

    #[test]
    fn the_noise_is_that_of_the_model_in_the_users_units() {
        let data = simulate::step_curve(40, 1);
        let settings = FitSettings::default();
        let regressor = Regressor::start(&data, &settings).unwrap();
        let state = regressor.begin(&data, &settings).unwrap();
        let found = NoiseWatch::new(&regressor).deviation(&state);
        let expected = settings.model.noise.sqrt() * regressor.standardiser.y.scale[0];
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
}
