//! The progress of an experiment: how many of its runs are done, and how long the rest will take. A bar on a terminal,
//! lines elsewhere.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::output::tell;
use crate::terminal::text::{count, duration};

/// The length of the bar, in units of its own.
const FINE: u64 = 1000;
/// Seconds between two lines where there is no terminal.
const LINE_EVERY: f64 = 30.0;

/// The progress display of an experiment, whose runs are so much work each, in any unit.
#[derive(Debug)]
pub struct ExperimentProgress {
    work: Vec<f64>,
    started: Instant,
    bar: Option<ProgressBar>,
    quiet: bool,
    last_line: Instant,
}

impl ExperimentProgress {
    /// The display before the first run is made.
    pub fn new(work: Vec<f64>, quiet: bool) -> Self {
        let bar = (std::io::stderr().is_terminal() && !quiet && !work.is_empty()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(FINE), ProgressDrawTarget::stderr_with_hz(4));
            let style = ProgressStyle::with_template("{bar:30.cyan/dim} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
            bar
        });
        let now = Instant::now();
        Self { work, started: now, bar, quiet, last_line: now }
    }

    /// Shows the share of each run that is done, with `left` runs to go. `news`, the result of one that has just ended,
    /// stays on the terminal.
    pub fn show(&mut self, shares: impl Iterator<Item = f64>, news: Option<String>, left: usize) {
        let all: f64 = self.work.iter().sum();
        let done = shares.zip(&self.work).map(|(share, work)| share * work).sum::<f64>() / all;
        let rest = rest(self.started.elapsed().as_secs_f64(), done, left);
        if let Some(bar) = &self.bar {
            if let Some(news) = news {
                bar.println(news);
            }
            bar.set_position((done * FINE as f64) as u64);
            bar.set_message(rest);
        } else if !self.quiet && (news.is_some() || self.last_line.elapsed().as_secs_f64() >= LINE_EVERY) {
            let parts: Vec<String> = news.into_iter().chain([rest]).filter(|part| !part.is_empty()).collect();
            if !parts.is_empty() {
                tell(&parts.join("; "));
            }
            self.last_line = Instant::now();
        }
    }

    /// Takes the bar off the terminal.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How many runs are left and how long they will take, `elapsed` seconds after the start with a share `done` of the
/// work behind them; empty if that cannot be estimated.
fn rest(elapsed: f64, done: f64, left: usize) -> String {
    if left == 0 || !(done > 0.0 && done <= 1.0) {
        return String::new();
    }
    format!("{} left, about {}", count(left, "run"), duration(elapsed * (1.0 - done) / done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_in_proportion_to_what_is_done() {
        assert_eq!(rest(60.0, 0.25, 3), "3 runs left, about 3 min 0 s");
        assert_eq!(rest(60.0, 0.9, 1), "1 run left, about 6.7 s");
        assert_eq!([rest(60.0, 0.0, 3), rest(1.0, f64::NAN, 1), rest(9.0, 1.0, 0)], ["", "", ""]);
    }
}
