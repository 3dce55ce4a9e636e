//! What a model file remembers of its making.

use std::time::{SystemTime, UNIX_EPOCH};

use deepgp::{ClassScore, CountScore, FitSettings, Training};
use serde::{Deserialize, Serialize};

use super::{FoldScores, Provenance, ScoreRecord, SearchRecord, SplitRule, StopReason, format_1};
use crate::note::{Note, TrainingEvent};

/// Kinds of event that are noted, once each.
const MOST_NOTES: usize = 20;

/// How classes weigh in training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeights {
    /// By their rows.
    #[default]
    None,
    /// All alike: a row weighs the less, the more rows are of its class.
    Balanced,
}

impl ClassWeights {
    /// Whether classes weigh by their rows.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// How a model came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Where its data came from.
    #[serde(alias = "table", deserialize_with = "format_1::provenance")]
    pub data: Provenance,
    /// All settings of the fit.
    pub settings: FitSettings,
    /// The share of rows held out for testing, if any.
    pub test: Option<f64>,
    /// Which rows are held out, for testing and for early stopping.
    #[serde(default, skip_serializing_if = "SplitRule::is_random")]
    pub split: SplitRule,
    /// Steps of the optimiser so far.
    pub steps: u64,
    /// Seconds of training so far.
    pub train_seconds: f64,
    /// The bound at the last step.
    pub elbo: Option<f64>,
    /// Why training ended; nothing in a checkpoint.
    #[serde(default, deserialize_with = "format_1::stop")]
    pub stop: Option<StopReason>,
    /// When it was written, in seconds since 1970.
    pub written: u64,
    /// Which deepgp wrote it.
    pub version: String,
    /// Test rows.
    pub test_rows: usize,
    /// Scores on them, the model's and the baselines', those that are numbers.
    pub scores: Vec<ScoreRecord>,
    /// Scores on them where targets are classes; those of baselines without confusion and reliability.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class_scores: Vec<ScoreRecord<ClassScore>>,
    /// Scores on them where targets are counts, those that are numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub count_scores: Vec<ScoreRecord<CountScore>>,
    /// Scores of cross-validation, if there was one: of other models than this one, which was fitted to all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_validation: Option<FoldScores>,
    /// The search that found the settings, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchRecord>,
    /// What is worth telling: more jitter than asked for, steps rolled back, rows dropped.
    pub notes: Vec<Note>,
    /// Where the model goes when it is done.
    pub out: String,
    /// How often the state is saved, as on the command line.
    pub checkpoint_every: String,
    /// How classes weigh in training.
    #[serde(default, skip_serializing_if = "ClassWeights::is_none")]
    pub class_weights: ClassWeights,
    /// Where it was to be computed, as on the command line; nothing in files that are older than the choice.
    #[serde(default)]
    pub device: String,
    /// Samples of the mixture in Python's predictions; nothing in files of other makers.
    #[serde(default)]
    pub prediction_samples: Option<usize>,
    /// Steps of earlier runs that this one went on from, with fresh minibatches.
    #[serde(default)]
    pub steps_before: u64,
    /// What a validation score loses on its way to the targets' units; nothing where it is the same for every row, because no target is
    /// transformed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_log_volume: Option<f64>,
}

impl Record {
    /// The record of a model that no step has been made with: nothing is held out for testing, nothing is scored, nothing is noted.
    pub fn new(data: Provenance, settings: FitSettings) -> Self {
        Self {
            data,
            settings,
            test: None,
            split: SplitRule::Random,
            steps: 0,
            train_seconds: 0.0,
            elbo: None,
            stop: None,
            written: now(),
            version: env!("CARGO_PKG_VERSION").into(),
            test_rows: 0,
            scores: Vec::new(),
            class_scores: Vec::new(),
            count_scores: Vec::new(),
            cross_validation: None,
            search: None,
            notes: Vec::new(),
            out: String::new(),
            checkpoint_every: String::new(),
            class_weights: ClassWeights::None,
            device: String::new(),
            prediction_samples: None,
            steps_before: 0,
            validation_log_volume: None,
        }
    }

    /// Makes this the record of a further run that starts from the model: its steps count as earlier ones, and what was told of training, of
    /// its end and of scores is gone.
    pub fn begin_further(&mut self) {
        self.steps_before += std::mem::take(&mut self.steps);
        (self.train_seconds, self.elbo, self.stop) = (0.0, None, None);
        self.scores.clear();
        self.class_scores.clear();
        self.count_scores.clear();
        self.notes.retain(|note| !note.is_of_run());
    }

