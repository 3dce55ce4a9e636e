//! Baselines for classes: their shares, logistic regression, and the classes of nearest neighbours. They answer with probabilities, `[N, C]`.

use crate::data::{ConstantColumns, Dataset, Scaling, Standardiser};
use crate::error::{Error, Result};
use crate::likelihood::class_shares;
use crate::numeric::linalg::{Accumulate, product};
use crate::numeric::mat::{Mat, View};
use crate::numeric::minimise::minimise;
use crate::numeric::threads::Threads;
use crate::predict::baseline::relative_weights;
use crate::predict::neighbours::{averages, sample_of};

/// The number of rows that the shares of all classes count for beside the neighbours of a row, so that no class is impossible.
const SHARES_COUNT: f64 = 1.0;

/// The share of each class among the training rows, at every one of `rows` rows, `[N, C]`. Every class has half a row more than it has.
pub fn shares(train: &Dataset, classes: usize, rows: usize) -> Result<Mat> {
    check(train, classes)?;
    let shares = class_shares(train, classes);
    Ok(Mat::from_fn(rows, classes, |_, class| shares[class]))
}

/// Multinomial logistic regression on standardised inputs: `p_c = softmax_c(x w_c + b_c)` with the least
/// `−⟨ln p_y⟩ + ½ ‖w‖² / N`, a prior of variance 1 on every weight.
#[derive(Debug)]
pub struct LogisticRegression {
    /// The units of the inputs.
    units: Scaling,
    /// The weights of each input, and the constant in the last row, `[D + 1, C]`.
    weights: Mat,
    /// The number of rows that it was learnt from, and of all training rows.
    rows: (usize, usize),
}

impl LogisticRegression {
    /// The most training rows that it learns from; of more, so many are chosen at random.
    pub const MOST_ROWS: usize = 50_000;

    /// Logistic regression of so many classes, learnt from the rows `train` or from a sample of them.
    pub fn new(train: &Dataset, classes: usize) -> Result<Self> {
        check(train, classes)?;
        let all = train.len();
        let train = sample_of(train, Self::MOST_ROWS)?;
        let units = Standardiser::fit(&train, ConstantColumns::Keep)?.x;
        let x = units.apply("x", train.x().view())?;
        let (n, d) = (x.nrows(), x.ncols());
        let ridge = 1.0 / n as f64;
        let class = |i: usize| train.y()[(i, 0)] as usize;
        let relative = relative_weights(&train);
        let weight = |i: usize| relative.as_ref().map_or(1.0, |all| all[i]);
        let mut start = vec![0.0; (d + 1) * classes];
        for (to, share) in start[d * classes..].iter_mut().zip(class_shares(&train, classes)) {
            *to = share.ln();
        }
        let weights = minimise(start, |weights, slope| {
            let mut p = logits(x.view(), View::new(weights, d + 1, classes));
            let mut value = 0.0;
            for i in 0..n {
                let row = p.row_mut(i);
                value -= weight(i) * (row[class(i)] - softmax(row)) / n as f64;
                row[class(i)] -= 1.0;
                row.iter_mut().for_each(|own| *own = weight(i) * *own / n as f64);
            }
            // Slopes: Xᵀ (p − y) / N, and the prior's.
            let mut gradient = Mat::zeros(d, classes);
            product(gradient.view_mut().faer(), Accumulate::Replace, 1.0, x.view().faer().transpose(), p.view().faer());
            let (of_inputs, of_constants) = slope.split_at_mut(d * classes);
            for ((to, own), weight) in of_inputs.iter_mut().zip(gradient.as_slice()).zip(weights) {
                *to = own + ridge * weight;
                value += 0.5 * ridge * weight * weight;
            }
            for (class, to) in of_constants.iter_mut().enumerate() {
                *to = (0..n).map(|i| p[(i, class)]).sum();
            }
            value
        });
        let weights = Mat::from_vec(d + 1, classes, weights).expect("a weight for each input and class");
        Ok(Self { units, weights, rows: (n, all) })
    }

