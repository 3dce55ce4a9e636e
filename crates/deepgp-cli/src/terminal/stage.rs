//! Progress of what comes before and after training, such as reading and scoring: a bar on a terminal, plain lines elsewhere, and nothing
//! as long as it is over in a moment.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::line_pace::LinePace;
use super::output::{Voice, tell};
use super::text::duration;

/// Seconds after which a bar appears.
const BAR_AFTER: f64 = 0.4;

/// How much of a stage there is to do, and in what unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// Rows whose number is not known yet.
    UnknownRows,
    /// So many rows.
    Rows(u64),
    /// Something that is told as a share of the whole, in percent.
    Percent,
    /// Something that cannot say how far it is.
    Unmeasured,
}

/// The progress display of a stage. It goes when it is dropped.
#[derive(Debug)]
pub struct Stage {
    /// What is being done: `reading`, `scoring`.
    what: String,
    extent: Extent,
    screen: Screen,
    started: Instant,
}

/// Where progress is shown.
#[derive(Debug)]
enum Screen {
    Terminal(Option<ProgressBar>),
    Lines(LinePace),
    Nowhere,
}

impl Stage {
    /// The display of a stage that begins now.
    pub fn new(voice: Voice, what: impl Into<String>, extent: Extent) -> Self {
        let screen = match (voice.quiet, std::io::stderr().is_terminal()) {
            (true, _) => Screen::Nowhere,
            (false, true) => Screen::Terminal(None),
            (false, false) => Screen::Lines(LinePace::new()),
        };
        Self { what: what.into(), extent, screen, started: Instant::now() }
    }

    /// Shows that so much is done, in the unit of the stage's extent.
    pub fn show(&mut self, done: u64) {
        let elapsed = self.started.elapsed().as_secs_f64();
        match &mut self.screen {
            Screen::Nowhere => {}
            Screen::Terminal(bar) => {
                if elapsed >= BAR_AFTER {
                    bar.get_or_insert_with(|| new_bar(self.extent)).set_position(done);
                }
                if let Some(bar) = bar {
                    bar.set_message(describe(&self.what, self.extent, done, elapsed));
                }
            }
            Screen::Lines(pace) => {
                if pace.is_due() {
                    tell(&describe(&self.what, self.extent, done, elapsed));
                }
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Screen::Terminal(Some(bar)) = &self.screen {
            bar.finish_and_clear();
        }
    }
}

/// A bar on the terminal, or a line without one if nobody knows how much there is to do.
fn new_bar(extent: Extent) -> ProgressBar {
    let (length, template) = match extent {
        Extent::UnknownRows | Extent::Unmeasured => (None, "{spinner} {wide_msg}"),
        Extent::Rows(of) => (Some(of), "{bar:16.cyan/dim} {wide_msg}"),
        Extent::Percent => (Some(100), "{bar:16.cyan/dim} {wide_msg}"),
    };
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(8));
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸─"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// How far a stage is, in a line of text, so many seconds after it began.
fn describe(what: &str, extent: Extent, done: u64, elapsed: f64) -> String {
    let (far, of) = match extent {
        Extent::UnknownRows => return format!("{what}: {done} rows"),
        Extent::Rows(of) => (format!("{done} of {of} rows"), of),
        Extent::Percent => (format!("{done} %"), 100),
        Extent::Unmeasured => return format!("{what}: {} so far", duration(elapsed)),
    };
    if done == 0 || done > of {
        return format!("{what}: {far}");
    }
    let left = duration(elapsed * (of - done) as f64 / done as f64);
    format!("{what}: {far}  {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_one_line_with_what_is_left() {
        assert_eq!(describe("reading", Extent::UnknownRows, 8192, 1.0), "reading: 8192 rows");
        assert_eq!(describe("scoring", Extent::Rows(40_000), 10_000, 2.0), "scoring: 10000 of 40000 rows  6.0 s left");
        assert_eq!(describe("scoring", Extent::Rows(40_000), 0, 2.0), "scoring: 0 of 40000 rows");
        assert_eq!(describe("choosing", Extent::Percent, 50, 3.0), "choosing: 50 %  3.0 s left");
        assert_eq!(describe("writing", Extent::Unmeasured, 0, 3.0), "writing: 3.0 s so far");
    }

    #[test]
    fn a_quiet_stage_shows_nothing() {
        let mut stage = Stage::new(Voice::SILENT, "reading", Extent::UnknownRows);
        stage.show(5);
        assert!(matches!(stage.screen, Screen::Nowhere));
    }
}
