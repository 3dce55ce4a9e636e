//! Special functions that `libm` has not: the slope and differences of `ln Γ`, and the distribution function of Student's t.

/// The argument from which on the asymptotic series of the digamma function has all its digits.
const LARGE: f64 = 10.0;
/// The most terms of the continued fraction; some twenty are enough where it converges fast.
const TERMS: u32 = 500;

/// The digamma function `ψ(x) = d ln Γ(x) / dx` for positive `x`: by `ψ(x) = ψ(x + 1) − 1/x` up to where its asymptotic series holds.
pub(crate) fn digamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < LARGE {
        below += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    // The coefficients are B_2k / 2k, with the Bernoulli numbers B_2k.
    let series = [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0, 1.0 / 12.0];
    let tail = series.iter().rev().fold(0.0, |sum, c| (sum + c) * square);
    x.ln() - 0.5 / x - tail - below
}

/// The difference `ln Γ(x + ½) − ln Γ(x)` for positive `x`: where both are large, and little is left of them, by its asymptotic series
/// `½ ln x − 1/8x + 1/192x³`.
pub(crate) fn ln_gamma_half_step(x: f64) -> f64 {
    if x < 1e3 { libm::lgamma(x + 0.5) - libm::lgamma(x) } else { 0.5 * x.ln() - 0.125 / x + 1.0 / (192.0 * x * x * x) }
}

/// The logarithm `ln Γ(x + n) − ln Γ(x) − n ln x` for positive `x` and `n ≥ 0`: `ln (1 + 1/x) ⋯ (1 + (n − 1)/x)` for whole `n`. Where `x` is large,
/// and little is left of the difference, by Stirling's series.
pub(crate) fn ln_rising_factorial(x: f64, n: f64) -> f64 {
    if x < 30.0 {
        return libm::lgamma(x + n) - libm::lgamma(x) - n * x.ln();
    }
    let series = |x: f64| (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * x * x)) / (x * x)) / x;
    (x + n - 0.5) * (n / x).ln_1p() - n + series(x + n) - series(x)
}

/// The distribution function `P(T ≤ t)` of Student's t with so many degrees of freedom: `½ I_x(ν/2, ½)` for `t < 0`, with
/// `x = ν / (ν + t²)`.
pub(crate) fn student_t_cumulative(t: f64, degrees: f64) -> f64 {
    let square = t * t;
    let tail = 0.5 * incomplete_beta(square / degrees, 0.5 * degrees);
    if t < 0.0 { tail } else { 1.0 - tail }
}

/// The regularised incomplete beta function `I_x(a, ½)` at `x = 1 / (1 + ratio)`: by its continued fraction, on the side where that converges
/// fast, with the front factor `x^a (1 − x)^½ Γ(a + ½) / Γ(a) √π`.
fn incomplete_beta(ratio: f64, a: f64) -> f64 {
    if ratio <= 0.0 {
        return 1.0;
    }
    let (x, rest) = (1.0 / (1.0 + ratio), ratio / (1.0 + ratio));
    let front = ln_gamma_half_step(a) - 0.5 * std::f64::consts::PI.ln() - a * ratio.ln_1p() + 0.5 * rest.ln();
    if x > (a + 1.0) / (a + 2.5) {
        1.0 - front.exp() * continued_fraction(rest, 0.5, a, TERMS) / 0.5
    } else {
        front.exp() * continued_fraction(x, a, 0.5, TERMS) / a
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method, with so many terms at most.
pub(super) fn continued_fraction(x: f64, a: f64, b: f64, terms: u32) -> f64 {
    const TINY: f64 = 1e-300;
    let keep = |v: f64| if v.abs() < TINY { TINY } else { v };
    let (mut c, mut d) = (1.0, 1.0 / keep(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    for m in 1..=terms {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for coefficient in [even, odd] {
            d = 1.0 / keep(1.0 + coefficient * d);
            c = keep(1.0 + coefficient / c);
            value *= d * c;
        }
        if (value / before - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_is_the_slope_of_the_logarithm_of_gamma() {
        // ψ(1) = −γ and ψ(½) = −γ − 2 ln 2.
        let gamma = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + gamma).abs() < 1e-14);
        assert!((digamma(0.5) + gamma + 2.0 * 2f64.ln()).abs() < 1e-14);
        for x in [0.3, 1.7, 4.0, 25.0, 1e4] {
            let step = 1e-5 * x;
            let slope = (libm::lgamma(x + step) - libm::lgamma(x - step)) / (2.0 * step);
            assert!((digamma(x) - slope).abs() < 1e-7 * slope.abs().max(1.0), "{x}");
        }
    }

    #[test]
    fn a_rising_factorial_is_its_product_wherever_it_is_computed() {
        for x in [0.3, 4.0, 29.9, 30.1, 1e4, 1e12] {
            for n in [0, 1, 7, 300] {
                let expected: f64 = (0..n).map(|i| (f64::from(i) / x).ln_1p()).sum();
                let found = ln_rising_factorial(x, f64::from(n));
                assert!((found - expected).abs() < 1e-12 * expected.abs().max(1.0), "{x} {n}: {found} {expected}");
            }
        }
    }

    #[test]
    fn the_distribution_of_t_is_known_for_one_two_and_many_degrees() {
        for t in [-8.0, -1.3, 0.0, 0.4, 2.5, 30.0f64] {
            let cauchy = 0.5 + t.atan() / std::f64::consts::PI;
            assert!((student_t_cumulative(t, 1.0) - cauchy).abs() < 1e-13, "{t}");
            let two = 0.5 + t / (2.0 * (2.0 + t * t).sqrt());
            assert!((student_t_cumulative(t, 2.0) - two).abs() < 1e-13, "{t}");
            let normal = 0.5 * libm::erfc(-t * std::f64::consts::FRAC_1_SQRT_2);
            assert!((student_t_cumulative(t, 1e9) - normal).abs() < 1e-8, "{t}");
        }
        // With four degrees of freedom the tail is 3/t⁴ far out.
        assert!((student_t_cumulative(-1e3, 4.0) / 3e-12 - 1.0).abs() < 1e-4);
    }
}
