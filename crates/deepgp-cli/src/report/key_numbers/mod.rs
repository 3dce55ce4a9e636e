//! Key numbers: the few to see first, at the top of the page.

mod classes;
mod counts;
mod numbers;

use super::Report;
use super::number::{duration, fixed, significant};
use super::statistics::last;
use super::vocabulary::{ObjectiveWords, ScoreWords, best};
use crate::html::{KeyNumber, strip};

/// The key numbers as HTML: of the scores, or of training where nothing was scored.
pub(super) fn key_numbers(report: &Report) -> String {
    let with_time = |mut all: Vec<KeyNumber>| {
        all.extend(last(&report.history.seconds).map(|seconds| time(report, seconds)));
        strip("", &all)
    };
    let of_classes = report.classes.as_ref().and_then(classes::key_numbers).map(with_time);
    let of_counts = report.counts.as_ref().and_then(counts::key_numbers).map(with_time);
    let found = numbers::key_numbers(report).or(of_classes).or(of_counts);
    found.unwrap_or_else(|| strip("", &of_training(report)))
}

/// The best baseline in words, by the least `sign * score`, of scores with the names of whose they are.
fn best_baseline(scores: impl Iterator<Item = (String, f64)>, sign: f64, write: fn(f64) -> String) -> Option<String> {
    let finite = scores.filter(|(_, score)| score.is_finite());
    let best = finite.min_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)));
    best.map(|(name, score)| format!("best baseline {}, {name}", write(score)))
}

/// The key numbers of training, where nothing was scored.
fn of_training(report: &Report) -> Vec<KeyNumber> {
    let (history, choices) = (&report.history, &report.choices);
    let bound = last(&history.objective).map(|value| KeyNumber {
        label: ObjectiveWords::of(choices.objective).title.to_owned(),
        value: significant(value, 4),
        remark: history.kept_before_the_end().map_or("at the last step".to_owned(), |kept| {
            format!("at the last step; the model is that of step {}", fixed(kept, 0))
        }),
    });
    let words = ScoreWords::of(report);
    let validation = best(choices.judge, &history.validation).map(|best| KeyNumber {
        label: format!("Validation {}", words.name),
        value: significant(best, 3),
        remark: format!("best mean of a row; {}", words.better),
    });
    let seconds = last(&history.seconds).map(|seconds| time(report, seconds));
    bound.into_iter().chain(validation).chain(seconds).collect()
}

/// The time of training.
fn time(report: &Report, seconds: f64) -> KeyNumber {
    let steps = last(&report.history.step).map(|steps| format!("{} steps", fixed(steps, 0)));
    KeyNumber { label: "Training time".to_owned(), value: duration(seconds), remark: steps.unwrap_or_default() }
}
