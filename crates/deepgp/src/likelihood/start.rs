//! What targets say of where a likelihood starts: classes at their shares, counts at their mean.

use crate::data::Dataset;

/// The share of each class among the targets, all above 0: rows count by their weights, and every class has half a row more than it has.
pub(super) fn class_shares(data: &Dataset, classes: usize) -> Vec<f64> {
    let mut shares = vec![0.5; classes];
    // In rows of the mean weight, so that half a row is half a row.
    let unit = data.weights().map_or(1.0, |all| all.iter().sum::<f64>() / all.len() as f64);
    for (i, y) in data.y().as_slice().iter().enumerate() {
        shares[*y as usize] += data.weights().map_or(1.0, |all| all[i] / unit);
    }
    let total: f64 = shares.iter().sum();
    shares.iter().map(|own| own / total).collect()
}

/// The mean of the counts, above 0: rows count by their weights, and there is half an event more than there is.
pub(super) fn mean_count(data: &Dataset) -> f64 {
    let unit = data.weights().map_or(1.0, |all| all.iter().sum::<f64>() / all.len() as f64);
    let weight = |i: usize| data.weights().map_or(1.0, |all| all[i] / unit);
    let events: f64 = data.y().as_slice().iter().enumerate().map(|(i, y)| weight(i) * y).sum();
    let exposure: f64 = (0..data.len()).map(weight).sum();
    (events + 0.5) / exposure
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
        assert_eq!(mean_count(&data(&[1.0, 4.0])), 2.75);
        assert_eq!(mean_count(&data(&[0.0, 0.0])), 0.25);
    }
}
