//! The quality of class probabilities: accuracy, log loss, Brier score, calibration error, area under the curve, confusion.
//!
//! With `⟨v⟩ = Σ_n ω_n v_n / Σ_n ω_n` for rows of weight `ω_n`, classes `y_n`, probabilities `p_nc` and the most probable class `t_n` (the lowest
//! one of several):
//!
//! ```text
//! accuracy = ⟨1[t = y]⟩        log_loss = −⟨ln p_y⟩        brier = ⟨Σ_c (p_c − 1[c = y])²⟩
//! auc = P(p_i1 > p_j1) + ½ P(p_i1 = p_j1)        for rows i of class 1 and j of class 0
//! ```
//!
//! For the calibration error, rows are sorted by the confidence `p_t` and cut into ten bins of equal weight; it is the mean over bins of
//! `|accuracy − confidence|`.

use crate::error::{Error, Result};
use crate::numeric::mat::{Mat, View};
use crate::predict::metrics::weighted_mean;

/// The number of bins of the calibration error.
const BINS: usize = 10;
/// The least probability that the log loss takes a class to have.
const LEAST_PROBABILITY: f64 = 1e-15;

/// The quality of class probabilities over all rows.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClassScore {
    /// Fraction of rows whose class is the most probable one.
    pub accuracy: f64,
    /// Mean of `−ln p` of the rows' classes.
    pub log_loss: f64,
    /// Mean squared distance of the probabilities from those that know the class, summed over classes: between 0 and 2.
    pub brier: f64,
    /// Mean distance of accuracy and confidence, over ten bins of rows of similar confidence.
    pub calibration_error: f64,
    /// Area under the receiver operating characteristic, for two classes that both occur.
    pub auc: Option<f64>,
    /// The bins of the calibration error, from the least confident.
    pub reliability: Vec<ReliabilityBin>,
    /// The weight of rows of each class (outer) for which each class is the most probable one (inner).
    pub confusion: Vec<Vec<f64>>,
}

/// Rows of similar confidence: what is claimed of them, and what is true.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReliabilityBin {
    /// Mean probability of the most probable class.
    pub confidence: f64,
    /// Fraction of rows whose class that is.
    pub accuracy: f64,
    /// The weight of the bin's rows.
    pub weight: f64,
}

impl ClassScore {
    /// The score of probabilities `[N, C]` of rows whose classes are `y`, `[N, 1]`; rows count by their weights, if there are any. Fails if
    /// shapes do not fit, or a class has no column.
    pub fn new(y: View<'_>, probabilities: &Mat, weights: Option<&[f64]>) -> Result<Self> {
        let (rows, classes) = (probabilities.nrows(), probabilities.ncols());
        if (y.nrows(), y.ncols()) != (rows, 1) || weights.is_some_and(|all| all.len() != rows) || rows == 0 {
            let found = format!("{} x {}, and {rows} rows of probabilities", y.nrows(), y.ncols());
            return Err(Error::Shape { what: "classes", expected: "a class for each row".into(), found });
        }
        if let Some(bad) = y.as_slice().iter().find(|y| !(**y >= 0.0 && **y < classes as f64 && y.fract() == 0.0)) {
            let expected = format!("class numbers below {classes}");
            return Err(Error::Shape { what: "classes", expected, found: bad.to_string() });
        }
        let class = |i: usize| y.as_slice()[i] as usize;
        let top: Vec<usize> = (0..rows).map(|i| most_probable(probabilities.row(i))).collect();
        let over_rows = |of: &dyn Fn(usize) -> f64| weighted_mean(&(0..rows).map(of).collect::<Vec<f64>>(), weights);
        let hit = |i: usize| f64::from(u8::from(top[i] == class(i)));
        let weight = |i: usize| weights.map_or(1.0, |all| all[i]);
        let mut confusion = vec![vec![0.0; classes]; classes];
        for i in 0..rows {
            confusion[class(i)][top[i]] += weight(i);
        }
        let confidence: Vec<f64> = (0..rows).map(|i| probabilities[(i, top[i])]).collect();
        let reliability = reliability(&confidence, &hit, &weight);
        let total: f64 = reliability.iter().map(|bin| bin.weight).sum();
        let distance = |bin: &ReliabilityBin| bin.weight / total * (bin.accuracy - bin.confidence).abs();
        let square = |i: usize| {
            let off = |(c, p): (usize, &f64)| (p - f64::from(u8::from(c == class(i)))).powi(2);
            probabilities.row(i).iter().enumerate().map(off).sum::<f64>()
        };
        Ok(Self {
            accuracy: over_rows(&hit),
            log_loss: over_rows(&|i| -probabilities[(i, class(i))].max(LEAST_PROBABILITY).ln()),
            brier: over_rows(&square),
            calibration_error: reliability.iter().map(distance).sum(),
            auc: if classes == 2 { area(y.as_slice(), |i| probabilities[(i, 1)], weight) } else { None },
            reliability,
            confusion,
        })
    }
}

