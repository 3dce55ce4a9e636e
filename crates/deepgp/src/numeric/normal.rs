//! The standard normal distribution: distribution function, its logarithm far into the tail, and quantiles.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use super::root_finding::by_newton;

/// The `z` below which `ln Φ` is by its asymptotic series: `Φ` itself underflows soon after.
const FAR: f64 = -35.0;

/// The density `φ(z) = exp(−z²/2) / √2π`.
pub(crate) fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / TAU.sqrt()
}

/// The distribution function `Φ(z)`, with all its digits in the lower tail.
pub(crate) fn cumulative(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The logarithm `ln Φ(z)` and its slope `φ(z) / Φ(z)`, with all their digits in both tails: far below, `Φ(z) = φ(z) s / |z|` with
/// `s = 1 − 1/z² + 3/z⁴ − 15/z⁶ + 105/z⁸`, far above `ln(1 − Φ(−z))`.
pub(crate) fn log_cumulative(z: f64) -> (f64, f64) {
    if z < FAR {
        let square = 1.0 / (z * z);
        let series = 1.0 - square * (1.0 - square * (3.0 - square * (15.0 - 105.0 * square)));
        return (-0.5 * (z * z + TAU.ln()) - (-z).ln() + series.ln(), -z / series);
    }
    let tail = cumulative(-z.abs());
    if z > 0.0 { ((-tail).ln_1p(), density(z) / (1.0 - tail)) } else { (tail.ln(), density(z) / tail) }
}

/// The quantile `Φ⁻¹(level)` for a level between 0 and 1.
pub(crate) fn quantile(level: f64) -> f64 {
    let below_half = |level: f64| by_newton(-1.0, 1.0, level, |z| (cumulative(z), density(z)));
    if level <= 0.5 { below_half(level) } else { -below_half(1.0 - level) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_keeps_its_digits_and_its_slope_everywhere() {
        // To more digits than needed, by another program.
        for (z, expected) in [
            (-200.0, -20_006.217_280_898_19),
            (-37.0, -689.030_585_576_890_4),
            (-10.0, -53.231_285_150_512_48),
            (-1.0, -1.841_021_645_009_263_8),
            (0.0, -std::f64::consts::LN_2),
            (3.0, -1.350_809_964_748_192_5e-3),
            (9.0, -1.128_588_405_953_832_4e-19),
        ] {
            let (found, slope) = log_cumulative(z);
            assert!((found / expected - 1.0).abs() < 1e-12, "{z}: {found} {expected}");
            let by_difference = (log_cumulative(z + 1e-5).0 - log_cumulative(z - 1e-5).0) / 2e-5;
            assert!((slope - by_difference).abs() < 1e-7 * slope.abs().max(1.0), "{z}: {slope} {by_difference}");
        }
        let (near, far) = (log_cumulative(FAR + 1e-9), log_cumulative(FAR - 1e-9));
        assert!((near.0 / far.0 - 1.0).abs() < 1e-9 && (near.1 / far.1 - 1.0).abs() < 1e-9, "{near:?} {far:?}");
    }

    #[test]
    fn quantiles_undo_the_distribution_function() {
        for level in [1e-9, 0.02, 0.5, 0.7, 0.999] {
            assert!((cumulative(quantile(level)) - level).abs() < 1e-12 * level.max(0.1), "{level}");
        }
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-12);
    }
}
