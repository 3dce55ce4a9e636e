//! The page that shows a search: what was tried, what came of it, and which settings mattered.

mod figures;
mod tables;

use std::path::Path;

use anyhow::{Context, Result};
use deepgp::FitSettings;
use deepgp::search::{SearchEnd, SearchLog, SearchSpace};
use deepgp_io::{SearchRecord, atomic};

use super::space::{flags, in_words, metric_in_words};
use super::summary::SearchSummary;
use crate::html::{Document, KeyNumber, Section, figures as side_by_side, strip};
use crate::terminal::text::{count, duration, number};

/// What the page is of, beside the search.
#[derive(Clone, Copy, Debug)]
pub struct PageSubject<'a> {
    /// The name of the table.
    pub table: &'a str,
    /// The target.
    pub target: &'a str,
    /// The settings of candidate 0.
    pub base: &'a FitSettings,
    /// The settings that may change.
    pub space: &'a SearchSpace,
}

/// Writes the page of a search.
pub fn write(summary: &SearchSummary<'_>, subject: PageSubject<'_>) -> Result<()> {
    let path: &Path = &summary.page;
    atomic::write(path, page(summary, subject).as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// The page as HTML.
fn page(summary: &SearchSummary<'_>, subject: PageSubject<'_>) -> String {
    let (log, best) = (summary.log, summary.best());
    let mut sections = Vec::new();
    let mut section = |id: &str, title: &str, lead: &str, content: String| {
        if !content.is_empty() {
            sections.push(Section { id: id.into(), title: title.into(), lead: lead.into(), content });
        }
    };
    if let Some(comparison) = &summary.comparison {
        let lead = "Is it better on rows that the search never saw?";
        section("test", "Test rows", lead, tables::comparison(comparison));
    }
    section("course", "Course", "How did candidates do, and who went on?", side_by_side(&figures::course(log)));
    let lead =
        "Which settings mattered? Each dot is a candidate on the lowest rung; others of its settings differ too.";
    section("settings", "Settings", lead, side_by_side(&figures::settings(log, subject)));
    section("candidates", "Candidates", "What was tried, and what came of it?", tables::candidates(log));
    let document = Document {
        title: format!("Search for settings: {} of {}", subject.target, subject.table),
        made: vec![format!("deepgp {}", env!("CARGO_PKG_VERSION"))],
        summary: sentence(summary),
        key: strip("", &keys(summary)),
        notes: if best.number == 0 { Vec::new() } else { vec![format!("As flags of fit: {}", flags(&best))] },
        sections,
    };
    document.html()
}

/// The sentence below the title.
fn sentence(summary: &SearchSummary<'_>) -> String {
    let (log, best) = (summary.log, summary.best());
    let rungs = log.plan().map_or(String::new(), |plan| {
        let all: Vec<String> = plan.rungs.iter().map(u64::to_string).collect();
        format!(" They were judged after {} of {} steps; the best third went on each time.", all.join(", "), plan.steps)
    });
    let end = match summary.end {
        SearchEnd::Done => "",
        SearchEnd::OutOfTime => " The search ended with its time.",
        SearchEnd::Interrupted => " The search was interrupted, and can go on.",
    };
    let found = match best.number {
        0 => "Nothing better was found than the settings of fit.".to_string(),
        number => format!("The best is candidate {number}: {}.", in_words(&best)),
    };
    format!("{found}{rungs}{end}")
}

/// The key numbers: the best score, that of the settings of fit, and how much was tried.
fn keys(summary: &SearchSummary<'_>) -> Vec<KeyNumber> {
    let SearchRecord { metric, candidates, best, score, unchanged_score, steps: (steps, of), .. } = summary.record();
    let key = |label: &str, value: String, remark: String| KeyNumber { label: label.into(), value, remark };
    let judged = if steps == of { format!("after {of} steps") } else { format!("after {steps} of {of} steps") };
    let mut all = Vec::new();
    if let Some(score) = score {
        all.push(key(
            &format!("Best {}", metric_in_words(metric)),
            number(score),
            format!("candidate {best}, {judged}"),
        ));
    }
    if let Some(unchanged) = unchanged_score {
        all.push(key(
            &format!("{} with the settings of fit", metric_in_words(metric)),
            number(unchanged),
            judged.clone(),
        ));
    }
    all.push(key(
        "Candidates",
        candidates.to_string(),
        format!("in {}", count(summary.log.brackets().count(), "bracket")),
    ));
    all.push(key("Training", duration(summary.log.seconds()), "of all candidates together".into()));
    all
}

/// The best score of a candidate on a rung for people, or why there is none.
fn score_in_words(log: &SearchLog, candidate: usize, rung: usize) -> String {
    log.trial(candidate, rung).map_or(String::new(), |trial| match trial.score() {
        Some(score) => number(score),
        None => "–".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::laws::assert_sound;
    use crate::tune::comparison::Comparison;
    use deepgp::search::{
        Bracket, Candidate, HalvingPlan, SearchEntry, SearchMetric, SettingValue, Trial, TrialOutcome,
    };

    fn log(scores: &[(usize, usize, Option<f64>)]) -> SearchLog {
        let mut log = SearchLog::new(SearchMetric::Crps);
        log.add(SearchEntry::Plan(HalvingPlan::new(90, 50, 3)));
        let changed = |number: usize| Candidate {
            number,
            changes: vec![SettingValue::LearningRate(0.001 * number as f64), SettingValue::HiddenLayers(number)],
        };
        let candidates = vec![Candidate::unchanged(), changed(1), changed(2)];
        log.add(SearchEntry::Bracket(Bracket { number: 0, centre: 0, candidates }));
        for &(candidate, rung, score) in scores {
            let outcome = match score {
                Some(score) => TrialOutcome::Scored { score, each: vec![score] },
                None => TrialOutcome::Failed { reason: "<b>no</b>".into() },
            };
            log.add(SearchEntry::Trial(Trial { candidate, rung, outcome, steps: 10, seconds: 1.0 }));
        }
        log
    }

    fn shown(log: &SearchLog, comparison: Option<Comparison>) -> String {
        let (page, journal) = ("p".into(), "j".into());
        let summary = SearchSummary { log, end: SearchEnd::OutOfTime, comparison, page, journal };
        let base = FitSettings::default();
        let space = SearchSpace::usual(&deepgp::simulate::step_curve(50, 1), &base);
        super::page(&summary, PageSubject { table: "<i>t", target: "y&z", base: &base, space: &space })
    }

    #[test]
    fn all_that_was_found_is_on_a_sound_page() {
        let some = [(0, 0, Some(1.0)), (1, 0, Some(0.5)), (2, 0, None), (1, 1, Some(0.4)), (0, 1, Some(0.8))];
        let scores = vec![(SearchMetric::Crps, 0.9, 0.45), (SearchMetric::LogLikelihood, -1.0, -0.5)];
        let comparison = Comparison { best: 1, steps: 30, rows: 20, scores };
        let page = shown(&log(&some), Some(comparison));
        assert_sound("search", &page);
        for text in [
            "candidate 1",
            "--learning-rate 0.001",
            "&lt;b&gt;no",
            "Search for settings: y&amp;z of &lt;i&gt;t",
            "0.4500",
        ] {
            assert!(page.contains(text), "{text}");
        }
        assert!(page.contains("id=\"figure-course\"") && page.contains("id=\"figure-hidden-layers\""));
    }

    #[test]
    fn a_search_that_has_found_nothing_has_a_page_too() {
        assert_sound("nothing", &shown(&SearchLog::new(SearchMetric::Brier), None));
        assert_sound("one", &shown(&log(&[(0, 0, Some(1.0))]), None));
        assert_sound("failures", &shown(&log(&[(0, 0, None), (1, 0, None)]), None));
    }
}
