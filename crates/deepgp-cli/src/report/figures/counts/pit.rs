//! The histogram of the probability integral transform of counts.
//!
//! The distribution function jumps at every count, so a row lies between `P(Y < y)` and `P(Y ≤ y)`: it is spread evenly between the two
//! (Czado, Gneiting and Held, 2009), and the histogram is level if the predictions are calibrated.

use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::report::CountReport;
use crate::report::figures::Figure;
use crate::report::number::percent;
use crate::report::statistics::binomial_share;

/// The number of bins.
const BINS: usize = 10;

/// The figure of the transform; `None` without rows.
pub(in crate::report) fn pit(report: &CountReport) -> Option<Figure> {
    let rows = report.rows.as_ref()?;
    let jumps = rows.model.below.iter().copied().zip(rows.model.up_to.iter().copied());
    let jumps: Vec<(f64, f64)> =
        jumps.filter(|(below, up_to)| below <= up_to && *below >= 0.0 && *up_to <= 1.0).collect();
    if jumps.is_empty() {
        return None;
    }
    let heights = heights(&jumps);
    let edge = |bin: usize| bin as f64 / BINS as f64;
    let boxes = heights.iter().enumerate().map(|(bin, &height)| [(edge(bin), 0.0), (edge(bin + 1), height)]);
    let all = jumps.len() as f64;
    let level = all / BINS as f64;
    let (low, high) = binomial_share(jumps.len(), 1.0 / BINS as f64);
    let band = [(0.0, all * low, all * high), (1.0, all * low, all * high)];
    let rule = |share: f64| Mark::horizontal_rule(all * share, Colour::Muted).stroke(1.0).dashed();
    let panel = Panel::new(Axis::new("P(Y ≤ y)").between(0.0, 1.0), Axis::new("rows").starting_at_zero())
        .with(Mark::band(band, Colour::Muted).opacity(0.25).labelled("95 % range of chance"))
        .with(Mark::horizontal_rule(level, Colour::Ink).stroke(1.0).labelled("perfect"))
        .with(Mark::boxes(boxes, Colour::Model).opacity(0.65).labelled("model"))
        .with(rule(low))
        .with(rule(high));
    let below_median = jumps.iter().map(|&jump| share_below(jump, 0.5)).sum::<f64>() / all;
    Some(Figure {
        stem: "pit".to_owned(),
        picture: Chart::new("Where truth fell in the prediction").with(panel, 1.0).draw(),
        caption: format!(
            "The probability that the model gave to smaller counts than the true one; a row is spread over what the true count \
             itself was given. Good: bars level, within the grey band; high ends mean predictions too narrow, a hump too wide, a \
             slope counts too low or high. Below the middle lay {}.",
            percent(below_median)
        ),
    })
}

/// The share of a row that lies below `level`, of one spread between two ends.
fn share_below((from, to): (f64, f64), level: f64) -> f64 {
    if to > from { ((level - from) / (to - from)).clamp(0.0, 1.0) } else { f64::from(u8::from(from < level)) }
}

/// The weight of rows in each bin.
fn heights(jumps: &[(f64, f64)]) -> Vec<f64> {
    let up_to = |edge: usize| -> f64 {
        match edge {
            0 => 0.0,
            BINS => jumps.len() as f64,
            _ => jumps.iter().map(|&jump| share_below(jump, edge as f64 / BINS as f64)).sum(),
        }
    };
    (0..BINS).map(|bin| up_to(bin + 1) - up_to(bin)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::counts;

    #[test]
    fn a_row_is_spread_over_its_jump() {
        let found = heights(&[(0.0, 0.2), (0.95, 1.0), (0.5, 0.5)]);
        let expected = [0.5, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert!(found.iter().zip(expected).all(|(own, other)| (own - other).abs() < 1e-9), "{found:?}");
    }

    #[test]
    fn predictions_that_are_all_too_low_leave_little_below_the_middle() {
        let mut report = counts().counts.unwrap();
        let model = &mut report.rows.as_mut().unwrap().model;
        model.below.fill(0.4);
        model.up_to.fill(0.9);
        let told = pit(&report).expect("rows").caption;
        assert!(told.contains("Below the middle lay 20.0"), "{told}");
        report.rows = None;
        assert!(pit(&report).is_none());
    }
}
