//! How far all runs of an experiment are, and how long the rest will take: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::output::tell;
use crate::terminal::progress::duration;
use crate::terminal::text::count;

/// Steps of the bar.
const FINE: u64 = 1000;
/// Seconds between lines where there is no terminal.
const LINE_EVERY: f64 = 30.0;

/// The display of runs of so much work each, in any unit.
#[derive(Debug)]
pub struct ExperimentProgress {
    work: Vec<f64>,
    started: Instant,
    bar: Option<ProgressBar>,
    quiet: bool,
    last_line: Instant,
}

impl ExperimentProgress {
    /// Before the first of them.
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

    /// Shows the share of each run that is done; `told` is news of one of them.
    pub fn show(&mut self, shares: impl Iterator<Item = f64>, told: Option<String>, left: usize) {
        let all: f64 = self.work.iter().sum();
        let done = shares.zip(&self.work).map(|(share, work)| share * work).sum::<f64>() / all;
        let rest = rest(self.started.elapsed().as_secs_f64(), done, left);
        if let Some(bar) = &self.bar {
            if let Some(told) = told {
                bar.println(told);
            }
            bar.set_position((done * FINE as f64) as u64);
            bar.set_message(rest);
        } else if !self.quiet && (told.is_some() || self.last_line.elapsed().as_secs_f64() >= LINE_EVERY) {
            let parts: Vec<String> = told.into_iter().chain([rest]).filter(|part| !part.is_empty()).collect();
            if !parts.is_empty() {
                tell(&parts.join("; "));
            }
            self.last_line = Instant::now();
        }
    }

    /// Takes it away.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What is ahead, `elapsed` seconds after the start, with a share `done` of the work: nothing if that cannot be told.
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
