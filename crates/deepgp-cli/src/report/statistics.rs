//! The statistics that reading a picture needs: what chance alone would do, and smoothed curves.

/// The central 95 % interval of the share of successes among `n` trials of probability `p`, exact.
///
/// The probabilities of counts are built outwards from the likeliest one by their ratios, until they vanish:
/// `O(√n)` of them matter.
pub(super) fn binomial_share(n: usize, p: f64) -> (f64, f64) {
    if n == 0 || !(p > 0.0 && p < 1.0) {
        return (p, p);
    }
    let (size, odds) = (n as f64, p / (1.0 - p));
    let mode = ((size + 1.0) * p).floor().min(size);
    let walk = |start: f64, ratio: &dyn Fn(f64) -> f64, step: f64| {
        let (mut count, mut mass, mut masses) = (start, 1.0, Vec::new());
        while mass > 1e-14 {
            masses.push((count, mass));
            mass *= ratio(count);
            count += step;
        }
        masses
    };
    let up = walk(mode, &|k| (size - k) / (k + 1.0) * odds, 1.0);
    let mut masses = walk(mode, &|k| k / (size - k + 1.0) / odds, -1.0);
    masses.reverse();
    masses.extend(up.into_iter().skip(1));

    let total: f64 = masses.iter().map(|(_, mass)| mass).sum();
    let quantile = |level: f64| {
        let mut below = 0.0;
        let reached = masses.iter().find(|(_, mass)| {
            below += mass / total;
            below >= level
        });
        reached.map_or(mode, |(count, _)| *count) / size
    };
    (quantile(0.025), quantile(0.975))
}

/// Means over a twenty-fifth of the points, around each; `None` if there are too few points to need it.
///
/// At the start, where curves are steep, the neighbourhood shrinks to the point itself and nothing is bent; at the
/// end, where they are level, it keeps its past.
pub(super) fn smooth(points: &[(f64, f64)]) -> Option<Vec<(f64, f64)>> {
    let reach = points.len() / 50;
    if reach < 2 || points.iter().any(|(_, y)| !y.is_finite()) {
        return None;
    }
    let mut sums = vec![0.0];
    for (_, y) in points {
        sums.push(sums[sums.len() - 1] + y);
    }
    let mean = |i: usize| {
        let before = reach.min(i);
        let after = before.min(points.len() - 1 - i);
        (sums[i + after + 1] - sums[i - before]) / (before + after + 1) as f64
    };
    Some((0..points.len()).map(|i| (points[i].0, mean(i))).collect())
}

/// Counts in `bins` equal bins over `[low, high]`; what lies beyond is counted at the ends.
pub(super) fn histogram(values: &[f64], low: f64, high: f64, bins: usize) -> Vec<usize> {
    let mut counts = vec![0; bins];
    for v in values.iter().filter(|v| v.is_finite()) {
        let at = (v - low) / (high - low) * bins as f64;
        counts[(at.max(0.0) as usize).min(bins - 1)] += 1;
    }
    counts
}

/// The places of `keys` in about `groups` groups of like key, from the least key on; equal keys stay together, and keys that are not finite
/// are left out.
pub(super) fn groups_of_like(keys: &[f64], groups: usize) -> Vec<Vec<usize>> {
    let mut places: Vec<usize> = (0..keys.len()).filter(|&i| keys[i].is_finite()).collect();
    places.sort_by(|&i, &j| keys[i].total_cmp(&keys[j]));
    let size = places.len().div_ceil(groups.max(1)).max(1);
    let mut found: Vec<Vec<usize>> = Vec::new();
    for place in places {
        match found.last_mut() {
            Some(group) if group.len() < size || group.last().is_some_and(|&own| keys[own] == keys[place]) => {
                group.push(place);
            }
            _ => found.push(vec![place]),
        }
    }
    found
}

/// The quantile of some finite values, as the nearest of them.
pub(super) fn quantile(values: &[f64], level: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (level * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// The last finite value of a series.
pub(super) fn last(values: &[f64]) -> Option<f64> {
    values.iter().rev().copied().find(|v| v.is_finite())
}

/// The root mean square of some values.
pub(super) fn rms(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), v| (sum + v * v, n + 1));
    (sum / f64::from(n)).sqrt()
}

/// The density of the standard normal distribution.
pub(super) fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interval by definition, with factorials.
    fn naive(n: u32, p: f64) -> (f64, f64) {
        let factorial = |k: u32| (1..=k).map(f64::from).product::<f64>();
        let mass =
            |k: u32| factorial(n) / factorial(k) / factorial(n - k) * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32);
        let quantile = |level: f64| (0..=n).find(|&k| (0..=k).map(mass).sum::<f64>() >= level).unwrap_or(n);
        (f64::from(quantile(0.025)) / f64::from(n), f64::from(quantile(0.975)) / f64::from(n))
    }

    #[test]
    fn binomial_shares_agree_with_factorials() {
        for n in [1, 2, 10, 60] {
            for p in [0.01, 0.05, 0.5, 0.9, 0.99] {
                assert_eq!(binomial_share(n as usize, p), naive(n, p), "n = {n}, p = {p}");
            }
        }
    }

    #[test]
    fn binomial_shares_of_many_trials_are_normal() {
        let (low, high) = binomial_share(1_000_000, 0.3);
        let half = 1.959964 * (0.3 * 0.7 / 1e6_f64).sqrt();
        assert!((low - (0.3 - half)).abs() < 2e-6 && (high - (0.3 + half)).abs() < 2e-6);
    }

    #[test]
    fn smoothing_keeps_a_straight_line_until_its_end() {
        let line: Vec<_> = (0..400).map(|i| (f64::from(i), 3.0 * f64::from(i))).collect();
        let smoothed = smooth(&line).expect("many points");
        assert!(smoothed[..392].iter().all(|(x, y)| (y - 3.0 * x).abs() < 1e-9));
        // The last is the mean of itself and the eight before.
        assert!((smoothed[399].1 - 3.0 * 395.0).abs() < 1e-9);
        assert!(smooth(&line[..50]).is_none());
    }

    #[test]
    fn equal_keys_stay_in_one_group() {
        let keys = [3.0, 1.0, 2.0, 2.0, f64::NAN, 2.0, 9.0];
        assert_eq!(groups_of_like(&keys, 3), [vec![1, 2, 3, 5], vec![0, 6]]);
        assert_eq!(groups_of_like(&[5.0; 7], 10).len(), 1);
        assert!(groups_of_like(&[], 10).is_empty());
        assert_eq!(quantile(&[4.0, 1.0, 3.0], 0.5), 3.0);
    }

    #[test]
    fn histograms_count_everything_finite_once() {
        assert_eq!(histogram(&[-9.0, 0.1, 0.5, 1.0, 7.0, f64::NAN], 0.0, 1.0, 2), [2, 3]);
    }
}
