//! Draws that are balanced against each other: what a prediction sends its rows through the hidden layers with.
//!
//! The parts of a mixture are `S` points of an integral over the `D` normals `ε` of all hidden layers. Independent draws `N`, a table `[S, D]`, err by
//! `1/√S` in it. Here each column of the table is taken less what a constant and the columns before it explain of it, and scaled to length `√S`
//! (Gram-Schmidt), so that in `E`, the table that results,
//!
//! ```text
//! Σ_s E_sd = 0,   Σ_s E_sd E_sd' = S δ_dd'.
//! ```
//!
//! The points then integrate every polynomial of second degree as the normals themselves would: what the mean of a function is where it bends no more than
//! a parabola, whatever pairs of normals it depends on, is exact, and only the rest of the function is left to chance.
//!
//! Of `S − 1` columns at most can all have that; a column therefore goes by so many before it that a quarter of its freedom is left.

use crate::numeric::mat::Mat;

/// Balances tables of draws, `[S, width]` each, as if they stood side by side. A single draw stays as it is. Takes up to `3/2 · S² D` multiply-adds.
pub(crate) fn balance(tables: &mut [Mat]) {
    let samples = tables.first().map_or(0, Mat::nrows);
    if samples < 2 {
        return;
    }
    let reach = 3 * (samples - 1) / 4;
    let mut done: Vec<Vec<f64>> = Vec::new();
    for table in tables {
        for d in 0..table.ncols() {
            let mut own: Vec<f64> = (0..samples).map(|s| table[(s, d)]).collect();
            let mean = own.iter().sum::<f64>() / samples as f64;
            own.iter_mut().for_each(|v| *v -= mean);
            for other in &done[done.len().saturating_sub(reach)..] {
                let slope = dot(&own, other) / samples as f64;
                own.iter_mut().zip(other).for_each(|(v, other)| *v -= slope * other);
            }
            let scale = (samples as f64 / dot(&own, &own)).sqrt();
            own.iter_mut().for_each(|v| *v *= scale);
            (0..samples).for_each(|s| table[(s, d)] = own[s]);
            done.push(own);
        }
    }
}

