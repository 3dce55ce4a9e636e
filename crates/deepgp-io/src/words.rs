//! Numbers, shares and counts as people read them: the same in notes, on the command line and in reports.

/// A number with four significant digits, in plain notation where that is short.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    match magnitude {
        -4..=3 => format!("{value:.*}", (3 - magnitude).max(0) as usize),
        4..=6 => format!("{value:.0}"),
        _ => format!("{value:.3e}"),
    }
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A count and what it counts: `1 run`, `2 runs`.
pub fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("{n} {what}") } else { format!("{n} {what}s") }
}

/// A number of bytes: `12 bytes`, `512 KiB`, `3.5 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = |unit: usize| 1024f64.powi(unit as i32 + 1);
    match (0..UNITS.len()).rev().find(|unit| count as f64 >= power(*unit)) {
        None => format!("{count} bytes"),
        Some(unit) => {
            let value = count as f64 / power(unit);
            // Digits of small units say nothing.
            if unit < 2 { format!("{value:.0} {}", UNITS[unit]) } else { format!("{value:.1} {}", UNITS[unit]) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let all = [0.0, 1.0, -0.012_345_6, 123.456, 9876.54, 1_234_567.0, 1e12, 3e-7];
        let shown: Vec<String> = all.iter().map(|v| number(*v)).collect();
        assert_eq!(shown, ["0", "1.000", "-0.01235", "123.5", "9877", "1234567", "1.000e12", "3.000e-7"]);
    }

    #[test]
    fn bytes_have_the_unit_that_suits_them() {
        let shown = [12, 1024, 512 << 10, 3 << 20, 3500 << 20, 7 << 40, u64::MAX].map(bytes);
        assert_eq!(shown, ["12 bytes", "1 KiB", "512 KiB", "3 MiB", "3.4 GiB", "7.0 TiB", "16.0 EiB"]);
    }

    #[test]
    fn shares_and_counts_are_in_words() {
        assert_eq!(
            (percent(0.494), count(1, "row"), count(2, "row")),
            ("49.4 %".into(), "1 row".into(), "2 rows".into())
        );
    }
}
