//! [`Sharpness`]: one number that says how much surer, or less sure, class probabilities should be than the model that states them.
//!
//! ```text
//! p_c ← p_c^κ / Σ_j p_j^κ        κ = argmin Σ_n ω_n [ln Σ_j p_nj^κ − κ ln p_ny] + (κ − 1)² / 2 DOUBT²
//! ```
//!
//! It is learnt from rows that training did not see: where few inducing inputs explain the functions of many classes, their variances stay
//! large, and the model knows more than it says; a `κ` above 1 mends that, and one below 1 the opposite. The sum is convex in `κ`, whose
//! minimum is found by halving. The last term keeps `κ` near 1 where rows are few; their number decides. The order of classes does not
//! change, and so neither does the class that is predicted.

use crate::numeric::mat::{Mat, View};

/// The standard deviation of `κ` around 1 before any row is seen.
const DOUBT: f64 = 0.25;
/// The range in which `κ` is looked for.
const RANGE: (f64, f64) = (0.1, 10.0);
/// The number of halvings of that range.
const HALVINGS: u32 = 60;
/// The least probability of which a logarithm is taken.
const LEAST: f64 = 1e-300;

/// The power that the probabilities of classes are raised to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharpness(f64);

impl Default for Sharpness {
    /// Probabilities as they are.
    fn default() -> Self {
        Self(1.0)
    }
}

impl Sharpness {
    /// The sharpness of this power; `None` unless it is a positive number.
    pub fn new(power: f64) -> Option<Self> {
        (power > 0.0 && power.is_finite()).then_some(Self(power))
    }

    /// The power: 1 leaves probabilities as they are, more makes them surer.
    pub fn power(self) -> f64 {
        self.0
    }

    /// Whether probabilities stay as they are.
    pub fn is_neutral(self) -> bool {
        self.0 == 1.0
    }

    /// The sharpness that suits probabilities `[N, C]` of rows whose classes are `y`, `[N, 1]`; rows count by their weights, if there are any. None
    /// where probabilities are no numbers.
    pub fn fit(probabilities: &Mat, y: View<'_>, weights: Option<&[f64]>) -> Self {
        if probabilities.as_slice().iter().any(|p| !p.is_finite()) {
            return Self::default();
        }
        let logs = probabilities.map(|p: f64| p.max(LEAST).ln());
        // The slope of what is minimised: it rises with κ.
        let slope = |power: f64| {
            let of_row = |i: usize| {
                let row = logs.row(i);
                let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let (mut total, mut first) = (0.0, 0.0);
                for log in row {
                    let share = (power * (log - largest)).exp();
                    (total, first) = (total + share, first + share * log);
                }
                weights.map_or(1.0, |all| all[i]) * (first / total - row[y[(i, 0)] as usize])
            };
            (0..logs.nrows()).map(of_row).sum::<f64>() + (power - 1.0) / (DOUBT * DOUBT)
        };
        let (mut low, mut high) = RANGE;
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            *(if slope(middle) > 0.0 { &mut high } else { &mut low }) = middle;
        }
        Self(0.5 * (low + high))
    }

    /// Sharpens the probabilities of one row.
    pub(crate) fn apply(self, probabilities: &mut [f64]) {
        if self.is_neutral() {
            return;
        }
        let largest = probabilities.iter().copied().fold(0.0, f64::max);
        let mut total = 0.0;
        for p in probabilities.iter_mut() {
            *p = (*p / largest).powf(self.0);
            total += *p;
        }
        probabilities.iter_mut().for_each(|p| *p /= total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::noise::{Key, Purpose};

    /// Rows of three classes: probabilities that are right, and classes drawn from them.
    fn honest(rows: usize) -> (Mat, Mat) {
        let key = Key::new(5, Purpose::Simulate);
        let mut p = Mat::from_fn(rows, 3, |i, c| (1.5 * key.normals([i as u32, c as u32, 0, 0])[0]).exp());
        for i in 0..rows {
            let total: f64 = p.row(i).iter().sum();
            p.row_mut(i).iter_mut().for_each(|own| *own /= total);
        }
        let y = Mat::from_fn(rows, 1, |i, _| {
            let u = key.uniform([i as u32, 0, 1, 0]);
            f64::from(u8::from(u > p[(i, 0)])) + f64::from(u8::from(u > p[(i, 0)] + p[(i, 1)]))
        });
        (p, y)
    }

    fn sharpened(mut p: Mat, power: f64) -> Mat {
        (0..p.nrows()).for_each(|i| Sharpness(power).apply(p.row_mut(i)));
        p
    }

    #[test]
    fn what_was_done_to_probabilities_is_found_and_undone() {
        let (p, y) = honest(20_000);
        for power in [0.6, 1.0, 1.7] {
            let found = Sharpness::fit(&sharpened(p.clone(), power), y.view(), None).power();
            assert!((found * power - 1.0).abs() < 0.03, "{found} for {power}");
        }
        // A weight of two is a copy.
        let twice = Sharpness::fit(&p, y.view(), Some(&vec![2.0; 20_000]));
        let once = Sharpness::fit(&p, y.view(), None);
        assert!((twice.power() - once.power()).abs() < 1e-3 && twice != once);
    }

    #[test]
    fn few_rows_leave_probabilities_nearly_as_they_are() {
        // Four rows, all right: any power would be better than a lower one.
        let p = Mat::from_fn(4, 2, |_, c| [0.9, 0.1][c]);
        let found = Sharpness::fit(&p, Mat::zeros(4, 1).view(), None).power();
        assert!(found > 1.0 && found < 1.3, "{found}");
        let nothing = Mat::from_fn(4, 2, |_, _| f64::NAN);
        assert!(Sharpness::fit(&nothing, Mat::zeros(4, 1).view(), None).is_neutral());
    }

    #[test]
    fn probabilities_sum_to_one_and_keep_their_order() {
        let mut p = [0.2, 0.5, 0.3, 0.0, 1e-200];
        Sharpness(2.0).apply(&mut p);
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((p[1] / p[0] - 6.25).abs() < 1e-12 && p[3] == 0.0, "{p:?}");
        assert_eq!([Sharpness::new(0.0), Sharpness::new(f64::NAN)], [None, None]);
    }
}
