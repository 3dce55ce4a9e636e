//! Predicted against true, with intervals.

use super::Output;
use super::figure::{Figure, stem, title};
use super::number::percent;
use crate::picture::{Axis, Chart, Colour, Mark, Panel, sample};

/// Rows drawn as points.
const POINTS: usize = 2000;
/// Rows drawn with their interval.
const INTERVALS: usize = 200;

/// The figure of output `index` of `outputs`; `None` if no row is complete.
pub(super) fn predicted(outputs: &[Output], index: usize) -> Option<Figure> {
    let output = &outputs[index];
    let columns = output.mean.iter().zip(&output.y).zip(&output.lower_95).zip(&output.upper_95);
    let complete = columns.map(|(((&mean, &y), &low), &high)| [mean, y, low, high]);
    let rows: Vec<_> = complete.filter(|row| row.iter().all(|v| v.is_finite())).collect();
    if rows.is_empty() {
        return None;
    }
    let inside = |row: &[f64; 4]| row[2] <= row[1] && row[1] <= row[3];
    let share = rows.iter().filter(|row| inside(row)).count() as f64 / rows.len() as f64;

    // One range for both axes, from the points alone: a few wide intervals should not shrink the rest.
    let values = || rows.iter().flat_map(|row| [row[0], row[1]]);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let room = if high > low { 0.04 * (high - low) } else { high.abs().max(1.0) };
    let axis = |name: String| Axis::new(name).between(low - room, high + room);

    let (within, beyond): (Vec<_>, Vec<_>) = sample(&rows, POINTS).into_iter().partition(inside);
    let point = |row: &[f64; 4]| (row[0], row[1]);
    let intervals = sample(&rows, INTERVALS);
    let panel = Panel::new(axis("predicted mean".to_owned()), axis(format!("true {}", output.name)))
        .with(
            Mark::segments(intervals.iter().map(|&[mean, _, low, high]| [(mean, low), (mean, high)]), Colour::Muted)
                .opacity(0.45)
                .labelled("95 % interval"),
        )
        .with(Mark::line([(low - room, low - room), (high + room, high + room)], Colour::Ink).stroke(1.0))
        .with(Mark::dots(within.iter().map(point), Colour::Model).labelled("truth inside"))
        .with(Mark::dots(beyond.iter().map(point), Colour::Other).opacity(0.85).labelled("truth outside"));

    let some = if rows.len() > INTERVALS { format!(" of {INTERVALS} rows") } else { String::new() };
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
