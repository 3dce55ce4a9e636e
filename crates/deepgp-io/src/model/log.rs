//! What a model file takes down while its model is trained: the same for every program that trains one.

use deepgp::{Best, StepOutcome, StepReport, TrainState};

use super::{Bound, HistoryPoint, ModelFile, TrainingProgress};
use crate::note::TrainingEvent;
use deepgp::likelihood::Quantity;

impl ModelFile {
    /// Takes down a step and the state beside it, and returns what a progress display shows of it. `likelihood` is what the likelihood
    /// has learnt, `seconds` are those of training until then.
    pub fn log(
        &mut self,
        report: &StepReport,
        state: &TrainState,
        likelihood: Vec<Quantity>,
        seconds: f64,
    ) -> TrainingProgress {
        let progress = TrainingProgress::new(report, likelihood, seconds);
        self.record.steps = report.step;
        self.record.train_seconds = seconds;
        self.log_start(state);
        if let Some(score) = report.validation {
            self.history.push_validation(report.step, score);
        }
        match &progress.bound {
            Ok(Bound { elbo, data_term, kl, .. }) => {
                self.record.elbo = Some(*elbo);
                self.history.push(HistoryPoint {
                    step: report.step,
                    seconds,
                    elbo: *elbo,
                    data_term: *data_term,
                    kl: *kl,
                    likelihood: progress.likelihood.clone(),
                });
            }
            Err(cause) => self.record.note_event(TrainingEvent::StepRolledBack, cause),
        }
        if let StepOutcome::Taken(elbo) = &report.outcome {
            for raised in &elbo.jitter {
                let event = TrainingEvent::MoreJitter { layer: raised.layer, matrix: raised.matrix };
                self.record.note_event(event, &raised.cause);
            }
        }
        progress
    }

    /// Takes down where a run stands when it ends: on an accelerator it ends with a burst, beyond the last step that was told of, and the
    /// state beside that step may have been an old one.
    pub fn log_end(&mut self, state: &TrainState) {
        self.record.steps = state.step;
        self.log_start(state);
    }

    /// Takes down the look at the validation rows before the first step, if nothing was better until now.
    fn log_start(&mut self, state: &TrainState) {
        if let Some(Best { step: 0, score, .. }) = &state.best {
            self.history.begin_validation(*score);
        }
    }
}
