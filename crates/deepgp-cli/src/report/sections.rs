//! The sections of the page, in their order.

use super::Report;
use super::figures::{Figure, Section};
use super::figures::{accuracy, calibration, densities, inducing, learning, noise, relevance, residuals};

/// The sections that have figures, from top to bottom.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let outputs = 0..report.outputs.len();
    let section = |id, title, lead, figures: Vec<Figure>| Section { id, title, lead, figures };
    let all = [
        section(
            "predicted",
            "Predicted and true",
            "How close are the predictions, and how wide does the model draw its intervals?",
            outputs.clone().filter_map(|i| accuracy::predicted(&report.outputs, i)).collect(),
        ),
        section(
            "calibration",
            "Calibration",
            "Do stated probabilities come true?",
            outputs.clone().flat_map(|i| calibration::calibration(&report.outputs, i)).collect(),
        ),
        section(
            "densities",
            "Predicted densities",
            "What does the model say of single rows?",
            outputs.clone().filter_map(|i| densities::densities(&report.outputs, i)).collect(),
        ),
        section(
            "noise",
            "Noise",
            "Where are rows noisier, and does the model know?",
            outputs.clone().flat_map(|i| noise::noise(&report.outputs, i)).collect(),
        ),
        section(
            "residuals",
            "Residuals",
            "What did the model miss, and did it know?",
            outputs.flat_map(|i| residuals::residuals(&report.outputs, i)).collect(),
        ),
        section("learning", "Learning curves", "Did training settle?", learning::curves(report)),
        section(
            "relevance",
            "Along which inputs the function bends",
            "How fast does each layer turn along what enters it?",
            (0..report.relevance.len()).filter_map(|i| relevance::relevance(&report.relevance, i)).collect(),
        ),
        section(
            "inducing",
            "Inducing inputs",
            "Do the points that summarise the data cover it?",
            (0..report.inducing.len()).filter_map(|i| inducing::inducing(&report.inducing, i)).collect(),
        ),
    ];
    all.into_iter().filter(|section| !section.figures.is_empty()).collect()
}
