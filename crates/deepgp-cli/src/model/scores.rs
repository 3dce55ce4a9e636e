//! Scores of a model beside baselines, whatever it predicts: numbers, classes or counts.

use anyhow::Result;
use deepgp::likelihood::Outcomes;
use deepgp::{Dataset, PredictSettings};
use deepgp_io::note::ScoredRows;
use deepgp_io::{Baseline, ModelFile, Note, Record, RowSample, ScoreRecord, Subject};
use serde_json::{Map, Value, json};

use super::class_score::{self, ScoredClasses};
use super::count_score::{self, ScoredCounts};
use super::score::{self, Scored};
use super::{json_summary, labels};
use crate::terminal::output::Voice;

/// The scores of a model and of the baselines on rows with known targets.
#[derive(Clone, Debug)]
pub enum Scores<'a> {
    /// Those of numbers.
    Numbers(Scored<'a>),
    /// Those of classes.
    Classes(ScoredClasses<'a>),
    /// Those of counts.
    Counts(ScoredCounts<'a>),
}

impl<'a> Scores<'a> {
    /// Scores a model and the baselines on `test`, with default settings of prediction; the baselines learn from `train`, and are left out
    /// without it. `None` if somebody interrupted it.
    pub fn new(
        file: &ModelFile,
        train: Option<&Dataset>,
        test: &'a Dataset,
        threads: usize,
        voice: Voice,
    ) -> Result<Option<Self>> {
        Self::with(file, train, test, score::default_settings(threads), voice)
    }

    /// Scores a model and the baselines like [`Scores::new`], with these settings of prediction.
    pub fn with(
        file: &ModelFile,
        train: Option<&Dataset>,
        test: &'a Dataset,
        settings: PredictSettings,
        voice: Voice,
    ) -> Result<Option<Self>> {
        Ok(match file.regressor.model.likelihood().outcomes() {
            Outcomes::Real => Scored::with(file, train, test, settings, voice)?.map(Self::Numbers),
            Outcomes::Classes(classes) => {
                ScoredClasses::new(file, classes, train, test, settings, voice)?.map(Self::Classes)
            }
            Outcomes::Counts => ScoredCounts::new(file, train, test, settings, voice)?.map(Self::Counts),
        })
    }

    /// The rows that were scored.
    pub fn data(&self) -> &'a Dataset {
        match self {
            Self::Numbers(own) => own.data,
            Self::Classes(own) => own.data,
            Self::Counts(own) => own.data,
        }
    }

    /// Takes the scores down in a record.
    pub fn take_down(&self, record: &mut Record) {
        match self {
            Self::Numbers(own) => record.scores = own.records(),
            Self::Classes(own) => record.class_scores = own.records(),
            Self::Counts(own) => record.count_scores = own.records(),
        }
    }

    /// Remarks on the scores, which are on `rows`: a baseline that does better, and intervals that are too narrow or too wide.
    pub fn remarks(&self, rows: &ScoredRows, targets: &[String]) -> Vec<Note> {
        let count = self.data().len();
        match self {
            Self::Numbers(own) => score::remarks(&own.scores, rows, count, targets),
            Self::Classes(own) => class_score::remarks(&own.scores, rows),
            Self::Counts(own) => {
                count_score::remarks(&own.scores, rows, count, targets.first().map_or("", String::as_str))
            }
        }
    }

    /// The scores as a table for people.
    pub fn table(&self, file: &ModelFile) -> String {
        match self {
            Self::Numbers(own) => score::record_table(&own.scores, &file.schema.targets),
            Self::Classes(own) => class_score::table(&own.scores, &labels::of(file)),
            Self::Counts(own) => count_score::table(&own.scores),
        }
    }

    /// The score of the model as `test`, and those of the baselines as `baselines`, for scripts; where rows have weights also their column, as
    /// `weighted_by`.
    pub fn json(&self, file: &ModelFile) -> Map<String, Value> {
        let rows = self.data().len();
        let weights = self.data().weights().and(file.schema.row_columns.weights.as_ref());
        let of = |subjects: Vec<(Subject, Value)>| {
            let mut all = summary(subjects);
            all.extend(weights.map(|column| ("weighted_by".to_string(), json!(column))));
            all
        };
        match self {
            Self::Numbers(own) => of(each(&own.scores, |one| json_summary::score(one, rows, &file.schema.targets))),
            Self::Classes(own) => {
                let labels = labels::of(file);
                of(each(&own.records(), |one| class_score::json(one, rows, &labels)))
            }
            Self::Counts(own) => of(each(&own.scores, |one| count_score::json(one, rows))),
        }
    }
}

/// Each score for scripts, with what it is of.
fn each<S>(scores: &[ScoreRecord<S>], shown: impl Fn(&S) -> Value) -> Vec<(Subject, Value)> {
    scores.iter().map(|own| (own.of, shown(&own.score))).collect()
}

/// The score of the model as `test`, that of the model before calibration as `uncalibrated`, and those of the baselines as `baselines`.
fn summary(scores: Vec<(Subject, Value)>) -> Map<String, Value> {
    let (mut out, mut baselines) = (Map::new(), Map::new());
    for (of, shown) in scores {
        match of {
            Subject::Model { .. } => out.insert("test".into(), shown),
            Subject::Uncalibrated { .. } => out.insert("uncalibrated".into(), shown),
            Subject::Baseline(baseline) => baselines.insert(baseline.name(), with_sample(shown, baseline)),
        };
    }
    if !baselines.is_empty() {
        out.insert("baselines".into(), Value::Object(baselines));
    }
    out
}

/// A baseline's score, with the sample of training rows that it was learnt from, if it was not all of them.
fn with_sample(mut score: Value, baseline: Baseline) -> Value {
    if let (Value::Object(score), Some(RowSample { rows, of })) = (&mut score, baseline.sample()) {
        score.insert("training_rows".into(), json!({ "sampled": rows, "of": of }));
    }
    score
}

/// By what the rows of scores are weighted, to add to their number: `, weighted by `w``; nothing if all count alike.
pub fn weighted_by(rows: &Dataset, file: &ModelFile) -> String {
    match (rows.weights(), &file.schema.row_columns.weights) {
        (Some(_), Some(column)) => format!(", weighted by `{column}`"),
        (None, _) | (_, None) => String::new(),
    }
}

/// Whether a model file has test scores.
pub fn are_of_fit(file: &ModelFile) -> bool {
    let Record { scores, class_scores, count_scores, .. } = &file.record;
    !(scores.is_empty() && class_scores.is_empty() && count_scores.is_empty())
}

/// The test scores in a model file as a table for people; `None` if there are none.
pub fn table_of_fit(file: &ModelFile) -> Option<String> {
    let Record { scores, class_scores, count_scores, .. } = &file.record;
    if !class_scores.is_empty() {
        return Some(class_score::table(class_scores, &labels::of(file)));
    }
    if !count_scores.is_empty() {
        return Some(count_score::table(count_scores));
    }
    (!scores.is_empty()).then(|| score::record_table(scores, &file.schema.targets))
}

/// The test scores in a model file for scripts, by the names of what they are of.
pub fn json_of_fit(file: &ModelFile) -> Map<String, Value> {
    let Record { scores, class_scores, count_scores, test_rows: rows, .. } = &file.record;
    let labels = labels::of(file);
    let numbers = each(scores, |one| json_summary::score(one, *rows, &file.schema.targets));
    let classes = each(class_scores, |one| class_score::json(one, *rows, &labels));
    let counts = each(count_scores, |one| count_score::json(one, *rows));
    let all = numbers.into_iter().chain(classes).chain(counts);
    all.map(|(of, shown)| (of.to_string(), shown)).collect()
}

/// Remarks on the test scores in a model file.
pub fn remarks_of_fit(file: &ModelFile) -> Vec<Note> {
    let (record, targets, on) = (&file.record, &file.schema.targets, &ScoredRows::Test);
    let target = targets.first().map_or("", String::as_str);
    let mut all = score::remarks(&record.scores, on, record.test_rows, targets);
    all.extend(class_score::remarks(&record.class_scores, on));
    all.extend(count_score::remarks(&record.count_scores, on, record.test_rows, target));
    all
}
