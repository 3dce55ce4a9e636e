//! The table of scores where targets are classes.

use deepgp::ClassScore;

use super::score_table::{Better, Column, Subject, percents, table, untitled};
use crate::report::ClassReport;
use crate::report::number::differences;

/// The table of scores as HTML; empty without scores. `scored_on` says of which rows, as HTML.
pub(super) fn scores(ClassReport { scores, .. }: &ClassReport, scored_on: &str) -> String {
    if scores.is_empty() {
        return String::new();
    }
    let subjects: Vec<Subject> =
        scores.iter().map(|record| Subject { name: record.of.to_string(), of_model: record.of.is_model() }).collect();
    let values = |of: fn(&ClassScore) -> f64| -> Vec<f64> { scores.iter().map(|record| of(&record.score)).collect() };
    let with_area = scores.iter().any(|record| record.score.auc.is_some());
    let area = with_area
        .then(|| Column::competing("AUC", &values(|score| score.auc.unwrap_or(f64::NAN)), Better::More, differences));
    let columns = vec![
        Column::competing("log loss", &values(|score| score.log_loss), Better::Less, differences),
        Column::competing("accuracy", &values(|score| score.accuracy), Better::More, percents),
        Column::competing("Brier", &values(|score| score.brier), Better::Less, differences),
        // The shares of classes are calibrated and say nothing: none stands out.
        Column {
            heading: "calibration error",
            cells: differences(&values(|score| score.calibration_error)),
            best: None,
        },
    ];
    let of_area = if with_area {
        " AUC: the chance that a row of the second class is given a higher probability of it than a row of the first; \
         higher is better."
    } else {
        ""
    };
    format!(
        "{}<p class=\"caption\">Log loss: mean of −ln of the probability that the true class was given, lower is better. \
         Accuracy: the share of rows whose most probable class is the true one. Brier: mean squared distance of the \
         probabilities from the truth, lower is better. Calibration error: how far stated probabilities are from the shares of \
         rows that they come true in; lower is better.{of_area}{scored_on}</p>",
        table("Class probabilities", &subjects, &[untitled([columns, area.into_iter().collect()])])
    )
}
