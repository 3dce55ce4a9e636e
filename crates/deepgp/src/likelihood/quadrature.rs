//! Gauss–Hermite quadrature: expectations under a Gaussian as a weighted sum of a few values.
//!
//! `E_{N(f; m, v)} g(f) ≈ Σ_j w_j g(m + √v x_j)`, exact for polynomials of degree `2n − 1`. Nodes are the zeros of the Hermite
//! polynomial `He_n`, found by Newton's method; `w_j = 1 / Σ_{k<n} h_k(x_j)²` with the orthonormal polynomials `h_0 … h_{n−1}`. The
//! zeros already found, `x_0 … x_{j−1}`, are divided out of `h_n`, so that each search finds another one:
//!
//! ```text
//! x ← x − h_n / (h_n' − h_n Σ_{i<j} 1 / (x − x_i))
//! ```

/// Nodes `x_j` and weights `w_j` of the Gauss–Hermite rule for the standard normal; weights sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussHermite {
    /// The nodes `x_j`, in ascending order.
    nodes: Vec<f64>,
    /// The weights `w_j`, in the order of the nodes.
    weights: Vec<f64>,
}

/// The most rounds of Newton's method for one node; it converges long before.
const ROUNDS: usize = 100;

impl GaussHermite {
    /// A rule of `points` nodes, at least 1 and at most 200. Costs `points²` flops a round.
    pub fn new(points: usize) -> Self {
        assert!((1..=200).contains(&points), "a rule of {points} points");
        let n = points as f64;
        let (mut nodes, mut weights) = (Vec::new(), Vec::new());
        for j in 0..points {
            // The zeros of He_n lie close to √(4n + 2) cos(π (4j + 3) / (4n + 2)), those of a semicircle law.
            let angle = std::f64::consts::PI * (4.0 * j as f64 + 3.0) / (4.0 * n + 2.0);
            let mut x = (4.0 * n + 2.0).sqrt() * angle.cos();
            for _ in 0..ROUNDS {
                let (value, slope, _) = orthonormal(points, x);
                let found: f64 = nodes.iter().map(|other: &f64| 1.0 / (x - other)).sum();
                let step = value / (slope - value * found);
                x -= step;
                if step.abs() <= 1e-15 * x.abs().max(1.0) {
                    break;
                }
            }
            nodes.push(x);
            weights.push(1.0 / orthonormal(points, x).2);
        }
        let mut order: Vec<usize> = (0..points).collect();
        order.sort_by(|&a, &b| nodes[a].total_cmp(&nodes[b]));
        Self { nodes: order.iter().map(|&j| nodes[j]).collect(), weights: order.iter().map(|&j| weights[j]).collect() }
    }

    /// The nodes `x_j` with their weights `w_j`, from the lowest node to the highest.
    pub fn points(&self) -> impl ExactSizeIterator<Item = (f64, f64)> + Clone + '_ {
        self.nodes.iter().copied().zip(self.weights.iter().copied())
    }

    /// The expectation `E g(f) ≈ Σ_j w_j g(mean + √variance x_j)` for `f ~ N(mean, variance)`.
    pub fn expect(&self, mean: f64, variance: f64, g: impl Fn(f64) -> f64) -> f64 {
        let deviation = variance.sqrt();
        self.points().map(|(x, w)| w * g(mean + deviation * x)).sum()
    }

    /// The logarithm `log E exp g(f) ≈ log Σ_j exp(log w_j + g(f_j))` for `f ~ N(mean, variance)`, by log-sum-exp.
    pub fn log_expect_exp(&self, mean: f64, variance: f64, g: impl Fn(f64) -> f64) -> f64 {
        let deviation = variance.sqrt();
        log_sum_exp(&self.points().map(|(x, w)| w.ln() + g(mean + deviation * x)).collect::<Vec<f64>>())
    }
}

/// The logarithm `log Σ_i exp v_i`, without overflow; not a number if one of `values` is none.
pub(crate) fn log_sum_exp(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return if values.iter().any(|v| v.is_nan()) { f64::NAN } else { largest };
    }
    largest + values.iter().map(|v| (v - largest).exp()).sum::<f64>().ln()
}

/// The orthonormal polynomial `h_n(x)`, its slope, and `Σ_{k<n} h_k(x)²`, by `√(k+1) h_{k+1} = x h_k − √k h_{k−1}` and
/// `h_n' = √n h_{n−1}`.
fn orthonormal(n: usize, x: f64) -> (f64, f64, f64) {
    let (mut before, mut now, mut squares) = (0.0, 1.0, 0.0);
    for k in 0..n {
        squares += now * now;
        let next = (x * now - (k as f64).sqrt() * before) / ((k + 1) as f64).sqrt();
        (before, now) = (now, next);
    }
    (now, (n as f64).sqrt() * before, squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_integrates_polynomials_up_to_its_degree() {
        for points in [1, 2, 3, 8, 9, 20, 64] {
            let rule = GaussHermite::new(points);
            // E x^d is (d − 1)!! for even d, and 0 for odd d.
            for d in 0..=(2 * points - 1).min(13) {
                let expected = if d % 2 == 1 { 0.0 } else { (1..d).step_by(2).map(|k| k as f64).product() };
                let found = rule.expect(0.0, 1.0, |x| x.powi(d as i32));
                assert!((found - expected).abs() < 1e-9 * expected.max(1.0), "{points} points, degree {d}: {found}");
            }
        }
        assert!(
            GaussHermite::new(8)
                .points()
                .zip(NODES.iter().rev())
                .all(|((x, w), known)| { (x + known.0).abs() < 1e-12 && (w - known.1).abs() < 1e-12 })
        );
    }

    /// The positive nodes of the rule of eight points, from a table.
    const NODES: [(f64, f64); 4] = [
        (0.539_079_811_351_375_1, 0.373_012_257_679_077_4),
        (1.636_519_042_435_107_8, 0.117_239_907_661_759),
        (2.802_485_861_287_541_7, 0.009_635_220_120_788_258),
        (4.144_547_186_125_894_5, 0.000_112_614_538_375_367_9),
    ];

    #[test]
    fn it_takes_expectations_under_any_gaussian() {
        let rule = GaussHermite::new(20);
        assert!((rule.expect(0.3, 0.5, f64::exp) - (0.3f64 + 0.25).exp()).abs() < 1e-12);
        assert!((rule.log_expect_exp(0.3, 0.5, |f| f) - 0.55).abs() < 1e-12);
        assert!((rule.log_expect_exp(0.3, 0.5, |f| f - 2000.0) - 0.55 + 2000.0).abs() < 1e-9, "no underflow");
    }
}
