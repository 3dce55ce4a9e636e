//! The table of scores where targets are counts.

use deepgp::CountScore;

use super::score_table::{Better, Column, Subject, table, untitled};
use crate::report::CountReport;
use crate::report::number::{column, differences};

/// The table of scores as HTML; empty without scores. `scored_on` says of which rows, as HTML.
pub(super) fn scores(CountReport { scores, .. }: &CountReport, scored_on: &str) -> String {
    if scores.is_empty() {
        return String::new();
    }
    let subjects: Vec<Subject> =
        scores.iter().map(|record| Subject { name: record.of.to_string(), of_model: record.of.is_model() }).collect();
    let values = |of: fn(&CountScore) -> f64| -> Vec<f64> { scores.iter().map(|record| of(&record.score)).collect() };
    let columns = vec![
        Column::competing("log score", &values(|score| score.log_score), Better::More, differences),
        Column::competing("deviance", &values(|score| score.deviance), Better::Less, column),
        Column::competing("RMSE", &values(|score| score.rmse), Better::Less, column),
        Column::competing("MAE", &values(|score| score.mae), Better::Less, column),
        Column::shares("in 50 %", &values(|score| score.coverage_50)),
        Column::shares("in 90 %", &values(|score| score.coverage_90)),
        Column::shares("in 95 %", &values(|score| score.coverage_95)),
    ];
    format!(
        "{}<p class=\"caption\">Log score: mean logarithm of the probability of the true count, higher is better. Deviance, \
         RMSE and MAE: errors, lower is better. The share of rows inside 50, 90 and 95 % intervals should be at least its \
         heading: counts jump, so that such intervals hold more.{scored_on}</p>",
        table("Counts", &subjects, &[untitled([columns])])
    )
}
