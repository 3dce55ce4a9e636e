//! Mistakes: how sure the model was where it was wrong, and which rows were the hardest.

use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::report::figures::Figure;
use crate::report::number::{fixed, percent, significant};
use crate::report::statistics::histogram;
use crate::report::{ClassReport, ClassRows, PlainTable};

/// The number of bins of the histograms.
const BINS: usize = 20;
/// The confidence from which on a mistake is one that the model was sure of.
const SURE: f64 = 0.9;
/// The least number of rows that a vertical axis reaches to.
const FEW: usize = 5;
/// The number of hardest rows that are shown.
const HARDEST: usize = 10;

/// The figure of the confidence in rows that are right and in rows that are wrong; `None` without rows.
pub(in crate::report) fn confidence(report: &ClassReport) -> Option<Figure> {
    let rows = report.rows.as_ref().filter(|rows| rows.len() > 0)?;
    let of = |right: bool| -> Vec<f64> {
        (0..rows.len()).filter(|&row| rows.is_right(row) == right).map(|row| rows.confidence(row)).collect()
    };
    let [right, wrong] = [of(true), of(false)];
    // No class can be the most probable one with less.
    let least = 1.0 / report.labels.len().max(1) as f64;
    let panel = |values: &[f64], x: &str, y: &str, colour| {
        let edge = |bin: usize| 100.0 * (least + (1.0 - least) * bin as f64 / BINS as f64);
        let counts = histogram(values, least, 1.0, BINS);
        let boxes = counts
            .clone()
            .into_iter()
            .enumerate()
            .map(|(bin, count)| [(edge(bin), 0.0), (edge(bin + 1), count as f64)]);
        // Of fewer rows the ticks would be fractions.
        let most = counts.iter().copied().max().unwrap_or(0).max(FEW) as f64;
        Panel::new(Axis::new(x).between(100.0 * least, 100.0), Axis::new(y).between(0.0, 1.04 * most))
            .with(Mark::boxes(boxes, colour).opacity(0.65))
    };
    Some(Figure {
        stem: "mistakes".to_owned(),
        picture: Chart::new("How sure the model was")
            .with(panel(&right, "", "rows that are right", Colour::Model), 1.0)
            .below()
            .with(panel(&wrong, "probability of the class that it says (%)", "rows that are wrong", Colour::Other), 1.0)
            .draw(),
        caption: caption(rows, &wrong),
    })
}

/// The caption of the figure, with the number of mistakes that the model was sure of, and how many those probabilities promise.
fn caption(rows: &ClassRows, wrong: &[f64]) -> String {
    let sure = wrong.iter().filter(|confidence| **confidence > SURE).count();
    let all = (0..rows.len()).map(|row| rows.confidence(row)).filter(|confidence| *confidence > SURE);
    let promised: f64 = all.map(|confidence| 1.0 - confidence).sum();
    let mistakes = match wrong.len() {
        0 => "There are no mistakes.".to_owned(),
        1 => format!("There is one mistake in {} rows.", fixed(rows.len() as f64, 0)),
        many => format!("There are {} mistakes in {} rows.", fixed(many as f64, 0), fixed(rows.len() as f64, 0)),
    };
    format!(
        "The probability of the class that the model says, where that is right and where it is wrong. Good: where it is wrong it \
         was unsure. {mistakes} With more than {} there are {sure}; the stated probabilities promise {}.",
        percent(SURE).replace(".0", ""),
        significant(promised, 2)
    )
}

/// The table of the rows whose true class was given the lowest probability; `None` without rows.
pub(in crate::report) fn hardest(report: &ClassReport) -> Option<PlainTable> {
    let rows = report.rows.as_ref().filter(|rows| rows.len() > 0)?;
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&i, &j| rows.of_truth(i).total_cmp(&rows.of_truth(j)));
    let mut cells =
        vec![["row", "true class", "its probability", "said", "its probability"].map(String::from).to_vec()];
    for row in order.into_iter().take(HARDEST) {
        cells.push(vec![
            rows.numbers.get(row).map_or(String::new(), u64::to_string),
            report.label(rows.truth[row]).to_owned(),
            probability(rows.of_truth(row)),
            report.label(rows.said(row)).to_owned(),
            probability(rows.confidence(row)),
        ]);
    }
    Some(PlainTable {
        title: "The hardest rows".to_owned(),
        cells,
        caption: "The scored rows whose true class was given the lowest probability, by their number in the table, counted from 1 \
                  without a header: outliers, wrong labels, or something that the inputs do not tell."
            .to_owned(),
    })
}

/// A probability with two digits, or of one near 1 with what it lacks.
fn probability(p: f64) -> String {
    if p > 0.99 { fixed(p, 4) } else { significant(p, 2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::two_classes;

    #[test]
    fn mistakes_are_counted_and_the_sure_ones_beside_what_is_promised() {
        let mut report = two_classes().classes.unwrap();
        let rows = report.rows.as_mut().unwrap();
        // Ten rows of 0.95, two of which are wrong, and one of 0.6 that is wrong.
        rows.truth = vec![1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0];
        rows.probabilities = deepgp::Mat::from_fn(11, 2, |i, c| [[0.05, 0.95], [0.4, 0.6]][usize::from(i == 10)][c]);
        rows.numbers = (100..111).collect();
        let told = confidence(&report).expect("rows").caption;
        assert!(told.contains("There are 3 mistakes in 11 rows."), "{told}");
        assert!(
            told.contains("With more than 90\u{202f}% there are 2; the stated probabilities promise 0.50."),
            "{told}"
        );
        let table = hardest(&report).expect("rows");
        let of_second = ["108", report.label(0), "0.050", report.label(1), "0.95"];
        assert_eq!(table.cells[1], of_second);
        assert_eq!((table.cells.len(), &table.cells[3][0][..]), (HARDEST + 1, "110"));
        assert_eq!([0.99971, 0.5, 0.00032].map(probability), ["0.9997", "0.50", "0.00032"]);
    }
}
