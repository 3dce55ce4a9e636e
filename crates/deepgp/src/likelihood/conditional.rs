//! The distribution of `y` given `f` where all that is known is `log p(y | f)`: moments, distribution function and quantiles by
//! integration over `y`.
//!
//! For numbers on the real line, `y = c + w sinh t` spreads the density out: `c` is its mode, found by a search that starts at `f`, and
//! `w` the distance at which its logarithm has fallen by ½. Positive numbers are integrated over `ln y` in the same way, whose density
//! is `y p(y)`. Then Simpson's rule with `n` intervals of width `h` over `t` is accurate enough:
//!
//! ```text
//! ∫ g(y) p(y) dy = ∫ g(y(t)) p(y(t)) w cosh t dt ≈ h/3 (φ_0 + 4 φ_1 + 2 φ_2 + 4 φ_3 + … + φ_n)
//! ```
//!
//! Probabilities of counts are added up.

use crate::numeric::root_finding::by_false_position;

/// The values that a target can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Any number.
    Real,
    /// Numbers above 0.
    Positive,
    /// Counts: 0, 1, 2, …
    Counts,
}

impl Support {
    /// Whether the support contains this value.
    pub fn holds(self, y: f64) -> bool {
        match self {
            Self::Real => y.is_finite(),
            Self::Positive => y > 0.0 && y.is_finite(),
            Self::Counts => y >= 0.0 && y.fract() == 0.0 && y.is_finite(),
        }
    }

    /// What a value must be to lie in the support, for messages.
    pub(super) fn requirement(self) -> &'static str {
        match self {
            Self::Real => "a finite number",
            Self::Positive => "above 0",
            Self::Counts => "0, 1, 2, …",
        }
    }
}

/// The number of intervals of Simpson's rule.
const INTERVALS: usize = 240;
/// The largest `|t|` of the integrals: `sinh 12` is 8e4 widths, beyond which even a Cauchy tail holds 4e-6.
const LARGEST_T: f64 = 12.0;
/// Counts are added up until no more than this probability remains.
const REMAINING_PROBABILITY: f64 = 1e-13;
/// Counts are added up to this one at most.
const MOST_COUNTS: u64 = 10_000_000;
/// The most rounds of the search for a mode.
const ROUNDS: usize = 200;

/// The distribution `p(y | f)` at one `f`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditional<D> {
    /// The values that `y` can take.
    support: Support,
    /// `log p(y | f)` as a function of `y`.
    log_p: D,
    /// The mode `c` of the density, in `y` or, for positive numbers, in `ln y`.
    centre: f64,
    /// The width `w` of the density, in the same variable.
    width: f64,
}

impl<D: Fn(f64) -> f64> Conditional<D> {
    /// The distribution with the log density `log_p`, whose mode is searched for from `start` on.
    pub fn new(support: Support, start: f64, log_p: D) -> Self {
        let mut own = Self { support, log_p, centre: start, width: 1.0 };
        match support {
            Support::Real | Support::Positive => {
                (own.centre, own.width) = mode_and_width(start, |at| own.log_density(at));
            }
            Support::Counts => {}
        }
        own
    }

    /// The log density of `y`, or of `ln y` for positive numbers, which is `log p(y) + ln y`.
    fn log_density(&self, at: f64) -> f64 {
        match self.support {
            Support::Real | Support::Counts => (self.log_p)(at),
            Support::Positive => (self.log_p)(at.exp()) + at,
        }
    }

    /// The `y` that belongs to an argument of [`Conditional::log_density`].
    fn value(&self, at: f64) -> f64 {
        match self.support {
            Support::Real | Support::Counts => at,
            Support::Positive => at.exp(),
        }
    }

