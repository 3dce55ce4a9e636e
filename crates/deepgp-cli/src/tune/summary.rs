//! The summing up of a search, for people and scripts.

use std::path::{Path, PathBuf};

use deepgp::search::{Candidate, SearchEnd, SearchLog, SettingValue, TrialOutcome};
use deepgp_io::{ModelFile, SearchRecord};
use serde_json::{Map, Value, json};

use super::comparison::Comparison;
use super::space::{flags, in_words, metric_in_words};
use crate::model::scores;
use crate::terminal::output::{self, Voice};
use crate::terminal::text::{count, duration, number};

/// A search that has come to an end.
#[derive(Debug)]
pub struct SearchSummary<'a> {
    /// All that was found out.
    pub log: &'a SearchLog,
    /// How it ended.
    pub end: SearchEnd,
    /// The best on test rows beside the settings of fit.
    pub comparison: Option<Comparison>,
    /// The page that shows it.
    pub page: PathBuf,
    /// The journal.
    pub journal: PathBuf,
}

impl SearchSummary<'_> {
    /// The best candidate: candidate 0 where nothing has been judged.
    pub fn best(&self) -> Candidate {
        let best = self.log.leader().and_then(|(best, _)| self.log.candidate(best));
        best.cloned().unwrap_or_else(Candidate::unchanged)
    }

    /// What the record of the model says of the search.
    pub fn record(&self) -> SearchRecord {
        let (log, best) = (self.log, self.best());
        let rung = log.leader().map_or(0, |(_, rung)| rung);
        let score = |candidate: usize| log.trial(candidate, rung)?.score();
        let steps = log.plan().map_or((0, 0), |plan| (plan.rungs.get(rung).copied().unwrap_or(plan.steps), plan.steps));
        SearchRecord {
            metric: log.metric,
            candidates: judged(log),
            best: best.number,
            score: score(best.number),
            unchanged_score: score(0),
            changes: best.changes,
            steps,
        }
    }

    /// Tells people what was found.
    pub fn tell(&self, voice: Voice) {
        let Self { log, end, comparison, page, .. } = self;
        let why = match end {
            SearchEnd::Done => "",
            SearchEnd::OutOfTime => ", as many as there was time for",
            SearchEnd::Interrupted => ", interrupted",
        };
        let judged = count(judged(log), "candidate");
        output::say(voice, &format!("\n{judged} judged in {}{why}", duration(log.seconds())));
        let SearchRecord { metric, best, score, unchanged_score, steps: (steps, of), .. } = self.record();
        let metric = metric_in_words(metric);
        let after = if steps == of { String::new() } else { format!(", both after {steps} of {of} steps") };
        match (score, unchanged_score) {
            (Some(_), Some(unchanged)) if best == 0 => {
                output::say(voice, &format!("nothing better than the settings of fit: {metric} {}", number(unchanged)));
            }
            (Some(score), Some(unchanged)) => {
                let (score, unchanged) = (number(score), number(unchanged));
                output::say(
                    voice,
                    &format!(
                        "best: candidate {best}, {metric} {score}, beside {unchanged} with the settings of fit{after}"
                    ),
                );
            }
            (Some(score), None) => output::say(voice, &format!("best: candidate {best}, {metric} {}", number(score))),
            (None, _) => output::say(
                voice,
                "there was no time to judge anything: the settings of fit are taken (--time-limit gives it more)",
            ),
        }
        if best > 0 {
            output::say(voice, &format!("its settings: {}", flags(&self.best())));
        }
        if let Some(comparison) = comparison {
            let rows = count(comparison.rows, "test row");
            output::say(
                voice,
                &format!(
                    "On {rows}, by models of the same rows, which the search has trained:\n{}",
                    comparison.table()
                ),
            );
        }
        output::say(voice, &format!("search: {}", page.display()));
    }

    /// The search for scripts.
    pub fn json(&self, model: Option<&Path>) -> Value {
        let SearchRecord { metric, best, changes, score, unchanged_score, steps: (steps, of), .. } = self.record();
        let file = model.and_then(|path| ModelFile::load(path).ok());
        let mut all = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "model": model.map(|path| path.display().to_string()),
            "interrupted": self.end == SearchEnd::Interrupted,
            "metric": metric,
            "more_is_better": metric.more_is_better(),
            "candidates": judged(self.log),
            "seconds": self.log.seconds(),
            "steps": of,
            "winner": {
                "candidate": best,
                "settings": settings(&changes),
                "flags": flags(&self.best()),
                "score": score,
                "steps": steps,
            },
            "default": { "score": unchanged_score },
            "comparison": self.comparison.as_ref().map(Comparison::json),
            "trials": trials(self.log),
            "page": self.page.display().to_string(),
            "journal": self.journal.display().to_string(),
        });
        if let (Value::Object(all), Some(file)) = (&mut all, file) {
            all.insert(
                "fit".into(),
                json!({
                    "steps": file.record.steps,
                    "stop": file.record.stop.as_ref().map(deepgp_io::StopReason::to_string),
                    "scores": scores::json_of_fit(&file),
                }),
            );
        }
        all
    }
}

/// The number of candidates that were judged.
fn judged(log: &SearchLog) -> usize {
    log.trials().filter(|own| own.rung == 0).count()
}

/// Settings by their names.
fn settings(changes: &[SettingValue]) -> Value {
    let all = changes.iter().filter_map(|own| json!(own).as_object().cloned());
    Value::Object(all.flatten().collect::<Map<String, Value>>())
}

/// What came of each candidate on each rung.
fn trials(log: &SearchLog) -> Vec<Value> {
    let of = |trial: &deepgp::search::Trial| {
        let candidate = log.candidate(trial.candidate);
        json!({
            "candidate": trial.candidate,
            "settings": candidate.map_or(Value::Null, |own| settings(&own.changes)),
            "in_words": candidate.map(in_words),
            "step": log.plan().and_then(|plan| plan.rungs.get(trial.rung)),
            "score": trial.score(),
            "failed": match &trial.outcome {
                TrialOutcome::Failed { reason } => json!(reason),
                TrialOutcome::TooSlow { .. } => json!("too slow"),
                TrialOutcome::Scored { .. } => Value::Null,
            },
            "seconds": trial.seconds,
        })
    };
    log.trials().map(of).collect()
}
