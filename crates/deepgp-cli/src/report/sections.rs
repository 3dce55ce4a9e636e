//! The sections of the page, in their order.

use super::Report;
use super::figures::{Figure, Section};
use super::figures::{
    accuracy, calibration, classes, counts, densities, importance, inducing, learning, noise, relevance, residuals,
};
use super::{ClassReport, CountReport};

/// The sections that have something to show, from top to bottom.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let of_classes = report.classes.as_ref().map(of_classes);
    let of_counts = report.counts.as_ref().map(of_counts);
    let all = of_numbers(report)
        .into_iter()
        .chain(of_classes.into_iter().flatten())
        .chain(of_counts.into_iter().flatten())
        .chain(of_model(report));
    all.filter(|section| !(section.figures.is_empty() && section.tables.is_empty())).collect()
}

/// A section without tables.
fn section(id: &'static str, title: &'static str, lead: &'static str, figures: Vec<Figure>) -> Section {
    Section { id, title, lead, figures, tables: Vec::new() }
}

/// The sections on predictions of numbers.
fn of_numbers(report: &Report) -> Vec<Section> {
    let outputs = 0..report.outputs.len();
    vec![
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
    ]
}

/// The sections on predictions of classes.
fn of_classes(report: &ClassReport) -> Vec<Section> {
    vec![
        Section {
            tables: classes::confusion::frequent(report).into_iter().collect(),
            ..section(
                "confusion",
                "Confusion",
                "Which classes are taken for which?",
                classes::confusion::matrix(report).into_iter().collect(),
            )
        },
        section(
            "calibration",
            "Calibration",
            "Do stated probabilities come true?",
            classes::reliability::diagrams(report),
        ),
        Section {
            tables: classes::mistakes::hardest(report).into_iter().collect(),
            ..section(
                "mistakes",
                "Mistakes",
                "How sure was the model where it was wrong, and which rows were the hardest?",
                classes::mistakes::confidence(report).into_iter().collect(),
            )
        },
    ]
}

/// The sections on predictions of counts.
fn of_counts(report: &CountReport) -> Vec<Section> {
    let figures = counts::rootogram(report).into_iter().chain(counts::pit(report));
    vec![
        section(
            "calibration",
            "Calibration",
            "Does each count occur as often as the model expects, and do stated probabilities come true?",
            figures.collect(),
        ),
        Section {
            tables: counts::hardest(report).into_iter().collect(),
            ..section("hardest", "Hardest rows", "What did the model hold least likely?", Vec::new())
        },
    ]
}

/// The sections on the model and its training, whatever it predicts.
fn of_model(report: &Report) -> Vec<Section> {
    let explained = 0..report.importance.len();
    let of_target = |i: usize| {
        importance::importance(&report.importance, i).into_iter().chain(importance::dependence(&report.importance, i))
    };
    vec![
        section(
            "importance",
            "What the predictions depend on",
            "Which columns matter, and in which way?",
            explained.flat_map(of_target).collect(),
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
    ]
}
