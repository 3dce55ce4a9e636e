//! The differences from the full model against depth, and learning curves against time.

use super::{AGAINST, Pair, depths, pairs};
use crate::html::Figure;
use crate::picture::{Axis, Chart, Mark, Panel};
use crate::reproduce::datasets::{DATASETS, DISTINCT};
use crate::reproduce::grid::GridLine;
use crate::reproduce::grid::figures::{MODELS, style};
use crate::reproduce::grid::run::Model;
use crate::reproduce::results::axis_range::{Curve, axis_range};
use crate::reproduce::results::number_text::layers;
use crate::reproduce::results::over_depths::{Spread, depth_axis, spreads};
use crate::reproduce::results::summary::{commonest_timing, spread};
use crate::reproduce::runs::training_run::CURVE_SAMPLES;

/// The number of panels in a row.
const ABREAST: usize = 2;

/// The figures of the comparison: differences of the test log likelihood against depth, and for each dataset with timed
/// runs, learning curves against seconds.
pub fn figures(lines: &[GridLine]) -> Vec<Figure> {
    differences(lines)
        .into_iter()
        .chain(DATASETS.iter().filter_map(|dataset| curves_over_time(lines, dataset)))
        .collect()
}

/// The figure of the differences from the full model's log likelihood, a panel for each of the paper's datasets.
fn differences(lines: &[GridLine]) -> Option<Figure> {
    let mut chart = Chart::new("Test log likelihood beyond the full model's");
    let mut drawn = Vec::new();
    for dataset in DATASETS.iter().filter(|dataset| **dataset != DISTINCT) {
        let of = |hidden: usize, model: Model| -> Option<Spread> {
            let gain = |pair: &Pair<'_>| pair.other.test_log_likelihood - pair.full.test_log_likelihood;
            let gains: Vec<f64> = pairs(lines, dataset, hidden, model).iter().map(gain).collect();
            (!gains.is_empty()).then(|| (hidden, spread(&gains)))
        };
        let depths = depths(lines, dataset);
        let mut panel = Panel::new(depth_axis(depths.iter().copied()), Axis::new(*dataset))
            .with(Mark::horizontal_rule(0.0, style(Model::Full).colour));
        let before = drawn.len();
        for model in AGAINST {
            let points: Vec<Spread> = depths.iter().filter_map(|hidden| of(*hidden, model)).collect();
            if !points.is_empty() {
                panel = spreads(&points, style(model).colour).into_iter().fold(panel, Panel::with);
                drawn.push(model);
            }
        }
        chart = if drawn.len() > before { chart.with(panel, 1.0) } else { chart };
    }
    for model in MODELS.into_iter().filter(|model| *model == Model::Full || drawn.contains(model)) {
        chart = chart.key(Mark::line([], style(model).colour).labelled(style(model).name));
    }
    (!drawn.is_empty()).then(|| Figure {
        stem: "difference".into(),
        picture: chart.draw(),
        caption: "After as many steps, split by split: lines are means of the differences, bands one standard deviation. Above the \
                  full model's line is better."
            .into(),
    })
}

/// The figure of learning curves against seconds on one dataset, a panel for each depth.
fn curves_over_time(lines: &[GridLine], dataset: &str) -> Option<Figure> {
    let timed = lines.iter().filter(|line| line.dataset == dataset && !line.curve.is_empty());
    let timing = commonest_timing(timed.clone().map(|line| line.provenance.timing()))?;
    let own: Vec<&GridLine> = timed.filter(|line| line.provenance.timing() == timing).collect();
    let mut chart = Chart::new(format!("{dataset}: test log likelihood against time"));
    let mut drawn = 0;
    for hidden in depths(lines, dataset) {
        let curve = |line: &&GridLine| {
            let points = line.curve.iter().filter_map(|p| Some((p.seconds, p.test_log_likelihood?))).collect();
            (line.model, Curve { points, finished: true })
        };
        let curves: Vec<(Model, Curve)> = own.iter().filter(|line| line.hidden == hidden).map(curve).collect();
        let all: Vec<Curve> = curves.iter().map(|(_, curve)| curve.clone()).collect();
        let Some((low, high)) = axis_range(&all) else { continue };
        let mut panel = Panel::new(Axis::new("seconds"), Axis::new(layers(hidden)).between(low, high));
        for (model, curve) in curves {
            panel = panel.with(Mark::line(curve.points, style(model).colour));
        }
        chart = if drawn > 0 && drawn % ABREAST == 0 { chart.below() } else { chart }.with(panel, 1.0);
        drawn += 1;
    }
    for model in MODELS {
        if own.iter().any(|line| line.model == model) {
            chart = chart.key(Mark::line([], style(model).colour).labelled(style(model).name));
        }
    }
    (drawn > 0).then(|| Figure {
        stem: format!("time-{dataset}"),
        picture: chart.draw(),
        caption: format!("Runs that had the device to themselves, by {CURVE_SAMPLES} samples. A line that ends further left took less time for the same number of steps; \
                  at equal time the higher one is better. The range is that after a tenth of the time."),
    })
}