/// The most probable class; the lowest one of several.
pub(crate) fn most_probable(probabilities: &[f64]) -> usize {
    (1..probabilities.len()).fold(0, |best, c| if probabilities[c] > probabilities[best] { c } else { best })
}

/// The rows, sorted by confidence, in bins of equal weight; a row that lies across the end of a bin belongs to the one that has its middle.
fn reliability(confidence: &[f64], hit: &dyn Fn(usize) -> f64, weight: &dyn Fn(usize) -> f64) -> Vec<ReliabilityBin> {
    let mut order: Vec<usize> = (0..confidence.len()).filter(|i| weight(*i) > 0.0).collect();
    order.sort_by(|a, b| confidence[*a].total_cmp(&confidence[*b]));
    let total: f64 = order.iter().map(|i| weight(*i)).sum();
    let mut sums = [[0.0; 3]; BINS];
    let mut passed = 0.0;
    for equal in order.chunk_by(|a, b| confidence[*a] == confidence[*b]) {
        // Rows of the same confidence are the same to every bin, in whatever order they stand.
        let over: f64 = equal.iter().map(|i| weight(*i)).sum();
        let hits = equal.iter().map(|i| weight(*i) * hit(*i)).sum::<f64>() / over;
        for &i in equal {
            let middle = (passed + 0.5 * weight(i)) / total;
            let bin = &mut sums[((middle * BINS as f64) as usize).min(BINS - 1)];
            for (to, own) in bin.iter_mut().zip([confidence[i], hits, 1.0]) {
                *to += weight(i) * own;
            }
            passed += weight(i);
        }
    }
    let bins = sums.into_iter().filter(|bin| bin[2] > 0.0);
    bins.map(|[confidence, hits, weight]| ReliabilityBin {
        confidence: confidence / weight,
        accuracy: hits / weight,
        weight,
    })
    .collect()
}

