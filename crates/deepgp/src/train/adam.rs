//! Adam (Kingma and Ba 2015), uphill, on the raw numbers of a model.
//!
//! With `g = ∂/∂raw = ∂/∂value · dvalue/draw` the gradient at a raw number ([`Constraint::pullback`]), at update `t = 1, 2, …`:
//!
//! ```text
//! first  ← β₁ first + (1 − β₁) g              second ← β₂ second + (1 − β₂) g²
//! raw    ← raw + rate_t · first / (√second + ε)
//! rate_t = rate · √(1 − β₂ᵗ) / (1 − β₁ᵗ)
//! ```
//!
//! Raw numbers of positive values then stay within their bounds ([`Constraint::within`]); frozen ones and their means do not change.

use rayon::prelude::*;

use super::optimiser::{Optimiser, OptimiserForm, Update};
use super::state::Snapshot;
use crate::model::params::Constraint;
use crate::numeric::simd::vectorised;

/// The number of raw numbers that a thread updates at once.
const AT_ONCE: usize = 1 << 14;

/// The optimiser Adam. Its state holds the running means of gradients, `first`, and of their squares, `second`.
#[derive(Clone, Copy, Debug)]
pub struct Adam;

impl Adam {
    /// The decay `β₁` of the mean of gradients.
    pub const BETA_1: f64 = 0.9;
    /// The decay `β₂` of the mean of squared gradients.
    pub const BETA_2: f64 = 0.999;
    /// The number `ε` in the denominator, which keeps the quotient finite.
    pub const EPSILON: f64 = 1e-8;

    /// The learning rate of update `t`, from 1, with both means' bias towards 0 corrected: `rate · √(1 − β₂ᵗ) / (1 − β₁ᵗ)`.
    pub fn corrected(rate: f64, t: u64) -> f64 {
        let t = t as f64;
        rate * (1.0 - Self::BETA_2.powf(t)).sqrt() / (1.0 - Self::BETA_1.powf(t))
    }
}

impl Optimiser for Adam {
    fn name(&self) -> &'static str {
        "adam"
    }

    fn form(&self) -> Option<OptimiserForm> {
        Some(OptimiserForm::Adam)
    }

    fn slots(&self) -> &'static [&'static str] {
        &["first", "second"]
    }

    /// One update of every raw number by the equations of this file.
    fn ascend(&self, before: &Snapshot, update: &Update<'_>, after: &mut Snapshot) {
        after.optimiser.updates = before.optimiser.updates + 1;
        let scaled_rate = Self::corrected(update.rate, after.optimiser.updates);
        let ([first_before, second_before], [first, second]) =
            (&before.optimiser.slots[..], &mut after.optimiser.slots[..])
        else {
            panic!("Adam remembers two vectors");
        };
        for parameter in update.parameters {
            let (range, constraint) = (parameter.range.clone(), parameter.constraint);
            let from = [&before.raw[range.clone()], &first_before[range.clone()], &second_before[range.clone()]];
            let gradient = &update.gradient[range.clone()];
            let to = [&mut after.raw[range.clone()], &mut first[range.clone()], &mut second[range]];
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
    use crate::model::params::Parameter;
    use crate::train::optimiser::{Factors, OptimiserState};

    fn snapshot(raw: Vec<f64>) -> Snapshot {
        Snapshot { optimiser: OptimiserState::new(&Adam, raw.len()), raw }
    }

    fn update<'a>(gradient: &'a [f64], parameters: &'a [Parameter]) -> Update<'a> {
        Update { gradient, parameters, factors: Factors::none(), rate: 0.01 }
    }

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
        let mut now = snapshot(vec![0.0, 0.0, 0.5]);
        for _ in 0..4000 {
            let values = [now.raw[0], parameters[1].constraint.value(now.raw[1])];
            let gradient = [2.0 - values[0], 3.0 - values[1], 1.0];
            let before = now.clone();
            Adam.ascend(&before, &update(&gradient, &parameters), &mut now);
        }
        let raw = now.raw;
        assert!((raw[0] - 2.0).abs() < 1e-6 && (parameters[1].constraint.value(raw[1]) - 3.0).abs() < 1e-6);
        assert_eq!(raw[2], 0.5);
    }

    #[test]
    fn the_first_update_has_the_size_of_the_rate() {
        let (before, mut after) = (snapshot(vec![0.0]), snapshot(vec![0.0]));
        let parameters = [parameter(Constraint::Real, 0..1, false)];
        Adam.ascend(&before, &update(&[-123.0], &parameters), &mut after);
        let raw = after.raw;
        assert!((raw[0] + 0.01).abs() < 1e-9);
    }
}
