//! Numbers as people write them: `$1,234.50`, `€ 12`, `1 000`, `12.5 %`.
//!
//! A currency's sign may stand before or behind, `%` behind, a blank between, and thousands may be set apart by commas, blanks or
//! apostrophes, or by points where the comma is the decimal mark. A percentage is the number before the sign: 12.5.

/// Signs of currencies.
const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '₹', '₩'];

/// A number that is written with something beside its digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WrittenNumber {
    pub(super) value: f64,
    /// Whether it is a percentage.
    pub(super) percent: bool,
}

/// Reads a number that has a currency's sign, a percent sign or marks between thousands; `None` if the text is anything else.
pub(super) fn parse(text: &str, decimal_comma: bool) -> Option<WrittenNumber> {
    let text = text.trim();
    let (negative, rest) = sign(text);
    let rest = rest.strip_prefix(CURRENCIES).map_or(rest, str::trim_start);
    // As in `$-5`, once.
    let (negative, rest) = match sign(rest) {
        (true, rest) if !negative => (true, rest),
        _ => (negative, rest),
    };
    let percent = rest.ends_with('%');
    let digits = rest.strip_suffix('%').or_else(|| rest.strip_suffix(CURRENCIES)).unwrap_or(rest).trim_end();
    let plain = without_separators(digits, decimal_comma)?;
    let value: f64 = plain.parse().ok()?;
    Some(WrittenNumber { value: if negative { -value } else { value }, percent })
}

/// Whether a minus stands before the rest.
fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix(['-', '−']) {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Digits with at most one point, which is decimal; `None` if the marks between them are not those of thousands.
fn without_separators(text: &str, decimal_comma: bool) -> Option<String> {
    let (decimal, others): (char, &[char]) = if decimal_comma {
        (',', &['.', ' ', '\'', '\u{a0}', '\u{202f}'])
    } else {
        ('.', &[',', ' ', '\'', '\u{a0}', '\u{202f}'])
    };
    let (whole, fraction) = match text.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.is_some_and(|fraction| !fraction.is_empty() && !all_digits(fraction)) {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    match others.iter().find(|mark| whole.contains(**mark)) {
        None if all_digits(whole) => plain.push_str(whole),
        None if whole.is_empty() && fraction.is_some_and(all_digits) => plain.push('0'),
        None => return None,
        Some(mark) => {
            for (position, group) in whole.split(*mark).enumerate() {
                let fits = if position == 0 { (1..=3).contains(&group.len()) } else { group.len() == 3 };
                if !fits || !all_digits(group) {
                    return None;
                }
                plain.push_str(group);
            }
        }
    }
    if let Some(fraction) = fraction.filter(|fraction| !fraction.is_empty()) {
        plain.push('.');
        plain.push_str(fraction);
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let cases = [
            ("$1,234.50", 1234.5),
            ("€ 12", 12.0),
            ("12 €", 12.0),
            ("-$5", -5.0),
            ("$-5", -5.0),
            ("−3,000", -3000.0),
            ("1,234,567", 1_234_567.0),
            ("1 000 000.5", 1_000_000.5),
            ("1'000", 1000.0),
            ("£.99", 0.99),
            ("+£7", 7.0),
            ("¥5.", 5.0),
            ("1\u{202f}250 €", 1250.0),
        ];
        for (text, value) in cases {
            assert_eq!(parse(text, false), Some(WrittenNumber { value, percent: false }), "{text}");
        }
        for (text, value) in [("12.5%", 12.5), ("-3 %", -3.0), ("1,250%", 1250.0)] {
            assert_eq!(parse(text, false), Some(WrittenNumber { value, percent: true }), "{text}");
        }
        for (text, value) in [("1.234,5", 1234.5), ("3,25 €", 3.25), ("$1.000", 1000.0), ("1 000,25", 1000.25)] {
            assert_eq!(parse(text, true), Some(WrittenNumber { value, percent: false }), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            "$",
            "%",
            "1,23",
            "1,2345",
            "12,34,567",
            "1,234.5.6",
            "$5 kg",
            "5-7",
            "1 23",
            "01/02/2024",
            "2024-01-01",
            "1e5%",
            "$$5",
            "--5",
            ",5",
            "1,",
            "a,b",
        ] {
            assert_eq!(parse(text, false), None, "{text}");
        }
    }
}
