//! How a search is going, to whoever waits: what is being tried, the best so far, the time that is left.

use std::io::IsTerminal;
use std::time::Instant;

use deepgp::search::{Bracket, SearchEvent, SearchLog, Trial, TrialOutcome};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::space::{in_words, metric_in_words};
use crate::terminal::output::{Voice, say};
use crate::terminal::text::{count, duration, number};

/// Seconds between two lines where there is no terminal.
const LINE_EVERY: f64 = 30.0;

/// The progress display of a search. It goes when it is dropped.
#[derive(Debug)]
pub struct SearchProgress {
    bar: Option<ProgressBar>,
    voice: Voice,
    last_line: Instant,
}

impl SearchProgress {
    /// The display before anything is tried.
    pub fn new(voice: Voice) -> Self {
        let bar = (std::io::stderr().is_terminal() && !voice.quiet).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
            bar.set_style(
                ProgressStyle::with_template("{spinner} {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar
        });
        Self { bar, voice, last_line: Instant::now() }
    }

    /// Shows what happens.
    pub fn show(&mut self, log: &SearchLog, event: SearchEvent<'_>) {
        match event {
            SearchEvent::Pacing => self.now("finding out how long a step takes"),
            SearchEvent::Opened(bracket) => self.tell(&opened(log, bracket)),
            SearchEvent::Judged(trial) => self.tell(&judged(log, trial)),
            SearchEvent::Working { rung, shares, left } => {
                let due = self.bar.is_some() || self.last_line.elapsed().as_secs_f64() >= LINE_EVERY;
                if due {
                    self.now(&working(log, rung, shares, left));
                }
            }
        }
    }

    /// Shows what is being done: on a terminal in a line that changes, elsewhere seldom.
    fn now(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(text.to_string());
                bar.tick();
            }
            None if self.last_line.elapsed().as_secs_f64() >= LINE_EVERY => self.tell(text),
            None => {}
        }
    }

    /// Says what has come of something.
    fn tell(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(self.voice, text)),
            None => say(self.voice, text),
        }
        self.last_line = Instant::now();
    }
}

impl Drop for SearchProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A bracket that was opened.
fn opened(log: &SearchLog, bracket: &Bracket) -> String {
    let Bracket { number, centre, candidates } = bracket;
    let around = match number {
        0 => "around the settings of fit".to_string(),
        _ => format!("around candidate {centre}"),
    };
    let rungs = log.plan().map_or(String::new(), |plan| {
        let all: Vec<String> = plan.rungs.iter().map(u64::to_string).collect();
        format!(", judged after {} of {} steps", all.join(", "), plan.steps)
    });
    format!("bracket {}: {} {around}{rungs}", number + 1, count(candidates.len(), "candidate"))
}

/// A candidate that was judged.
fn judged(log: &SearchLog, trial: &Trial) -> String {
    let what = log.candidate(trial.candidate).map_or(String::new(), in_words);
    let steps = log.plan().and_then(|plan| plan.rungs.get(trial.rung)).copied().unwrap_or_default();
    let came = match &trial.outcome {
        TrialOutcome::Scored { score, .. } => format!("{} {}", metric_in_words(log.metric), number(*score)),
        TrialOutcome::Failed { reason } => format!("failed: {reason}"),
        TrialOutcome::TooSlow { .. } => "too slow to be fitted in time".into(),
    };
    let best = match log.leader() {
        Some((best, rung)) if best == trial.candidate && rung == trial.rung => ", the best so far".to_string(),
        _ => String::new(),
    };
    format!("candidate {} at step {steps}: {came}{best} ({what})", trial.candidate)
}

/// Candidates that are being trained.
fn working(log: &SearchLog, rung: usize, shares: &[(usize, f64)], left: Option<f64>) -> String {
    let to = log.plan().and_then(|plan| plan.rungs.get(rung)).copied().unwrap_or_default();
    let under_way = shares.iter().filter(|(number, _)| log.trial(*number, rung).is_none());
    let each: Vec<String> =
        under_way.map(|(number, share)| format!("candidate {number} {:.0} % of the way", 100.0 * share)).collect();
    let best = log.leader().and_then(|(best, rung)| Some((best, log.trial(best, rung)?.score()?)));
    let best = best.map_or(String::new(), |(best, score)| {
        format!("; best: candidate {best}, {} {}", metric_in_words(log.metric), number(score))
    });
    let left = left.map_or(String::new(), |left| format!("; {} left for the search", duration(left.max(0.0))));
    format!("to step {to}: {}{best}{left}", each.join(", "))
}
