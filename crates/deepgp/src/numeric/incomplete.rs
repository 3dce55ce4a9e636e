//! Incomplete gamma and beta functions: the distribution functions of counts.

use super::normal;
use super::special::continued_fraction;

/// The shape from which on the incomplete gamma function is by its expansion in `1/a`, near `x = a`.
const LARGE_SHAPE: f64 = 100.0;
/// The largest `|x/a − 1|` at which that expansion is taken.
const NEAR: f64 = 0.3;
/// The most terms of a series or a continued fraction.
const TERMS: u32 = 20_000;

/// The upper incomplete gamma function `Q(a, x) = Γ(a, x) / Γ(a)` for positive `a`: the probability of at most `a − 1` events at rate `x`.
/// By its power series where `x < a + 1`, by its continued fraction where not, and where both would take many terms by Temme's expansion.
pub(crate) fn gamma_upper(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if a >= LARGE_SHAPE && (x / a - 1.0).abs() <= NEAR {
        return gamma_upper_by_expansion(a, x);
    }
    let front = |shape: f64| (a * x.ln() - x - libm::lgamma(shape)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0, 1.0);
        for n in 1..TERMS {
            term *= x / (a + f64::from(n));
            sum += term;
            if term <= f64::EPSILON * sum {
                break;
            }
        }
        return (1.0 - front(a + 1.0) * sum).clamp(0.0, 1.0);
    }
    // 1 / (x + 1 − a − 1 (1 − a) / (x + 3 − a − 2 (2 − a) / …)), by Lentz's method.
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / f64::MIN_POSITIVE, 1.0 / b);
    let mut value = d;
    for n in 1..TERMS {
        let n = f64::from(n);
        let coefficient = n * (a - n);
        b += 2.0;
        d = 1.0 / (coefficient * d + b);
        c = b + coefficient / c;
        value *= c * d;
        if (c * d - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    (front(a) * value).clamp(0.0, 1.0)
}

/// Temme's expansion of `Q(a, x)` for large `a` (1979): with `½ η² = μ − ln(1 + μ)`, `μ = x/a − 1` and `η` of the sign of `μ`,
///
/// ```text
/// Q = Φ(−η √a) + exp(−½ a η²) / √(2πa) · Σ_k c_k(η) / a^k
/// ```
///
/// where each `c_k` is a power series in `η`. Error below 1e-10.
fn gamma_upper_by_expansion(a: f64, x: f64) -> f64 {
    let mu = (x - a) / a;
    let half_square = if mu.abs() < 0.01 {
        mu * mu * (0.5 - mu * (1.0 / 3.0 - mu * (0.25 - mu * (0.2 - mu * (1.0 / 6.0 - mu / 7.0)))))
    } else {
        mu - mu.ln_1p()
    };
    let eta = (2.0 * half_square).sqrt().copysign(mu);
    let series = |coefficients: &[f64]| coefficients.iter().rev().fold(0.0, |sum, c| sum * eta + c);
    let sum = series(&TEMME_0) + (series(&TEMME_1) + series(&TEMME_2) / a) / a;
    let rest = (-a * half_square).exp() / (std::f64::consts::TAU * a).sqrt() * sum;
    (normal::cumulative(-eta * a.sqrt()) + rest).clamp(0.0, 1.0)
}

/// The coefficients of `c_0(η)`, lowest power first.
const TEMME_0: [f64; 11] = [
    -1.0 / 3.0,
    1.0 / 12.0,
    -2.0 / 135.0,
    1.0 / 864.0,
    1.0 / 2835.0,
    -139.0 / 777_600.0,
    1.0 / 25_515.0,
    -571.0 / 261_273_600.0,
    -281.0 / 151_559_100.0,
    8.296_711_340_953_086e-7,
    -1.766_595_273_682_607_9e-7,
];
/// The coefficients of `c_1(η)`.
const TEMME_1: [f64; 9] = [
    -1.0 / 540.0,
    -1.0 / 288.0,
    1.0 / 378.0,
    -77.0 / 77_760.0,
    1.0 / 4860.0,
    -4.018_775_720_164_609e-7,
    -1.809_855_033_448_997_8e-5,
    7.649_160_916_081_11e-6,
    -1.612_090_089_456_344_6e-6,
];
/// The coefficients of `c_2(η)`.
const TEMME_2: [f64; 7] = [
    25.0 / 6048.0,
    -139.0 / 51_840.0,
    1.0 / 1296.0,
    2.009_387_860_082_304_5e-6,
    -1.073_665_322_636_516_1e-4,
    5.292_344_882_912_012_5e-5,
    -1.276_063_518_861_872_8e-5,
];

/// The regularised incomplete beta function `I_x(a, b)` for positive `a` and `b`, where `rest` is `1 − x` with all its digits: by its
/// continued fraction, on the side where that converges fast.
pub(crate) fn beta(x: f64, rest: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || rest <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = (a * x.ln() + b * rest.ln() + libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)).exp();
    // It takes a few times the root of the larger one.
    let terms = 100 + (10.0 * a.max(b).sqrt()).min(1e5) as u32;
    let value = if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(x, a, b, terms) / a
    } else {
        1.0 - front * continued_fraction(rest, b, a, terms) / b
    };
    value.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum `Σ_{i<k} exp log_p(i)`.
    fn summed(k: u32, log_p: impl Fn(f64) -> f64) -> f64 {
        (0..k).map(|i| log_p(f64::from(i)).exp()).sum()
    }

    #[test]
    fn the_incomplete_gamma_function_adds_up_poisson_probabilities() {
        for (k, x) in [
            (1, 0.3f64),
            (3, 10.0),
            (30, 4.0),
            (99, 99.0),
            (100, 90.0),
            (100, 129.0),
            (101, 100.9),
            (400, 380.0),
            (400, 10.0),
            (3000, 3000.0),
            (3000, 2100.0),
            (3000, 3200.0),
        ] {
            let expected = summed(k, |i| i * x.ln() - x - libm::lgamma(i + 1.0));
            let found = gamma_upper(f64::from(k), x);
            assert!((found - expected).abs() < 2e-10, "{k} {x}: {found} {expected}");
        }
        assert_eq!((gamma_upper(4.0, 0.0), gamma_upper(4.0, 1e9)), (1.0, 0.0));
        assert!((gamma_upper(1e8, 1e8) - 0.5).abs() < 1e-4);
    }

    #[test]
    fn the_incomplete_beta_function_adds_up_negative_binomial_probabilities() {
        for (k, r, mean) in [(1, 0.5, 0.3), (4, 2.5, 10.0), (40, 3.0, 31.0), (3000, 0.7, 2500.0), (3000, 800.0, 3100.0)]
        {
            let (p, q): (f64, f64) = (r / (r + mean), mean / (r + mean));
            let log_p =
                |i: f64| libm::lgamma(i + r) - libm::lgamma(r) - libm::lgamma(i + 1.0) + r * p.ln() + i * q.ln();
            let (expected, found) = (summed(k, log_p), beta(p, q, r, f64::from(k)));
            assert!((found - expected).abs() < 1e-9, "{k} {r} {mean}: {found} {expected}");
        }
        assert_eq!((beta(0.0, 1.0, 2.0, 3.0), beta(1.0, 0.0, 2.0, 3.0)), (0.0, 1.0));
    }
}
