//! The reliability diagram: do stated probabilities come true?
//!
//! Of two classes, the probability of the second is compared with the share of rows that are of it; of several, the probability of the most
//! probable class (the confidence) with the share of rows in which it is the true one.

use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::report::figures::Figure;
use crate::report::number::percent;
use crate::report::statistics::binomial_share;
use crate::report::{ClassReport, ClassRows};

/// The number of bins of equal width.
const BINS: usize = 10;

/// The rows whose stated probability falls into a bin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bin {
    /// The number of rows.
    rows: usize,
    /// The sum of the probabilities that were stated.
    stated: f64,
    /// The number of rows in which what was stated came true.
    true_rows: usize,
}

impl Bin {
    /// The mean of the stated probabilities.
    fn stated(&self) -> f64 {
        self.stated / self.rows as f64
    }

    /// The share of rows in which what was stated came true.
    fn observed(&self) -> f64 {
        self.true_rows as f64 / self.rows as f64
    }

    /// The share of rows in which it would come true by chance, with a probability of 95 %, if what was stated were right.
    fn by_chance(&self) -> (f64, f64) {
        binomial_share(self.rows, self.stated())
    }
}

/// The figures of the reliability of probabilities, and of how often each is stated; none without rows.
pub(in crate::report) fn diagrams(report: &ClassReport) -> Vec<Figure> {
    let Some(rows) = report.rows.as_ref().filter(|rows| rows.len() > 0) else { return Vec::new() };
    let bins = match report.labels.len() {
        2 => bins((0..rows.len()).map(|row| (rows.probabilities[(row, 1)], rows.truth[row] == 1))),
        _ => bins((0..rows.len()).map(|row| (rows.confidence(row), rows.is_right(row)))),
    };
    let filled: Vec<Bin> = bins.iter().copied().filter(|bin| bin.rows > 0).collect();
    let inside = |bin: &&Bin| {
        let (low, high) = bin.by_chance();
        (low..=high).contains(&bin.observed())
    };
    let within = filled.iter().filter(inside).count();
    let (stated, observed, what) = match report.labels.len() {
        2 => {
            let second = report.label(1);
            let what = "Rows by the probability that the model gave the second class";
            (format!("stated probability of “{second}” (%)"), format!("rows that are “{second}” (%)"), what)
        }
        _ => {
            let what = "Rows by the probability of the class that the model says";
            ("confidence (%)".to_owned(), "rows in which it is right (%)".to_owned(), what)
        }
    };
    let often = Figure {
        stem: "stated".to_owned(),
        picture: Chart::new("How often each probability is stated").with(rows_panel(stated.clone(), &bins), 1.0).draw(),
        caption: "The number of rows behind each point. Good: as many as can be at the ends, as long as the points stay in their \
                  bars: a model that is honest and sure knows most."
            .to_owned(),
    };
    let reliability = Figure {
        stem: "reliability".to_owned(),
        picture: Chart::new("Reliability of probabilities")
            .with(observed_panel([stated, observed], &filled), 1.0)
            .draw(),
        caption: format!(
            "{what}, in {BINS} bins, and the share in which it came true. Good: points in their grey bars, which is where chance \
             alone would put 95 of 100 of them; here {within} of {} are. {}",
            filled.len(),
            reading(report, rows)
        ),
    };
    vec![reliability, often]
}

/// What points off the diagonal mean, and the mean of what was stated beside what came true.
fn reading(report: &ClassReport, rows: &ClassRows) -> String {
    let all = rows.len() as f64;
    let mean = |of: &dyn Fn(usize) -> f64| percent((0..rows.len()).map(of).sum::<f64>() / all);
    match report.labels.len() {
        2 => format!(
            "Points below the diagonal on the right and above it on the left: overconfident; the other way round: too cautious. \
             On average {} was stated, and {} are of the class.",
            mean(&|row| rows.probabilities[(row, 1)]),
            mean(&|row| f64::from(u8::from(rows.truth[row] == 1)))
        ),
        _ => format!(
            "Points below the diagonal: overconfident; above it: too cautious. The mean confidence is {}, and {} of the rows are \
             right.",
            mean(&|row| rows.confidence(row)),
            mean(&|row| f64::from(u8::from(rows.is_right(row))))
        ),
    }
}

