//! Progress of a training run: a bar on a terminal, plain lines elsewhere, nothing if the command is to be quiet.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use deepgp_io::{Bound, TrainingProgress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::line_pace::LinePace;
use super::output::tell;
use super::text::{duration, number};

/// The progress display of a training run.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    steps: u64,
    first: u64,
    started: Instant,
    pace: LinePace,
}

impl Progress {
    /// The display of a run of `steps` steps, of which `first` are made already.
    pub fn new(steps: u64, first: u64, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(8));
            let style = ProgressStyle::with_template("{bar:16.cyan/dim} {pos}/{len}  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
            bar.set_position(first);
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Self { bar, lines: !terminal && !quiet, steps, first, started: Instant::now(), pace: LinePace::new() }
    }

    /// Shows a step that has just been made, unless it was rolled back. `validation` is the score of the
    /// validation rows when they were last scored, if they were, in words; `limit` the seconds after which
    /// training ends in any case, if there are any.
    pub fn show(&mut self, progress: &TrainingProgress, validation: Option<&str>, limit: Option<f64>) {
        let Ok(bound) = progress.bound else { return };
        let elapsed = self.started.elapsed().as_secs_f64();
        let step = progress.step;
        let speed = (step - self.first) as f64 / elapsed.max(1e-9);
        let left = ((self.steps - step) as f64 / speed).min(limit.unwrap_or(f64::INFINITY));
        let (left, told) = (duration(left), describe(progress, bound, validation, speed));
        if let Some(bar) = &self.bar {
            bar.set_position(step);
            bar.set_message(format!("{left} left  {told}"));
        } else if self.lines && self.pace.is_due() {
            tell(&format!("step {step}/{}  {told}  {left} left", self.steps));
        }
    }

    /// Takes the bar off the terminal.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A step in a line of text; of what the likelihood has learnt, the first number.
fn describe(progress: &TrainingProgress, bound: Bound, validation: Option<&str>, speed: f64) -> String {
    let Bound { objective, elbo, data_term, kl } = bound;
    let epoch = progress.epoch;
    let learnt = progress.likelihood.first();
    let learnt = learnt.map_or(String::new(), |own| format!("  {} {}", own.name, number(own.value)));
    let validation = validation.map_or(String::new(), |score| format!("  validation {score}"));
    format!(
        "{speed:.1} steps/s  epoch {epoch:.0}  {objective} {elbo:.1} = {data_term:.1} - {kl:.1}{learnt}{validation}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_one_line() {
        let noise = deepgp::likelihood::Quantity { name: "noise".into(), output: Some(0), value: 0.25 };
        let bound = Bound { objective: "ELBO", elbo: -3.0, data_term: -1.0, kl: 2.0 };
        let mut step = TrainingProgress {
            step: 7,
            epoch: 7.0,
            bound: Ok(bound),
            likelihood: vec![noise],
            learning_rate: 0.01,
            validation: None,
            seconds: 1.0,
        };
        let told = describe(&step, bound, Some("-1.500"), 2.0);
        assert_eq!(told, "2.0 steps/s  epoch 7  ELBO -3.0 = -1.0 - 2.0  noise 0.2500  validation -1.500");
        step.likelihood.clear();
        assert_eq!(describe(&step, bound, None, 2.0), "2.0 steps/s  epoch 7  ELBO -3.0 = -1.0 - 2.0");
    }
}
