//! Key numbers where targets are counts.

use deepgp::CountScore;

use super::best_baseline;
use crate::html::KeyNumber;
use crate::report::CountReport;
use crate::report::number::{percent, significant};

/// The log score, the deviance, the RMSE and the share of rows in their intervals; `None` if nothing was scored.
pub(super) fn key_numbers(report: &CountReport) -> Option<Vec<KeyNumber>> {
    let model = report.of_model()?;
    let number = |label: &str, of: fn(&CountScore) -> f64, sign: f64, alone: &str| {
        let all = report.scores.iter().filter(|record| record.of.baseline().is_some());
        let baselines = all.map(|record| (record.of.to_string(), of(&record.score)));
        KeyNumber {
            label: label.to_owned(),
            value: significant(of(model), 3),
            remark: best_baseline(baselines, sign, |value| significant(value, 3)).unwrap_or_else(|| alone.to_owned()),
        }
    };
    Some(vec![
        number("Log score", |score| score.log_score, -1.0, "mean of a row; higher is better"),
        number("Deviance", |score| score.deviance, 1.0, "mean of a row; lower is better"),
        number("RMSE", |score| score.rmse, 1.0, "in counts"),
        KeyNumber {
            label: "In 95 % intervals".to_owned(),
            value: percent(model.coverage_95),
            remark: "of the rows; should be at least 95 %".to_owned(),
        },
    ])
}
