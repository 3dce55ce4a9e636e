//! Differences from the full model against depth: a panel for each dataset, a line for each density.

use super::pair::{Setting, depths, others, pairs};
use super::{ContinuedLine, Density};
use crate::html::Figure;
use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::reproduce::datasets::DATASETS;
use crate::reproduce::grid::Model;
use crate::reproduce::results::over_depths::{Spread, depth_axis, spreads};
use crate::reproduce::results::summary::spread;
use crate::reproduce::runs::test_scores::TestScores;

/// A score whose differences are drawn against depth.
struct Quantity {
    stem: &'static str,
    title: &'static str,
    better: &'static str,
    score: fn(&TestScores) -> f64,
}

/// The scores that have a figure.
const QUANTITIES: [Quantity; 2] = [
    Quantity {
        stem: "log-likelihood",
        title: "Test log likelihood beyond the full model's",
        better: "Above",
        score: |scores| scores.test_log_likelihood,
    },
    Quantity {
        stem: "crps",
        title: "Test CRPS beyond the full model's",
        better: "Below",
        score: |scores| scores.test_crps,
    },
];

/// The colour of a density's lines.
fn colour(density: Density) -> Colour {
    match density {
        Density::OneNoise => Colour::Ink,
        Density::InputDependent => Colour::Model,
    }
}

/// The figures of every model beside the full one, one for each quantity.
pub fn figures(lines: &[ContinuedLine]) -> Vec<Figure> {
    let each = others(lines).into_iter().flat_map(|model| QUANTITIES.iter().map(move |quantity| (model, quantity)));
    each.filter_map(|(model, quantity)| figure(lines, model, quantity)).collect()
}

/// The figure of one model's differences; `None` if there is nothing to compare.
fn figure(lines: &[ContinuedLine], model: Model, quantity: &Quantity) -> Option<Figure> {
    let mut chart = Chart::new(quantity.title);
    let mut drawn = Vec::new();
    for dataset in DATASETS {
        let depths = depths(lines, dataset);
        let mut panel = Panel::new(depth_axis(depths.iter().copied()), Axis::new(*dataset))
            .with(Mark::horizontal_rule(0.0, Colour::Other));
        let before = drawn.len();
        for density in Density::ALL {
            let of = |hidden: &usize| -> Option<Spread> {
                let own = pairs(lines, Setting { dataset, density, hidden: *hidden }, model);
                let gains: Vec<f64> = own.iter().map(|pair| pair.difference(quantity.score)).collect();
                (!gains.is_empty()).then(|| (*hidden, spread(&gains)))
            };
            let points: Vec<Spread> = depths.iter().filter_map(of).collect();
            if !points.is_empty() {
                panel = spreads(&points, colour(density)).into_iter().fold(panel, Panel::with);
                drawn.push(density);
            }
        }
        chart = if drawn.len() > before { chart.with(panel, 1.0) } else { chart };
    }
    chart = chart.key(Mark::line([], Colour::Other).labelled("full 200"));
    for density in Density::ALL.into_iter().filter(|density| drawn.contains(density)) {
        chart = chart.key(Mark::line([], colour(density)).labelled(density.title()));
    }
    (!drawn.is_empty()).then(|| Figure {
        stem: format!("continued-{}-{}", model.name(), quantity.stem),
        picture: chart.draw(),
        caption: format!(
            "{} against the full model with the same density, split by split: lines are means of the differences, bands one standard \
             deviation. {} the full model's line is better.",
            model.name(),
            quantity.better
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::parse;
    use crate::reproduce::continued::tests::line;

    #[test]
    fn each_density_has_a_line_in_each_datasets_panel() {
        let mut lines = Vec::new();
        for (hidden, density) in [0, 1, 2].into_iter().flat_map(|hidden| Density::ALL.map(|density| (hidden, density)))
        {
            for split in 0..3 {
                let gain = 0.1 * split as f64 + 0.1 * hidden as f64;
                lines.push(line(Model::Full, density, hidden, split, 1.0));
                lines.push(line(Model::NestedDiagonal, density, hidden, split, 1.0 + gain));
            }
        }
        let drawn = figures(&lines);
        let stems: Vec<&str> = drawn.iter().map(|figure| figure.stem.as_str()).collect();
        assert_eq!(stems, ["continued-nested-diagonal-log-likelihood", "continued-nested-diagonal-crps"]);
        for figure in &drawn {
            let svg = figure.picture.standalone();
            parse(&svg).unwrap_or_else(|error| panic!("{}: {error}", figure.stem));
            assert!(["kin8nm", "full 200", "noise by inputs"].iter().all(|text| svg.contains(text)), "{svg}");
            assert!(!svg.contains("protein"), "a dataset without runs has no panel");
        }
        let one: Vec<ContinuedLine> = lines.into_iter().filter(|line| line.density == Density::OneNoise).collect();
        let svg = figures(&one)[0].picture.standalone();
        assert!(svg.contains("one noise") && !svg.contains("noise by inputs"), "{svg}");
        assert!(figures(&one[..1]).is_empty());
    }
}
