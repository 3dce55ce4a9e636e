//! Simulated data: a robot arm that stands in for kin8nm, and two curves on which depth shows.

use crate::data::Dataset;
use crate::numeric::mat::Mat;
use crate::random::noise::{Key, Purpose, fill_row};

/// The length of each link of the arm.
const LINK: f64 = 0.25;
/// The point whose distance from the arm's tip is measured.
const TARGET: [f64; 3] = [0.1, 0.1, 0.1];
/// The standard deviation of the noise on that distance.
const ARM_NOISE: f64 = 0.05;

/// The distance of the tip of an 8-link all-revolute arm from a fixed point: `rows` random postures, at least one.
///
/// Joint `i` turns its link by an angle uniform in ±π/2 about an axis that alternates between the link's `z` and `y`, so the
/// arm moves in space, and the distance is a deeply nested function of the 8 angles. Noise is added, then the distance is
/// cut off at 0 by reflection.
pub fn eight_link_arm(rows: usize, seed: u64) -> Dataset {
    let rows = rows.max(1);
    let key = Key::new(seed, Purpose::Simulate);
    let angle = |i: usize, joint: usize| std::f64::consts::PI * (key.uniform([i as u32, joint as u32, 1, 0]) - 0.5);
    let x = Mat::from_fn(rows, 8, angle);
    let y = (0..rows).map(|i| (tip_distance(x.row(i)) + ARM_NOISE * key.normals([i as u32, 0, 2, 0])[0]).abs());
    dataset(x.clone(), y.collect())
}

/// The distance of [`eight_link_arm`] at one posture, without noise, by forward kinematics.
fn tip_distance(angles: &[f64]) -> f64 {
    // Columns of the rotation so far: where the link's own axes point.
    let mut axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut tip = [0.0; 3];
    for (joint, angle) in angles.iter().enumerate() {
        let (sin, cos) = angle.sin_cos();
        let (first, second) = if joint % 2 == 0 { (0, 1) } else { (2, 0) };
        let (u, v) = (axes[first], axes[second]);
        for c in 0..3 {
            axes[first][c] = cos * u[c] + sin * v[c];
            axes[second][c] = cos * v[c] - sin * u[c];
            tip[c] += LINK * axes[0][c];
        }
    }
    tip.iter().zip(TARGET).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// A step from −1 to 1 at 0 over inputs uniform in ±1, with noise of standard deviation 0.05: too sharp for one stationary
/// kernel.
pub fn step_curve(rows: usize, seed: u64) -> Dataset {
    curve(rows, seed, |x, e| x.signum() + 0.05 * e)
}

/// A step at 0 and a narrow peak at ½, over inputs uniform in ±1, in noise whose standard deviation grows from 0.01 on the left
/// to 0.07 on the right: uneven in shape and in noise.
///
/// Two layers can bend the input so that one lengthscale fits everywhere. They cannot learn the noise level: the bound's
/// expected log likelihood only falls with a hidden layer's variance, so a single noise variance has to serve all rows.
pub fn uneven_curve(rows: usize, seed: u64) -> Dataset {
    curve(rows, seed, |x, e| {
        let rise = 1.0 / (1.0 + (-8.0 * x).exp());
        0.5 * x.signum() + 2.0 * (-(x - 0.5).powi(2) / 0.001).exp() + (0.01 + 0.06 * rise) * e
    })
}

/// Rows of inputs `x` uniform in ±1 and targets `y(x, e)` with standard normal `e`.
fn curve(rows: usize, seed: u64, y: impl Fn(f64, f64) -> f64) -> Dataset {
    let (rows, key) = (rows.max(1), Key::new(seed, Purpose::Simulate));
    let x = Mat::from_fn(rows, 1, |i, _| 2.0 * key.uniform([i as u32, 0, 3, 0]) - 1.0);
    let mut noise = vec![0.0; rows];
    fill_row(key, [0, 0, 4, 0], &mut noise);
    let y = x.as_slice().iter().zip(&noise).map(|(x, e)| y(*x, *e)).collect();
    dataset(x, y)
}

/// A dataset of one target.
fn dataset(x: Mat, y: Vec<f64>) -> Dataset {
    Dataset::new(x, Mat::column(y)).expect("simulated numbers are finite, and there is at least one row")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_arm_points_along_x_and_a_folded_one_comes_back() {
        let reach = 8.0 * LINK;
        let straight = ((reach - 0.1).powi(2) + 0.02).sqrt();
        assert!((tip_distance(&[0.0; 8]) - straight).abs() < 1e-14);
        // A quarter turn of the first joint lays the arm along y.
        let mut turned = [0.0; 8];
        turned[0] = std::f64::consts::FRAC_PI_2;
        assert!((tip_distance(&turned) - straight).abs() < 1e-14);
        let mut folded = [0.0; 8];
        folded[4] = std::f64::consts::PI;
        assert!((tip_distance(&folded) - 0.03f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn simulations_repeat() {
        assert_eq!(eight_link_arm(5, 1), eight_link_arm(5, 1));
        assert_ne!(eight_link_arm(5, 1), eight_link_arm(5, 2));
    }
}
