//! Expectations over one class's Gaussian of what its clock does, at all times of a race (`race.rs`).
//!
//! With `f = m + s z`, `x = exp(u + f)` and `r = exp(u + s z)`, they are `E r^α exp(−x)` at every `u = u_0 + i · STEP`, and the slopes of that:
//! `α = 0` is the probability of silence, another `α` is for the class whose power is asked for, without the factor `exp α m`.
//!
//! Where `s` is small, four Gauss–Hermite nodes do. Where it is not, the Gaussian is a sum over a lattice whose step divides that of `u`,
//! `f_l = m + l δ` with `δ = STEP/P`: then `u_i + f_l` is one of few numbers, and the expectation at all times is a convolution. With
//! `w_l = δ/s φ(l δ/s)` and `g(t) = exp αt exp(−exp(t + m))`,
//!
//! ```text
//! E r^α exp(−x) = Σ_l w_l g(u_i + l δ)        ∂/∂s = Σ_l w_l ((l δ/s)² − 1)/s g(u_i + l δ)
//! ```
//!
//! takes an exponential for each number, and a product and a sum for each pair of a time and a point. Numbers `P` apart stand side by side, so
//! that these are in vectors over the times.

use super::lattice::FOUR_NODES;
use super::race::STEP;
use crate::numeric::normal;
use crate::numeric::real::Real;
use crate::numeric::simd::vectorised;

/// The deviation below which four nodes do.
const SMALL: f64 = 0.1;
/// The largest step of a lattice in units of the deviation.
const LARGEST_STEP: f64 = 0.9;
/// The deviations beyond which a Gaussian has nothing that counts.
const REACH: f64 = 6.5;
/// The largest `P`, the lattice points to a step of `u`, that is needed where four nodes do not do.
const MOST_PHASES: usize = 8;

/// The times of a race, `exp u` at equal distances of `u`, and beyond the last of them as far as a lattice reaches.
pub(super) struct Times<'a> {
    /// The times `exp u`.
    times: &'a mut [f64],
    /// Their powers `exp αu`.
    powers: &'a mut [f64],
    /// Memory for `g` at the numbers of one class.
    values: &'a mut [f64],
    /// Memory for `x g` at these.
    ringing: &'a mut [f64],
    /// The number of times that are not beyond the last.
    points: usize,
}

impl<'a> Times<'a> {
    /// The number of times up to which a lattice reaches.
    fn reach(points: usize, deviation: f64) -> usize {
        points + (2.0 * REACH * deviation / STEP) as usize + 4
    }

    /// The numbers of which these times are made, for classes of no more than this deviation.
    pub fn memory(points: usize, deviation: f64) -> usize {
        2 * (1 + MOST_PHASES) * Self::reach(points, deviation)
    }

    /// The times in their memory, from the first `u`.
    pub fn new(memory: &'a mut [f64], first: f64, points: usize, deviation: f64, power: f64) -> Self {
        let reach = Self::reach(points, deviation);
        let (times, rest) = memory.split_at_mut(reach);
        let (powers, rest) = rest.split_at_mut(reach);
        let (values, ringing) = rest.split_at_mut(MOST_PHASES * reach);
        for (i, (time, own)) in times.iter_mut().zip(powers.iter_mut()).enumerate() {
            let u = first + i as f64 * STEP;
            (*time, *own) = (u.exp(), if power == 0.0 { 1.0 } else { (power * u).exp() });
        }
        Self { times, powers, values, ringing, points }
    }

    /// The times of the race.
    pub fn all(&self) -> &[f64] {
        &self.times[..self.points]
    }

    /// The powers of the times of the race.
    pub fn powers(&self) -> &[f64] {
        &self.powers[..self.points]
    }
}

/// The expectations of one class at all times of a race.
pub(super) struct Clock<'a> {
    /// The expectation `E r^α exp(−x)`.
    pub value: &'a [f64],
    /// The expectation `E r^α x exp(−x)`: less the slope of the value in `m`.
    pub ringing: &'a [f64],
    /// The slope of the value in `s`.
    pub in_deviation: &'a [f64],
}

impl<'a> Clock<'a> {
    /// A clock that was written to this memory.
    pub fn of(memory: &'a [f64]) -> Self {
        let (value, rest) = memory.split_at(memory.len() / 3);
        let (ringing, in_deviation) = rest.split_at(memory.len() / 3);
        Self { value, ringing, in_deviation }
    }

    /// Writes the clock of a class of this mean and deviation to memory for three numbers at each time.
    pub fn new(memory: &'a mut [f64], times: &mut Times<'_>, class: (f64, f64), power: f64) -> Self {
        memory.fill(0.0);
        if class.1 < SMALL {
            add_nodes(memory, times, class, power);
        } else {
            add_lattice(memory, times, class, power);
        }
        Self::of(memory)
    }
}

/// The three parts of a clock's memory.
fn parts(memory: &mut [f64]) -> [&mut [f64]; 3] {
    let points = memory.len() / 3;
    let (value, rest) = memory.split_at_mut(points);
    let (ringing, in_deviation) = rest.split_at_mut(points);
    [value, ringing, in_deviation]
}

