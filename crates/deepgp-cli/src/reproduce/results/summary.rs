//! Summaries of runs that differ in their split alone: means with their deviation, medians, and whose times can be put together.

use std::collections::BTreeMap;

use crate::reproduce::runs::provenance::TimingConditions;

/// Mean and standard deviation of some values; of one value the deviation is 0.
pub fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

/// The median of some values: the middle one, or the mean of the middle two; 0 of none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[half],
        _ => 0.5 * (values[half - 1] + values[half]),
    }
}

/// The conditions under which most runs were timed; of several, the first in their order.
pub fn commonest_timing<'a>(timings: impl Iterator<Item = TimingConditions<'a>>) -> Option<TimingConditions<'a>> {
    let mut counts = BTreeMap::new();
    timings.for_each(|timing| *counts.entry(timing).or_insert(0) += 1);
    // The last of equal maxima is taken, so from behind it is the first.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(timing, _)| timing)
}

/// The conditions whose times tell most: those of the runs that shared the device with the fewest others, and where these had several
/// devices, of the commonest one.
pub fn fairest_timing<'a>(timings: impl Iterator<Item = TimingConditions<'a>> + Clone) -> Option<TimingConditions<'a>> {
    let sharing = timings.clone().map(|timing| timing.sharing).min();
    commonest_timing(timings.filter(|timing| Some(timing.sharing) == sharing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_and_medians_are_those_of_the_textbook() {
        assert_eq!(spread(&[1.0, 3.0]), (2.0, std::f64::consts::SQRT_2));
        assert_eq!(spread(&[5.0]), (5.0, 0.0));
        assert_eq!([median(vec![3.0, 1.0, 2.0]), median(vec![4.0, 1.0]), median(Vec::new())], [2.0, 2.5, 0.0]);
    }

    #[test]
    fn times_with_fewer_others_tell_more_than_many_times() {
        let of = |sharing, device| TimingConditions { sharing, device };
        let all = [of(4, "cuda"), of(4, "cuda"), of(1, "cuda"), of(1, "cpu"), of(1, "cuda")];
        assert_eq!(fairest_timing(all.into_iter()), Some(of(1, "cuda")));
        assert_eq!(fairest_timing(all.into_iter().take(2)), Some(of(4, "cuda")));
        assert_eq!(fairest_timing(std::iter::empty()), None);
    }
}
