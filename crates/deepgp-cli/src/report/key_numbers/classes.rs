//! Key numbers where targets are classes.

use deepgp::ClassScore;

use super::best_baseline;
use crate::html::KeyNumber;
use crate::report::ClassReport;
use crate::report::number::{percent, significant};

/// The log loss, the accuracy, the calibration error and, of two classes, the area under the curve; `None` if nothing was scored.
pub(super) fn key_numbers(report: &ClassReport) -> Option<Vec<KeyNumber>> {
    let model = report.of_model()?;
    let baselines = |of: fn(&ClassScore) -> f64| {
        let all = report.scores.iter().filter(|record| record.of.baseline().is_some());
        all.map(move |record| (record.of.to_string(), of(&record.score)))
    };
    let three = |value: f64| significant(value, 3);
    let area = model.auc.map(|area| KeyNumber {
        label: "AUC".to_owned(),
        value: three(area),
        remark: best_baseline(baselines(|score| score.auc.unwrap_or(f64::NAN)), -1.0, three)
            .unwrap_or_else(|| "1 is perfect, 0.5 is chance".to_owned()),
    });
    let mut all = vec![
        KeyNumber {
            label: "Log loss".to_owned(),
            value: three(model.log_loss),
            remark: best_baseline(baselines(|score| score.log_loss), 1.0, three)
                .unwrap_or_else(|| "mean of a row; lower is better".to_owned()),
        },
        KeyNumber {
            label: "Accuracy".to_owned(),
            value: percent(model.accuracy),
            remark: best_baseline(baselines(|score| score.accuracy), -1.0, percent)
                .unwrap_or_else(|| "of the rows are taken for what they are".to_owned()),
        },
        KeyNumber {
            label: "Calibration error".to_owned(),
            value: three(model.calibration_error),
            remark: "distance of stated probabilities from what comes true".to_owned(),
        },
    ];
    all.extend(area);
    Some(all)
}
