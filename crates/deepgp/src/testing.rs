//! Helpers that unit tests share: seeded matrices and central differences.

use crate::likelihood::{Latent, LatentBars, Likelihood};
use crate::model::params;
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

/// Asserts that both pullbacks of a likelihood, of the expected log density and of expected powers, are the slopes of their values in
/// means, variances and parameters.
pub(crate) fn assert_pullbacks(likelihood: &dyn Likelihood, y: &[f64], f: Latent<'_>, powers: &[f64]) {
    type Value<'a> = Box<dyn Fn(&dyn Likelihood, Latent<'_>) -> f64 + 'a>;
    type Pullback<'a> = Box<dyn Fn(&dyn Likelihood, Latent<'_>, LatentBars<'_>) + 'a>;
    let mut cases: Vec<(String, Value<'_>, Pullback<'_>)> = vec![(
        "expectation".into(),
        Box::new(|own, f| own.expected_log_density(y, f)),
        Box::new(|own, f, bars| own.expected_log_density_pullback(y, f, 1.5, bars)),
    )];
    let tempered = |own: &dyn Likelihood| own.tempered().is_some();
    assert!(powers.is_empty() || tempered(likelihood), "a likelihood with powers");
    for &power in powers {
        cases.push((
            format!("power {power}"),
            Box::new(move |own, f| own.tempered().unwrap().log_expected_power(power, y, f)),
            Box::new(move |own, f, bars| {
                let tempered = own.tempered().unwrap();
                let value = tempered.log_expected_power_pullback(power, y, f, 1.5, bars);
                assert!(
                    (value - tempered.log_expected_power(power, y, f)).abs() < 1e-13,
                    "the value beside the gradient"
                );
            }),
        ));
    }
    let column = |v: &[f64]| Mat::column(v.to_vec());
    let mut values = Vec::new();
    likelihood.clone_box().visit(&mut |leaf| values.extend_from_slice(leaf.values));
    let moved = |theta: &Mat| {
        let (mut own, mut at) = (likelihood.clone_box(), 0);
        own.visit(&mut |leaf| {
            leaf.values.copy_from_slice(&theta.as_slice()[at..at + leaf.values.len()]);
            at += leaf.values.len();
        });
        own
    };
    for (what, value, pullback) in cases {
        let (mut mean, mut variance) = (vec![0.0; f.mean.len()], vec![0.0; f.mean.len()]);
        let mut theta = vec![0.0; params::count(&mut *likelihood.clone_box())];
        pullback(likelihood, f, LatentBars { mean: &mut mean, variance: &mut variance, theta: &mut theta });
        assert_slope(&format!("{what}, mean"), &column(f.mean), &column(&mean), 1e-8, |m| {
            1.5 * value(likelihood, Latent { mean: m.as_slice(), ..f })
        });
        assert_slope(&format!("{what}, variance"), &column(f.variance), &column(&variance), 1e-8, |v| {
            1.5 * value(likelihood, Latent { variance: v.as_slice(), ..f })
        });
        assert_slope(&format!("{what}, parameters"), &column(&values), &column(&theta), 1e-6, |t| {
            1.5 * value(&*moved(t), f)
        });
    }
}
