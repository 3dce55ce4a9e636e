//! The rootogram: how often each count was observed, hung from how often it was expected, by square roots.
//!
//! On the scale of square roots a difference of one is about two standard deviations, for frequent counts as for rare ones. A bar from
//! `√expected` down to `√expected − √observed` ends at the line through zero where the two agree.

use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::report::figures::Figure;
use crate::report::number::{fixed, significant};
use crate::report::{CountReport, CountRows, Frequency};

/// The number of standard deviations that chance reaches in 95 of 100 cases.
const REACH: f64 = 1.96;

/// The figure of frequencies; `None` without rows.
pub(in crate::report) fn rootogram(report: &CountReport) -> Option<Figure> {
    let rows = report.rows.as_ref().filter(|rows| !rows.frequencies.is_empty())?;
    let all = &rows.frequencies;
    let width = all.get(1).map_or(1.0, |second| second.from - all[0].from);
    // Counts are drawn around their own places, and groups of counts from the first to the last of theirs.
    let left = |own: &Frequency| own.from - 0.5;
    let middle = |own: &Frequency| left(own) + 0.5 * width;
    let gap = 0.08 * width;
    let bars = all.iter().map(|own| {
        let top = own.expected.sqrt();
        [(left(own) + gap, top), (left(own) + width - gap, top - own.observed.sqrt())]
    });
    let band = all.iter().flat_map(|own| {
        let (low, high) = by_chance(own);
        [(left(own), low, high), (left(own) + width, low, high)]
    });
    let expected: Vec<(f64, f64)> = all.iter().map(|own| (middle(own), own.expected.sqrt())).collect();
    let panel = Panel::new(Axis::new("count"), Axis::new("√ of the number of rows"))
        .with(Mark::band(band, Colour::Muted).opacity(0.25).labelled("95 % range of chance"))
        .with(Mark::boxes(bars, Colour::Model).opacity(0.65).labelled("observed"))
        .with(Mark::horizontal_rule(0.0, Colour::Ink).stroke(1.0))
        .with(Mark::line(expected.clone(), Colour::Other).stroke(1.8))
        .with(Mark::dots(expected, Colour::Other).stroke(4.5).opacity(1.0).labelled("expected"));
    Some(Figure {
        stem: "rootogram".to_owned(),
        picture: Chart::new("Rootogram").with(panel, 1.0).draw(),
        caption: caption(rows, width),
    })
}

/// Where a bar ends if what was observed differs from what was expected by chance alone, with a probability of about 95 %.
fn by_chance(own: &Frequency) -> (f64, f64) {
    let root = |rows: f64| own.expected.max(0.0).sqrt() - rows.max(0.0).sqrt();
    (root(own.expected + REACH * own.deviation), root(own.expected - REACH * own.deviation))
}

/// How to read the figure, with the numbers of zeros and of the largest counts.
fn caption(rows: &CountRows, width: f64) -> String {
    let all = &rows.frequencies;
    let in_words = |own: &Frequency| match (own.to, own.from) {
        (None, 0.0) => "of any count".to_owned(),
        (None, from) => format!("of {} or more", fixed(from, 0)),
        (Some(to), from) if to == from => format!("of {}", fixed(from, 0)),
        (Some(to), from) => format!("of {} to {}", fixed(from, 0), fixed(to, 0)),
    };
    let told = |own: &Frequency| {
        format!("{}: {} rows, {} expected", in_words(own), fixed(own.observed, 0), significant(own.expected, 3))
    };
    let inside = |own: &&Frequency| {
        let ((low, high), end) = (by_chance(own), own.expected.sqrt() - own.observed.sqrt());
        (low - 1e-9..=high + 1e-9).contains(&end)
    };
    let ends: Vec<String> = match &all[..] {
        [only] => vec![told(only)],
        [first, .., last] => vec![told(first), told(last)],
        [] => Vec::new(),
    };
    let sampled = if rows.counted < rows.y.len() {
        format!(" These are {} of {} rows.", fixed(rows.counted as f64, 0), fixed(rows.y.len() as f64, 0))
    } else {
        String::new()
    };
    let grouped = if width > 1.0 { format!(" A bar is of {} counts.", fixed(width, 0)) } else { String::new() };
    format!(
        "How many rows have each count, as bars that hang from how many the model expects; the last has all larger counts too. \
         Good: the bars end in the grey band around zero; here {} of {} do. A bar that ends above it is a count that occurs less \
         often than expected, one that reaches below it occurs more often. Bars too long at both ends: the counts vary more than \
         the model says; too long in the middle: less.{grouped} {}.{sampled}",
        all.iter().filter(inside).count(),
        all.len(),
        capital(&ends.join("; "))
    )
}

/// The text with a capital at its beginning.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::counts;

    #[test]
    fn bars_that_end_in_the_band_are_counted_and_the_ends_are_told() {
        let mut report = counts().counts.unwrap();
        let rows = report.rows.as_mut().unwrap();
        let frequency = |from: f64, to, observed, expected: f64| Frequency {
            from,
            to,
            observed,
            expected,
            deviation: expected.sqrt(),
        };
        rows.frequencies = vec![
            frequency(0.0, Some(0.0), 140.0, 100.0),
            frequency(1.0, Some(1.0), 55.0, 50.0),
            frequency(2.0, None, 5.0, 50.0),
        ];
        let told = rootogram(&report).expect("frequencies").caption;
        assert!(told.contains("here 1 of 3 do"), "{told}");
        assert!(told.contains("Of 0: 140 rows, 100 expected; of 2 or more: 5 rows, 50.0 expected."), "{told}");
        assert!(!told.contains("A bar is of"), "{told}");
        let rows = report.rows.as_mut().unwrap();
        rows.frequencies = vec![frequency(0.0, Some(9.0), 1.0, 1.0), frequency(10.0, None, 1.0, 1.0)];
        let told = rootogram(&report).expect("frequencies").caption;
        assert!(told.contains("A bar is of 10 counts. Of 0 to 9: 1 rows"), "{told}");
        report.rows = None;
        assert!(rootogram(&report).is_none());
    }

    #[test]
    fn the_range_of_chance_is_that_of_the_square_root() {
        let own = Frequency { from: 0.0, to: None, observed: 0.0, expected: 100.0, deviation: 10.0 };
        let (low, high) = by_chance(&own);
        // About one on either side, as for any expected number.
        assert!((low + 0.9362).abs() < 1e-4 && (high - 1.0334).abs() < 1e-4, "{low} {high}");
    }
}
