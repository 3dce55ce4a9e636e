//! Two kinds of figures for each depth: how the test log likelihood rises from each start, and, for each dataset, whether
//! gradients vanish.
//!
//! The second has a column for each layer and three rows over the same steps: how large the gradient is, whether two estimates of it
//! agree, and how far inducing inputs have moved. A gradient that vanishes falls in the first row while that of the whitened mean does
//! not; one that drowns in noise falls in the second; and either way the third says whether it mattered.

use std::collections::BTreeMap;

use super::gradient::{GradientStatistics, LayerGradient};
use super::{InducingLine, STARTS, start_name};
use crate::html::Figure;
use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::reproduce::results::axis_range::{Curve, axis_range};
use crate::reproduce::results::number_text::layers;
use crate::reproduce::runs::training_run::CURVE_SAMPLES;
use deepgp::InducingStart;

/// Values of several runs, by the step after which they were taken.
type ValuesByStep = BTreeMap<u64, Vec<f64>>;

/// Gathers the values that `value` finds at each look at each of `lines`.
fn values_by_step<'a>(
    lines: impl Iterator<Item = &'a InducingLine>,
    value: impl Fn(&InducingLine, usize) -> Option<f64>,
) -> ValuesByStep {
    let mut all = ValuesByStep::new();
    for line in lines {
        for (i, look) in line.looks.iter().enumerate() {
            if let Some(value) = value(line, i).filter(|value| value.is_finite()) {
                all.entry(look.point.step).or_default().push(value);
            }
        }
    }
    all
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The colour of a start.
fn colour(start: InducingStart) -> Colour {
    match start {
        InducingStart::KMeans => Colour::Model,
        InducingStart::RandomRows => Colour::Other,
        InducingStart::GreedyVariance => Colour::Ink,
    }
}

/// The figures of one depth; `sets` are its datasets with their lines.
pub fn figures(hidden: usize, sets: &[(&str, Vec<&InducingLine>)]) -> Vec<Figure> {
    let gradients = sets.iter().filter_map(|(dataset, lines)| gradients(hidden, dataset, lines));
    likelihoods(hidden, sets).into_iter().chain(gradients).collect()
}

/// The figure of test log likelihoods against steps, by start, a panel for each dataset.
fn likelihoods(hidden: usize, sets: &[(&str, Vec<&InducingLine>)]) -> Option<Figure> {
    let mut chart = Chart::new(format!("Test log likelihood by start, {}", layers(hidden)));
    let mut drawn = 0;
    for (dataset, lines) in sets {
        let each = STARTS.into_iter().flat_map(|start| [(start, true), (start, false)]);
        let curve = |(start, moved)| {
            let own = lines.iter().copied().filter(|line| (line.start, line.moved) == (start, moved));
            let points = values_by_step(own, |line, i| line.looks[i].point.test_log_likelihood);
            let points: Vec<(f64, f64)> = points.iter().map(|(step, values)| (*step as f64, mean(values))).collect();
            (start, moved, points)
        };
        let curves: Vec<_> = each.map(curve).filter(|(_, _, points)| !points.is_empty()).collect();
        // No run is left out: where inputs stay, what they lose is the point.
        let ranges = curves.iter().filter_map(|c| axis_range(&[Curve { points: c.2.clone(), finished: true }]));
        let Some((low, high)) = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { continue };
        let mut panel = Panel::new(Axis::new("steps"), Axis::new(*dataset).between(low, high));
        for (start, moved, points) in curves {
            let mark = Mark::line(points, colour(start));
            panel = panel.with(if moved { mark } else { mark.dashed() });
        }
        chart = if drawn > 0 && drawn % 2 == 0 { chart.below() } else { chart }.with(panel, 1.0);
        drawn += 1;
    }
    for start in STARTS {
        chart = chart.key(Mark::line([], colour(start)).labelled(start_name(start)));
    }
    chart = chart.key(Mark::line([], Colour::Muted).labelled("moved"));
    chart = chart.key(Mark::line([], Colour::Muted).dashed().labelled("left there"));
    (drawn > 0).then(|| Figure {
        stem: format!("inducing-{hidden}-log-likelihood"),
        picture: chart.draw(),
        caption: format!("Means over splits, by {CURVE_SAMPLES} samples. Solid: training moves the inducing inputs; dashed: they stay where they started. A gap between \
                  solid and dashed is what moving them is worth, one between colours what the start is worth. The range is that \
                  after a tenth of the steps."),
    })
}

/// A set of parameters whose gradients are drawn.
struct ParameterSet {
    name: &'static str,
    colour: Colour,
    pull: fn(&LayerGradient) -> GradientStatistics,
    /// How far the parameters have moved; `None` for those that are no inducing inputs.
    moved: Option<fn(&LayerGradient) -> f64>,
}

/// The sets of parameters whose gradients are compared.
const PARAMETER_SETS: [ParameterSet; 3] = [
    ParameterSet { name: "Z_a", colour: Colour::Model, pull: |g| g.mean_inducing, moved: Some(|g| g.mean_moved) },
    ParameterSet {
        name: "Z_b",
        colour: Colour::Other,
        pull: |g| g.covariance_inducing,
        moved: Some(|g| g.covariance_moved),
    },
    ParameterSet { name: "whitened mean", colour: Colour::Ink, pull: |g| g.mean, moved: None },
];

/// The figure that shows whether gradients vanish on one dataset: over all starts and splits whose inducing inputs were
/// moved.
fn gradients(hidden: usize, dataset: &str, lines: &[&InducingLine]) -> Option<Figure> {
    let own = || lines.iter().copied().filter(|line| line.moved);
    let depth = own().flat_map(|line| &line.looks).map(|look| look.layers.len()).max().filter(|depth| *depth > 0)?;
    let mut chart = Chart::new(format!("{dataset}: gradients, {}", layers(hidden)));
    for row in 0..3 {
        for layer in 0..depth {
            chart = chart.with(
                gradient_panel(row, layer, &|value| {
                    values_by_step(own(), |line, i| line.looks[i].layers.get(layer).and_then(value))
                }),
                1.0,
            );
        }
        chart = chart.below();
    }
    for ParameterSet { name, colour, .. } in PARAMETER_SETS {
        chart = chart.key(Mark::line([], colour).labelled(name));
    }
    let runs = own().count();
    Some(Figure {
        stem: format!("inducing-{hidden}-gradients-{dataset}"),
        picture: chart.draw(),
        caption: format!(
            "{runs} runs, all starts and splits; lines are their means (geometric ones of gradients), bands reach from the lowest \
             to the highest. Top: root mean square of the ELBO's gradient, in nats for a move by a lengthscale, or by a prior \
             standard deviation for the whitened mean. A gradient that vanishes falls away from that of the whitened mean. Middle: the \
             cosine between two estimates of it; near 0 it is noise. Bottom: how far inducing inputs are from their start, in lengthscales: root mean square of distances."
        ),
    })
}

/// A function that finds a value in a layer's gradients.
type Find<'a> = &'a dyn Fn(&LayerGradient) -> Option<f64>;

/// The panel of one layer: `row` 0 for the size of gradients, 1 for their agreement, 2 for how far inputs moved.
fn gradient_panel(row: usize, layer: usize, gather: &dyn Fn(Find<'_>) -> ValuesByStep) -> Panel {
    let steps = |title: &str| Axis::new(title).log();
    let which = layer + 1;
    let mut panel = match row {
        0 => Panel::new(steps(""), Axis::new(format!("layer {which}: gradient")).log()),
        1 => Panel::new(steps(""), Axis::new(format!("layer {which}: agreement")).between(-0.25, 1.05)),
        _ => Panel::new(steps("steps"), Axis::new(format!("layer {which}: moved")).starting_at_zero()),
    };
    for ParameterSet { colour, pull, moved, .. } in PARAMETER_SETS {
        let values_by_step = match row {
            0 => gather(&|g| Some(pull(g).size).filter(|size| *size > 0.0)),
            // Estimates that are both nothing neither agree nor disagree.
            1 => gather(&|g| Some(pull(g)).filter(|pull| pull.size > 0.0).map(|pull| pull.agreement)),
            _ => gather(&|g| moved.map(|moved| moved(g))),
        };
        let middle = |values: &[f64]| match row {
            0 => mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>()).exp(),
            _ => mean(values),
        };
        let range = |values: &[f64]| {
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
        };
        let band = values_by_step.iter().map(|(step, values)| (*step as f64, range(values).0, range(values).1));
        panel = panel.with(Mark::band(band, colour));
        panel =
            panel.with(Mark::line(values_by_step.iter().map(|(step, values)| (*step as f64, middle(values))), colour));
    }
    panel
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::parse;
    use crate::reproduce::inducing::tests::line;

    fn lines() -> Vec<InducingLine> {
        let kinds = STARTS.into_iter().flat_map(|start| [(start, true), (start, false)]);
        kinds.flat_map(|(start, moved)| [0, 1].map(|split| line(start, moved, split, 1.3))).collect()
    }

    #[test]
    fn starts_are_compared_and_gradients_are_shown_for_each_dataset() {
        let all = lines();
        let sets = [("kin8nm", all.iter().collect::<Vec<_>>()), ("molecules", all.iter().collect())];
        let drawn = figures(1, &sets);
        let stems: Vec<&str> = drawn.iter().map(|figure| figure.stem.as_str()).collect();
        assert_eq!(
            stems,
            ["inducing-1-log-likelihood", "inducing-1-gradients-kin8nm", "inducing-1-gradients-molecules"]
        );
        for figure in &drawn {
            let svg = figure.picture.standalone();
            parse(&svg).unwrap_or_else(|error| panic!("{}: {error}", figure.stem));
            assert!(!svg.contains("no data"), "{}", figure.stem);
        }
        let first = drawn[0].picture.standalone();
        // Three starts in each of two panels, and the legend's.
        assert_eq!(first.matches("stroke-dasharray").count(), 7);
        let second = drawn[1].picture.standalone();
        for title in ["gradient", "agreement", "moved"] {
            assert!([1, 2].iter().all(|layer| second.contains(&format!("layer {layer}: {title}"))), "{title}");
        }
        assert!(drawn[1].caption.starts_with("6 runs"), "{}", drawn[1].caption);
    }

    #[test]
    fn without_runs_that_moved_there_are_no_gradients_to_show() {
        let left: Vec<InducingLine> = lines().into_iter().filter(|line| !line.moved).collect();
        let drawn = figures(2, &[("kin8nm", left.iter().collect())]);
        assert_eq!(drawn.iter().map(|figure| figure.stem.as_str()).collect::<Vec<_>>(), ["inducing-2-log-likelihood"]);
        assert!(figures(1, &[]).is_empty());
    }

    #[test]
    fn runs_meet_at_their_steps() {
        let [mut one, two] = [0, 1].map(|split| line(InducingStart::KMeans, true, split, 1.0));
        one.looks[3].point.test_log_likelihood = None;
        one.looks[4].point.test_log_likelihood = Some(3.0);
        let lines = [one, two];
        let all = values_by_step(lines.iter(), |line, i| line.looks[i].point.test_log_likelihood);
        let steps: Vec<u64> = lines[0].looks.iter().map(|look| look.point.step).collect();
        assert_eq!(all.keys().copied().collect::<Vec<_>>(), steps);
        assert_eq!((all[&steps[3]].len(), all[&steps[4]].len()), (1, 2));
        assert!(all[&steps[4]].contains(&3.0));
    }
}
