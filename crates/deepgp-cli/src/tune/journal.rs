//! The folder of a search: its journal, line by line, and the models that may go on.
//!
//! The first line says what is searched for, on which rows; a search of something else is refused. A line that was torn is made again, as all that came
//! after the last whole line. Models are written before the line that tells of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use deepgp::FitSettings;
use deepgp::search::{SearchEntry, SearchLog, SearchMetric, SearchSpace, SearchStore, TrialModel};
use deepgp_io::atomic::Lock;
use deepgp_io::table::Schema;
use deepgp_io::{ClassWeights, History, ModelFile, Provenance, Record, SplitRule, StopReason, TableRecord, atomic};
use serde::{Deserialize, Serialize};

use crate::fit::checkpoint;
use crate::reproduce::runs::journal::{Journal, Keyed};
use crate::terminal::shell;

/// What a search is of: what must be the same for it to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchSubject {
    /// The table's SHA-256.
    pub table: String,
    /// The columns of targets, and the inputs.
    pub columns: (Vec<String>, Vec<String>),
    /// The share of test rows.
    pub test: Option<f64>,
    /// Which rows are held out.
    pub split: SplitRule,
    /// The numbers of rows of each part: to train on, and to judge.
    pub parts: Vec<(usize, usize)>,
    /// How classes weigh.
    pub class_weights: ClassWeights,
    /// The metric that judges.
    pub metric: SearchMetric,
    /// The settings that may change.
    pub space: SearchSpace,
    /// The settings of candidate 0, but for threads.
    pub settings: FitSettings,
}

/// A line of a search's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", untagged)]
enum Line {
    Subject {
        /// Which deepgp began it.
        deepgp: String,
        search: Box<SearchSubject>,
    },
    Entry(SearchEntry),
}

/// What tells one line from another.
#[derive(Debug, PartialEq)]
enum LineKey {
    Subject,
    Plan,
    Bracket(usize),
    Trial(usize, usize),
}

impl Keyed for Line {
    type Key = LineKey;

    fn key(&self) -> LineKey {
        match self {
            Self::Subject { .. } => LineKey::Subject,
            Self::Entry(SearchEntry::Plan(_)) => LineKey::Plan,
            Self::Entry(SearchEntry::Bracket(own)) => LineKey::Bracket(own.number),
            Self::Entry(SearchEntry::Trial(own)) => LineKey::Trial(own.candidate, own.rung),
        }
    }
}

/// The folder of a search.
#[derive(Debug)]
pub struct SearchFolder {
    folder: PathBuf,
    journal: Journal<Line>,
    /// The columns of each part, and where the rows came from, for the files of models.
    schemas: Vec<Schema>,
    table: TableRecord,
    /// The right to write the journal.
    _lock: Arc<Lock>,
}

impl SearchFolder {
    /// The folder of a search of this, which is begun or gone on with, and its log. Fails if there is a search of something else, unless that is to be
    /// `given_up`.
    pub fn open(
        folder: &Path,
        subject: SearchSubject,
        (schemas, table): (Vec<Schema>, TableRecord),
        given_up: bool,
    ) -> Result<(Self, SearchLog)> {
        let path = folder.join("journal.jsonl");
        if given_up && path.exists() {
            std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        std::fs::create_dir_all(folder).with_context(|| format!("cannot write to {}", folder.display()))?;
        let lock = checkpoint::lock(&path)?;
        let advice = || format!("start over with --overwrite, or remove {}", shell::word(folder));
        let journal = Journal::<Line>::open(&path)
            .map_err(|error| anyhow!("{error:#}; it is no journal of a search: {}", advice()))?;
        let mut own = Self { folder: folder.into(), journal, schemas, table, _lock: lock };
        let mut log = SearchLog::new(subject.metric);
        match own.journal.lines.first() {
            None => {
                let deepgp = env!("CARGO_PKG_VERSION").into();
                own.journal.add(Line::Subject { deepgp, search: Box::new(subject) })?;
            }
            Some(Line::Subject { search, .. }) => {
                if let Some(other) = difference(search, &subject) {
                    bail!(
                        "{} is of a search with {other}: {}, or name another place with --out",
                        path.display(),
                        advice()
                    );
                }
            }
            Some(Line::Entry(_)) => bail!("{} does not say what it is of: {}", path.display(), advice()),
        }
        for line in &own.journal.lines {
            if let Line::Entry(entry) = line {
                log.add(entry.clone());
            }
        }
        Ok((own, log))
    }

    /// The page that shows the search.
    pub fn page(&self) -> PathBuf {
        self.folder.join("index.html")
    }

    /// The journal.
    pub fn journal(&self) -> PathBuf {
        self.folder.join("journal.jsonl")
    }

    /// The file of a model.
    fn model(&self, candidate: usize, rung: usize, part: usize) -> PathBuf {
        self.folder.join(format!("candidate-{candidate}.rung-{rung}.part-{part}.deepgp"))
    }

    /// The models of a candidate on a rung as files, one for each part; nothing if they are not all there, as after a search that has ended.
    pub fn files(&self, candidate: usize, rung: usize) -> Result<Option<Vec<ModelFile>>> {
        let paths: Vec<PathBuf> = (0..self.schemas.len()).map(|part| self.model(candidate, rung, part)).collect();
        if !paths.iter().all(|path| path.exists()) {
            return Ok(None);
        }
        Ok(Some(paths.iter().map(|path| ModelFile::load(path)).collect::<Result<_, _>>()?))
    }
}

impl SearchStore for SearchFolder {
    type Error = anyhow::Error;