/// Adds the expectations over a narrow Gaussian, by four nodes: `∂/∂s` is `E r^α (α − x) z exp(−x)`.
fn add_nodes(memory: &mut [f64], times: &Times<'_>, (mean, deviation): (f64, f64), power: f64) {
    let [value, ringing, in_deviation] = parts(memory);
    vectorised(
        #[inline(always)]
        || {
            for (z, weight) in FOUR_NODES {
                let (rate, weight) = ((mean + deviation * z).exp(), weight * (power * deviation * z).exp());
                let sums = value.iter_mut().zip(ringing.iter_mut()).zip(in_deviation.iter_mut());
                let of_times = times.times.iter().zip(&*times.powers);
                for ((time, own), ((value, ringing), in_deviation)) in of_times.zip(sums) {
                    let x = time * rate;
                    let share = weight * if power == 0.0 { 1.0 } else { *own } * (-x).exp_decay();
                    *value += share;
                    *ringing += share * x;
                    *in_deviation += share * (power - x) * z;
                }
            }
        },
    );
}

/// Adds the expectations over a Gaussian as a sum over its lattice.
fn add_lattice(memory: &mut [f64], times: &mut Times<'_>, (mean, deviation): (f64, f64), power: f64) {
    let mut phases = 1;
    while STEP / phases as f64 > LARGEST_STEP * deviation && phases < MOST_PHASES {
        phases *= 2;
    }
    let delta = STEP / phases as f64;
    let side = (REACH * deviation / delta).ceil() as usize;
    let Times { times, powers, values, ringing: rung, points } = times;
    // The numbers u_i + l δ of one phase, l = phase − side, phase − side + P, …, are as many as there are times that the lattice reaches.
    let reach = *points + 2 * side / phases;
    let [value, ringing, in_deviation] = parts(memory);
    vectorised(
        #[inline(always)]
        || {
            for phase in 0..phases {
                let lowest = (phase as f64 - side as f64) * delta;
                let (rate, factor) = ((mean + lowest).exp(), (power * lowest).exp());
                let own = phase * reach..(phase + 1) * reach;
                let into = values[own.clone()].iter_mut().zip(&mut rung[own]);
                for ((time, power_of_time), (value, ringing)) in times.iter().zip(&**powers).zip(into) {
                    let x = time * rate;
                    let g = factor * if power == 0.0 { 1.0 } else { *power_of_time } * (-x).exp_decay();
                    (*value, *ringing) = (g, g * x);
                }
            }
            for l in 0..=2 * side {
                let z = (l as f64 - side as f64) * delta / deviation;
                let weight = delta / deviation * normal::density(z);
                let bend = weight * (z * z - 1.0) / deviation;
                let start = l % phases * reach + l / phases;
                let from = values[start..start + *points].iter().zip(&rung[start..start + *points]);
                let into = value.iter_mut().zip(ringing.iter_mut()).zip(in_deviation.iter_mut());
                for ((g, xg), ((value, ringing), in_deviation)) in from.zip(into) {
                    *value += weight * g;
                    *ringing += weight * xg;
                    *in_deviation += bend * g;
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::lattice::expect;

    #[test]
    fn nodes_and_lattices_are_the_expectations_and_slopes_they_claim_to_be() {
        let points = 40;
        for deviation in [1e-6, 0.05, 0.099, 0.101, 0.2, 0.35, 0.6, 1.3, 4.0, 10.0] {
            for power in [0.0, 0.3, 1.0] {
                let mean = -0.4;
                let mut memory = vec![0.0; Times::memory(points, deviation)];
                let mut times = Times::new(&mut memory, -14.0, points, deviation, power);
                let mut own = vec![0.0; 3 * points];
                let clock = Clock::new(&mut own, &mut times, (mean, deviation), power);
                for i in 0..points {
                    let u = -14.0 + i as f64 * STEP;
                    let variance = deviation * deviation;
                    let g = |f: f64| (power * (u + f - mean)).exp() * (-(u + f).exp()).exp();
                    let by = |of: &dyn Fn(f64) -> f64| expect(mean, variance, 0.2, |f| of(f) * g(f));
                    let x = |f: f64| (u + f).exp();
                    let z = |f: f64| (f - mean) / deviation;
                    let near = |found: f64, expected: f64, what: &str| {
                        // Powers of a wide Gaussian are large.
                        let scale = (0.5 * power * power * variance).exp() * (1.0 + power * deviation);
                        let close = (found - expected).abs() < 3e-6 * scale;
                        assert!(close, "{what} at {u}, s = {deviation}, α = {power}: {found} {expected}");
                    };
                    near(clock.value[i], by(&|_| 1.0), "value");
                    near(clock.ringing[i], by(&x), "ringing");
                    near(clock.in_deviation[i], by(&|f| (power - x(f)) * z(f)), "slope");
                }
            }
        }
    }
}
