//! Scores of a model, beside those of baselines, on rows with known targets.

use anyhow::Result;
use deepgp::baseline::{self, NearestNeighbours};
use deepgp::{Assessment, Dataset, PredictSettings, Regressor, Score, Spread, UserPredictor};
use deepgp_io::note::ScoredRows;
use deepgp_io::{Baseline, ModelFile, Note, RowSample, ScoreRecord, Subject, chunks};

use super::device;
use crate::terminal::interrupt;
use crate::terminal::output::Voice;
use crate::terminal::stage::{Extent, Stage};
use crate::terminal::text::{number, percent, table as aligned};
use crate::terminal::waiting::Waiting;

/// The number of nearest neighbours that are asked.
pub(super) const NEIGHBOURS: usize = 10;

/// The baselines that a model has to beat: from the best to the plainest, as a rule.
pub const BASELINES: [Baseline; 3] =
    [Baseline::NearestNeighbours { count: NEIGHBOURS, among: None }, Baseline::LinearRegression, Baseline::Mean];

/// The number of rows whose neighbours are searched for between two looks at the clock.
pub(super) const NEIGHBOUR_ROWS: usize = 4096;
/// A model's predictions on rows with known targets, with its score and the baselines'.
#[derive(Clone, Debug)]
pub struct Scored<'a> {
    /// The rows with known targets.
    pub data: &'a Dataset,
    /// The model's predictive distribution at the target of each row.
    pub model: Assessment,
    /// The model's score first, then that before calibration, if there was some, then the baselines'.
    pub scores: Vec<ScoreRecord>,
}

impl<'a> Scored<'a> {
    /// Scores a model and the baselines on `test`, with default settings of prediction; the baselines learn from
    /// `train`, and are left out without it. `None` if somebody interrupted it.
    pub fn new(
        file: &ModelFile,
        train: Option<&Dataset>,
        test: &'a Dataset,
        threads: usize,
        voice: Voice,
    ) -> Result<Option<Self>> {
        Self::with(file, train, test, default_settings(threads), voice)
    }

    /// Scores a model and the baselines on `test`, with these settings of prediction; the baselines learn from `train`,
    /// and are left out without it. `None` if somebody interrupted it.
    pub fn with(
        file: &ModelFile,
        train: Option<&Dataset>,
        test: &'a Dataset,
        settings: PredictSettings,
        voice: Voice,
    ) -> Result<Option<Self>> {
        let assess = |regressor: &Regressor| -> Result<Option<Assessment>> {
            let parts = by_model(regressor, test, settings, voice, |own, rows| own.assess(rows))?;
            Ok(parts.map(|parts| Assessment::of_parts(&parts)))
        };
        let score = |assessment: &Assessment| Score::weighted(test.y().view(), assessment, test.weights());
        let Some(model) = assess(&file.regressor)? else { return Ok(None) };
        let mut scores = vec![of_model(file, score(&model))];
        if !file.regressor.spread.is_neutral() {
            // What held-out rows have made of it is to be judged by rows that are new to them too.
            let plain = Regressor { spread: Spread::default(), ..file.regressor.clone() };
            let Some(before) = assess(&plain)? else { return Ok(None) };
            let of = Subject::Uncalibrated { deep: is_deep(file) };
            scores.push(ScoreRecord { of, score: score(&before) });
        }
        if let Some(train) = train {
            let Some(simpler) = baselines(train, test, settings.threads, voice)? else { return Ok(None) };
            scores.extend(simpler);
        }
        Ok(Some(Self { data: test, model, scores }))
    }

    /// The number of scored rows.
    pub fn rows(&self) -> usize {
        self.data.len()
    }

    /// The scores that a model file can keep: those whose numbers JSON has.
    pub fn records(&self) -> Vec<ScoreRecord> {
        let finite = |record: &&ScoreRecord| {
            let Score { log_likelihood, rmse, mae, crps, .. } = &record.score;
            log_likelihood.is_finite() && [rmse, mae, crps].iter().all(|all| all.iter().all(|v| v.is_finite()))
        };
        self.scores.iter().filter(finite).cloned().collect()
    }
}

/// The settings that models are scored with where nobody asks for others.
pub(super) fn default_settings(threads: usize) -> PredictSettings {
    PredictSettings { threads, ..PredictSettings::default() }
}

