//! The minimum of a smooth convex function by its slopes: the limited-memory quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno.

use std::collections::VecDeque;

/// The number of steps that are remembered.
const MEMORY: usize = 10;
/// The most steps.
const MOST_STEPS: usize = 300;
/// The largest slope at which the search ends.
const FLAT: f64 = 1e-7;
/// The share of the promised descent that a step must keep.
const KEPT: f64 = 1e-4;
/// The most halvings of a step that promises too much.
const HALVINGS: usize = 50;

/// The point near `start` where `f` is least. `f` writes its slopes at a point, and answers with its value there. A function without a minimum,
/// or one that is no number, ends the search at the best point so far.
pub(crate) fn minimise(start: Vec<f64>, mut f: impl FnMut(&[f64], &mut [f64]) -> f64) -> Vec<f64> {
    let mut x = start;
    let mut slope = vec![0.0; x.len()];
    let mut value = f(&x, &mut slope);
    // Steps with the changes of slope along them, the newest last.
    let mut past: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    for _ in 0..MOST_STEPS {
        if !value.is_finite() || slope.iter().all(|own| own.abs() <= FLAT) {
            break;
        }
        let direction = descent(&slope, &past);
        let promised = dot(&direction, &slope);
        let mut length = if past.is_empty() { 1.0 / dot(&slope, &slope).sqrt().max(1.0) } else { 1.0 };
        let mut next_slope = vec![0.0; x.len()];
        let mut found = None;
        for _ in 0..HALVINGS {
            let next: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + length * d).collect();
            let there = f(&next, &mut next_slope);
            if there <= value + KEPT * length * promised {
                found = Some((next, there));
                break;
            }
            length *= 0.5;
        }
        let Some((next, there)) = found else { break };
        let step: Vec<f64> = next.iter().zip(&x).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = next_slope.iter().zip(&slope).map(|(a, b)| a - b).collect();
        if dot(&step, &change) > 1e-12 * dot(&change, &change) {
            past.push_back((step, change));
            if past.len() > MEMORY {
                past.pop_front();
            }
        }
        (x, slope, value) = (next, next_slope, there);
    }
    x
}

/// The direction `−H g` for the inverse curvature `H` that the past steps tell, by two loops over them.
fn descent(slope: &[f64], past: &VecDeque<(Vec<f64>, Vec<f64>)>) -> Vec<f64> {
    let mut direction: Vec<f64> = slope.iter().map(|own| -own).collect();
    let mut shares = Vec::with_capacity(past.len());
    for (step, change) in past.iter().rev() {
        let share = dot(step, &direction) / dot(step, change);
        direction.iter_mut().zip(change).for_each(|(d, c)| *d -= share * c);
        shares.push(share);
    }
    if let Some((step, change)) = past.back() {
        let scale = dot(step, change) / dot(change, change);
        direction.iter_mut().for_each(|d| *d *= scale);
    }
    for ((step, change), share) in past.iter().zip(shares.into_iter().rev()) {
        let other = dot(change, &direction) / dot(step, change);
        direction.iter_mut().zip(step).for_each(|(d, s)| *d += (share - other) * s);
    }
    direction
}

/// The inner product.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_of_a_narrow_valley_is_found() {
        // Curvatures from 1e-3 to 1e3, with the minimum at 1, 2, 3, ….
        let curvature = |i: usize| 10f64.powi(i as i32 - 3);
        let found = minimise(vec![0.0; 7], |x, slope| {
            let mut value = 0.0;
            for (i, (x, slope)) in x.iter().zip(slope).enumerate() {
                let off = x - (i + 1) as f64;
                *slope = curvature(i) * off;
                value += 0.5 * curvature(i) * off * off;
            }
            value
        });
        assert!(found.iter().enumerate().all(|(i, x)| (x - (i + 1) as f64).abs() < 1e-3), "{found:?}");
    }

    #[test]
    fn an_exponential_is_not_overshot_and_no_number_ends_the_search() {
        let found = minimise(vec![-20.0], |x, slope| {
            slope[0] = x[0].exp() - 5.0;
            x[0].exp() - 5.0 * x[0]
        });
        assert!((found[0] - 5f64.ln()).abs() < 1e-6, "{found:?}");
        assert_eq!(minimise(vec![3.0], |_, _| f64::NAN), [3.0]);
    }
}