    /// The integral `∫ g(y) p(y) dy` over `t` from `−LARGEST_T` to `to`, by Simpson's rule.
    fn integrate(&self, to: f64, g: impl Fn(f64) -> f64) -> f64 {
        let step = (to + LARGEST_T) / INTERVALS as f64;
        let at = |i: usize| {
            let t = -LARGEST_T + i as f64 * step;
            let place = self.centre + self.width * t.sinh();
            let density = self.log_density(place).exp();
            if density > 0.0 { g(self.value(place)) * density * self.width * t.cosh() } else { 0.0 }
        };
        let inner = (1..INTERVALS).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * at(i)).sum::<f64>();
        step / 3.0 * (at(0) + inner + at(INTERVALS))
    }

    /// Mean and variance of `y` given `f`.
    pub fn moments(&self) -> (f64, f64) {
        match self.support {
            Support::Real | Support::Positive => {
                let mean = self.integrate(LARGEST_T, |y| y);
                (mean, self.integrate(LARGEST_T, |y| (y - mean).powi(2)))
            }
            Support::Counts => {
                let (mut first, mut second) = (0.0, 0.0);
                self.each_count(|k, p| {
                    first += k * p;
                    second += k * k * p;
                    true
                });
                (first, second - first * first)
            }
        }
    }

    /// The distribution function `P(Y ≤ y | f)`.
    pub fn cumulative(&self, y: f64) -> f64 {
        let place = match self.support {
            Support::Counts => {
                let mut total = 0.0;
                self.each_count(|k, p| {
                    total += if k <= y { p } else { 0.0 };
                    k < y
                });
                return total;
            }
            Support::Positive if y <= 0.0 => return 0.0,
            Support::Positive => y.ln(),
            Support::Real => y,
        };
        let t = ((place - self.centre) / self.width).asinh().clamp(-LARGEST_T, LARGEST_T);
        if t == -LARGEST_T { 0.0 } else { self.integrate(t, |_| 1.0) }
    }

    /// The quantile of `y` given `f` at `level`; `cumulative` is the distribution function, by a formula where there is one.
    pub fn quantile(&self, level: f64, cumulative: impl Fn(f64) -> f64) -> f64 {
        match self.support {
            Support::Counts => {
                let (mut total, mut found) = (0.0, 0.0);
                self.each_count(|k, p| {
                    (total, found) = (total + p, k);
                    total < level
                });
                found
            }
            Support::Real | Support::Positive => {
                let ends = [-1.0, 1.0].map(|side| self.value(self.centre + side * self.width));
                by_false_position((ends[0], ends[1]), level, cumulative)
            }
        }
    }

    /// Hands every count and its probability to `more`, until that says no or hardly any probability remains.
    fn each_count(&self, mut more: impl FnMut(f64, f64) -> bool) {
        let mut total = 0.0;
        for k in 0..MOST_COUNTS {
            let probability = (self.log_p)(k as f64).exp();
            total += probability;
            if !more(k as f64, probability) || total >= 1.0 - REMAINING_PROBABILITY {
                break;
            }
        }
    }
}

/// The mode of a density, and the distance from it at which its logarithm has fallen by ½: uphill by strides that grow while they lead
/// up, and turn and shrink when they do not.
fn mode_and_width(start: f64, log_density: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut centre, mut best, mut stride) = (start, log_density(start), 1.0f64);
    for _ in 0..ROUNDS {
        let value = log_density(centre + stride);
        if value > best || (best == f64::NEG_INFINITY && stride.abs() < 1e100) {
            (centre, best, stride) = (centre + stride, value, 2.0 * stride);
        } else {
            stride *= -0.4;
        }
        if stride.abs() <= 1e-9 * (1.0 + centre.abs()) {
            break;
        }
    }
    let mut width = 1e-8 * (1.0 + centre.abs());
    while width < 1e100 && log_density(centre + width) + log_density(centre - width) > 2.0 * best - 1.0 {
        width *= 1.5;
    }
    (centre, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_tails_narrow_peaks_and_positive_numbers_are_integrated() {
        // Student's t with 3 degrees of freedom, a Laplace distribution, and a log-normal one, far from where the search starts.
        let student = |y: f64| (6.0 * 3f64.sqrt() / std::f64::consts::PI).ln() - 2.0 * (3.0 + y * y).ln();
        let t = Conditional::new(Support::Real, 40.0, student);
        assert!((t.cumulative(1e6) - 1.0).abs() < 1e-5 && (t.cumulative(0.0) - 0.5).abs() < 1e-6);
        assert!((t.cumulative(0.764_892_328_404_336_6) - 0.75).abs() < 1e-6);
        let narrow = Conditional::new(Support::Real, 0.0, |y: f64| -((y - 5.0) / 1e-3).abs() - (2e-3f64).ln());
        let (mean, variance) = narrow.moments();
        assert!((mean - 5.0).abs() < 1e-5 && (variance / 2e-6 - 1.0).abs() < 1e-2, "{mean} {variance}");
        let density = |y: f64| -0.5 * (y.ln() - 1.0).powi(2) - y.ln() - 0.5 * std::f64::consts::TAU.ln();
        let log_normal = Conditional::new(Support::Positive, 0.0, density);
        let (mean, variance) = log_normal.moments();
        assert!((mean - 1.5f64.exp()).abs() < 1e-4, "{mean}");
        assert!((variance / ((1f64.exp() - 1.0) * 3f64.exp()) - 1.0).abs() < 1e-3, "{variance}");
        let median = log_normal.quantile(0.5, |y| log_normal.cumulative(y));
        assert!((median - 1f64.exp()).abs() < 1e-5, "{median}");
    }

    #[test]
    fn counts_are_added_up() {
        let rate: f64 = 3.5;
        let factorial = |y: f64| (1..=y as u32).map(|k| f64::from(k).ln()).sum::<f64>();
        let poisson = Conditional::new(Support::Counts, 0.0, |y: f64| y * rate.ln() - rate - factorial(y));
        let (mean, variance) = poisson.moments();
        assert!((mean - 3.5).abs() < 1e-10 && (variance - 3.5).abs() < 1e-9);
        assert!((poisson.cumulative(1.0) - 4.5 * (-3.5f64).exp()).abs() < 1e-12);
        assert_eq!(poisson.quantile(0.5, |y| poisson.cumulative(y)), 3.0);
        assert!(Support::Counts.holds(4.0) && !Support::Counts.holds(-1.0) && !Support::Counts.holds(0.5));
    }
}
