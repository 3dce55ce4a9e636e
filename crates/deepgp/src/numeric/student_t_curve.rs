//! [`StudentTCurve`]: Student's distribution function from a table, for whoever asks for very many of its values.
//!
//! In `x = t / √(4 + t²)` the function runs over `[−1, 1]` and has a bounded slope there, since there are more than two degrees of freedom:
//!
//! ```text
//! dF/dx = p(t) dt/dx = ¼ p(t) (4 + t²)^{3/2}
//! ```
//!
//! so that cubics through values and slopes at `INTERVALS + 1` places are right to 1e-9, and in the far tails of few degrees of freedom to 1e-5. The table
//! takes as many evaluations of the incomplete beta function, a value from it a square root and a few products.

use super::special::{ln_gamma_half_step, student_t_cumulative};

/// The number of cubics between 0 and 1.
const INTERVALS: usize = 1024;

/// The distribution function of Student's t with some degrees of freedom `ν > 2`.
#[derive(Clone, Debug)]
pub(crate) struct StudentTCurve {
    /// `F` and `dF/dx` times the distance of two places, at each place of `x` from 0 to 1.
    table: Vec<(f64, f64)>,
}

impl StudentTCurve {
    /// The curve of so many degrees of freedom.
    pub fn new(degrees: f64) -> Self {
        let peak = ln_gamma_half_step(0.5 * degrees) - 0.5 * (std::f64::consts::PI * degrees).ln();
        let step = 1.0 / INTERVALS as f64;
        let place = |i: usize| {
            let x = i as f64 * step;
            let t = 2.0 * x / (1.0 - x * x).sqrt();
            let density = (peak - 0.5 * (degrees + 1.0) * (t * t / degrees).ln_1p()).exp();
            (student_t_cumulative(t, degrees), density * 0.25 * (4.0 + t * t).powf(1.5) * step)
        };
        let mut table: Vec<(f64, f64)> = (0..INTERVALS).map(place).collect();
        // Where `t` is infinite, the slope with which the last cubic is a parabola.
        let (value, slope) = table[INTERVALS - 1];
        table.push((1.0, 2.0 * (1.0 - value) - slope));
        Self { table }
    }

    /// `F(t)`.
    pub fn at(&self, t: f64) -> f64 {
        // Infinite `t` has the square root of infinity over itself, which is no number, and ends at 1 by `min`.
        let x = INTERVALS as f64 * (t.abs() / (4.0 + t * t).sqrt()).min(1.0);
        let i = (x as usize).min(INTERVALS - 1);
        let (u, ((f0, d0), (f1, d1))) = (x - i as f64, (self.table[i], self.table[i + 1]));
        let rise = f1 - f0;
        let above = f0 + u * (d0 + u * (3.0 * rise - 2.0 * d0 - d1 + u * (d0 + d1 - 2.0 * rise)));
        if t < 0.0 { 1.0 - above } else { above }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_function() {
        for degrees in [2.001, 2.5, 3.0, 4.0, 7.5, 40.0, 1e6] {
            let curve = StudentTCurve::new(degrees);
            for i in -4000..=4000 {
                let t = (f64::from(i) * 0.004).sinh() / 2.0;
                let (found, exact) = (curve.at(t), student_t_cumulative(t, degrees));
                let bound = if t.abs() < 20.0 { 1e-9 } else { 1e-5 };
                assert!((found - exact).abs() < bound, "{degrees} at {t}: {found} {exact}");
            }
            assert_eq!((curve.at(f64::INFINITY), curve.at(f64::NEG_INFINITY)), (1.0, 0.0));
        }
    }
}