    /// The number of training rows that it was learnt from, and how many there were.
    pub fn learnt_from(&self) -> (usize, usize) {
        self.rows
    }

    /// The probability of each class at each row, `[N, C]`.
    pub fn probabilities(&self, x: View<'_>) -> Result<Mat> {
        let mut p = logits(self.units.apply("x", x)?.view(), self.weights.view());
        for i in 0..p.nrows() {
            softmax(p.row_mut(i));
        }
        Ok(p)
    }
}

/// The linear functions `x w + b` of all classes; the last row of the weights is `b`.
fn logits(x: View<'_>, weights: View<'_>) -> Mat {
    let (d, classes) = (x.ncols(), weights.ncols());
    let mut out = Mat::from_fn(x.nrows(), classes, |_, class| weights[(d, class)]);
    product(out.view_mut().faer(), Accumulate::Add, 1.0, x.faer(), weights.rows(0..d).faer());
    out
}

/// Makes probabilities of logits, and answers with the logarithm of the sum of their exponentials.
fn softmax(row: &mut [f64]) -> f64 {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = row.iter().map(|own| (own - largest).exp()).sum();
    row.iter_mut().for_each(|own| *own = (*own - largest).exp() / total);
    largest + total.ln()
}

/// The classes of the nearest training rows: `p_c = (n_c + share_c) / (k + 1)`, where `n_c` of the `k` nearest are of class `c`.
#[derive(Debug)]
pub struct ClassNeighbours {
    /// The units of the inputs.
    units: Scaling,
    /// The rows among which neighbours are searched for, with standardised inputs, and a column for each class.
    rows: Dataset,
    /// The number of training rows, of which `rows` may be a sample.
    training_rows: usize,
    /// The share of each class.
    shares: Vec<f64>,
    /// The number of neighbours.
    k: usize,
    /// The threads to work on.
    threads: Threads,
}

impl ClassNeighbours {
    /// The `k` nearest of the rows `train`, or of a sample of them; `threads` is the number of threads, 0 for all.
    pub fn new(train: &Dataset, classes: usize, k: usize, threads: usize) -> Result<Self> {
        check(train, classes)?;
        let units = Standardiser::fit(train, ConstantColumns::Keep)?.x;
        let some = sample_of(train, super::neighbours::MOST_ROWS)?;
        let member = |i: usize, class: usize| f64::from(u8::from(some.y()[(i, 0)] as usize == class));
        let x = units.apply("x", some.x().view())?;
        let rows = Dataset::new(x, Mat::from_fn(some.len(), classes, member))?;
        let k = k.min(rows.len()).max(1);
        let (shares, threads) = (class_shares(train, classes), Threads::new(threads)?);
        Ok(Self { units, rows, training_rows: train.len(), shares, k, threads })
    }

    /// The number of training rows among which neighbours are searched for, and how many there were.
    pub fn learnt_from(&self) -> (usize, usize) {
        (self.rows.len(), self.training_rows)
    }

    /// The probability of each class at each row, `[N, C]`.
    pub fn probabilities(&self, x: View<'_>) -> Result<Mat> {
        let x = self.units.apply("x", x)?;
        let near = self.threads.run(|| averages(&self.rows, x.view(), None, self.k));
        let k = self.k as f64;
        let share =
            |i: usize, class: usize| (k * near[(i, class)] + SHARES_COUNT * self.shares[class]) / (k + SHARES_COUNT);
        Ok(Mat::from_fn(near.nrows(), near.ncols(), share))
    }
}

