//! The best settings beside those of `fit` on test rows: models that the search has trained on the same rows.

use anyhow::Result;
use deepgp::search::{SearchLog, SearchMetric};
use deepgp::{Dataset, PredictSettings};
use serde_json::{Map, Value, json};

use super::journal::SearchFolder;
use super::rows::JudgedPart;
use super::space::metric_in_words;
use crate::terminal::interrupt;
use crate::terminal::output::Voice;
use crate::terminal::text::{number, table};
use crate::terminal::waiting::Waiting;

/// Scores on test rows of candidate 0 and of the best, on the rung on which it is that: both are of models that were trained on the same rows.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The best candidate.
    pub best: usize,
    /// The steps that both were trained.
    pub steps: u64,
    /// The number of test rows.
    pub rows: usize,
    /// Each metric, with the score of candidate 0, and that of the best.
    pub scores: Vec<(SearchMetric, f64, f64)>,
}

impl Comparison {
    /// Scores both on the test rows. `None` if there are none, if nobody but candidate 0 is the best, or if
    /// their models are gone, or if somebody interrupted it.
    pub fn of(
        log: &SearchLog,
        folder: &SearchFolder,
        parts: &[JudgedPart],
        threads: usize,
        voice: Voice,
    ) -> Result<Option<Self>> {
        let (Some((best, rung)), Some(plan)) = (log.leader(), log.plan()) else { return Ok(None) };
        let Some(tests) = parts.iter().map(|part| part.test.as_ref()).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        if best == 0 || log.height(0).is_none_or(|height| height < rung) {
            return Ok(None);
        }
        let _shown = Waiting::new(voice, "scoring the best settings beside those of fit");
        let Some(unchanged) = mean_scores(folder, (0, rung), &tests, threads)? else { return Ok(None) };
        let Some(own) = mean_scores(folder, (best, rung), &tests, threads)? else { return Ok(None) };
        let pair = |(one, other): (&(SearchMetric, f64), &(SearchMetric, f64))| (one.0, one.1, other.1);
        let scores = unchanged.iter().zip(&own).map(pair).collect();
        let rows = tests.first().map_or(0, |rows| rows.len());
        Ok(Some(Self { best, steps: plan.rungs.get(rung).copied().unwrap_or(plan.steps), rows, scores }))
    }

    /// The scores as a table for people.
    pub fn table(&self) -> String {
        let mut rows =
            vec![vec![String::new()], vec!["settings of fit".into()], vec![format!("candidate {}", self.best)]];
        for (metric, unchanged, best) in &self.scores {
            for (row, cell) in rows.iter_mut().zip([metric_in_words(*metric).into(), number(*unchanged), number(*best)])
            {
                row.push(cell);
            }
        }
        table(&rows)
    }

    /// The scores for scripts.
    pub fn json(&self) -> Value {
        let of = |which: fn(&(SearchMetric, f64, f64)) -> f64| -> Map<String, Value> {
            self.scores.iter().map(|own| (own.0.name().replace('-', "_"), json!(which(own)))).collect()
        };
        json!({
            "steps": self.steps,
            "rows": self.rows,
            "default": of(|own| own.1),
            "winner": of(|own| own.2),
        })
    }
}

/// The mean scores of a candidate's models, one for each part, on the test rows; `None` if somebody interrupted it.
fn mean_scores(
    folder: &SearchFolder,
    (candidate, rung): (usize, usize),
    tests: &[&Dataset],
    threads: usize,
) -> Result<Option<Vec<(SearchMetric, f64)>>> {
    let settings = PredictSettings { threads, ..PredictSettings::default() };
    let mut sums: Vec<(SearchMetric, f64)> = Vec::new();
    let Some(files) = folder.files(candidate, rung)? else { return Ok(None) };
    for (file, test) in files.iter().zip(tests) {
        if interrupt::asked() {
            return Ok(None);
        }
        for (metric, score) in SearchMetric::scores(&file.regressor, test, settings)? {
            let share = score / tests.len() as f64;
            match sums.iter_mut().find(|own| own.0 == metric) {
                Some(own) => own.1 += share,
                None => sums.push((metric, share)),
            }
        }
    }
    Ok(Some(sums))
}
