//! The noise variances that likelihoods of numbers train: one parameter for each output, and what users see of it.

use super::Quantity;
use crate::data::Scaling;
use crate::model::params::{Constraint, Leaf};

/// The least noise variance that training can reach, in units of the standardised targets.
pub(crate) const NOISE_FLOOR: f64 = 1e-6;

/// Calls `leaf` on the noise variances, a parameter.
pub(super) fn visit(noise: &mut [f64], leaf: &mut dyn FnMut(Leaf<'_>)) {
    let constraint = Constraint::Positive { floor: NOISE_FLOOR };
    leaf(Leaf { name: "noise", constraint, shape: &[noise.len()], values: noise });
}

/// The noise variances of noise that is so many times as wide, by a factor for each output.
pub(super) fn widened(noise: &[f64], factors: &[f64]) -> Vec<f64> {
    noise.iter().zip(factors).map(|(noise, factor)| noise * factor * factor).collect()
}

/// The standard deviation of each target's noise in the target's units, of its variances in the model's.
pub(super) fn deviations(variances: impl Iterator<Item = f64>, targets: &Scaling) -> Vec<Quantity> {
    let each = variances.zip(&targets.scale).enumerate();
    each.map(|(p, (noise, scale))| Quantity { name: "noise".into(), output: Some(p), value: noise.sqrt() * scale })
        .collect()
}