/// Fails if a row's target is not the number of one of so many classes.
fn check(train: &Dataset, classes: usize) -> Result<()> {
    match train.classes()?.into_iter().max() {
        Some(largest) if largest >= classes => {
            let expected = format!("class numbers below {classes}");
            Err(Error::Shape { what: "targets", expected, found: largest.to_string() })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::class_metrics::ClassScore;
    use crate::random::noise::{Key, Purpose};
    use crate::testing::uniform;

    /// Three classes whose logits are linear in two inputs: drawn from these probabilities, which come beside.
    fn linear(rows: usize, seed: u64) -> (Dataset, Mat) {
        let (x, key) = (uniform(rows, 2, seed), Key::new(seed, Purpose::Observe));
        let mut p = Mat::from_fn(rows, 3, |i, c| match c {
            0 => 2.0 * x[(i, 0)],
            1 => 1.0 - 3.0 * x[(i, 1)],
            _ => 0.0,
        });
        let class = |i: usize| {
            softmax(p.row_mut(i));
            let mut left = key.uniform([i as u32, 0, 0, 0]);
            let passed = p.row(i).iter().position(|own| {
                left -= own;
                left <= 0.0
            });
            passed.unwrap_or(2) as f64
        };
        let y = Mat::column((0..rows).map(class).collect());
        // In other units, which must not matter.
        let x = Mat::from_fn(rows, 2, |i, j| if j == 0 { 1e4 * x[(i, 0)] + 7.0 } else { 1e-3 * x[(i, 1)] });
        (Dataset::new(x, y).unwrap(), p)
    }

    #[test]
    fn logistic_regression_finds_the_probabilities_that_classes_were_drawn_from() {
        let (train, _) = linear(4000, 1);
        let (test, p) = linear(500, 2);
        let model = LogisticRegression::new(&train, 3).unwrap();
        let found = model.probabilities(test.x().view()).unwrap();
        let off = found.as_slice().iter().zip(p.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 0.06, "{off}");
        assert!((0..500).all(|i| (found.row(i).iter().sum::<f64>() - 1.0).abs() < 1e-12));
        assert_eq!(model.learnt_from(), (4000, 4000));
        let loss = |p: &Mat| ClassScore::new(test.y().view(), p, None).unwrap().log_loss;
        let (own, plain) = (loss(&found), loss(&shares(&train, 3, 500).unwrap()));
        assert!(own < plain - 0.1 && (own - loss(&p)).abs() < 0.02, "{own} {plain}");
        let near = ClassNeighbours::new(&train, 3, 50, 1).unwrap().probabilities(test.x().view()).unwrap();
        assert!(loss(&near) < plain - 0.05, "{}", loss(&near));
    }

    #[test]
    fn separable_classes_have_finite_weights_and_the_slope_is_that_of_the_value() {
        let x = Mat::column((0..40).map(f64::from).collect());
        let y = Mat::from_fn(40, 1, |i, _| f64::from(u8::from(i >= 20)));
        let data = Dataset::new(x, y).unwrap();
        let model = LogisticRegression::new(&data, 2).unwrap();
        assert!(model.weights.as_slice().iter().all(|own| own.abs() < 20.0));
        let p = model.probabilities(data.x().view()).unwrap();
        assert!(p[(0, 1)] < 0.05 && p[(39, 1)] > 0.95 && (p[(19, 1)] + p[(20, 1)] - 1.0).abs() < 1e-3, "{p:?}");
    }

    #[test]
    fn neighbours_and_shares_by_hand() {
        let x = Mat::column(vec![0.0, 0.1, 0.2, 5.0]);
        let train = Dataset::new(x, Mat::column(vec![0.0, 0.0, 1.0, 1.0])).unwrap();
        assert_eq!(shares(&train, 2, 1).unwrap().row(0), [0.5, 0.5]);
        let near = ClassNeighbours::new(&train, 2, 3, 1).unwrap();
        let p = near.probabilities(Mat::column(vec![0.05]).view()).unwrap();
        assert!((p[(0, 0)] - 2.5 / 4.0).abs() < 1e-12 && (p[(0, 1)] - 1.5 / 4.0).abs() < 1e-12, "{p:?}");
        assert!(LogisticRegression::new(&train, 1).is_err() && ClassNeighbours::new(&train, 1, 3, 1).is_err());
        let half = Dataset::new(Mat::zeros(2, 1), Mat::column(vec![0.0, 0.5])).unwrap();
        assert!(shares(&half, 2, 1).unwrap_err().to_string().contains("row 1 is 0.5"));
    }
}
