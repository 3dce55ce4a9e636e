//! Quantiles: the `y` at which a distribution function `F` reaches a level, in a bracket that closes in, by Newton's method where there is
//! a density `p`, else by false position.
//!
//! ```text
//! Newton:          y ← y − (F(y) − level) / p(y)
//! false position:  y ← low − (F(low) − level) (high − low) / (F(high) − F(low))
//! ```
//!
//! A few evaluations of `F` are all that a quantile costs: five or six by Newton's method for a mixture of Gaussians, from a start
//! that need not be good; about twenty by false position.

/// The number of times that a bracket may double.
const MAX_WIDENINGS: u32 = 60;
/// The number of times that a bracket may then be narrowed.
const MAX_ROUNDS: u32 = 300;

/// The largest error in `F` that is accepted: far in a tail `F` is tiny, and so must the error be.
fn tolerance(level: f64) -> f64 {
    1e-13 * level.min(1.0 - level)
}

/// Whether the ends of a bracket are as close as rounding allows.
fn is_closed(low: f64, high: f64) -> bool {
    let width = high - low;
    width.is_finite() && width <= 4.0 * f64::EPSILON * low.abs().max(high.abs())
}

/// The quantile at `level` where `distribution` gives `F` and its density: Newton's steps from `start`, and bisections where these lead
/// out of the bracket or do not at least halve. `width` is about that of the distribution.
pub(crate) fn by_newton(start: f64, width: f64, level: f64, distribution: impl Fn(f64) -> (f64, f64)) -> f64 {
    // Open at first; an end is closed when it has been seen from that side.
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let (mut at, mut last, mut stride) = (start, f64::INFINITY, width);
    for _ in 0..MAX_ROUNDS {
        let (below, density) = distribution(at);
        let excess = below - level;
        if excess.abs() <= tolerance(level) {
            return at;
        }
        if excess < 0.0 {
            low = at;
        } else {
            high = at;
        }
        if is_closed(low, high) {
            break;
        }
        let step = excess / density;
        let newton = at - step;
        if newton > low && newton < high && 2.0 * step.abs() <= last && step.abs() <= 8.0 * stride {
            (at, last) = (newton, step.abs());
        } else if low.is_finite() && high.is_finite() {
            last = 0.5 * (high - low);
            at = low + last;
        } else {
            // Out, ever further, until it lies between.
            at = if excess < 0.0 { at + stride } else { at - stride };
            stride *= 2.0;
        }
    }
    if high.is_finite() { high } else { at }
}

/// The quantile at `level` where `cumulative` is `F`: bracketed, beginning with `(low, high)`, then false position, with a bisection every
/// third round so that it always closes in. Where `F` jumps across the level, the upper end of the jump.
pub(crate) fn by_false_position((mut low, mut high): (f64, f64), level: f64, cumulative: impl Fn(f64) -> f64) -> f64 {
    let excess = |at: f64| cumulative(at) - level;
    let (mut at_low, mut at_high) = (excess(low), excess(high));
    for _ in 0..MAX_WIDENINGS {
        if at_low <= 0.0 && at_high >= 0.0 {
            break;
        }
        let reach = (high - low).max(f64::EPSILON * (1.0 + low.abs().max(high.abs())));
        (low, high) = (low - reach, high + reach);
        (at_low, at_high) = (excess(low), excess(high));
    }
    for round in 0..MAX_ROUNDS {
        if is_closed(low, high) {
            break;
        }
        let guess = low - at_low * (high - low) / (at_high - at_low);
        let at = if round % 3 == 2 || !(guess > low && guess < high) { 0.5 * (low + high) } else { guess };
        let value = excess(at);
        if value.abs() <= tolerance(level) {
            return at;
        }
        if value < 0.0 {
            (low, at_low) = (at, value);
        } else {
            (high, at_high) = (at, value);
        }
    }
    high
}

/// The smallest count `k ≥ 0` with `F(k) ≥ level`, where `cumulative` is `F`: from `start` by strides that double until it lies between two
/// counts, then by halves. Where `F` stays below the level, as rounding may keep it, some count beyond which nothing is left.
pub(crate) fn smallest_count(level: f64, start: f64, cumulative: impl Fn(f64) -> f64) -> f64 {
    let reached = |k: f64| cumulative(k) >= level;
    let start = if start.is_finite() { start.floor().clamp(0.0, LARGEST_COUNT) } else { 0.0 };
    // `low` is below the one that is looked for, or −1; `high` is not.
    let (mut low, mut high, mut stride) = (start, start, 1.0);
    if reached(start) {
        low -= stride;
        while low >= 0.0 && reached(low) {
            (high, stride) = (low, 2.0 * stride);
            low -= stride;
        }
        low = low.max(-1.0);
    } else {
        high += stride;
        while high < LARGEST_COUNT && !reached(high) {
            (low, stride) = (high, 2.0 * stride);
            high += stride;
        }
    }
    while high - low > 1.0 {
        let middle = (0.5 * (low + high)).floor();
        if reached(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The count at which [`smallest_count`] gives up.
const LARGEST_COUNT: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A logistic distribution has all of it in closed form.
    fn logistic(at: f64) -> (f64, f64) {
        let below = 1.0 / (1.0 + (-at).exp());
        (below, below * (1.0 - below))
    }

    #[test]
    fn both_find_what_is_known_from_starts_near_and_far() {
        for level in [1e-9, 1e-3, 0.1, 0.5, 0.8, 0.9999] {
            let truth = (level / (1.0f64 - level)).ln();
            for start in [truth, 0.0, -3.0, 30.0, -1e4] {
                let found = by_newton(start, 1.0, level, logistic);
                assert!((found - truth).abs() <= 1e-10 * (1.0 + truth.abs()), "{level} from {start}: {found}");
            }
            let found = by_false_position((-1.0, 1.0), level, |at| logistic(at).0);
            assert!((found - truth).abs() <= 1e-10 * (1.0 + truth.abs()), "{level}: {found}");
        }
    }

    #[test]
    fn a_few_evaluations_are_enough() {
        let evaluations = Cell::new(0);
        let counted = |at: f64| {
            evaluations.set(evaluations.get() + 1);
            logistic(at)
        };
        by_newton(-2.5, 1.8, 0.05, counted);
        assert!(evaluations.get() <= 6, "{}", evaluations.get());
    }

    #[test]
    fn the_smallest_count_that_reaches_a_level_is_found_from_anywhere() {
        // Geometric: F(k) = 1 − q^(k + 1).
        for (q, level) in [(0.5f64, 0.3), (0.5, 0.5), (0.5, 0.501), (0.9, 0.99), (0.99999, 0.4)] {
            let below = |k: f64| 1.0 - q.powf(k + 1.0);
            let expected = (0..).map(f64::from).find(|k| below(*k) >= level).unwrap();
            for start in [-5.0, 0.0, 3.7, 1e4, 1e9, f64::NAN] {
                assert_eq!(smallest_count(level, start, below), expected, "{q} {level} {start}");
            }
        }
        assert!(smallest_count(0.9, 2.0, |_| 0.8) >= LARGEST_COUNT);
    }
}
