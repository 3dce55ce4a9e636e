//! Adam (Kingma and Ba 2015), uphill, on the raw numbers of a model.

use rayon::prelude::*;

use crate::params::{Constraint, Parameter};
use crate::simd::vectorised;

/// Numbers that a thread moves at once.
const AT_ONCE: usize = 1 << 14;

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
    /// Decay of the mean of gradients.
    pub const BETA_1: f64 = 0.9;
    /// Decay of the mean of their squares.
    pub const BETA_2: f64 = 0.999;
    /// Keeps the quotient finite.
    pub const EPSILON: f64 = 1e-8;

    /// What `rate` is at update `t`, from 1, once it makes up for means that have seen little.
    pub fn corrected(rate: f64, t: u64) -> f64 {
        let t = t as f64;
        rate * (1.0 - Self::BETA_2.powf(t)).sqrt() / (1.0 - Self::BETA_1.powf(t))
    }

    /// No update yet, for `parameters` numbers.
    pub fn new(parameters: usize) -> Self {
        Self { first: vec![0.0; parameters], second: vec![0.0; parameters], updates: 0 }
    }

    /// One step uphill from `raw_before` with the memory `before`: writes `raw`, and this memory. `gradient` is in the values, of
    /// which `parameters` knows constraints and what is frozen. From one place to another, so that the last place is at hand
    /// if the next one turns out to be no good.
    pub fn ascend(
        &mut self,
        before: &Self,
        (raw_before, raw): (&[f64], &mut [f64]),
        gradient: &[f64],
        parameters: &[Parameter],
        rate: f64,
    ) {
        self.updates = before.updates + 1;
        let scaled_rate = Self::corrected(rate, self.updates);
        for parameter in parameters {
            let (range, constraint) = (parameter.range.clone(), parameter.constraint);
            let from = [&raw_before[range.clone()], &before.first[range.clone()], &before.second[range.clone()]];
            let gradient = &gradient[range.clone()];
            let to = [&mut raw[range.clone()], &mut self.first[range.clone()], &mut self.second[range]];
            if parameter.frozen {
                for (to, from) in to.into_iter().zip(from) {
                    to.copy_from_slice(from);
                }
                continue;
            }
            // What stands above the diagonal of a triangle has no gradient, so it never moves.
            let one = |raw: f64, first: f64, second: f64, g: f64| {
                let first = Self::BETA_1 * first + (1.0 - Self::BETA_1) * g;
                let second = Self::BETA_2 * second + (1.0 - Self::BETA_2) * g * g;
                (raw + scaled_rate * first / (second.sqrt() + Self::EPSILON), first, second)
            };
            let ([raw_before, first_before, second_before], [raw, first, second]) = (from, to);
            if matches!(constraint, Constraint::Positive { .. }) {
                for i in 0..raw.len() {
                    let g = constraint.pullback(raw_before[i], gradient[i]);
                    (raw[i], first[i], second[i]) = one(raw_before[i], first_before[i], second_before[i], g);
                    raw[i] = constraint.within(raw[i]);
                }
                continue;
            }
            let from = raw_before.par_chunks(AT_ONCE).zip(first_before.par_chunks(AT_ONCE));
            let from = from.zip(second_before.par_chunks(AT_ONCE)).zip(gradient.par_chunks(AT_ONCE));
            let to = raw.par_chunks_mut(AT_ONCE).zip(first.par_chunks_mut(AT_ONCE)).zip(second.par_chunks_mut(AT_ONCE));
            from.zip(to).for_each(
                |((((raw_before, first_before), second_before), gradient), ((raw, first), second))| {
                    vectorised(
                        #[inline(always)]
                        || {
                            let from = raw_before.iter().zip(first_before).zip(second_before).zip(gradient);
                            let to = raw.iter_mut().zip(first.iter_mut()).zip(second.iter_mut());
                            for ((((raw_before, first_before), second_before), g), ((raw, first), second)) in
                                from.zip(to)
                            {
                                (*raw, *first, *second) = one(*raw_before, *first_before, *second_before, *g);
                            }
                        },
                    );
                },
            );
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
            let (before, raw_before) = (adam.clone(), raw.clone());
            adam.ascend(&before, (&raw_before, &mut raw), &gradient, &parameters, 0.01);
        }
        assert!((raw[0] - 2.0).abs() < 1e-6 && (parameters[1].constraint.value(raw[1]) - 3.0).abs() < 1e-6);
        assert_eq!(raw[2], 0.5);
    }

    #[test]
    fn the_first_update_has_the_size_of_the_rate() {
        let (mut adam, mut raw) = (Adam::new(1), vec![0.0]);
        let parameters = [parameter(Constraint::Real, 0..1, false)];
        adam.ascend(&Adam::new(1), (&[0.0], &mut raw), &[-123.0], &parameters, 0.01);
        assert!((raw[0] + 0.01).abs() < 1e-9);
    }
}