/// The area under the curve: the share of pairs of a row of class 1 and one of class 0 in which the first has the greater score; equal ones
/// count half. `None` if a class does not occur.
fn area(y: &[f64], score: impl Fn(usize) -> f64, weight: impl Fn(usize) -> f64) -> Option<f64> {
    let mut order: Vec<usize> = (0..y.len()).filter(|i| weight(*i) > 0.0).collect();
    order.sort_by(|a, b| score(*a).total_cmp(&score(*b)));
    // The weight of rows of each class that were passed, and the weight of pairs in the right order.
    let (mut passed, mut right) = ([0.0, 0.0], 0.0);
    for equal in order.chunk_by(|a, b| score(*a) == score(*b)) {
        let mut own = [0.0, 0.0];
        equal.iter().for_each(|i| own[y[*i] as usize] += weight(*i));
        right += own[1] * (passed[0] + 0.5 * own[0]);
        passed = [passed[0] + own[0], passed[1] + own[1]];
    }
    (passed[0] > 0.0 && passed[1] > 0.0).then(|| right / (passed[0] * passed[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(p: &[f64]) -> Mat {
        Mat::from_fn(p.len(), 2, |i, c| if c == 1 { p[i] } else { 1.0 - p[i] })
    }

    #[test]
    fn scores_of_four_rows_by_hand() {
        let (y, p) = (Mat::column(vec![1.0, 0.0, 1.0, 0.0]), two(&[0.9, 0.6, 0.6, 0.2]));
        let score = ClassScore::new(y.view(), &p, None).unwrap();
        assert_eq!(score.accuracy, 0.75);
        let loss = -(0.9f64.ln() + 0.4f64.ln() + 0.6f64.ln() + 0.8f64.ln()) / 4.0;
        assert!((score.log_loss - loss).abs() < 1e-15);
        assert!((score.brier - 2.0 * (0.01 + 0.36 + 0.16 + 0.04) / 4.0).abs() < 1e-15);
        // Of the four pairs three are in order and one is equal.
        assert_eq!(score.auc, Some(3.5 / 4.0));
        assert_eq!(score.confusion, [[1.0, 1.0], [0.0, 2.0]]);
        // A bin for each row: two of 0.6, of which one is right, 0.8 and right, 0.9 and right.
        assert_eq!(score.reliability.len(), 4);
        assert!((score.calibration_error - (0.1 + 0.1 + 0.2 + 0.1) / 4.0).abs() < 1e-12);
        let first = ClassScore::new(y.view(), &p, Some(&[2.0, 0.0, 0.0, 0.0])).unwrap();
        assert_eq!((first.accuracy, first.auc, first.confusion[1][1]), (1.0, None, 2.0));
    }

    #[test]
    fn weights_are_copies_of_rows() {
        let p = [0.1, 0.7, 0.4, 0.55, 0.8, 0.3];
        let y = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
        let copies = [3, 1, 2, 4, 1, 2];
        let repeat = |of: &[f64]| -> Vec<f64> { of.iter().zip(copies).flat_map(|(v, n)| vec![*v; n]).collect() };
        let weights = copies.map(|n| n as f64);
        let one = ClassScore::new(Mat::column(y.to_vec()).view(), &two(&p), Some(&weights)).unwrap();
        let other = ClassScore::new(Mat::column(repeat(&y)).view(), &two(&repeat(&p)), None).unwrap();
        for (a, b) in [(one.accuracy, other.accuracy), (one.log_loss, other.log_loss), (one.brier, other.brier)] {
            assert!((a - b).abs() < 1e-14);
        }
        assert!((one.auc.unwrap() - other.auc.unwrap()).abs() < 1e-14 && one.confusion == other.confusion);
    }

    #[test]
    fn a_calibrated_model_has_a_small_calibration_error_and_an_overconfident_one_a_large_one() {
        use crate::random::noise::{Key, Purpose};
        let (key, n) = (Key::new(1, Purpose::Simulate), 20_000);
        let p: Vec<f64> = (0..n).map(|i| key.uniform([i, 0, 0, 0])).collect();
        let y: Vec<f64> = (0..n).map(|i| f64::from(u8::from(key.uniform([i, 1, 0, 0]) < p[i as usize]))).collect();
        let y = Mat::column(y);
        let honest = ClassScore::new(y.view(), &two(&p), None).unwrap();
        assert!(honest.calibration_error < 0.02, "{}", honest.calibration_error);
        let sure: Vec<f64> = p.iter().map(|p| if *p > 0.5 { 0.99 } else { 0.01 }).collect();
        let sure = ClassScore::new(y.view(), &two(&sure), None).unwrap();
        assert!((sure.calibration_error - 0.24).abs() < 0.02, "{}", sure.calibration_error);
        assert!((honest.auc.unwrap() - 5.0 / 6.0).abs() < 0.01 && honest.reliability.len() == 10);
    }

    #[test]
    fn rows_of_the_same_confidence_are_not_told_apart_by_their_order() {
        let y: Vec<f64> = (0..100).map(|i| f64::from(u8::from(i >= 60))).collect();
        let score = ClassScore::new(Mat::column(y).view(), &two(&[0.4; 100]), None).unwrap();
        assert!(score.calibration_error < 1e-12, "{}", score.calibration_error);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_no_probability_is_infinitely_wrong() {
        let y = Mat::column(vec![0.0, 2.0]);
        assert!(ClassScore::new(y.view(), &two(&[0.1, 0.2]), None).unwrap_err().to_string().contains("below 2"));
        assert!(ClassScore::new(y.view(), &two(&[0.1]), None).is_err());
        let hopeless = ClassScore::new(Mat::column(vec![1.0]).view(), &two(&[0.0]), None).unwrap();
        assert!(hopeless.log_loss < 35.0 && hopeless.auc.is_none());
    }
}
