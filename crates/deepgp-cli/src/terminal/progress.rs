//! How a run is going: a bar on a terminal, plain lines elsewhere, nothing if quiet.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::tell;

/// Seconds between plain lines, at first; they grow rarer.
const FIRST_LINE: f64 = 2.0;
const RAREST_LINE: f64 = 60.0;

/// What a step says.
#[derive(Clone, Copy, Debug)]
pub struct StepProgress {
    /// Its number, from 1.
    pub step: u64,
    /// Passes over the data so far.
    pub epoch: f64,
    /// The bound and its parts.
    pub elbo: f64,
    /// The data term.
    pub data_term: f64,
    /// The KL.
    pub kl: f64,
    /// Standard deviation of the noise, in the target's units.
    pub noise: f64,
    /// The mean log density of the validation rows at the last look, if any, in the target's units.
    pub validation: Option<f64>,
}

/// The display of a run of so many steps.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    steps: u64,
    first: u64,
    started: Instant,
    last_line: Instant,
    pause: f64,
}

impl Progress {
    /// From step `first` on.
    pub fn new(steps: u64, first: u64, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(8));
            let style = ProgressStyle::with_template("{bar:16.cyan/dim} {pos}/{len}  {eta} left  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
            bar.set_position(first);
            bar.reset_eta();
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        let now = Instant::now();
        Self { bar, lines: !terminal && !quiet, steps, first, started: now, last_line: now, pause: FIRST_LINE }
    }

    /// Shows a step.
    pub fn show(&mut self, pulse: StepProgress) {
        let elapsed = self.started.elapsed().as_secs_f64();
        let speed = (pulse.step - self.first) as f64 / elapsed.max(1e-9);
        if let Some(bar) = &self.bar {
            bar.set_position(pulse.step);
            bar.set_message(describe(pulse, speed));
        } else if self.lines && self.last_line.elapsed().as_secs_f64() >= self.pause {
            let left = (self.steps - pulse.step) as f64 / speed;
            let (step, steps, left) = (pulse.step, self.steps, duration(left));
            tell(&format!("step {step}/{steps}  {}  {left} left", describe(pulse, speed)));
            self.last_line = Instant::now();
            self.pause = (self.pause * 1.5).min(RAREST_LINE);
        }
    }

    /// Takes the bar away.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn describe(pulse: StepProgress, speed: f64) -> String {
    let StepProgress { epoch, elbo, data_term, kl, noise, .. } = pulse;
    let validation = pulse.validation.map_or(String::new(), |score| format!("  validation {score:.3}"));
    format!(
        "{speed:.1} steps/s  epoch {epoch:.0}  ELBO {elbo:.1} = {data_term:.1} - {kl:.1}  noise {}{validation}",
        crate::terminal::text::number(noise)
    )
}

/// A time for people: `4 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    if seconds < 9.95 {
        return format!("{:.1} s", seconds.max(0.0));
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        assert_eq!((duration(0.04), duration(4.44), duration(44.4)), ("0.0 s".into(), "4.4 s".into(), "44 s".into()));
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(7500.0), "2 h 5 min");
    }
}
