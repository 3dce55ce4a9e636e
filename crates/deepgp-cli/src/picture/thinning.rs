//! Thinning: fewer points where there are more than a picture can show.

/// A sample of at most `most` of `items`, evenly spread.
pub fn sample<T: Clone>(items: &[T], most: usize) -> Vec<T> {
    if items.len() <= most {
        return items.to_vec();
    }
    (0..most).map(|k| items[k * items.len() / most].clone()).collect()
}

/// The envelope of a line: its points in at most `buckets` groups of neighbours, of which the lowest and the highest
/// stay. It covers what a line through all points would cover, a spike included.
pub(super) fn envelope(points: &[(f64, f64)], buckets: usize) -> Vec<(f64, f64)> {
    if points.len() <= 2 * buckets {
        return points.to_vec();
    }
    let ends = |k: usize| {
        let group = k * points.len() / buckets..(k + 1) * points.len() / buckets;
        let low = group.clone().min_by(|&i, &j| points[i].1.total_cmp(&points[j].1)).unwrap_or(group.start);
        let high = group.clone().max_by(|&i, &j| points[i].1.total_cmp(&points[j].1)).unwrap_or(group.start);
        [points[low.min(high)], points[low.max(high)]]
    };
    (0..buckets).flat_map(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_evenly() {
        assert_eq!(sample(&[1, 2, 3], 5), [1, 2, 3]);
        assert_eq!(sample(&(0..100).collect::<Vec<_>>(), 4), [0, 25, 50, 75]);
    }

    #[test]
    fn an_envelope_keeps_spikes() {
        let mut points: Vec<_> = (0..10_000).map(|i| (f64::from(i), f64::from(i % 7))).collect();
        points[4321].1 = 99.0;
        points[8765].1 = -99.0;
        let thinned = envelope(&points, 100);
        assert_eq!(thinned.len(), 200);
        assert!(thinned.contains(&(4321.0, 99.0)) && thinned.contains(&(8765.0, -99.0)));
        assert!(thinned.is_sorted_by(|a, b| a.0 <= b.0));
    }
}
