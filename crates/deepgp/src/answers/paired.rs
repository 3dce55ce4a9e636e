//! Paired comparisons: by how much the scores of two models differ on the same rows, and how sure that is.
//!
//! With what each model is worth at row `n`, `a_n` and `b_n`, and weights `ω_n`, the difference of means, or of roots of means such as the RMSE, is a mean
//! of a term of each row, to first order:
//!
//! ```text
//! means   δ = ⟨b⟩ − ⟨a⟩          ψ_n = b_n − a_n
//! roots   δ = √⟨b⟩ − √⟨a⟩        ψ_n = b_n / (2 √⟨b⟩) − a_n / (2 √⟨a⟩)
//! s² = n/(n−1) Σ ω_n² (ψ_n − ⟨ψ⟩)² / (Σ ω_n)²        n = (Σ ω_n)² / Σ ω_n²        δ ± t_{n−1} s
//! ```
//!
//! Rows that are hard are hard for both models, so that `s` is smaller than the standard errors of the two scores say. Rows count as independent of
//! each other; the models are taken as they are, and not as fits to other tables would have been.

use crate::numeric::root_finding::by_false_position;
use crate::numeric::special::student_t_cumulative;
use crate::predict::metrics::weighted_mean;

/// The difference of two models' scores on the same rows.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Paired {
    /// The score of the first model.
    pub first: f64,
    /// The score of the second model.
    pub second: f64,
    /// The second score less the first.
    pub difference: f64,
    /// The standard error of the difference; infinite or NaN where a score is, or there is one row.
    pub error: f64,
    /// The lower end of the central 95 % interval of the difference.
    pub lower: f64,
    /// The upper end of the central 95 % interval of the difference.
    pub upper: f64,
}

impl Paired {
    /// The difference of the means of what each row is worth to the two models.
    pub fn of_means(first: &[f64], second: &[f64], weights: Option<&[f64]>) -> Self {
        let terms: Vec<f64> = first.iter().zip(second).map(|(a, b)| b - a).collect();
        Self::of_terms(weighted_mean(first, weights), weighted_mean(second, weights), &terms, weights)
    }

    /// The difference of the roots of the means of squared errors.
    pub fn of_roots(first: &[f64], second: &[f64], weights: Option<&[f64]>) -> Self {
        let [a, b] = [first, second].map(|all| weighted_mean(all, weights).sqrt());
        // A model without errors stays without whatever the row.
        let slope = |root: f64| if root > 0.0 { 0.5 / root } else { 0.0 };
        let terms: Vec<f64> = first.iter().zip(second).map(|(own, other)| slope(b) * other - slope(a) * own).collect();
        Self::of_terms(a, b, &terms, weights)
    }

    /// The difference of two scores, of which the rows have these terms.
    fn of_terms(first: f64, second: f64, terms: &[f64], weights: Option<&[f64]>) -> Self {
        let (difference, mean) = (second - first, weighted_mean(terms, weights));
        let heaviest = weights.map_or(1.0, |all| all.iter().copied().fold(0.0, f64::max));
        let weight = |n: usize| weights.map_or(1.0, |all| all[n] / heaviest);
        let sum = |of: &dyn Fn(usize) -> f64| (0..terms.len()).map(of).sum::<f64>();
        let (total, squares) = (sum(&weight), sum(&|n| weight(n).powi(2)));
        let rows = total * total / squares;
        let scatter = sum(&|n| (weight(n) * (terms[n] - mean)).powi(2));
        let error = (rows / (rows - 1.0) * scatter).sqrt() / total;
        let reach = error * t_quantile(0.975, rows - 1.0);
        Self { first, second, difference, error, lower: difference - reach, upper: difference + reach }
    }

    /// Whether the interval of the difference leaves 0 out.
    pub fn is_clear(&self) -> bool {
        self.lower > 0.0 || self.upper < 0.0
    }

    /// The difference in standard errors; 0 where there is none.
    pub fn standardised(&self) -> f64 {
        if self.difference == 0.0 { 0.0 } else { self.difference / self.error }
    }
}

/// The quantile of Student's t above its middle; NaN without degrees of freedom.
fn t_quantile(level: f64, degrees: f64) -> f64 {
    if degrees <= 0.0 || degrees.is_nan() {
        return f64::NAN;
    }
    by_false_position((0.0, 2.0), level, |t| student_t_cumulative(t, degrees))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::uniform;

    #[test]
    fn the_interval_of_a_mean_is_that_of_a_paired_t_test() {
        let (a, b) = ([1.0, 4.0, 2.0, 8.0], [2.0, 4.5, 4.0, 8.5]);
        let found = Paired::of_means(&a, &b, None);
        // Differences 1, 0.5, 2, 0.5: mean 1, variance 0.5, and t of three degrees 3.18245.
        assert_eq!((found.first, found.second, found.difference), (3.75, 4.75, 1.0));
        assert!((found.error - (0.5f64 / 4.0).sqrt()).abs() < 1e-15);
        assert!((found.upper - 1.0 - 3.182_446_305 * found.error).abs() < 1e-8, "{found:?}");
        assert!((found.upper + found.lower - 2.0).abs() < 1e-12 && !found.is_clear());
        let doubled = |all: [f64; 4]| [all, all].concat();
        let weighted = Paired::of_means(&doubled(a), &doubled(b), Some(&[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]));
        assert_eq!(weighted, found, "what weighs nothing does not count");
        assert_eq!(Paired::of_means(&a, &b, Some(&[7.0; 4])), found);
    }

    #[test]
    fn a_model_does_not_differ_from_itself() {
        let squares: Vec<f64> = uniform(50, 1, 1).into_vec().iter().map(|v| v * v).collect();
        for found in [Paired::of_means(&squares, &squares, None), Paired::of_roots(&squares, &squares, None)] {
            assert_eq!((found.difference, found.error, found.lower, found.upper), (0.0, 0.0, 0.0, 0.0));
            assert!(!found.is_clear() && found.standardised() == 0.0);
        }
        assert!(Paired::of_means(&[1.0], &[2.0], None).error.is_nan());
    }

    #[test]
    fn the_error_of_a_difference_of_roots_is_that_of_repeated_samples() {
        let (mut inside, mut squared, trials) = (0, 0.0, 400);
        // Errors of uniform numbers and of twice these plus others: mean squares 1/3 and 4/3 + 1/3.
        let truth = (5.0f64 / 3.0).sqrt() - (1.0f64 / 3.0).sqrt();
        for seed in 0..trials {
            let draws = uniform(120, 2, seed);
            let first: Vec<f64> = (0..120).map(|i| draws[(i, 0)].powi(2)).collect();
            let second: Vec<f64> = (0..120).map(|i| (2.0 * draws[(i, 0)] + draws[(i, 1)]).powi(2)).collect();
            let found = Paired::of_roots(&first, &second, None);
            inside += i32::from(found.lower <= truth && truth <= found.upper);
            squared += ((found.difference - truth) / found.error).powi(2);
        }
        let (share, ratio) = (f64::from(inside) / trials as f64, (squared / trials as f64).sqrt());
        assert!((0.92..0.98).contains(&share) && (0.9..1.1).contains(&ratio), "{share} {ratio}");
    }
}
