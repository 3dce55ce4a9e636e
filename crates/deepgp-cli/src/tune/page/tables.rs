//! The tables of a search: the best on test rows beside the settings of fit, and all candidates.

use deepgp::search::{Candidate, SearchLog, TrialOutcome};

use super::score_in_words;
use crate::picture::escape;
use crate::terminal::text::{duration, number};
use crate::tune::comparison::Comparison;
use crate::tune::space::{in_words, metric_in_words};

/// The best beside the settings of fit on test rows.
pub(super) fn comparison(own: &Comparison) -> String {
    let head: String = own
        .scores
        .iter()
        .map(|(metric, ..)| format!("<th scope=\"col\">{}</th>", escape(metric_in_words(*metric))))
        .collect();
    let line = |name: &str, class: &str, of: &dyn Fn(usize) -> (f64, f64)| {
        let cell = |at: usize| {
            let (score, other) = of(at);
            let metric = own.scores[at].0;
            let best = if metric.loss(score) < metric.loss(other) { " class=\"best\"" } else { "" };
            format!("<td{best}>{}</td>", escape(&number(score)))
        };
        let cells: String = (0..own.scores.len()).map(cell).collect();
        format!("<tr{class}><th scope=\"row\">{}</th>{cells}</tr>\n", escape(name))
    };
    let best = line(&format!("candidate {}", own.best), " class=\"model\"", &|at| (own.scores[at].2, own.scores[at].1));
    let unchanged = line("the settings of fit", "", &|at| (own.scores[at].1, own.scores[at].2));
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><caption>On {} test rows</caption><thead><tr><td></td>{head}</tr></thead>\n\
         <tbody>{best}{unchanged}</tbody></table></div>\n<p class=\"caption\">Both models are the search's, of the same training rows after {} \
         steps. The model that was saved is fitted to more rows: those that judged are among them.</p>",
        own.rows, own.steps
    )
}

/// All candidates: those that came furthest first, and among these the best.
pub(super) fn candidates(log: &SearchLog) -> String {
    let Some(plan) = log.plan() else { return String::new() };
    let best = log.leader().map(|(best, _)| best);
    let mut all: Vec<&Candidate> = log.candidates().filter(|own| log.trial(own.number, 0).is_some()).collect();
    if all.is_empty() {
        return String::new();
    }
    let rank = |own: &Candidate| {
        let height = log.height(own.number);
        (height, height.and_then(|rung| log.loss(own.number, rung)).unwrap_or(f64::INFINITY))
    };
    all.sort_by(|a, b| {
        let (one, other) = (rank(a), rank(b));
        other.0.cmp(&one.0).then(one.1.total_cmp(&other.1)).then(a.number.cmp(&b.number))
    });
    let head: String = plan.rungs.iter().map(|steps| format!("<th scope=\"col\">step {steps}</th>")).collect();
    let line = |own: &&Candidate| {
        let class = if Some(own.number) == best { " class=\"model\"" } else { "" };
        let cells: String = (0..plan.rungs.len())
            .map(|rung| format!("<td>{}</td>", escape(&score_in_words(log, own.number, rung))))
            .collect();
        let trials = || log.trials().filter(|trial| trial.candidate == own.number);
        let seconds: f64 = trials().map(|trial| trial.seconds).sum();
        let failed = trials().find_map(|trial| match &trial.outcome {
            TrialOutcome::Failed { reason } => Some(format!("failed: {reason}")),
            TrialOutcome::TooSlow { .. } => Some("too slow to be fitted in time".to_string()),
            TrialOutcome::Scored { .. } => None,
        });
        let remark = failed.map_or(String::new(), |text| format!("<small>{}</small>", escape(&text)));
        format!(
            "<tr{class}><th scope=\"row\">{}</th>{cells}<td>{}</td><td class=\"words\">{}{remark}</td></tr>\n",
            own.number,
            escape(&duration(seconds)),
            escape(&in_words(own))
        )
    };
    let lines: String = all.iter().map(line).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><caption>{} by the rows that judge</caption><thead><tr><td></td>{head}\
         <th scope=\"col\">training</th><th scope=\"col\" class=\"words\">settings that differ from those of fit</th></tr></thead>\n\
         <tbody>{lines}</tbody></table></div>\n",
        escape(metric_in_words(log.metric))
    )
}
