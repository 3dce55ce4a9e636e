//! Text of numbers on the page.

/// `v` with `digits` significant digits, thousands set apart, and powers of ten where it is very large or small.
pub(super) fn significant(v: f64, digits: usize) -> String {
    if !v.is_finite() {
        return "–".to_owned();
    }
    if v == 0.0 {
        return "0".to_owned();
    }
    // The exponent of the rounded value: 9.996 is written with that of 10.
    let rounded = format!("{v:.*e}", digits.saturating_sub(1));
    let exponent: i32 = rounded.split('e').nth(1).and_then(|e| e.parse().ok()).unwrap_or(0);
    if !(-4..7).contains(&exponent) {
        return rounded.replace('-', "−");
    }
    fixed(v, (digits as i32 - 1 - exponent).max(0) as usize)
}

/// `v` with `places` decimals, thousands set apart and a true minus sign.
pub(super) fn fixed(v: f64, places: usize) -> String {
    if !v.is_finite() {
        return "–".to_owned();
    }
    let text = format!("{:.places$}", v.abs());
    let (whole, decimals) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        // Four digits need no help.
        if i > 0 && (whole.len() - i).is_multiple_of(3) && whole.len() > 4 {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    format!("{}{grouped}{decimals}", if v < 0.0 && !zero { "−" } else { "" })
}

/// A column of a table: all values with the decimals that show three digits of the smallest.
pub(super) fn column(values: &[f64]) -> Vec<String> {
    let sizes = || values.iter().map(|v| v.abs()).filter(|v| v.is_finite() && *v > 0.0);
    let (smallest, largest) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    if !(1e-3..1e7).contains(&largest) {
        return values.iter().map(|&v| significant(v, 3)).collect();
    }
    let places = (2.0 - smallest.log10().floor()).clamp(0.0, 4.0) as usize;
    values.iter().map(|&v| fixed(v, places)).collect()
}

/// A column of numbers whose differences matter, not their ratios: three decimals wherever zero lies.
pub(super) fn differences(values: &[f64]) -> Vec<String> {
    values.iter().map(|&v| if v.abs() < 1e4 { fixed(v, 3) } else { significant(v, 3) }).collect()
}

/// A share of one in per cent.
pub(super) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1}\u{202f}%", 100.0 * share) } else { "–".to_owned() }
}

/// A duration in the unit that suits it.
pub(super) fn duration(seconds: f64) -> String {
    let (minutes, hours) = (seconds / 60.0, seconds / 3600.0);
    match seconds {
        s if !s.is_finite() || s < 0.0 => "–".to_owned(),
        s if s < 0.1 => format!("{}\u{202f}ms", significant(1000.0 * s, 2)),
        s if s < 100.0 => format!("{}\u{202f}s", significant(s, 2)),
        _ if minutes < 100.0 => format!("{}\u{202f}min", significant(minutes, 2)),
        _ => format!("{}\u{202f}h", significant(hours, 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits_by_hand() {
        assert_eq!(significant(0.123456, 3), "0.123");
        assert_eq!(significant(-12.3456, 3), "−12.3");
        assert_eq!(significant(9.996, 3), "10.0");
        assert_eq!(significant(1638.0, 4), "1638");
        assert_eq!(significant(1_234_567.0, 3), "1\u{202f}234\u{202f}567");
        assert_eq!(significant(1.234e-9, 3), "1.23e−9");
        assert_eq!(significant(f64::NAN, 3), "–");
        assert_eq!(fixed(-0.001, 1), "0.0");
    }

    #[test]
    fn a_column_shares_its_decimals() {
        assert_eq!(column(&[0.512, 12.3456]), ["0.512", "12.346"]);
        assert_eq!(column(&[48_123.4, 51_000.0, f64::NAN]), ["48\u{202f}123", "51\u{202f}000", "–"]);
        assert_eq!(column(&[0.0, 0.0]), ["0", "0"]);
    }

    #[test]
    fn durations_have_fitting_units() {
        assert_eq!(duration(0.0421), "42\u{202f}ms");
        assert_eq!(duration(84.2), "84\u{202f}s");
        assert_eq!(duration(600.0), "10\u{202f}min");
        assert_eq!(duration(7200.0), "2.0\u{202f}h");
    }
}
