//! Calibration: coverage of central intervals, reliability of quantiles, and the histogram of the probability integral transform.

use std::ops::RangeInclusive;

use super::{Figure, stem, title};
use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::report::Output;
use crate::report::number::percent;
use crate::report::statistics::{binomial_share, histogram};

/// The number of bins of the histogram.
const BINS: usize = 20;

/// The figures of output `index` of `outputs`; none without values of the probability integral transform.
pub(in crate::report) fn calibration(outputs: &[Output], index: usize) -> Vec<Figure> {
    let output = &outputs[index];
    let pit: Vec<f64> = output.pit.iter().copied().filter(|u| (0.0..=1.0).contains(u)).collect();
    if pit.is_empty() {
        return Vec::new();
    }
    let named = |base: &str| title(base, &output.name, outputs.len());
    let coverage = Figure {
        stem: stem("coverage", index, outputs.len()),
        picture: Chart::new(named("Coverage of central intervals")).with(coverage_panel(&pit), 1.0).draw(),
        caption: format!(
            "How many rows fell into intervals that promised a given share. Good: the line stays in the grey band; \
             below the diagonal the model is overconfident, above it too cautious. The 90 % intervals held {}.",
            percent(coverage_at(&pit, 0.9))
        ),
    };
    let reliability = Figure {
        stem: stem("reliability", index, outputs.len()),
        picture: Chart::new(named("Reliability of quantiles")).with(reliability_panel(&pit), 1.0).draw(),
        caption: format!(
            "How many rows fell below the quantile that promised a given share. Good: the line stays in the grey band; above \
             the diagonal the quantile lies too high, below it too low. An S that starts above and ends below: too narrow; \
             the other way round: too wide. Below the medians lay {}.",
            percent(share_below(&pit, 0.5))
        ),
    };
    let histogram = Figure {
        stem: stem("pit", index, outputs.len()),
        picture: Chart::new(named("Where truth fell in the prediction")).with(pit_panel(&pit), 1.0).draw(),
        caption: "The probability the model gave to values below the true one. Good: bars level, within the grey \
                  band; high ends mean intervals too narrow, a hump too wide, a slope predictions too low or high."
            .to_owned(),
    };
    vec![coverage, reliability, histogram]
}

/// The share of rows inside their central interval of probability `level`: those with `|u - ½| <= level / 2`.
fn coverage_at(pit: &[f64], level: f64) -> f64 {
    pit.iter().filter(|&&u| (u - 0.5).abs() <= 0.5 * level + 1e-12).count() as f64 / pit.len() as f64
}

/// The share of rows at or below their quantile of this level: those with `u <= level`.
fn share_below(pit: &[f64], level: f64) -> f64 {
    pit.iter().filter(|&&u| u <= level + 1e-12).count() as f64 / pit.len() as f64
}

/// The panel of the share of rows in central intervals, against the intervals' probability.
fn coverage_panel(pit: &[f64]) -> Panel {
    promised_and_observed(["promised coverage (%)", "observed coverage (%)"], 5..=99, pit, coverage_at)
}

/// The panel of the share of rows below their quantiles, against the quantiles' level.
fn reliability_panel(pit: &[f64]) -> Panel {
    promised_and_observed(["level of the predicted quantile (%)", "rows below it (%)"], 1..=99, pit, share_below)
}

/// The panel of the share of rows that `observe` finds, against the share that was promised, in per cent.
fn promised_and_observed(
    [x, y]: [&str; 2],
    percents: RangeInclusive<u8>,
    pit: &[f64],
    observe: fn(&[f64], f64) -> f64,
) -> Panel {
    let levels: Vec<f64> = percents.map(|percent| f64::from(percent) / 100.0).collect();
    let band = levels.iter().map(|&level| {
        let (low, high) = binomial_share(pit.len(), level);
        (100.0 * level, 100.0 * low, 100.0 * high)
    });
    let observed = levels.iter().map(|&level| (100.0 * level, 100.0 * observe(pit, level)));
    let axis = |name: &str| Axis::new(name).between(0.0, 100.0);
    Panel::new(axis(x), axis(y))
        .with(Mark::band(band, Colour::Muted).opacity(0.25).labelled("95 % range of chance"))
        .with(Mark::line([(0.0, 0.0), (100.0, 100.0)], Colour::Ink).stroke(1.0).labelled("perfect"))
        .with(Mark::line(observed, Colour::Model).stroke(2.2).labelled("model"))
}

/// The panel with the histogram of the probability integral transform.
fn pit_panel(pit: &[f64]) -> Panel {
    let counts = histogram(pit, 0.0, 1.0, BINS);
    let edge = |bin: usize| bin as f64 / BINS as f64;
    let boxes = counts.iter().enumerate().map(|(bin, &count)| [(edge(bin), 0.0), (edge(bin + 1), count as f64)]);
    let expected = 1.0 / BINS as f64;
    let (low, high) = binomial_share(pit.len(), expected);
    let rows = pit.len() as f64;
    let band = [(0.0, rows * low, rows * high), (1.0, rows * low, rows * high)];
    let edge = |share: f64| Mark::horizontal_rule(rows * share, Colour::Muted).stroke(1.0).dashed();
    Panel::new(Axis::new("P(Y ≤ y)").between(0.0, 1.0), Axis::new("rows").starting_at_zero())
        .with(Mark::band(band, Colour::Muted).opacity(0.25).labelled("95 % range of chance"))
        .with(Mark::horizontal_rule(rows * expected, Colour::Ink).stroke(1.0).labelled("perfect"))
        .with(Mark::boxes(boxes, Colour::Model).opacity(0.65).labelled("model"))
        .with(edge(low))
        .with(edge(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_by_hand() {
        // Central 50 %: 0.25 to 0.75, ends included.
        let pit = [0.1, 0.25, 0.5, 0.75, 0.76];
        assert_eq!(coverage_at(&pit, 0.5), 0.6);
        assert_eq!(coverage_at(&pit, 0.9), 1.0);
    }

    #[test]
    fn rows_below_a_quantile_are_those_with_a_probability_up_to_its_level() {
        let pit = [0.1, 0.25, 0.5, 0.75, 0.76];
        assert_eq!([0.05, 0.25, 0.5, 0.99].map(|level| share_below(&pit, level)), [0.0, 0.4, 0.6, 1.0]);
    }

    #[test]
    fn predictions_that_are_all_too_low_keep_their_medians_above_few_rows() {
        let mut outputs = crate::report::example::report().outputs;
        for (i, u) in outputs[0].pit.iter_mut().enumerate() {
            *u = if i % 10 == 0 { 0.3 } else { 0.9 };
        }
        let figures = calibration(&outputs, 0);
        let told = &figures.iter().find(|figure| figure.stem == "reliability").expect("the figure").caption;
        assert!(told.contains("Below the medians lay 10.0"), "{told}");
    }
}
