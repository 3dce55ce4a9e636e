//! Axes of a panel: their titles, and how their scales come about.

pub(super) mod scale;
mod ticks;

use scale::{Kind, Scale};

/// An axis, before its scale has been fitted to the data.
#[derive(Debug, Clone)]
pub struct Axis {
    pub(super) title: String,
    kind: Kind,
    fixed: Option<(f64, f64)>,
    from_zero: bool,
    pub(super) bare: bool,
    /// Names of the values 0, 1, 2, … in place of numbers; empty where values are numbers.
    pub(super) names: Vec<String>,
}

impl Axis {
    /// An axis that spans the data.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), kind: Kind::Linear, fixed: None, from_zero: false, bare: false, names: Vec::new() }
    }

    /// The axis with a logarithmic scale.
    pub fn log(self) -> Self {
        Self { kind: Kind::Log, ..self }
    }

    /// The axis over exactly `[low, high]`, whatever the data.
    pub fn between(self, low: f64, high: f64) -> Self {
        Self { fixed: Some((low, high)), ..self }
    }

    /// The axis beginning exactly at zero, as lengths of bars must.
    pub fn starting_at_zero(self) -> Self {
        Self { from_zero: true, ..self }
    }

    /// The axis of things that are named: the first at 0, the next at 1, and so on.
    pub fn named(self, names: Vec<String>) -> Self {
        let end = names.len() as f64 - 0.5;
        Self { names, ..self.between(-0.5, end) }
    }

    /// The axis without labels: a neighbouring panel has them, or they would mean nothing.
    pub fn bare(self) -> Self {
        Self { bare: true, ..self }
    }

    /// The scale for `values`; `None` if no value has a place.
    pub(super) fn scale(&self, values: &[f64]) -> Option<Scale> {
        if let Some((low, high)) = self.fixed {
            return Scale::between(low, high);
        }
        let scale = Scale::spanning(self.kind, values.iter().copied())?;
        Some(if self.from_zero { scale.starting_at_zero() } else { scale })
    }
}
