//! Expectations of softmax probabilities under independent Gaussians, as integrals over one variable.
//!
//! Give every class a clock that rings at the rate `exp f_j`: the first to ring is that of class `c` with the probability
//! `softmax_c(f) = exp f_c / Σ_j exp f_j`. Given `f`, clocks know nothing of each other, and since the `f_j` are independent they do not in
//! expectation either. Up to the time `exp u`, clock `j` is silent with the probability `S_j(u) = E exp(−x_j)`, where `x_j = exp(u + f_j)`. So
//! integrals over as many variables as there are classes become integrals over `u` (Frullani's for the logarithm):
//!
//! ```text
//! E log Σ_j exp f_j = c + ∫ [exp(−exp(u + c)) − Π_j S_j(u)] du                     for any c
//! E softmax_y^α     = 1/Γ(α) ∫ E[x_y^α exp(−x_y)] Π_{j≠y} S_j(u) du
//! ```
//!
//! The slope of the first in `m_j` is `E softmax_j`. Both are sums over the lattice `u_i = i · STEP`, and the expectations in them are sums over
//! lattices too (`clock.rs`).
//!
//! Towards `u → −∞` integrands fall like `exp u` and `exp αu` only. With `c = log Σ_j exp(m_j + v_j/2)` that part is known, and taken out:
//! the first integrand is made without it, and from the second one `κ exp(α(u + c)) exp(−exp(u + c))` is subtracted, whose integral is `κ Γ(α)`.
//!
//! Errors are below 1e-6, of logarithms too. (The average over 128 normal points in as many dimensions as classes, antithetic and
//! standardised, leaves 3 % of a probability at `v = 1` and 8 % at 4, for as much work.) A standard deviation of more than 10 is as good as
//! 10: nothing is known of the class then.

use super::clock::{Clock, Times};

/// The step of the lattice of `u`: the error is about `exp(−π²/STEP)`.
pub(super) const STEP: f64 = 0.55;
/// The logarithm of what is negligible: integrands are followed until they are `exp(−18)` of their size.
const NEGLIGIBLE: f64 = 18.0;
/// The largest standard deviation that counts.
const LARGEST_DEVIATION: f64 = 10.0;
/// The numbers for which nothing is allocated: 16 classes at some 40 times.
const FEW: usize = 3000;

/// The classes, and where on the line of `u` they matter.
struct Race<'a> {
    /// The means of the `f_j`.
    mean: &'a [f64],
    /// The variances of the `f_j`.
    variance: &'a [f64],
    /// The number that is taken off all means: the largest one, rounded to a multiple of the step, so that the lattice stays where it is when
    /// means move.
    shift: f64,
    /// The logarithm `c` of the mean of `Σ_j exp f_j`, less the shift.
    centre: f64,
    /// The first point of the lattice, in steps.
    first: f64,
    /// The number of points of the lattice.
    points: usize,
    /// The largest standard deviation.
    deviation: f64,
}

impl<'a> Race<'a> {
    /// The race for integrands that fall like `exp (1 + α) u`. `None` if a mean is not finite.
    fn new(mean: &'a [f64], variance: &'a [f64], power: f64) -> Option<Self> {
        let largest = mean.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !largest.is_finite() || mean.iter().chain(variance).any(|v| v.is_nan()) {
            return None;
        }
        let shift = STEP * (largest / STEP).round();
        let mut own = Self { mean, variance, shift, centre: 0.0, first: 0.0, points: 0, deviation: 0.0 };
        let (mut left, mut right) = (f64::NEG_INFINITY, f64::INFINITY);
        let (mut moment, rate) = (0.0, 1.0 + power);
        for j in 0..mean.len() {
            let (m, s) = own.class(j);
            // Exponential beyond −m − rate v, and Gaussian before.
            let reach = if rate * rate * s * s < 2.0 * NEGLIGIBLE {
                NEGLIGIBLE / rate + 0.5 * rate * s * s
            } else {
                (2.0 * NEGLIGIBLE).sqrt() * s
            };
            left = left.max(m + reach);
            right = right.min(NEGLIGIBLE.ln() + (2.0 * NEGLIGIBLE).sqrt() * s - m);
            moment += (m + 0.5 * s * s).exp();
            own.deviation = own.deviation.max(s);
        }
        own.centre = moment.ln();
        own.first = ((-left - 0.5 * (mean.len() as f64).ln()) / STEP).floor();
        own.points = ((right / STEP).ceil() - own.first).max(1.0) as usize + 1;
        Some(own)
    }

