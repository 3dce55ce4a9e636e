//! The maximum of a function of one number, by golden sections: each evaluation narrows the interval by the golden ratio, 0.618.

/// The place of the maximum of a function with one hump between `low` and `high`, to `0.618^rounds` of their distance.
pub(crate) fn maximise(mut low: f64, mut high: f64, rounds: usize, f: impl Fn(f64) -> f64) -> f64 {
    let ratio = 0.5 * (5.0f64.sqrt() - 1.0);
    let inner = |low: f64, high: f64| (high - ratio * (high - low), low + ratio * (high - low));
    let (mut a, mut b) = inner(low, high);
    let (mut at_a, mut at_b) = (f(a), f(b));
    for _ in 0..rounds {
        if at_a >= at_b {
            high = b;
            (a, b) = (inner(low, high).0, a);
            (at_a, at_b) = (f(a), at_a);
        } else {
            low = a;
            (a, b) = (b, inner(low, high).1);
            (at_a, at_b) = (at_b, f(b));
        }
    }
    // An end of the range is met exactly, where the function rises up to it.
    [low, high, 0.5 * (low + high)].into_iter().max_by(|a, b| f(*a).total_cmp(&f(*b))).unwrap_or(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn humps_are_found_inside_and_at_the_ends() {
        let found = maximise(-3.0, 5.0, 40, |x| -(x - 1.25f64).powi(2));
        assert!((found - 1.25).abs() < 1e-7, "{found}");
        assert_eq!([maximise(0.0, 2.0, 40, |x| x), maximise(0.0, 2.0, 40, |x| -x)], [2.0, 0.0]);
    }
}
