//! Key numbers where targets are numbers.

use super::time;
use crate::html::{KeyNumber, strip};
use crate::report::number::{percent, significant};
use crate::report::statistics::last;
use crate::report::{Report, ScoreRow};

/// The largest number of targets with their numbers at the top; the table has all.
const MOST_TARGETS: usize = 3;

/// The key numbers of each target as HTML; `None` where no numbers were scored.
pub(super) fn key_numbers(report: &Report) -> Option<String> {
    let model = report.scores.iter().find(|row| row.of_model)?;
    let seconds = model.seconds.or(last(&report.history.seconds));
    let time = seconds.map(|seconds| time(report, seconds));
    let (error, likelihood) = (|p| error(report, model, p), likelihood(report, model));
    if report.targets.len() < 2 {
        let all = [error(0), likelihood, crps(report, model, 0), in_intervals(model, 0)];
        return Some(strip("", &all.into_iter().chain(time).collect::<Vec<_>>()));
    }
    // Targets are trained together, and their likelihood is one of all.
    let together = strip("", &[likelihood].into_iter().chain(time).collect::<Vec<_>>());
    let shown = report.targets.iter().enumerate().take(MOST_TARGETS);
    let each = shown.map(|(p, target)| strip(target, &[error(p), crps(report, model, p), in_intervals(model, p)]));
    Some(together + &each.collect::<String>())
}

/// The best baseline in words, by the least `sign * score`.
fn best_baseline(report: &Report, score: &dyn Fn(&ScoreRow) -> f64, sign: f64) -> Option<String> {
    let baselines = report.scores.iter().filter(|row| row.is_baseline);
    super::best_baseline(baselines.map(|row| (row.name.clone(), score(row))), sign, |score| significant(score, 3))
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