    fn keep(&mut self, entry: &SearchEntry, models: &[TrialModel]) -> Result<()> {
        if let SearchEntry::Trial(trial) = entry {
            for (part, model) in models.iter().enumerate() {
                let TrialModel { regressor, state, ended } = model.clone();
                let mut settings = FitSettings::default();
                settings.train = state.settings;
                let mut record = Record::new(Provenance::Table(self.table.clone()), settings);
                record.steps = state.step;
                record.stop = ended.then_some(StopReason::Steps);
                let (schema, history) = (self.schemas[part].clone(), History::default());
                let file = ModelFile { regressor, schema, record, history, state: Some(state) };
                file.save(&self.model(trial.candidate, trial.rung, part))?;
            }
        }
        self.journal.add(Line::Entry(entry.clone()))
    }

    fn models(&self, candidate: usize, rung: usize) -> Result<Vec<TrialModel>> {
        let of = |file: ModelFile| {
            let state = file.state.context("a model of a search has no state to go on from")?;
            Ok(TrialModel { regressor: file.regressor, state, ended: file.record.stop.is_some() })
        };
        // What is not there is trained again, from its start.
        self.files(candidate, rung)?.unwrap_or_default().into_iter().map(of).collect()
    }

    fn forget(&mut self, candidate: usize, rung: usize) -> Result<()> {
        for part in 0..self.schemas.len() {
            let path = self.model(candidate, rung, part);
            if path.exists() {
                atomic::remove(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        Ok(())
    }
}

/// What another search had, in words, where this one has something else; nothing if they are the same.
fn difference(other: &SearchSubject, own: &SearchSubject) -> Option<String> {
    let SearchSubject { table, columns, test, split, parts, class_weights, metric, space, settings } = other;
    let differs = [
        (*table != own.table, "another table"),
        (*columns != own.columns, "other columns"),
        ((test, split, parts) != (&own.test, &own.split, &own.parts), "other rows for testing or judging"),
        (*class_weights != own.class_weights, "other weights of classes"),
        (*space != own.space, "other settings to search"),
        (*settings != own.settings, "other options of the fits"),
    ];
    if *metric != own.metric {
        return Some(format!("--metric {}", metric.name()));
    }
    differs.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::search::{HalvingPlan, Trial, TrialOutcome};

    fn subject() -> SearchSubject {
        SearchSubject {
            table: "0a".into(),
            columns: (vec!["y".into()], vec!["x".into()]),
            test: Some(0.2),
            split: SplitRule::Random,
            parts: vec![(60, 20)],
            class_weights: ClassWeights::None,
            metric: SearchMetric::Crps,
            space: SearchSpace::default(),
            settings: FitSettings::default(),
        }
    }

    fn open(folder: &Path, subject: SearchSubject, given_up: bool) -> Result<(SearchFolder, SearchLog)> {
        let table = TableRecord { path: "t.csv".into(), sha256: "0a".into(), rows: 80, more: Vec::new() };
        SearchFolder::open(folder, subject, (vec![Schema::default()], table), given_up)
    }

    #[test]
    fn a_journal_goes_on_and_its_torn_line_is_made_again() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("m.deepgp.search");
        let (mut own, log) = open(&folder, subject(), false).unwrap();
        assert!(log.entries().is_empty());
        let outcome = TrialOutcome::Failed { reason: "no".into() };
        let trial = SearchEntry::Trial(Trial { candidate: 3, rung: 1, outcome, steps: 7, seconds: 0.1 });
        let entries = [SearchEntry::Plan(HalvingPlan::new(90, 50, 3)), trial];
        entries.iter().for_each(|entry| own.keep(entry, &[]).unwrap());
        let journal = own.journal();
        let busy = open(&folder, subject(), false).unwrap_err().to_string();
        assert!(busy.contains("another deepgp is working on"), "{busy}");
        drop(own);
        assert_eq!(open(&folder, subject(), false).unwrap().1.entries(), entries);
        let text = std::fs::read_to_string(&journal).unwrap();
        std::fs::write(&journal, &text[..text.len() - 9]).unwrap();
        let (mut again, log) = open(&folder, subject(), false).unwrap();
        assert_eq!(log.entries(), &entries[..1]);
        again.keep(&entries[1], &[]).unwrap();
        assert_eq!(std::fs::read_to_string(&journal).unwrap(), text);
    }

    #[test]
    fn a_search_of_something_else_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("m.deepgp.search");
        open(&folder, subject(), false).unwrap();
        let refused = |other: SearchSubject| open(&folder, other, false).unwrap_err().to_string();
        let told = refused(SearchSubject { table: "0b".into(), ..subject() });
        assert!(told.contains("of a search with another table: start over with --overwrite"), "{told}");
        assert!(refused(SearchSubject { metric: SearchMetric::Rmse, ..subject() }).contains("--metric crps"));
        assert!(refused(SearchSubject { parts: vec![(50, 30)], ..subject() }).contains("other rows"));
        let mut settings = FitSettings::default();
        settings.model.width = 3;
        assert!(refused(SearchSubject { settings: settings.clone(), ..subject() }).contains("other options"));
        open(&folder, SearchSubject { settings, ..subject() }, true).unwrap();
        std::fs::write(folder.join("journal.jsonl"), "what?\n").unwrap();
        assert!(refused(subject()).contains("no journal of a search"));
    }
}
