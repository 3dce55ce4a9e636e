//! Cross-validation: a model for each fold, fitted to the rows of the others and scored on its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use deepgp::backend::Backend;
use deepgp_io::atomic::{self, Lock};
use deepgp_io::table::Schema;
use deepgp_io::{FoldScores, TableRecord};
use serde_json::json;

use super::interruption;
use super::start::{TrainingRows, begin, check_memory, start};
use super::time_limit::TimeLimit;
use super::training_run::{self, Ending, RunOptions};
use crate::arguments::fit_options::FitOptions;
use crate::arguments::paths;
use crate::arguments::value::duration::CheckpointInterval;
use crate::model::fold_scores::{folds_in_words, json as as_json, table as as_table, with_fold};
use crate::model::rows::{self, PlacedRows, SplitRows};
use crate::model::scores::Scores;
use crate::processes::Processes;
use crate::terminal::explain::in_words_of;
use crate::terminal::interrupt;
use crate::terminal::output::{self, Outcome, Voice};
use crate::terminal::text::count;

/// What a fit is cross-validated with.
pub struct FoldPlan<'a> {
    /// The options of the fit.
    pub options: &'a FitOptions,
    /// The columns of its table, before any split.
    pub schema: &'a Schema,
    /// Where the table is.
    pub table: &'a TableRecord,
    /// The right to write the checkpoint of the fit.
    pub lock: Option<&'a Arc<Lock>>,
    /// The limit on the time of the command, if it has one.
    pub limit: Option<TimeLimit>,
    /// Where to compute.
    pub accelerator: Option<Arc<dyn Backend>>,
    /// To whom the command talks.
    pub voice: Voice,
}

/// How cross-validation ended.
pub enum CrossValidation {
    /// All folds have scores.
    Done(FoldScores),
    /// Somebody interrupted it; the folds that were finished have scores.
    Interrupted(Option<FoldScores>),
}

impl FoldPlan<'_> {
    /// Fits and scores a model for each of so many folds of the rows. `out` is where the model of all rows will go: the state of a fold is kept
    /// beside it for as long as it takes.
    pub fn run(&self, rows: &PlacedRows, folds: usize, out: &Path) -> Result<CrossValidation> {
        interrupt::listen();
        let seed = self.options.seed.unwrap_or(0);
        let parts = rows.data.folds(folds, rows::stratify(&self.schema.target_kind), seed)?;
        let mut scores = None;
        for (fold, (train, test)) in parts.iter().enumerate() {
            let split = rows::settle(self.schema, rows.data.gather(train)?, Some(rows.gather(test)?), seed)?;
            let SplitRows { schema, train, test } = split;
            let Some(PlacedRows { data: test, .. }) = test else { continue };
            let sizes = [count(train.len(), "training row"), count(test.len(), "test row")];
            output::say(self.voice, &format!("fold {} of {folds}: {}", fold + 1, sizes.join(", ")));
            // A share of what is left for each fold to come, and for the model of all rows.
            let share =
                |limit: TimeLimit| TimeLimit::new(Instant::now(), limit.left_to_train() / (folds - fold + 1) as f64);
            let limit = self.limit.map(share);
            let mut settings = self.options.settings_of(train.len(), &schema)?;
            let threads = settings.train.threads;
            let weighted = rows::weighted(&train, self.options.class_weights())?;
            check_memory(weighted.len(), weighted.x().ncols(), &settings)?;
            let (known, columns, voice) = (scores.clone(), self.schema.clone(), self.voice);
            let starting = interruption::before_fold(self.lock, self.limit, move || {
                // Nobody is left to hear that it could not be told.
                let _ = tell_interrupted(known.as_ref(), &columns, voice);
            });
            let begun = start(&Processes::alone(), &TrainingRows::Share(&weighted), &settings, limit, self.voice);
            let (mut training, _) = begun.map_err(|error| in_words_of(&schema, error))?;
            *training.model_mut() = training.model().clone().computed_on(self.accelerator.clone());
            let mut limit = limit;
            if let Some(own) = limit {
                let (own, fewer) = own.with_validation(training, &mut settings)?;
                (limit, training) = (Some(own), fewer);
            }
            let limit =
                limit.map(|limit| limit.with_scoring(training.regressor(), &train, Some(&test), threads, false));
            starting.done();
            let file = begin(&schema, self.table, settings, &training);
            let run = RunOptions {
                checkpoint: paths::beside(out, "fold"),
                every: CheckpointInterval::Steps(u64::MAX),
                time_limit: limit.transpose()?,
                lock: None,
                quiet: self.voice.quiet,
            };
            let finished = training_run::train(file, training, &run);
            // Left where a run is cut short; nobody goes on with a fold.
            let _ = atomic::remove(&run.checkpoint);
            let finished = finished?;
            if finished.ending == Ending::Interrupted {
                return Ok(CrossValidation::Interrupted(scores));
            }
            let Some(scored) = Scores::new(&finished.file, Some(&train), &test, threads, self.voice)? else {
                return Ok(CrossValidation::Interrupted(scores));
            };
            scores = Some(with_fold(scores, folds, &scored, &self.schema.targets));
        }
        Ok(scores.map_or(CrossValidation::Interrupted(None), CrossValidation::Done))
    }

    /// Tells of the folds that were finished when somebody interrupted the others.
    pub fn interrupted(&self, scores: Option<&FoldScores>) -> Result<Outcome> {
        tell_interrupted(scores, self.schema, self.voice)?;
        Ok(Outcome::Interrupted)
    }
}

/// Tells people and scripts of the folds that were finished when somebody interrupted the others.
fn tell_interrupted(scores: Option<&FoldScores>, schema: &Schema, voice: Voice) -> Result<()> {
    if let Some(scores) = scores {
        output::say(voice, &format!("\n{}", in_words(scores, schema)));
    }
    output::say(voice, "interrupted: there is no model, which is fitted to all rows after the folds");
    if voice.json {
        output::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "interrupted": true,
            "cross_validation": scores.map(as_json),
        }))?;
    }
    Ok(())
}

/// The scores of cross-validation for people: what they are of, and their table.
pub fn in_words(scores: &FoldScores, schema: &Schema) -> String {
    let weights = schema.row_columns.weights.as_ref();
    let weighted = weights.map_or(String::new(), |column| format!(", weighted by `{column}`"));
    format!("Cross-validation on {}{weighted}:\n{}", folds_in_words(scores), as_table(scores))
}