/// The sum of products, term by term, so that it has the same bits on every machine.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::noise::{Key, Purpose, fill_row};

    /// Independent draws for layers of so many outputs.
    fn drawn(seed: u64, samples: usize, widths: &[usize]) -> Vec<Mat> {
        let key = Key::new(seed, Purpose::Predict);
        let table = |(layer, &width): (usize, &usize)| {
            let mut own = Mat::zeros(samples, width);
            (0..samples).for_each(|s| fill_row(key, [0, 0, s as u32, (layer as u32) << 16], own.row_mut(s)));
            own
        };
        widths.iter().enumerate().map(table).collect()
    }

    fn balanced(seed: u64, samples: usize, widths: &[usize]) -> Vec<Mat> {
        let mut tables = drawn(seed, samples, widths);
        balance(&mut tables);
        tables
    }

    /// The draws of all layers side by side, a row for each draw.
    fn points(tables: &[Mat]) -> Vec<Vec<f64>> {
        let row = |s: usize| tables.iter().flat_map(|table| table.row(s).to_vec()).collect();
        (0..tables[0].nrows()).map(row).collect()
    }

    /// The mean of a function of all normals over the draws.
    fn mean(tables: &[Mat], f: impl Fn(&[f64]) -> f64) -> f64 {
        let points = points(tables);
        points.iter().map(|z| f(z)).sum::<f64>() / points.len() as f64
    }

    #[test]
    fn means_variances_and_correlations_are_exact() {
        for (samples, widths) in
            [(32, &[10, 10][..]), (100, &[3, 1, 7]), (3, &[2]), (2, &[1]), (5, &[1, 2]), (9, &[6, 1])]
        {
            let tables = balanced(1, samples, widths);
            for a in 0..widths.iter().sum() {
                assert!(mean(&tables, |z| z[a]).abs() < 1e-13, "{samples} {widths:?}: {a}");
                for b in 0..=a {
                    let expected = if a == b { 1.0 } else { 0.0 };
                    assert!((mean(&tables, |z| z[a] * z[b]) - expected).abs() < 1e-12, "{samples} {widths:?}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn polynomials_of_second_degree_are_integrated_exactly() {
        let tables = balanced(2, 32, &[10, 10]);
        let weights = points(&drawn(3, 21, &[21]));
        let polynomial = |z: &[f64]| {
            let of = |i: usize| if i == 20 { 1.0 } else { z[i] };
            (0..21).flat_map(|i| (0..21).map(move |j| (i, j))).map(|(i, j)| weights[i][j] * of(i) * of(j)).sum::<f64>()
        };
        let trace: f64 = (0..21).map(|i| weights[i][i]).sum();
        assert!((mean(&tables, polynomial) - trace).abs() < 1e-11);
    }

    #[test]
    fn with_more_normals_than_draws_near_ones_are_uncorrelated_and_all_have_their_moments() {
        let tables = balanced(4, 32, &[30, 30, 30]);
        for a in 0..90 {
            assert!(mean(&tables, |z| z[a]).abs() < 1e-13);
            assert!((mean(&tables, |z| z[a] * z[a]) - 1.0).abs() < 1e-13);
            for b in a.saturating_sub(23)..a {
                assert!(mean(&tables, |z| z[a] * z[b]).abs() < 1e-12, "{a} {b}");
            }
        }
        assert!(points(&tables).iter().flatten().all(|z| z.abs() < 32f64.sqrt()));
    }

    #[test]
    fn in_the_large_they_are_independent_normals_still() {
        let pooled: Vec<Vec<f64>> = (0..400).flat_map(|seed| points(&balanced(seed, 32, &[10, 10]))).collect();
        let share =
            |holds: &dyn Fn(&[f64]) -> bool| pooled.iter().filter(|z| holds(z)).count() as f64 / pooled.len() as f64;
        let near = |found: f64, expected: f64| {
            let error = (expected * (1.0 - expected) / pooled.len() as f64).sqrt();
            // Orthonormal columns have slightly lighter tails than normals.
            assert!((found - expected).abs() < 4.0 * error + 0.05 * expected, "{found} for {expected}");
        };
        for d in [0, 7, 19] {
            for (level, z) in [(0.05, -1.644_853_6), (0.25, -0.674_489_8), (0.9, 1.281_551_6)] {
                near(share(&|row| row[d] < z), level);
            }
        }
        near(share(&|row| row[0] > 0.0 && row[9] > 0.0 && row[19] > 0.0), 0.125);
        near(share(&|row| row[3] > 1.0 && row[12] < -1.0), 0.158_655_3f64.powi(2));
    }

    #[test]
    fn seeds_differ_a_seed_does_not_and_a_single_draw_stays() {
        assert_eq!(balanced(5, 20, &[4, 3]), balanced(5, 20, &[4, 3]));
        assert_ne!(balanced(5, 20, &[4, 3]), balanced(6, 20, &[4, 3]));
        assert_eq!(balanced(5, 1, &[4, 3]), drawn(5, 1, &[4, 3]));
        assert!(balanced(5, 20, &[]).is_empty());
    }

    #[test]
    fn a_smooth_function_of_twenty_normals_needs_far_fewer_of_them() {
        let f = |z: &[f64]| {
            let (first, second) = z.split_at(10);
            let sum = |part: &[f64]| part.iter().enumerate().map(|(i, v)| v * (1.0 + i as f64).recip()).sum::<f64>();
            (0.5 * sum(first) + 0.3 * first[0] * second[1]).sin() + (0.3 * sum(second)).exp()
        };
        let estimates = |tables: &dyn Fn(u64) -> Vec<Mat>| -> f64 {
            let all: Vec<f64> = (0..300).map(|seed| mean(&tables(seed), f)).collect();
            let center = all.iter().sum::<f64>() / 300.0;
            all.iter().map(|v| (v - center).powi(2)).sum::<f64>() / 300.0
        };
        let independent = estimates(&|seed| drawn(seed, 32, &[10, 10]));
        let balanced = estimates(&|seed| balanced(seed, 32, &[10, 10]));
        assert!(balanced < 0.1 * independent, "{balanced} and {independent}");
    }
}
