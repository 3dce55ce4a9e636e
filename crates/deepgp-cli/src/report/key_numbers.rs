//! Key numbers: the few to see first, at the top of the page.

use super::number::{duration, fixed, percent, significant};
use super::statistics::last;
use super::vocabulary::{ObjectiveWords, ScoreWords, best};
use super::{Report, ScoreRow};
use crate::html::{KeyNumber, strip};

/// The largest number of targets with their numbers at the top; the table has all.
const MOST_TARGETS: usize = 3;

/// The key numbers as HTML: of each target, or of training where nothing was scored.
pub(super) fn key_numbers(report: &Report) -> String {
    let Some(model) = report.scores.iter().find(|row| row.of_model) else {
        return strip("", &of_training(report));
    };
    let seconds = model.seconds.or(last(&report.history.seconds));
    let time = seconds.map(|seconds| time(report, seconds));
    let (error, likelihood) = (|p| error(report, model, p), likelihood(report, model));
    if report.targets.len() < 2 {
        let all = [error(0), likelihood, crps(report, model, 0), in_intervals(model, 0)];
        return strip("", &all.into_iter().chain(time).collect::<Vec<_>>());
    }
    // Targets are trained together, and their likelihood is one of all.
    let together = strip("", &[likelihood].into_iter().chain(time).collect::<Vec<_>>());
    let shown = report.targets.iter().enumerate().take(MOST_TARGETS);
    together
        + &shown
            .map(|(p, target)| strip(target, &[error(p), crps(report, model, p), in_intervals(model, p)]))
            .collect::<String>()
}

/// The best baseline in words, by the least `sign * score`.
fn best_baseline(report: &Report, score: &dyn Fn(&ScoreRow) -> f64, sign: f64) -> Option<String> {
    let baselines = report.scores.iter().filter(|row| !row.of_model && score(row).is_finite());
    let best = baselines.min_by(|a, b| (sign * score(a)).total_cmp(&(sign * score(b))));
    best.map(|row| format!("best baseline {}, {}", significant(score(row), 3), row.name))
}

/// The RMSE on target `p`.
fn error(report: &Report, model: &ScoreRow, p: usize) -> KeyNumber {
    let best = best_baseline(report, &|row| row.original.rmse[p], 1.0);
    KeyNumber {
        label: "RMSE".to_owned(),
        value: significant(model.original.rmse[p], 3),
        remark: best.unwrap_or_else(|| "in units of the target".to_owned()),
    }
}

/// The continuous ranked probability score on target `p`.
fn crps(report: &Report, model: &ScoreRow, p: usize) -> KeyNumber {
    let best = best_baseline(report, &|row| row.original.crps[p], 1.0);
    KeyNumber {
        label: "CRPS".to_owned(),
        value: significant(model.original.crps[p], 3),
        remark: best.unwrap_or_else(|| "in units of the target".to_owned()),
    }
}

/// The log likelihood, joint where there are several targets.
fn likelihood(report: &Report, model: &ScoreRow) -> KeyNumber {
    let best = best_baseline(report, &|row| row.original.log_likelihood, -1.0);
    let joint = report.targets.len() > 1;
    KeyNumber {
        label: if joint { "Joint log likelihood" } else { "Log likelihood" }.to_owned(),
        value: significant(model.original.log_likelihood, 3),
        remark: best.unwrap_or_else(|| "mean of a row".to_owned()),
    }
}

/// The share of rows in their 95 % intervals, of target `p`.
fn in_intervals(model: &ScoreRow, p: usize) -> KeyNumber {
    KeyNumber {
        label: "In 95 % intervals".to_owned(),
        value: percent(model.original.coverage_95[p]),
        remark: "of the rows; should be near 95 %".to_owned(),
    }
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
    let judge = choices.validation_score;
    let validation = best(judge, &history.validation).map(|best| KeyNumber {
        label: format!("Validation {}", judge.name()),
        value: significant(best, 3),
        remark: format!("best mean of a row; {}", ScoreWords::of(report).better),
    });
    let seconds = last(&history.seconds).map(|seconds| time(report, seconds));
    bound.into_iter().chain(validation).chain(seconds).collect()
}

/// The time of training.
fn time(report: &Report, seconds: f64) -> KeyNumber {
    let steps = last(&report.history.step).map(|steps| format!("{} steps", fixed(steps, 0)));
    KeyNumber { label: "Training time".to_owned(), value: duration(seconds), remark: steps.unwrap_or_default() }
}
