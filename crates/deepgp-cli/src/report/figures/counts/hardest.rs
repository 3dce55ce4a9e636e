//! The rows whose counts the model held least likely.

use crate::report::number::{fixed, significant};
use crate::report::{CountReport, PlainTable};

/// The table of the hardest rows; `None` without rows.
pub(in crate::report) fn hardest(report: &CountReport) -> Option<PlainTable> {
    let hardest = &report.rows.as_ref().filter(|rows| !rows.hardest.is_empty())?.hardest;
    let head = ["row", "count", "predicted mean", "95 % interval", "probability of the count"];
    let mut cells = vec![head.map(String::from).to_vec()];
    for own in hardest {
        cells.push(vec![
            own.number.to_string(),
            fixed(own.y, 0),
            significant(own.mean, 3),
            format!("{} to {}", fixed(own.interval.0, 0), fixed(own.interval.1, 0)),
            significant(own.probability, 2),
        ]);
    }
    Some(PlainTable {
        title: "The hardest rows".to_owned(),
        cells,
        caption: "The scored rows whose count was given the lowest probability, by their number in the table, counted from 1 \
                  without a header. Single counts of a wide prediction have low probabilities too: compare with its interval."
            .to_owned(),
    })
}
