//! The summing up of a fit, for people and scripts.

use std::path::PathBuf;

use anyhow::Result;
use deepgp_io::{ModelFile, Record, StopReason};
use serde_json::{Map, Value, json};

use super::folds;
use super::model_place::command_to_resume;
use super::training_run::Ending;
use crate::model::scores::{self, Scores};
use crate::model::{fold_scores, json_summary, notes as model_notes, seeds};
use crate::terminal::output::{self, Outcome, Voice};
use crate::terminal::text::{count, duration};

/// What was left out of the end of a fit, because somebody interrupted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Nothing but, maybe, steps.
    Nothing,
    /// The scores, and what follows.
    Scores,
    /// Remarks on what was learnt, where there are no rows to score, and what follows.
    Remarks,
    /// The report.
    Report,
}

/// The scores of a fit as they are told.
#[derive(Clone, Debug)]
pub struct ToldScores {
    /// The scores for people: what they are of, and their table.
    table: String,
    /// The scores for scripts.
    json: Map<String, Value>,
}

impl ToldScores {
    /// The scores of the model of `file`.
    pub fn of(scored: &Scores<'_>, file: &ModelFile) -> Self {
        let weighted = scores::weighted_by(scored.data(), file);
        let rows = count(scored.data().len(), "test row");
        Self { table: format!("On {rows}{weighted}:\n{}", scored.table(file)), json: scored.json(file) }
    }
}

/// A fit that has come to its end.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The model, with its record.
    pub file: ModelFile,
    /// Why training ended.
    pub ending: Ending,
    /// The number of the record's notes that are older than the run, and have been shown before.
    pub known_notes: usize,
    /// Where the model is.
    pub model: PathBuf,
    /// The finished model that was not replaced, if there is one.
    pub stays: Option<PathBuf>,
    /// The file of the checkpoint.
    pub checkpoint: PathBuf,
    /// The scores, if there are any.
    pub scored: Option<ToldScores>,
    /// What was left out.
    pub left_out: LeftOut,
    /// The page of the report, if it was written.
    pub report: Option<PathBuf>,
    /// To whom the command talks.
    pub voice: Voice,
}

impl Summary {
    /// Sums the fit up, and says how it ended.
    pub fn tell(&self) -> Result<Outcome> {
        let Self { file, voice, .. } = self;
        let voice = *voice;
        let Record { steps, train_seconds, stop, notes, .. } = &file.record;
        let (steps, stop) =
            (count(*steps as usize, "step"), stop.as_ref().map_or(String::new(), StopReason::to_string));
        output::say(voice, &format!("{steps} in {}: {stop}", duration(*train_seconds)));
        output::say(voice, &seeds::in_words(file));
        output::notes(voice, &notes[self.known_notes.min(notes.len())..]);
        output::notes(voice, &scores::remarks_of_fit(file));
        if let Some(ToldScores { table, .. }) = &self.scored {
            output::say(voice, &format!("\n{table}"));
        }
        if let Some(folds) = &file.record.cross_validation {
            output::say(voice, &format!("\n{}", folds::in_words(folds, &file.schema)));
            output::say(
                voice,
                "The model is fitted to all rows; the scores are those of models that had not seen the rows of their fold.",
            );
        }
        match self.left_out {
            LeftOut::Nothing => {}
            LeftOut::Scores => {
                output::say(voice, "interrupted: the model has no scores; `deepgp evaluate` gives it some");
            }
            LeftOut::Remarks => output::say(voice, "interrupted after training"),
            LeftOut::Report => output::say(voice, "interrupted: there is no report; `deepgp report` writes one"),
        }
        let instead = self.stays.as_ref().map_or(String::new(), |out| format!(" ({} stays as it was)", out.display()));
        output::say(voice, &format!("model: {}{instead}", self.model.display()));
        if let Some(path) = &self.report {
            output::say(voice, &format!("report: {}", path.display()));
        }
        if self.ending != Ending::Done {
            output::say(voice, &format!("to go on: {}", command_to_resume(&self.checkpoint, &file.record)));
        }
        let outcome = match (self.ending, self.left_out) {
            (Ending::Done | Ending::TimeUp, LeftOut::Nothing) => Outcome::Done,
            (Ending::Interrupted, _) | (_, LeftOut::Scores | LeftOut::Remarks | LeftOut::Report) => {
                Outcome::Interrupted
            }
        };
        if voice.json {
            output::json(&self.as_json(outcome))?;
        }
        Ok(outcome)
    }

    /// The JSON object of `fit --json`.
    fn as_json(&self, outcome: Outcome) -> Value {
        let file = &self.file;
        let record = &file.record;
        let mut summary = json!({
            "version": record.version,
            "model": self.model.display().to_string(),
            "elbo": record.elbo,
            "kept": json_summary::kept(file),
            "steps": record.steps,
            "train_seconds": record.train_seconds,
            "stop": record.stop.as_ref().map(StopReason::to_string),
            "interrupted": outcome == Outcome::Interrupted,
            "rows": record.data.rows(),
            "targets": file.schema.targets,
            "target_kind": file.schema.target_kind,
            "inputs": file.schema.feature_names(),
            "left_out": json_summary::left_out(file),
            "settings": json_summary::settings(file),
            "seeds": seeds::json(file),
            "notes": model_notes::sentences(&model_notes::all(file)),
        });
        if let Value::Object(summary) = &mut summary {
            if self.ending != Ending::Done {
                summary.insert("checkpoint".into(), json!(self.checkpoint.display().to_string()));
            }
            if let Some(folds) = &record.cross_validation {
                summary.insert("cross_validation".into(), fold_scores::json(folds));
            }
            if let Some(scored) = &self.scored {
                summary.extend(scored.json.clone());
            }
        }
        summary
    }
}
