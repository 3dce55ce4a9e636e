//! Progress of a training run: a bar on a terminal, plain lines elsewhere, nothing if the command is to be quiet.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::tell;
use super::text::{duration, number};

/// Seconds between the first plain lines.
const FIRST_LINE: f64 = 2.0;
/// Seconds between plain lines when they have grown rarer.
const RAREST_LINE: f64 = 60.0;

/// What a training run reports to its progress display after a step.
#[derive(Clone, Copy, Debug)]
pub struct StepProgress {
    /// The number of the step, from 1.
    pub step: u64,
    /// Passes over the data so far.
    pub epoch: f64,
    /// The evidence lower bound, estimated from the step's minibatch.
    pub elbo: f64,
    /// The bound's expected log likelihood.
    pub data_term: f64,
    /// The bound's `KL[q ‖ p]`, all layers together.
    pub kl: f64,
    /// Standard deviation of the noise, in the target's units.
    pub noise: f64,
    /// Mean log density of the validation rows when they were last scored, if they were, in the target's units.
    pub validation: Option<f64>,
}

/// The progress display of a training run.
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
    /// The display of a run of `steps` steps, of which `first` are made already.
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

    /// Shows a step that has just been made.
    pub fn show(&mut self, progress: StepProgress) {
        let elapsed = self.started.elapsed().as_secs_f64();
        let speed = (progress.step - self.first) as f64 / elapsed.max(1e-9);
        if let Some(bar) = &self.bar {
            bar.set_position(progress.step);
            bar.set_message(describe(progress, speed));
        } else if self.lines && self.last_line.elapsed().as_secs_f64() >= self.pause {
            let left = (self.steps - progress.step) as f64 / speed;
            let (step, steps, left) = (progress.step, self.steps, duration(left));
            tell(&format!("step {step}/{steps}  {}  {left} left", describe(progress, speed)));
            self.last_line = Instant::now();
            self.pause = (self.pause * 1.5).min(RAREST_LINE);
        }
    }

    /// Takes the bar off the terminal.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A step in a line of text.
fn describe(progress: StepProgress, speed: f64) -> String {
    let StepProgress { epoch, elbo, data_term, kl, noise, .. } = progress;
    let validation = progress.validation.map_or(String::new(), |score| format!("  validation {score:.3}"));
    format!(
        "{speed:.1} steps/s  epoch {epoch:.0}  ELBO {elbo:.1} = {data_term:.1} - {kl:.1}  noise {}{validation}",
        number(noise)
    )
}