/// The rows in bins of equal width, by what was stated of each and whether it came true.
fn bins(rows: impl Iterator<Item = (f64, bool)>) -> Vec<Bin> {
    let mut bins = vec![Bin::default(); BINS];
    for (stated, came_true) in rows.filter(|(stated, _)| stated.is_finite()) {
        let bin = &mut bins[((stated.max(0.0) * BINS as f64) as usize).min(BINS - 1)];
        bin.rows += 1;
        bin.stated += stated;
        bin.true_rows += usize::from(came_true);
    }
    bins
}

/// The panel of observed shares against stated probabilities.
fn observed_panel([stated, observed]: [String; 2], filled: &[Bin]) -> Panel {
    let chance = filled.iter().map(|bin| {
        let (x, (low, high)) = (100.0 * bin.stated(), bin.by_chance());
        [(x, 100.0 * low), (x, 100.0 * high)]
    });
    let points: Vec<(f64, f64)> = filled.iter().map(|bin| (100.0 * bin.stated(), 100.0 * bin.observed())).collect();
    let axis = |title: String| Axis::new(title).between(0.0, 100.0);
    Panel::new(axis(stated), axis(observed))
        .with(Mark::segments(chance, Colour::Muted).stroke(6.0).opacity(0.4).labelled("95 % range of chance"))
        .with(Mark::line([(0.0, 0.0), (100.0, 100.0)], Colour::Ink).stroke(1.0).labelled("perfect"))
        .with(Mark::line(points.clone(), Colour::Model).stroke(1.4).opacity(0.6))
        .with(Mark::dots(points, Colour::Model).stroke(6.5).opacity(1.0).labelled("model"))
}

/// The panel of the number of rows in each bin.
fn rows_panel(title: String, bins: &[Bin]) -> Panel {
    let edge = |bin: usize| 100.0 * bin as f64 / BINS as f64;
    let boxes = bins.iter().enumerate().map(|(i, bin)| [(edge(i) + 0.4, 0.0), (edge(i + 1) - 0.4, bin.rows as f64)]);
    Panel::new(Axis::new(title).between(0.0, 100.0), Axis::new("rows").starting_at_zero())
        .with(Mark::boxes(boxes, Colour::Model).opacity(0.65))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::{several_classes, two_classes};

    #[test]
    fn bins_by_hand() {
        let found = bins([(0.05, false), (0.08, true), (1.0, true), (f64::NAN, true)].into_iter());
        assert_eq!(found[0], Bin { rows: 2, stated: 0.13, true_rows: 1 });
        assert_eq!((found[0].stated(), found[0].observed(), found[9].rows), (0.065, 0.5, 1));
        assert_eq!(found.iter().map(|bin| bin.rows).sum::<usize>(), 3);
    }

    #[test]
    fn the_caption_has_what_was_stated_and_what_came_true() {
        let report = two_classes().classes.unwrap();
        let rows = report.rows.as_ref().unwrap();
        let second = rows.truth.iter().filter(|class| **class == 1).count() as f64 / rows.len() as f64;
        let told = diagrams(&report)[0].caption.clone();
        assert!(told.contains(&format!("and {} are of the class", percent(second))), "{told}");
        let report = several_classes().classes.unwrap();
        let accuracy = report.of_model().unwrap().accuracy;
        let told = diagrams(&report)[0].caption.clone();
        assert!(told.contains(&format!("and {} of the rows are right", percent(accuracy))), "{told}");
    }

    #[test]
    fn probabilities_that_are_too_sure_leave_the_range_of_chance() {
        let mut report = two_classes().classes.unwrap();
        let within = |report: &ClassReport| {
            let told = diagrams(report)[0].caption.clone();
            let (_, rest) = told.split_once("; here ").expect("the count of points");
            rest.split_once(" of ").and_then(|(count, _)| count.parse::<usize>().ok()).expect("a number")
        };
        assert!(within(&report) >= 8, "{}", within(&report));
        for p in report.rows.as_mut().unwrap().probabilities.as_mut_slice() {
            *p = if *p > 0.5 { 1.0 - 0.1 * (1.0 - *p) } else { 0.1 * *p };
        }
        assert_eq!(within(&report), 0);
        report.rows = None;
        assert!(diagrams(&report).is_empty());
    }
}
