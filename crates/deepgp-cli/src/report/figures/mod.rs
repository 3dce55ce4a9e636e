//! The figures of the report, a file for each question, and what they have in common.

pub(super) mod accuracy;
pub(super) mod calibration;
pub(super) mod classes;
pub(super) mod counts;
pub(super) mod densities;
pub(super) mod importance;
pub(super) mod inducing;
pub(super) mod learning;
pub(super) mod noise;
pub(super) mod relevance;
pub(super) mod residuals;

pub(super) use crate::html::Figure;

use super::PlainTable;

/// A section of the page: figures and tables on one question.
#[derive(Debug, Clone)]
pub(super) struct Section {
    /// The anchor of links to the section.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The question.
    pub(super) lead: &'static str,
    pub(super) figures: Vec<Figure>,
    /// The tables below the figures.
    pub(super) tables: Vec<PlainTable>,
}

/// The name of a figure's file: `base`, numbered from one if there are several like it.
pub(super) fn stem(base: &str, index: usize, count: usize) -> String {
    if count > 1 { format!("{base}-{}", index + 1) } else { base.to_owned() }
}

/// The title of a figure: `base`, with the name of what it is about if there are several like it.
pub(super) fn title(base: &str, name: &str, count: usize) -> String {
    if count > 1 { format!("{base}: {name}") } else { base.to_owned() }
}
