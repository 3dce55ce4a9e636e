//! The few numbers to see first.

use super::number::{duration, fixed, percent, significant};
use super::statistics::last;
use super::{Report, ScoreRow};
use crate::html::{Key, strip};

/// At most this many targets have their numbers at the top; the table has all.
const MOST_TARGETS: usize = 3;

/// The numbers as HTML: of each target, or of training where nothing was scored.
pub(super) fn key_numbers(report: &Report) -> String {
    let models: Vec<_> = report.scores.iter().filter(|row| row.of_model).collect();
    match models[..] {
        [] => strip("", &of_training(report)),
        [model] => strip("", &of_scores(report, model, true)),
        _ => {
            models.iter().take(MOST_TARGETS).map(|model| strip(&model.name, &of_scores(report, model, false))).collect()
        }
    }
}

/// `alone`: the only target, so that all other rows are baselines to compare with.
fn of_scores(report: &Report, model: &ScoreRow, alone: bool) -> Vec<Key> {
    let baselines = || report.scores.iter().filter(|row| alone && !row.of_model);
    let best = |score: &dyn Fn(&ScoreRow) -> f64, sign: f64| {
        let finite = baselines().filter(|row| score(row).is_finite());
        let best = finite.min_by(|a, b| (sign * score(a)).total_cmp(&(sign * score(b))));
        best.map(|row| format!("best baseline {}, {}", significant(score(row), 3), row.name))
    };
    let mut keys = vec![
        Key {
            label: "RMSE".to_owned(),
            value: significant(model.original.rmse, 3),
            remark: best(&|row| row.original.rmse, 1.0).unwrap_or_else(|| "in units of the target".to_owned()),
        },
        Key {
            label: "Log likelihood".to_owned(),
            value: significant(model.original.log_likelihood, 3),
            remark: best(&|row| row.original.log_likelihood, -1.0).unwrap_or_else(|| "mean of a row".to_owned()),
        },
        Key {
            label: "In 95 % intervals".to_owned(),
            value: percent(model.original.coverage_95),
            remark: "of the rows; should be near 95 %".to_owned(),
        },
    ];
    let seconds = model.seconds.or(last(&report.history.seconds));
    // Targets are trained together: the table tells the time.
    keys.extend(seconds.filter(|_| alone).map(|seconds| time(report, seconds)));
    keys
}

fn of_training(report: &Report) -> Vec<Key> {
    let history = &report.history;
    let scores = history.validation.iter().map(|(_, score)| *score).filter(|score| score.is_finite());
    let bound = last(&history.elbo).map(|elbo| Key {
        label: "Evidence lower bound".to_owned(),
        value: significant(elbo, 4),
        remark: "at the last step".to_owned(),
    });
    let validation = scores.reduce(f64::max).map(|best| Key {
        label: "Validation score".to_owned(),
        value: significant(best, 3),
        remark: "best mean log density".to_owned(),
    });
    let seconds = last(&history.seconds).map(|seconds| time(report, seconds));
    bound.into_iter().chain(validation).chain(seconds).collect()
}

fn time(report: &Report, seconds: f64) -> Key {
    let steps = last(&report.history.step).map(|steps| format!("{} steps", fixed(steps, 0)));
    Key { label: "Training time".to_owned(), value: duration(seconds), remark: steps.unwrap_or_default() }
}
