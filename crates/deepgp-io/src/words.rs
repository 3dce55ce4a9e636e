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
    fn shares_and_counts_are_in_words() {
        assert_eq!(
            (percent(0.494), count(1, "row"), count(2, "row")),
            ("49.4 %".into(), "1 row".into(), "2 rows".into())
        );
    }
}
