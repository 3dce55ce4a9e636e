//! What targets say of where a likelihood starts: classes at their shares, counts at their mean.

use super::log_sum_exp;
use crate::data::Dataset;

/// The share of each class among the targets, all above 0: rows count by their weights, and every class has half a row more than it has.
pub(crate) fn class_shares(data: &Dataset, classes: usize) -> Vec<f64> {
    let mut shares = vec![0.5; classes];
    // In rows of the mean weight, so that half a row is half a row.
    let unit = data.weights().map_or(1.0, |all| all.iter().sum::<f64>() / all.len() as f64);
    for (i, y) in data.y().as_slice().iter().enumerate() {
        shares[*y as usize] += data.weights().map_or(1.0, |all| all[i] / unit);
    }
    let total: f64 = shares.iter().sum();
    shares.iter().map(|own| own / total).collect()
}

/// The logarithm of the rate of the counts at an exposure of 1: rows count by their weights, and there is half an event more than there is.
pub(super) fn log_rate(data: &Dataset) -> f64 {
    let unit = data.weights().map_or(1.0, |all| all.iter().sum::<f64>() / all.len() as f64);
    let weight = |i: usize| data.weights().map_or(1.0, |all| all[i] / unit);
    let events: f64 = data.y().as_slice().iter().enumerate().map(|(i, y)| weight(i) * y).sum();
    let exposures: Vec<f64> =
        (0..data.len()).map(|i| weight(i).ln() + data.offsets().map_or(0.0, |all| all[i])).collect();
    (events + 0.5).ln() - log_sum_exp(&exposures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::mat::Mat;

    #[test]
    fn shares_and_means_count_rows_by_their_weights_and_are_never_zero() {
        let data = |y: &[f64]| Dataset::new(Mat::zeros(y.len(), 1), Mat::column(y.to_vec())).unwrap();
        assert_eq!(class_shares(&data(&[0.0, 2.0, 2.0]), 3), [1.5 / 4.5, 0.5 / 4.5, 2.5 / 4.5]);
        let weighted = data(&[0.0, 1.0]).with_weights(vec![3.0, 1.0]).unwrap();
        assert_eq!(class_shares(&weighted, 2), [2.0 / 3.0, 1.0 / 3.0]);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-14, "{a} {b}");
        near(log_rate(&data(&[1.0, 4.0])), 2.75f64.ln());
        near(log_rate(&data(&[0.0, 0.0])), 0.25f64.ln());
        // Four times and twice as long.
        let exposed = data(&[1.0, 4.0]).with_offsets(vec![4f64.ln(), 2f64.ln()]).unwrap();
        near(log_rate(&exposed), (5.5f64 / 6.0).ln());
        near(log_rate(&exposed.with_weights(vec![1.0, 0.0]).unwrap()), (2.5f64 / 8.0).ln());
    }
}
