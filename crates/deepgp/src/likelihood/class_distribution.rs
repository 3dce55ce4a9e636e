//! [`ClassDistribution`]: the probabilities of one row's classes as a distribution of their numbers `0, 1, …`: quantiles, moments, a ranked score.

/// The probabilities of classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassDistribution<'a>(pub &'a [f64]);

impl ClassDistribution<'_> {
    /// The smallest class number at which the sum of probabilities reaches `level`.
    pub fn quantile(self, level: f64) -> f64 {
        let mut below = 0.0;
        let reached = self.0.iter().position(|own| {
            below += own;
            below >= level
        });
        reached.unwrap_or(self.0.len().saturating_sub(1)) as f64
    }

    /// The probability of a class number of at most `at`.
    pub fn cumulative(self, at: f64) -> f64 {
        self.0.iter().enumerate().take_while(|(class, _)| *class as f64 <= at).map(|(_, own)| own).sum()
    }

    /// Mean and variance of the class number.
    pub fn moments(self) -> (f64, f64) {
        let mean: f64 = self.0.iter().enumerate().map(|(class, own)| class as f64 * own).sum();
        let square = |(class, own): (usize, &f64)| (class as f64 - mean).powi(2) * own;
        (mean, self.0.iter().enumerate().map(square).sum())
    }

    /// The ranked probability score of class numbers, `Σ_k (F(k) − 1[y ≤ k])²`: a score where classes have an order, and half the Brier score
    /// of two.
    pub fn ranked_score(self, y: f64) -> f64 {
        let mut below = 0.0;
        let term = |(class, own): (usize, &f64)| {
            below += own;
            if y <= class as f64 { (1.0 - below).powi(2) } else { f64::powi(below, 2) }
        };
        self.0.iter().enumerate().take(self.0.len().saturating_sub(1)).map(term).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_classes_have_the_distribution_of_their_probabilities() {
        let own = ClassDistribution(&[0.2, 0.5, 0.3]);
        assert_eq!([0.1, 0.2, 0.4, 0.99].map(|level| own.quantile(level)), [0.0, 0.0, 1.0, 2.0]);
        assert_eq!([-1.0, 0.0, 1.5, 2.0].map(|at| own.cumulative(at)), [0.0, 0.2, 0.7, 1.0]);
        let (mean, variance) = own.moments();
        assert!((mean - 1.1).abs() < 1e-15 && (variance - 0.49).abs() < 1e-15, "{mean} {variance}");
        assert!((own.ranked_score(1.0) - (0.04 + 0.09)).abs() < 1e-15);
        // Half the Brier score of two classes.
        assert!((ClassDistribution(&[0.3, 0.7]).ranked_score(1.0) - 0.09).abs() < 1e-15);
    }
}
