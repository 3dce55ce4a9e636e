//! The fit that follows a search: with the best settings, on all rows but the test rows, as `deepgp fit` with these settings would make it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use deepgp::backend::Backend;
use deepgp::search::{Candidate, SearchLog};
use deepgp::{FitSettings, Training};
use deepgp_io::atomic::Lock;
use deepgp_io::{ModelFile, Note, SearchRecord};

use super::rows::SearchRows;
use crate::arguments::fit_options::FitOptions;
use crate::arguments::paths;
use crate::fit::checkpoint as checkpoints;
use crate::fit::finish::finish;
use crate::fit::interruption;
use crate::fit::start::{TrainingRows, begin, check_memory, start};
use crate::fit::time_limit::TimeLimit;
use crate::fit::training_run::{self, RunOptions};
use crate::model::description::describe;
use crate::model::device::{self, Device};
use crate::model::notes::{repeated_values, sites_note};
use crate::model::rows;
use crate::processes::Processes;
use crate::terminal::explain::in_words_of;
use crate::terminal::output::{self, Outcome, Voice};

/// The factor on the time that a step is expected to take: a machine may be busier later.
const MARGIN: f64 = 1.1;

/// A fit with the best settings of a search.
pub struct Refit<'a> {
    /// The options of the search's fits.
    pub options: &'a FitOptions,
    /// The rows.
    pub rows: &'a SearchRows,
    /// The best settings.
    pub candidate: &'a Candidate,
    /// What the search was, for the record of the model.
    pub record: SearchRecord,
    /// Where the model goes.
    pub out: PathBuf,
    /// Where the state of the fit is kept until it is done.
    pub checkpoint: PathBuf,
    /// The right to write it.
    pub lock: Option<Arc<Lock>>,
    /// The limit on the time of the command, if it has one.
    pub limit: Option<TimeLimit>,
    /// The device.
    pub device: Device,
    /// Where to compute.
    pub accelerator: Option<Arc<dyn Backend>>,
    /// To whom the command talks.
    pub voice: Voice,
}

impl Refit<'_> {
    /// Fits, scores and saves the model. A fit with the same settings that was cut short goes on.
    pub fn run(self, log: &SearchLog) -> Result<Outcome> {
        let Self { options, rows: SearchRows { table, schema, train, test, split, notes, .. }, voice, limit, .. } =
            &self;
        let (voice, limit) = (*voice, *limit);
        let settings = self.settings(log)?;
        let weighted = rows::weighted(train, options.class_weights())?;
        check_memory(weighted.len(), weighted.x().ncols(), &settings)?;
        let starting = interruption::before_training(self.lock.as_ref(), limit, voice);
        let (mut training, mut file) = match self.unfinished(&settings) {
            Some(file) => {
                output::say(voice, &format!("going on with {}", self.checkpoint.display()));
                (Training::of(file.regressor.clone(), &weighted, &settings)?, file)
            }
            None => {
                let begun = start(&Processes::alone(), &TrainingRows::Share(&weighted), &settings, limit, voice);
                let (training, cut_short) = begun.map_err(|error| in_words_of(schema, error))?;
                let mut file = begin(schema, table, settings.clone(), &training);
                let mut all = notes.clone();
                if schema.target_kind.is_numbers() {
                    all.extend(repeated_values(&schema.targets, train.y().view()));
                }
                all.extend(sites_note(&settings, train.len()));
                all.extend(Note::of_trend(schema, training.standardiser()));
                all.extend(Note::fewer_inducing(&settings, training.model()).into_iter().chain(cut_short));
                file.record.notes = all;
                (training, file)
            }
        };
        output::say(voice, &describe(training.regressor()));
        device::place_on(self.accelerator.clone(), training.model_mut(), voice);
        let every = options.checkpoint_every.unwrap_or_default();
        file.record.test = options.test_share();
        file.record.split = split.clone();
        file.record.test_rows = test.as_ref().map_or(0, |rows| rows.data.len());
        file.record.out = paths::absolute(&self.out);
        file.record.checkpoint_every = every.to_string();
        file.record.device = self.device.name().into();
        file.record.class_weights = options.class_weights();
        file.record.search = Some(self.record.clone());
        let (threads, report) = (settings.train.threads, options.report.as_deref());
        let tested = test.as_ref().map(|rows| &rows.data);
        let room =
            |limit: TimeLimit| limit.with_scoring(training.regressor(), train, tested, threads, report.is_some());
        let time_limit = limit.map(room).transpose()?;
        starting.done();
        let run = RunOptions {
            checkpoint: self.checkpoint.clone(),
            every,
            time_limit,
            lock: self.lock.clone(),
            quiet: voice.quiet,
        };
        file.save(&run.checkpoint)?;
        let finished = training_run::train(file, training, &run)
            .inspect_err(|_| checkpoints::remove_unless_begun(&run.checkpoint))?;
        // What scripts are told is the search's.
        let people = Voice { json: false, ..voice };
        finish(finished, train, test.as_ref(), &run, &self.out, report, people)
    }

    /// The settings of the fit: the best ones, over as many steps as there is time for at the pace of the search.
    fn settings(&self, log: &SearchLog) -> Result<FitSettings> {
        let Self { options, rows, candidate, .. } = self;
        let base = options.settings_of(rows.train.len(), &rows.schema)?;
        let mut settings = candidate.settings(&base);
        if let (Some(limit), Some(pace)) =
            (self.limit, log.pace(candidate.number).or(log.plan().and_then(|own| own.pace)))
        {
            let growth = growth(rows, &settings);
            let most = (limit.left_to_train() / (MARGIN * growth * pace)) as u64;
            let looks = settings.train.validate_every;
            if most < settings.train.steps {
                // A learning rate that falls to its end is worth more than steps that are cut off.
                settings.train.steps = (most / looks * looks).max(looks.min(settings.train.steps));
            }
        }
        Ok(settings)
    }

    /// A fit of this kind that was cut short, if there is its checkpoint.
    fn unfinished(&self, settings: &FitSettings) -> Option<ModelFile> {
        let file = ModelFile::load(&self.checkpoint).ok()?;
        let same = is_same_fit(&file, settings) && file.record.data.table().is_some_and(|own| *own == self.rows.table);
        let cut =
            file.state.is_some() && file.record.stop.is_none() && file.record.search.as_ref() == Some(&self.record);
        (same && cut).then_some(file)
    }
}

/// Whether a file is of a fit with these settings, but for threads.
fn is_same_fit(file: &ModelFile, settings: &FitSettings) -> bool {
    let mut own = file.record.settings.clone();
    own.train.threads = settings.train.threads;
    own == *settings
}

/// The rows of a step of the fit after a search, as a multiple of those of a step of a candidate.
pub fn growth(rows: &SearchRows, settings: &FitSettings) -> f64 {
    (rows_of_step(rows.train.len(), settings) / rows_of_step(rows.fewest_to_train_on(), settings)).max(1.0)
}

/// The rows that a step takes of a table of so many: no more than a minibatch.
pub fn rows_of_step(rows: usize, settings: &FitSettings) -> f64 {
    settings.training_rows(rows).min(settings.train.batch_size).max(1) as f64
}

/// Fails if a search must not replace what is where its fit keeps its state: a file of another fit that has not ended.
pub fn check_replaceable(checkpoint: &Path, given_up: bool) -> Result<()> {
    let of_search = ModelFile::load(checkpoint).is_ok_and(|file| file.record.search.is_some());
    checkpoints::check_replaceable(checkpoint, given_up || of_search, "start over with --overwrite")
}
