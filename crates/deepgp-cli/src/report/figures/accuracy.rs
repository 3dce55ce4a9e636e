//! Accuracy: predicted against true, with intervals.

use super::{Figure, stem, title};
use crate::picture::{Axis, Chart, Colour, Mark, Panel, sample};
use crate::report::number::percent;
use crate::report::{Interval, Output};

/// The number of rows drawn as points.
const POINTS: usize = 2000;
/// The number of rows drawn with their interval.
pub const INTERVALS: usize = 200;

/// The rows, out of so many, that are drawn with their interval.
pub fn rows_with_interval(rows: usize) -> Vec<usize> {
    sample(&(0..rows).collect::<Vec<_>>(), INTERVALS)
}

/// A row with its predictive mean, its true target, and the probability below the target.
#[derive(Clone, Copy)]
struct Row {
    mean: f64,
    y: f64,
    pit: f64,
}

impl Row {
    /// Row `i` of the predictions, if it is complete.
    fn of(output: &Output, i: usize) -> Option<Self> {
        let row = Self { mean: *output.mean.get(i)?, y: *output.y.get(i)?, pit: *output.pit.get(i)? };
        [row.mean, row.y, row.pit].iter().all(|v| v.is_finite()).then_some(row)
    }

    /// Whether the true target lies in the central 95 % interval. That takes no quantile.
    fn inside(&self) -> bool {
        (0.025..=0.975).contains(&self.pit)
    }
}

/// The figure of output `index` of `outputs`; `None` if no row is complete.
pub(in crate::report) fn predicted(outputs: &[Output], index: usize) -> Option<Figure> {
    let output = &outputs[index];
    let rows: Vec<Row> = (0..output.y.len()).filter_map(|i| Row::of(output, i)).collect();
    if rows.is_empty() {
        return None;
    }
    let share = rows.iter().filter(|row| row.inside()).count() as f64 / rows.len() as f64;

    // One range for both axes, from the points alone: a few wide intervals should not shrink the rest.
    let values = || rows.iter().flat_map(|row| [row.mean, row.y]);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let room = if high > low { 0.04 * (high - low) } else { high.abs().max(1.0) };
    let axis = |name: String| Axis::new(name).between(low - room, high + room);

    let (within, beyond): (Vec<_>, Vec<_>) = sample(&rows, POINTS).into_iter().partition(Row::inside);
    let point = |row: &Row| (row.mean, row.y);
    let bar = |&Interval { row, lower, upper }: &Interval| {
        let Row { mean, .. } = Row::of(output, row)?;
        (lower.is_finite() && upper.is_finite()).then_some([(mean, lower), (mean, upper)])
    };
    let panel = Panel::new(axis("predicted mean".to_owned()), axis(format!("true {}", output.name)))
        .with(
            Mark::segments(output.intervals_95.iter().filter_map(bar), Colour::Muted)
                .opacity(0.45)
                .labelled("95 % interval"),
        )
        .with(Mark::line([(low - room, low - room), (high + room, high + room)], Colour::Ink).stroke(1.0))
        .with(Mark::dots(within.iter().map(point), Colour::Model).labelled("truth inside"))
        .with(Mark::dots(beyond.iter().map(point), Colour::Other).opacity(0.85).labelled("truth outside"));

    let drawn = output.intervals_95.len();
    let some = if rows.len() > drawn { format!(" of {drawn} rows") } else { String::new() };
    Some(Figure {
        stem: stem("predicted", index, outputs.len()),
        picture: Chart::new(title("Predicted against true", &output.name, outputs.len())).with(panel, 1.0).draw(),
        caption: format!(
            "Good: the points hug the diagonal, and about 95 of 100 lie within their interval (grey bars{some}); \
             here {} do. Bars that grow where the points scatter show that the model knows where it is unsure.",
            percent(share)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::report;

    #[test]
    fn no_more_rows_have_an_interval_than_are_drawn_with_one() {
        assert_eq!(rows_with_interval(3), [0, 1, 2]);
        let rows = rows_with_interval(10 * INTERVALS);
        assert_eq!((rows.len(), rows[1], rows[INTERVALS - 1]), (INTERVALS, 10, 10 * (INTERVALS - 1)));
        assert!(rows_with_interval(0).is_empty());
    }

    #[test]
    fn rows_inside_their_interval_are_counted_whether_or_not_it_is_drawn() {
        let mut outputs = report().outputs;
        let interval = |output: &Output, i: usize| 1.96 * output.deviation[i] >= (output.y[i] - output.mean[i]).abs();
        let inside = (0..outputs[0].y.len()).filter(|&i| interval(&outputs[0], i)).count();
        let told = format!("here {} do", percent(inside as f64 / outputs[0].y.len() as f64));
        for drawn in [200, 7] {
            outputs[0].intervals_95.truncate(drawn);
            let caption = predicted(&outputs, 0).expect("complete rows").caption;
            assert!(caption.contains(&told) && caption.contains(&format!("grey bars of {drawn} rows")), "{caption}");
        }
    }
}
