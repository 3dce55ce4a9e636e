//! Residuals: their distribution, and whether a large stated spread goes with a large error.

use super::{Figure, stem, title};
use crate::picture::{Axis, Chart, Colour, Mark, Panel, sample};
use crate::report::Output;
use crate::report::number::percent;
use crate::report::statistics::{histogram, normal_density, rms};

/// The number of standard deviations beyond which residuals are drawn at the edge.
const FARTHEST: f64 = 6.0;
/// The number of groups of rows of like spread.
const GROUPS: usize = 10;
/// The number of rows drawn as points.
const POINTS: usize = 2000;

/// A row with a usable standard deviation.
#[derive(Clone, Copy)]
struct Row {
    mean: f64,
    error: f64,
    deviation: f64,
}

/// The figures of output `index` of `outputs`; none if no row is complete.
pub(in crate::report) fn residuals(outputs: &[Output], index: usize) -> Vec<Figure> {
    let output = &outputs[index];
    let columns = output.y.iter().zip(&output.mean).zip(&output.deviation);
    let complete = columns.map(|((&y, &mean), &deviation)| Row { mean, error: y - mean, deviation });
    let usable = |row: &Row| row.mean.is_finite() && (row.error / row.deviation).is_finite() && row.deviation > 0.0;
    let rows: Vec<Row> = complete.filter(usable).collect();
    let spread = (rows.len() >= 2 * GROUPS).then(|| spread(outputs, index, &rows));
    (!rows.is_empty()).then(|| standardised(outputs, index, &rows)).into_iter().chain(spread).collect()
}

/// The figure of standardised residuals: against the predictive mean, and as a histogram.
fn standardised(outputs: &[Output], index: usize, rows: &[Row]) -> Figure {
    let exact: Vec<f64> = rows.iter().map(|row| row.error / row.deviation).collect();
    let limit = exact.iter().fold(3.5, |m: f64, z| m.max(z.abs())).min(FARTHEST);
    let z: Vec<f64> = exact.iter().map(|z| z.clamp(-limit, limit)).collect();
    let axis = |name: &str| Axis::new(name).between(-1.04 * limit, 1.04 * limit);

    let points: Vec<_> = rows.iter().zip(&z).map(|(row, &z)| (row.mean, z)).collect();
    let scatter = Panel::new(
        Axis::new(format!("predicted mean of {}", outputs[index].name)),
        axis("(true − mean) / standard deviation"),
    )
    .with(Mark::dots(sample(&points, POINTS), Colour::Model).opacity(0.5))
    .with(Mark::horizontal_rule(0.0, Colour::Ink).stroke(1.0))
    .with(Mark::horizontal_rule(2.0, Colour::Ink).stroke(1.0).dashed())
    .with(Mark::horizontal_rule(-2.0, Colour::Ink).stroke(1.0).dashed());

    let bins = (2.0 * limit / 0.4).round() as usize;
    let width = 2.0 * limit / bins as f64;
    let edge = |bin: usize| -limit + width * bin as f64;
    let density = |count: usize| count as f64 / (z.len() as f64 * width);
    let counts = histogram(&z, -limit, limit, bins);
    let boxes = counts.iter().enumerate().map(|(bin, &count)| [(0.0, edge(bin)), (density(count), edge(bin + 1))]);
    let curve = (-50..=50).map(|k| limit * f64::from(k) / 50.0).map(|z| (normal_density(z), z));
    let margin = Panel::new(Axis::new("density").starting_at_zero().bare(), axis("").bare())
        .with(Mark::boxes(boxes, Colour::Model).opacity(0.6))
        .with(Mark::line(curve, Colour::Ink).stroke(1.4).labelled("standard normal"));

    let beyond = exact.iter().filter(|z| z.abs() > 2.0).count() as f64 / exact.len() as f64;
    let far = exact.iter().filter(|z| z.abs() > FARTHEST).count();
    let edge = match far {
        0 => String::new(),
        1 => format!(" One row beyond ±{FARTHEST} is drawn at the edge."),
        _ => format!(" {far} rows beyond ±{FARTHEST} are drawn at the edge."),
    };
    Figure {
        stem: stem("residuals", index, outputs.len()),
        picture: Chart::new(title("Standardised residuals", &outputs[index].name, outputs.len()))
            .with(scatter, 0.74)
            .with(margin, 0.26)
            .draw(),
        caption: format!(
            "Good: a level cloud without bend or funnel, about 5 of 100 rows beyond the dashed lines at ±2 (here {}), \
             and bars that follow the curve.{edge}",
            percent(beyond)
        ),
    }
}

/// The figure of errors against predictive standard deviations.
fn spread(outputs: &[Output], index: usize, rows: &[Row]) -> Figure {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| a.deviation.total_cmp(&b.deviation));
    let group = |k: usize| &sorted[k * sorted.len() / GROUPS..(k + 1) * sorted.len() / GROUPS];
    let points: Vec<_> = (0..GROUPS)
        .map(|k| (rms(group(k).iter().map(|row| row.deviation)), rms(group(k).iter().map(|row| row.error))))
        .collect();
    // The relative error of a standard deviation from n normal values is 1 / √(2n).
    let unsure = |k: usize| 1.96 / (2.0 * group(k).len() as f64).sqrt();
    let bars = points.iter().enumerate().map(|(k, &(x, y))| [(x, y * (1.0 - unsure(k))), (x, y * (1.0 + unsure(k)))]);
    let (low, high) = (points[0].0, points[GROUPS - 1].0);
    let axis = |name: &str| if high > 8.0 * low { Axis::new(name).log() } else { Axis::new(name) };
    let panel = Panel::new(axis("predicted standard deviation"), axis("root mean square error"))
        .with(Mark::line([(low, low), (high, high)], Colour::Ink).stroke(1.0).labelled("perfect"))
        .with(Mark::segments(bars, Colour::Model).stroke(1.6).opacity(0.5))
        .with(Mark::line(points.clone(), Colour::Model).stroke(1.2).opacity(0.5))
        .with(Mark::dots(points, Colour::Model).stroke(7.0).opacity(1.0).labelled("a tenth of the rows"));
    Figure {
        stem: stem("spread", index, outputs.len()),
        picture: Chart::new(title("Does doubt mean error?", &outputs[index].name, outputs.len()))
            .with(panel, 1.0)
            .draw(),
        caption: "The rows in ten groups, from the most to the least certain prediction. Good: the groups climb along \
                  the line; above it the errors are larger than the model states."
            .to_owned(),
    }
}
