//! Helpers that unit tests share: seeded matrices and central differences.

use crate::numeric::linalg::times;
use crate::numeric::mat::Mat;
use crate::numeric::scratch::Scratch;
use crate::random::noise::{Key, Purpose};

/// A `[rows, cols]` matrix of numbers in (−1, 1).
pub(crate) fn uniform(rows: usize, cols: usize, seed: u64) -> Mat {
    let key = Key::new(seed, Purpose::Simulate);
    Mat::from_fn(rows, cols, |i, j| 2.0 * key.uniform([i as u32, j as u32, 0, 0]) - 1.0)
}

/// A positive-definite matrix, `b bᵀ + ridge · I`.
pub(crate) fn positive_definite(n: usize, ridge: f64, seed: u64) -> Mat {
    let b = uniform(n, n, seed);
    let mut k = times(b.view().faer(), b.view().faer().transpose(), &mut Scratch::default());
    for i in 0..n {
        k[(i, i)] += ridge;
    }
    k
}

/// The sum over entries `Σ a ∘ b`.
pub(crate) fn dot_all(a: &Mat, b: &Mat) -> f64 {
    assert_eq!(a.as_slice().len(), b.as_slice().len());
    a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| x * y).sum()
}

/// Asserts that `gradient` is the slope of `loss` at `at`, entry by entry, by central differences.
pub(crate) fn assert_slope(what: &str, at: &Mat, gradient: &Mat, tolerance: f64, loss: impl Fn(&Mat) -> f64) {
    let scale = gradient.as_slice().iter().fold(1.0f64, |a, b| a.max(b.abs()));
    for i in 0..at.as_slice().len() {
        let step = 1e-5;
        let moved = |by: f64| {
            let mut copy = at.clone();
            copy.as_mut_slice()[i] += by;
            loss(&copy)
        };
        let slope = (moved(step) - moved(-step)) / (2.0 * step);
        let found = gradient.as_slice()[i];
        assert!((slope - found).abs() < tolerance * scale, "{what}, entry {i}: gradient {found}, slope {slope}");
    }
}
