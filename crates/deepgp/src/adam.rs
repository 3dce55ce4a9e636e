//! Adam (Kingma and Ba 2015), uphill, on the raw numbers of a model.

use crate::params::{Constraint, Parameter};
use crate::simd::vectorised;

/// Decay of the mean of gradients.
const BETA_1: f64 = 0.9;
/// Decay of the mean of their squares.
const BETA_2: f64 = 0.999;
/// Keeps the quotient finite.
const EPSILON: f64 = 1e-8;

/// The optimiser's memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// Running means of gradients.
    pub first: Vec<f64>,
    /// Running means of their squares.
    pub second: Vec<f64>,
    /// Updates so far.
    pub updates: u64,
}

impl Adam {
    /// No update yet, for `parameters` numbers.
    pub fn new(parameters: usize) -> Self {
        Self { first: vec![0.0; parameters], second: vec![0.0; parameters], updates: 0 }
    }

    /// Moves `raw` uphill: `gradient` is in the values, of which `parameters` knows constraints and what is frozen.
    pub fn ascend(&mut self, raw: &mut [f64], gradient: &[f64], parameters: &[Parameter], rate: f64) {
        self.updates += 1;
        let t = self.updates as f64;
        let scaled_rate = rate * (1.0 - BETA_2.powf(t)).sqrt() / (1.0 - BETA_1.powf(t));
        for parameter in parameters.iter().filter(|p| !p.frozen) {
            let (range, constraint) = (parameter.range.clone(), parameter.constraint);
            let (raw, gradient) = (&mut raw[range.clone()], &gradient[range.clone()]);
            let (first, second) = (&mut self.first[range.clone()], &mut self.second[range]);
            // What stands above the diagonal of a triangle has no gradient, so it never moves.
            let one = |raw: &mut f64, g: f64, first: &mut f64, second: &mut f64| {
                *first = BETA_1 * *first + (1.0 - BETA_1) * g;
                *second = BETA_2 * *second + (1.0 - BETA_2) * g * g;
                *raw += scaled_rate * *first / (second.sqrt() + EPSILON);
            };
            if matches!(constraint, Constraint::Positive { .. }) {
                for (i, raw) in raw.iter_mut().enumerate() {
                    one(raw, constraint.pullback(*raw, gradient[i]), &mut first[i], &mut second[i]);
                    *raw = constraint.within(*raw);
                }
            } else {
                vectorised(
                    #[inline(always)]
                    || {
                        let moments = first.iter_mut().zip(second.iter_mut());
                        for ((raw, g), (first, second)) in raw.iter_mut().zip(gradient).zip(moments) {
                            one(raw, *g, first, second);
                        }
                    },
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(constraint: Constraint, range: std::ops::Range<usize>, frozen: bool) -> Parameter {
        let values = vec![0.0; range.len()];
        Parameter { name: String::new(), constraint, shape: vec![range.len()], range, values, frozen }
    }

    #[test]
    fn it_climbs_to_the_top_of_a_parabola_and_leaves_frozen_numbers_alone() {
        let parameters = [
            parameter(Constraint::Real, 0..1, false),
            parameter(Constraint::Positive { floor: 0.0 }, 1..2, false),
            parameter(Constraint::Real, 2..3, true),
        ];
        let (mut adam, mut raw) = (Adam::new(3), vec![0.0, 0.0, 0.5]);
        for _ in 0..4000 {
            let values = [raw[0], parameters[1].constraint.value(raw[1])];
            let gradient = [2.0 - values[0], 3.0 - values[1], 1.0];
            adam.ascend(&mut raw, &gradient, &parameters, 0.01);
        }
        assert!((raw[0] - 2.0).abs() < 1e-6 && (parameters[1].constraint.value(raw[1]) - 3.0).abs() < 1e-6);
        assert_eq!(raw[2], 0.5);
    }

    #[test]
    fn the_first_update_has_the_size_of_the_rate() {
        let (mut adam, mut raw) = (Adam::new(1), vec![0.0]);
        adam.ascend(&mut raw, &[-123.0], &[parameter(Constraint::Real, 0..1, false)], 0.01);
        assert!((raw[0] + 0.01).abs() < 1e-9);
    }
}
