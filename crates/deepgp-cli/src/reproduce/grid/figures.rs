//! The paper's two figures: log likelihood and RMSE against the number of hidden layers, a panel for each of its datasets.

use super::GridLine;
use super::paper::Printed;
use super::run::Model;
use super::summary::{Summary, summaries};
use crate::html::Figure;
use crate::picture::{Axis, Chart, Colour, Mark, Panel};
use crate::reproduce::datasets::{DATASETS, DISTINCT};
use crate::reproduce::results::over_depths::{Spread, depth_axis, spreads};

/// What a figure draws against depth: our mean and deviation, and the paper's.
struct Quantity {
    file: &'static str,
    title: &'static str,
    better: &'static str,
    ours: fn(&Summary) -> (f64, f64),
    paper: fn(Printed) -> f64,
}

/// The quantities of the paper's two figures.
const QUANTITIES: [Quantity; 2] = [
    Quantity {
        file: "log-likelihood",
        title: "Test log likelihood against hidden layers",
        better: "Higher is better",
        ours: |s| s.log_likelihood,
        paper: |p| p.log_likelihood.0,
    },
    Quantity {
        file: "rmse",
        title: "Test RMSE against hidden layers",
        better: "Lower is better",
        ours: |s| s.rmse,
        paper: |p| p.rmse.0,
    },
];

/// The models, in the order of the legend.
pub const MODELS: [Model; 3] = [Model::Full, Model::Decoupled, Model::DecoupledWhitened];

/// How a model is drawn, and its name in the legend.
pub struct Style {
    /// The colour of the model's lines.
    pub colour: Colour,
    /// The model's name in the legend.
    pub name: &'static str,
}

/// How a model is drawn, in every figure of the grid.
pub fn style(model: Model) -> Style {
    let (colour, name) = match model {
        Model::Full => (Colour::Other, "full 200"),
        Model::Decoupled => (Colour::Model, "decoupled 500/100"),
        Model::DecoupledWhitened => (Colour::Ink, "decoupled, whitened"),
        Model::Nested => (Colour::Muted, "nested 500/100"),
        Model::NestedDiagonal => (Colour::Axis, "nested, diagonal"),
    };
    Style { colour, name }
}

/// The paper's two figures with our results; none if there are none on the paper's data.
pub fn figures(lines: &[GridLine]) -> Vec<Figure> {
    QUANTITIES.iter().filter_map(|quantity| figure(lines, quantity)).collect()
}

/// The figure of a quantity; `None` if there are no results on the paper's data.
fn figure(lines: &[GridLine], quantity: &Quantity) -> Option<Figure> {
    let mut chart = Chart::new(quantity.title);
    let mut drawn = Vec::new();
    for dataset in DATASETS.iter().filter(|dataset| **dataset != DISTINCT) {
        let all = summaries(lines, dataset);
        if !all.is_empty() {
            chart = chart.with(panel(dataset, &all, quantity), 1.0);
            drawn.extend(all.iter().map(|s| s.model));
        }
    }
    for model in MODELS.into_iter().filter(|model| drawn.contains(model)) {
        let Style { colour, name } = style(model);
        chart = chart.key(Mark::line([], colour).labelled(name));
    }
    chart = chart.key(Mark::circles([], Colour::Muted).labelled("the paper's"));
    (!drawn.is_empty()).then(|| Figure {
        stem: quantity.file.into(),
        picture: chart.draw(),
        caption: format!(
            "Lines are means over splits, bands one standard deviation, circles what the paper prints. {}.",
            quantity.better
        ),
    })
}

/// The panel of a dataset: our bands, lines and dots, and the paper's points.
fn panel(dataset: &str, all: &[Summary], quantity: &Quantity) -> Panel {
    let mut panel = Panel::new(depth_axis(all.iter().map(|s| s.hidden)), Axis::new(dataset));
    for model in MODELS {
        let Style { colour, .. } = style(model);
        let own: Vec<&Summary> = all.iter().filter(|s| s.model == model).collect();
        let points: Vec<Spread> = own.iter().map(|s| (s.hidden, (quantity.ours)(s))).collect();
        panel = spreads(&points, colour).into_iter().fold(panel, Panel::with);
        let printed = own.iter().filter_map(|s| Some((s.hidden as f64, (quantity.paper)(s.printed?))));
        panel = panel.with(Mark::circles(printed, colour));
    }
    panel
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::grid::tests::line;

    #[test]
    fn both_figures_are_drawn_with_the_papers_points() {
        assert!(figures(&[]).is_empty());
        let distinct = GridLine { dataset: DISTINCT.into(), ..line(Model::Full, 2, 0, 1.0) };
        assert!(figures(std::slice::from_ref(&distinct)).is_empty(), "the paper has no such panel");
        let mut lines = vec![distinct];
        for hidden in 0..3 {
            for split in 0..3 {
                let ll = 1.0 + 0.1 * hidden as f64 + 0.01 * split as f64;
                lines.push(line(Model::Full, hidden, split, ll));
                lines.push(line(Model::Decoupled, hidden, split, ll + 0.05));
            }
        }
        let drawn = figures(&lines);
        assert_eq!(drawn.iter().map(|figure| figure.stem.as_str()).collect::<Vec<_>>(), ["log-likelihood", "rmse"]);
        for figure in drawn {
            let svg = figure.picture.standalone();
            assert!(
                svg.contains("full 200")
                    && svg.contains("decoupled 500/100")
                    && svg.contains("kin8nm")
                    && !svg.contains(DISTINCT)
            );
            assert!(svg.matches("<circle").count() >= 6, "the paper's points");
        }
    }
}