/// Asks a model's predictor for parts of the rows, and shows how far it is; `None` if somebody interrupted it.
pub(super) fn by_model<T>(
    regressor: &Regressor,
    test: &Dataset,
    settings: PredictSettings,
    voice: Voice,
    of_some: impl Fn(&UserPredictor<'_>, &Dataset) -> deepgp::Result<T>,
) -> Result<Option<Vec<T>>> {
    let predictor = regressor.predictor(settings).map_err(device::explain)?;
    let stage = Stage::new(voice, "scoring", Extent::Rows(test.len() as u64));
    Ok(in_parts(test, chunks::rows_at_once(settings.samples, test.x().ncols()), stage, |rows| {
        of_some(&predictor, rows)
    })?)
}

/// The model's own score.
pub(super) fn of_model<S>(file: &ModelFile, score: S) -> ScoreRecord<S> {
    ScoreRecord { of: Subject::Model { deep: is_deep(file) }, score }
}

/// Whether a model has hidden layers.
fn is_deep(file: &ModelFile) -> bool {
    file.regressor.model.layers().len() > 1
}

/// Asks `of_some` for parts of the rows, so many at once, and shows how far it is; `None` if somebody interrupted it. A row's numbers do not
/// depend on the others.
pub(super) fn in_parts<T>(
    test: &Dataset,
    rows_at_once: usize,
    mut stage: Stage,
    of_some: impl Fn(&Dataset) -> deepgp::Result<T>,
) -> deepgp::Result<Option<Vec<T>>> {
    let mut parts = Vec::new();
    for first in (0..test.len()).step_by(rows_at_once) {
        if interrupt::asked() {
            return Ok(None);
        }
        let rows: Vec<u32> = (first as u32..test.len().min(first + rows_at_once) as u32).collect();
        parts.push(of_some(&test.gather(&rows)?)?);
        stage.show((first + rows.len()) as u64);
    }
    Ok(Some(parts))
}

/// Assesses rows by `assess_some` in parts; `None` if somebody interrupted it.
fn assess(
    test: &Dataset,
    rows_at_once: usize,
    stage: Stage,
    assess_some: impl Fn(&Dataset) -> deepgp::Result<Assessment>,
) -> deepgp::Result<Option<Assessment>> {
    Ok(in_parts(test, rows_at_once, stage, assess_some)?.map(|parts| Assessment::of_parts(&parts)))
}

/// The sample of training rows that a baseline was learnt from, so many of so many; `None` if it was all of them.
pub(super) fn sample((rows, of): (usize, usize)) -> Option<RowSample> {
    (rows < of).then_some(RowSample { rows, of })
}

/// The scores of the baselines on `test`, learnt from `train`: one for each of [`BASELINES`], with the sample that it was
/// learnt from; `None` if somebody interrupted it.
pub fn baselines(
    train: &Dataset,
    test: &Dataset,
    threads: usize,
    voice: Voice,
) -> deepgp::Result<Option<Vec<ScoreRecord>>> {
    let mut records = Vec::new();
    let stage = Stage::new(voice, "scoring nearest neighbours", Extent::Rows(test.len() as u64));
    let neighbours = NearestNeighbours::new(train, NEIGHBOURS, threads)?;
    let among = sample((neighbours.searched(), neighbours.training_rows()));
    let Some(near) = assess(test, NEIGHBOUR_ROWS, stage, |rows| neighbours.assess(rows))? else { return Ok(None) };
    let _shown = Waiting::new(voice, "scoring linear regression");
    for (own, assessment) in [
        (Baseline::NearestNeighbours { count: NEIGHBOURS, among }, near),
        (Baseline::LinearRegression, baseline::linear(train, test)?),
        (Baseline::Mean, baseline::mean(train, test)?),
    ] {
        let score = Score::weighted(test.y().view(), &assessment, test.weights());
        records.push(ScoreRecord { of: Subject::Baseline(own), score });
    }
    Ok(Some(records))
}

/// The number of rows from which on intervals are judged.
pub const ENOUGH_ROWS: usize = 30;
/// The share of rows below which intervals that should hold nine of ten are too narrow.
pub(super) const TOO_FEW: f64 = 0.8;
/// The share of rows above which intervals that should hold half are too wide: neither chance nor heavy tails lead that
/// far.
const TOO_MANY: f64 = 0.8;

/// Remarks on scores on `count` of `rows`: intervals that are too narrow or too wide, and a baseline that does better than
/// the model.
pub fn remarks(scores: &[ScoreRecord], rows: &ScoredRows, count: usize, targets: &[String]) -> Vec<Note> {
    let simpler = scores.iter().filter_map(|record| Some((record.of.baseline()?, record.score.log_likelihood)));
    let best = simpler.max_by(|a, b| a.1.total_cmp(&b.1));
    let Some(model) = scores.iter().find(|record| record.of.is_model()) else {
        // A file does not keep what is no number.
        return best.map(|_| Note::NoScores { rows: rows.clone() }).into_iter().collect();
    };
    let Score { coverage_50, coverage_90, log_likelihood, .. } = &model.score;
    let mut all = Vec::new();
    for (target, (in_50, in_90)) in
        targets.iter().zip(coverage_50.iter().zip(coverage_90)).filter(|_| count >= ENOUGH_ROWS)
    {
        let (target, rows) = (target.clone(), rows.clone());
        if *in_90 < TOO_FEW {
            all.push(Note::IntervalsTooNarrow { target, level: 90, held: (*in_90).into(), rows });
        } else if *in_50 > TOO_MANY {
            all.push(Note::IntervalsTooWide { target, level: 50, held: (*in_50).into(), rows });
        }
    }
    if let Some((baseline, theirs)) = best.filter(|(_, theirs)| theirs > log_likelihood || log_likelihood.is_nan()) {
        let (model, theirs) = ((*log_likelihood).into(), theirs.into());
        all.push(Note::BeatenBy { baseline, model, theirs, rows: rows.clone() });
    }
    all
}

/// A table of scores: a line for each model, and for each target where there are several.
pub fn record_table(scores: &[ScoreRecord], targets: &[String]) -> String {
    let head = ["", "log likelihood", "RMSE", "MAE", "CRPS", "in 50 %", "in 90 %", "in 95 %"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for ScoreRecord { of, score } in scores {
        for (p, target) in targets.iter().enumerate() {
            let (label, likelihood) = match (targets.len(), p) {
                (1, _) => (of.to_string(), number(score.log_likelihood)),
                (_, 0) => (format!("{of}: {target}"), format!("{} (joint)", number(score.log_likelihood))),
                _ => (format!("{of}: {target}"), String::new()),
            };
            let [rmse, mae, crps] = [score.rmse[p], score.mae[p], score.crps[p]].map(number);
            let [in_50, in_90, in_95] = [score.coverage_50[p], score.coverage_90[p], score.coverage_95[p]].map(percent);
            rows.push(vec![label, likelihood, rmse, mae, crps, in_50, in_90, in_95]);
        }
    }
    aligned(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: Subject = Subject::Model { deep: true };
    const LINEAR: Subject = Subject::Baseline(Baseline::LinearRegression);
    const MEAN: Subject = Subject::Baseline(Baseline::Mean);

    /// A score on one target.
    fn record(of: Subject, log_likelihood: f64, in_50: f64, in_90: f64) -> ScoreRecord {
        let score = Score {
            log_likelihood,
            rmse: vec![1.0],
            mae: vec![1.0],
            crps: vec![1.0],
            coverage_50: vec![in_50],
            coverage_90: vec![in_90],
            coverage_95: vec![in_90],
        };
        ScoreRecord { of, score }
    }

    fn told(scores: &[ScoreRecord], count: usize) -> Vec<String> {
        let notes = remarks(scores, &ScoredRows::Table { name: "new.csv".into() }, count, &["y".into()]);
        notes.iter().map(Note::to_string).collect()
    }

    #[test]
    fn bad_intervals_and_better_simple_models_are_told_of_with_the_rows_they_are_of() {
        let simple = [record(LINEAR, -3.801, 0.5, 0.9), record(MEAN, -4.0, 0.5, 0.9)];
        let beside = |model: ScoreRecord| [&[model][..], &simple].concat();
        let bad = beside(record(MODEL, -5.249, 0.2, 0.494));
        let [narrow, beaten] = &told(&bad, 40)[..] else { panic!("two remarks") };
        assert_eq!(narrow, "`y`: the 90 % intervals hold 49.4 % of the rows of new.csv: they are too narrow");
        assert!(beaten.contains("by linear regression") && beaten.contains("-5.249 against -3.801"), "{beaten}");
        assert!(beaten.contains("the rows of new.csv"), "{beaten}");
        assert_eq!(told(&bad, 10).len(), 1, "too few rows to judge intervals by");
        assert!(told(&beside(record(MODEL, 1.0, 0.5, 0.9)), 40).is_empty());
        let wide = beside(record(MODEL, 1.0, 0.98, 1.0));
        assert_eq!(told(&wide, 40), ["`y`: the 50 % intervals hold 98.0 % of the rows of new.csv: they are too wide"]);
        assert!(told(&wide, 10).is_empty());
        // Residuals with heavy tails put more than half of the rows into such intervals, and that is no fault worth a word.
        assert!(told(&beside(record(MODEL, 1.0, 0.7, 0.93)), 1000).is_empty());
    }

    #[test]
    fn a_model_without_numbers_is_told_of_whether_or_not_a_file_keeps_them() {
        let mean = record(MEAN, -4.0, 0.5, 0.9);
        for log_likelihood in [f64::NAN, f64::NEG_INFINITY] {
            let all = told(&[record(MODEL, log_likelihood, 0.5, 0.9), mean.clone()], 40);
            assert!(all[0].contains("beaten by the mean"), "{all:?}");
        }
        assert!(told(&[mean], 40)[0].contains("no scores that are numbers"));
        assert!(told(&[], 40).is_empty());
    }
}