    /// Mean and standard deviation of class `j`.
    fn class(&self, j: usize) -> (f64, f64) {
        (self.mean[j] - self.shift, self.variance[j].sqrt().min(LARGEST_DEVIATION))
    }

    /// The slope in `v_j` from that in `s_j`; 0 where the deviation is not followed any more.
    fn slope_in_variance(&self, j: usize, slope: f64) -> f64 {
        let deviation = self.variance[j].sqrt();
        if deviation > 0.0 && deviation < LARGEST_DEVIATION { 0.5 * slope / deviation } else { 0.0 }
    }

    /// Runs `then` with the times of the race, a factor of 1 for each point, and memory for the clocks of all classes: on the stack, if they
    /// are few.
    fn with_clocks<R>(&self, power: f64, then: impl FnOnce(&mut Times<'_>, &mut [f64], &mut [f64]) -> R) -> R {
        let of_times = Times::memory(self.points, self.deviation);
        let count = of_times + (1 + 3 * self.mean.len()) * self.points;
        let run = |memory: &mut [f64]| {
            let (times, rest) = memory.split_at_mut(of_times);
            let (product, clocks) = rest.split_at_mut(self.points);
            product.fill(1.0);
            then(&mut Times::new(times, self.first * STEP, self.points, self.deviation, power), product, clocks)
        };
        if count <= FEW { run(&mut [0.0; FEW][..count]) } else { run(&mut vec![0.0; count]) }
    }
}

/// The expectation `E log Σ_j exp f_j`; writes the probabilities `E softmax_j`, which are its slopes in the means, and its slopes in the
/// variances.
pub(super) fn expected_log_sum_exp(
    mean: &[f64],
    variance: &[f64],
    probabilities: &mut [f64],
    in_variance: &mut [f64],
) -> f64 {
    let Some(race) = Race::new(mean, variance, 1.0) else {
        probabilities.fill(f64::NAN);
        in_variance.fill(f64::NAN);
        return f64::NAN;
    };
    let n = race.points;
    race.with_clocks(0.0, |times, all_silent, clocks| {
        for (j, memory) in clocks.chunks_exact_mut(3 * n).enumerate() {
            let clock = Clock::new(memory, times, race.class(j), 0.0);
            all_silent.iter_mut().zip(clock.value).for_each(|(all, own)| *all *= own);
        }
        let (mut value, mut known, centre) = (0.0, 0.0, race.centre.exp());
        for (time, all) in times.all().iter().zip(&*all_silent) {
            let x = time * centre;
            let silent = (-x).exp();
            value += STEP * (silent - all);
            known += STEP * x * silent;
        }
        for (j, memory) in clocks.chunks_exact(3 * n).enumerate() {
            let (clock, (m, s)) = (Clock::of(memory), race.class(j));
            // What is known of the slopes, less what the lattice makes of it.
            let share = (m + 0.5 * s * s - race.centre).exp() * (1.0 - known);
            let (mut first, mut second) = (share, share * s);
            for i in (0..n).filter(|i| clock.value[*i] > 0.0) {
                let others = STEP * all_silent[i] / clock.value[i];
                first += others * clock.ringing[i];
                second -= others * clock.in_deviation[i];
            }
            (probabilities[j], in_variance[j]) = (first, race.slope_in_variance(j, second));
        }
        race.shift + race.centre + value
    })
}

/// The logarithm `log E softmax_y^α`; writes its slopes in means and variances.
pub(super) fn log_expected_power(
    power: f64,
    y: usize,
    mean: &[f64],
    variance: &[f64],
    in_mean: &mut [f64],
    in_variance: &mut [f64],
) -> f64 {
    let Some(race) = Race::new(mean, variance, power) else {
        in_mean.fill(f64::NAN);
        in_variance.fill(f64::NAN);
        return f64::NAN;
    };
    let n = race.points;
    race.with_clocks(power, |times, others_silent, clocks| {
        for (j, memory) in clocks.chunks_exact_mut(3 * n).enumerate() {
            let clock = Clock::new(memory, times, race.class(j), if j == y { power } else { 0.0 });
            if j != y {
                others_silent.iter_mut().zip(clock.value).for_each(|(all, own)| *all *= own);
            }
        }
        let ((m, s), step) = (race.class(y), STEP / libm::tgamma(power));
        // Any number near the centre will do here: this one stays where it is when means and variances move.
        let centre = STEP * (race.centre / STEP).round();
        let share = (0.5 * power * power * s * s - power * centre).exp();
        // What the lattice makes of what is known.
        let of_known = |(time, own): (&f64, &f64)| own * (-time * centre.exp()).exp();
        let known = (power * centre).exp() * times.all().iter().zip(times.powers()).map(of_known).sum::<f64>();
        let share = share * (1.0 - step * known);
        let winner = Clock::of(&clocks[3 * n * y..3 * n * (y + 1)]);
        let weighted = |of: &[f64]| step * of.iter().zip(&*others_silent).map(|(own, all)| own * all).sum::<f64>();
        let total = share + weighted(winner.value);
        in_mean[y] = power - weighted(winner.ringing) / total;
        let slope = (share * power * power * s + weighted(winner.in_deviation)) / total;
        in_variance[y] = race.slope_in_variance(y, slope);
        for (j, memory) in clocks.chunks_exact(3 * n).enumerate().filter(|(j, _)| *j != y) {
            let (clock, mut first, mut second) = (Clock::of(memory), 0.0, 0.0);
            for i in (0..n).filter(|i| clock.value[*i] > 0.0) {
                let rest = step * winner.value[i] * others_silent[i] / clock.value[i];
                first -= rest * clock.ringing[i];
                second += rest * clock.in_deviation[i];
            }
            in_mean[j] = first / total;
            in_variance[j] = race.slope_in_variance(j, second / total);
        }
        power * m + total.ln()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::lattice::expect;
    use crate::numeric::mat::Mat;
    use crate::numeric::simd::baseline;
    use crate::testing::assert_slope;

    const MEANS: [[f64; 3]; 3] = [[0.3, -1.0, 0.8], [2.0, 2.5, -6.0], [0.0, 0.0, 0.0]];
    const VARIANCES: [[f64; 3]; 4] = [[1e-6, 0.04, 1e-3], [0.3, 0.2, 0.5], [1.5, 0.1, 4.0], [9.0, 20.0, 6.0]];

    /// The expectation of a function of three numbers, by a sum over all of them.
    fn by_brute_force(mean: &[f64; 3], variance: &[f64; 3], g: impl Fn([f64; 3]) -> f64) -> f64 {
        expect(mean[0], variance[0], 0.4, |a| {
            expect(mean[1], variance[1], 0.4, |b| expect(mean[2], variance[2], 0.4, |c| g([a, b, c])))
        })
    }

    fn log_sum(f: [f64; 3]) -> f64 {
        f.iter().map(|f| f.exp()).sum::<f64>().ln()
    }

    #[test]
    fn one_integral_is_three() {
        for mean in &MEANS {
            for variance in &VARIANCES {
                let (mut p, mut slopes) = ([0.0; 3], [0.0; 3]);
                let found = expected_log_sum_exp(mean, variance, &mut p, &mut slopes);
                let expected = by_brute_force(mean, variance, log_sum);
                assert!((found - expected).abs() < 1e-6, "{mean:?} {variance:?}: {found} {expected}");
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{p:?}");
                for y in 0..3 {
                    for power in [0.2, 1.0] {
                        let expected = by_brute_force(mean, variance, |f| (power * (f[y] - log_sum(f))).exp()).ln();
                        let found = log_expected_power(power, y, mean, variance, &mut [0.0; 3], &mut [0.0; 3]);
                        assert!((found - expected).abs() < 3e-6, "{mean:?} {variance:?} {y}: {found} {expected}");
                        assert!(power < 1.0 || (p[y] - found.exp()).abs() < 1e-6);
                    }
                }
            }
        }
    }

    #[test]
    fn slopes_are_those_of_the_sums() {
        let column = |v: &[f64]| Mat::column(v.to_vec());
        for mean in &MEANS {
            for variance in &VARIANCES[1..] {
                let (mut first, mut second) = ([0.0; 3], [0.0; 3]);
                expected_log_sum_exp(mean, variance, &mut first, &mut second);
                let value =
                    |m: &Mat, v: &Mat| expected_log_sum_exp(m.as_slice(), v.as_slice(), &mut [0.0; 3], &mut [0.0; 3]);
                assert_slope("means", &column(mean), &column(&first), 1e-7, |m| value(m, &column(variance)));
                assert_slope("variances", &column(variance), &column(&second), 1e-7, |v| value(&column(mean), v));
                for power in [0.3, 1.0] {
                    log_expected_power(power, 1, mean, variance, &mut first, &mut second);
                    let value = |m: &Mat, v: &Mat| {
                        log_expected_power(power, 1, m.as_slice(), v.as_slice(), &mut [0.0; 3], &mut [0.0; 3])
                    };
                    assert_slope("means", &column(mean), &column(&first), 1e-6, |m| value(m, &column(variance)));
                    assert_slope("variances", &column(variance), &column(&second), 1e-6, |v| value(&column(mean), v));
                }
            }
        }
    }

    #[test]
    fn hopeless_classes_have_probabilities_with_digits_and_nothing_overflows() {
        // A class that never wins loses to the others' sum: log p = m + v/2 − log Σ, about.
        let (mean, variance) = ([0.0, 1.0, -60.0], [1e-8, 1e-8, 0.5]);
        let found = log_expected_power(1.0, 2, &mean, &variance, &mut [0.0; 3], &mut [0.0; 3]);
        let expected = -60.0 + 0.25 - (1.0 + 1f64.exp()).ln();
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        for (mean, variance) in [([1e4, -1e4, 0.0], [1e5, 1.0, 0.0]), ([0.0; 3], [1e9; 3])] {
            let (mut p, mut slopes) = ([0.0; 3], [0.0; 3]);
            assert!(expected_log_sum_exp(&mean, &variance, &mut p, &mut slopes).is_finite());
            assert!(p.iter().chain(&slopes).all(|v| v.is_finite()), "{p:?} {slopes:?}");
        }
        assert!(expected_log_sum_exp(&[0.0, f64::NAN], &[1.0; 2], &mut [0.0; 2], &mut [0.0; 2]).is_nan());
    }

    #[test]
    fn vectors_of_any_length_give_the_same_bits() {
        let compute = || {
            let (mut p, mut slopes) = ([0.0; 3], [0.0; 3]);
            let value = expected_log_sum_exp(&MEANS[0], &VARIANCES[1], &mut p, &mut slopes);
            (value, p, slopes, log_expected_power(0.4, 1, &MEANS[0], &VARIANCES[1], &mut p, &mut slopes), p)
        };
        assert_eq!(compute(), baseline::run(compute));
    }
}