    /// Takes down what the library decided by itself before this training: transforms of targets, which have these names, fewer inducing
    /// inputs than were asked for, and what becomes of validation scores.
    pub fn note_start(&mut self, training: &Training, targets: &[String]) {
        if let Some(note) = Note::fewer_inducing(&self.settings, training.model()) {
            self.remark(note);
        }
        for (target, found) in targets.iter().zip(training.transform_findings()) {
            let note = Note::of_transform(target, found);
            // That nothing was done is no news.
            if !matches!(note, Note::NoTransformChosen { .. }) {
                self.remark(note);
            }
        }
        let units = training.standardiser();
        let rows = training.held_out().filter(|_| units.transform.is_some());
        self.validation_log_volume = rows.map(|rows| units.log_volume_of(rows));
    }

    /// Notes that something happened in training, with the cause of the first time, unless there are too many notes.
    pub fn note_event(&mut self, event: TrainingEvent, cause: &str) {
        let told = |note: &Note| matches!(note, Note::Training { event: known, .. } if *known == event);
        if self.notes.len() < MOST_NOTES && !self.notes.iter().any(told) {
            self.notes.push(Note::Training { event, cause: cause.into() });
        }
    }

    /// Takes down why training ended, with a note if it could not go on.
    pub fn end(&mut self, reason: StopReason) {
        match &reason {
            StopReason::Stuck { cause } => self.note_event(TrainingEvent::Stuck, cause),
            StopReason::Steps | StopReason::Patience | StopReason::TimeLimit | StopReason::Interrupted => {}
        }
        self.stop = Some(reason);
    }

    /// Adds a note, unless it is there already.
    pub fn remark(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Why a step was rolled back, if one was.
    pub fn rolled_back(&self) -> Option<&Note> {
        let rolled_back = |note: &&Note| matches!(note, Note::Training { event: TrainingEvent::StepRolledBack, .. });
        self.notes.iter().rfind(rolled_back)
    }
}

/// This moment, in seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::Matrix;

    #[test]
    fn events_are_noted_once_each_and_not_without_end() {
        let mut record = Record::new(Provenance::Unfitted, FitSettings::default());
        for i in 0..100 {
            let event = TrainingEvent::MoreJitter { layer: i / 2, matrix: Matrix::TiedGram };
            record.note_event(event, &i.to_string());
        }
        assert_eq!(record.notes.len(), MOST_NOTES);
        let told = record.notes[1].to_string();
        assert_eq!(told, "layer 1: K_ZZ (inducing inputs) needed more jitter than asked for: 2");
    }

    #[test]
    fn a_run_that_could_not_go_on_is_noted_as_such() {
        let mut record = Record::new(Provenance::Unfitted, FitSettings::default());
        record.end(StopReason::Patience);
        assert_eq!((&record.stop, &record.notes[..]), (&Some(StopReason::Patience), &[][..]));
        record.end(StopReason::Stuck { cause: "no numbers".into() });
        let told = record.notes[0].to_string();
        assert_eq!(told, "training could not go on; the model is the last good one: no numbers");
    }

    #[test]
    fn a_further_run_begins_with_what_stays_true() {
        let mut record = Record::new(Provenance::Unfitted, FitSettings::default());
        (record.steps, record.steps_before, record.train_seconds, record.elbo) = (30, 4, 2.5, Some(-1.0));
        record.end(StopReason::Stuck { cause: "no numbers".into() });
        let of_table = Note::RowsLeftOut { rows: 2, of: 60 };
        record.remark(of_table.clone());
        record.remark(Note::ScoredOnSample { rows: 5, of: 9 });
        record.begin_further();
        assert_eq!((record.steps, record.steps_before, record.train_seconds), (0, 34, 0.0));
        assert_eq!((record.elbo, record.stop), (None, None));
        assert_eq!(record.notes, [of_table]);
    }

    #[test]
    fn a_step_that_was_rolled_back_is_found_among_the_notes() {
        let mut record = Record::new(Provenance::Unfitted, FitSettings::default());
        record.remark(Note::Text("a step was rolled back: in words alone".into()));
        assert_eq!(record.rolled_back(), None);
        for cause in ["first", "second"] {
            record.note_event(TrainingEvent::StepRolledBack, cause);
            record.remark(Note::CellsFilledIn { cells: 2 });
        }
        assert_eq!(record.notes.len(), 3);
        assert_eq!(record.rolled_back().unwrap().to_string(), "a step was rolled back: first");
    }
}
