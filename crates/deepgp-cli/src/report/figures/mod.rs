//! The parts that sections are made of.

pub(super) mod accuracy;
pub(super) mod calibration;
pub(super) mod inducing;
pub(super) mod learning;
pub(super) mod relevance;
pub(super) mod residuals;

pub(super) use crate::html::Figure;

/// Figures on one question.
#[derive(Debug, Clone)]
pub(super) struct Section {
    /// For links to it.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The question.
    pub(super) lead: &'static str,
    pub(super) figures: Vec<Figure>,
}

/// `base` for one of `count` like figures: numbered from one if there are several.
pub(super) fn stem(base: &str, index: usize, count: usize) -> String {
    if count > 1 { format!("{base}-{}", index + 1) } else { base.to_owned() }
}

/// `base`, with the name of what it is about if there are several.
pub(super) fn title(base: &str, name: &str, count: usize) -> String {
    if count > 1 { format!("{base}: {name}") } else { base.to_owned() }
}
