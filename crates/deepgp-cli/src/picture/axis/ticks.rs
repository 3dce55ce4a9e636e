//! Ticks: where an axis is marked, and with what text.
//!
//! Ticks are multiples of 1, 2 or 5 times a power of ten. On a log scale they are powers of ten, with 2 and 5 between
//! them where there is room.

/// The digits after the first with which any two numbers differ.
const MOST_DIGITS: usize = 16;

/// At most `most` ticks inside `[low, high]`: the multiples of the smallest fitting step.
pub(in crate::picture) fn linear(low: f64, high: f64, most: usize) -> Vec<f64> {
    let mut exponent = ((high - low) / most as f64).log10().floor() as i32;
    loop {
        for digit in [1.0, 2.0, 5.0] {
            let step = times_power(digit, exponent);
            // The ends count even if rounding put them a hair outside.
            let (first, last) = ((low / step - 1e-6).ceil(), (high / step + 1e-6).floor());
            if last - first + 1.0 <= most as f64 {
                let count = (last - first + 1.0).max(0.0) as usize;
                let mut ticks: Vec<f64> =
                    (0..count).map(|k| times_power((first + k as f64) * digit, exponent)).collect();
                // Where numbers themselves are no denser, several fall on one.
                ticks.dedup();
                return ticks;
            }
        }
        exponent += 1;
    }
}

/// Ticks of a log scale over `[low, high]`, both positive; falls back on [`linear`] inside one decade.
pub(in crate::picture) fn log(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let inside = |digits: &[f64], every: i32| -> Vec<f64> {
        let decades = (first..=last).filter(|e| e.rem_euclid(every) == 0);
        let all = decades.flat_map(|e| digits.iter().map(move |&digit| times_power(digit, e)));
        all.filter(|t| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(t)).collect()
    };
    for digits in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0][..], &[1.0][..]] {
        let ticks = inside(digits, 1);
        if ticks.len() <= most {
            return if ticks.len() < 2 { linear(low, high, most) } else { ticks };
        }
    }
    (2..).map(|every| inside(&[1.0], every)).find(|ticks| ticks.len() <= most).unwrap_or_default()
}

/// `digit · 10^exponent`, rounded once: a negative power divides, as a decimal literal is read.
fn times_power(digit: f64, exponent: i32) -> f64 {
    if exponent < 0 { digit / 10f64.powi(-exponent) } else { digit * 10f64.powi(exponent) }
}

/// The texts of ticks, as short as tells them apart: plain, in thousands (k) or in millions (M), all with the same number of
/// decimals; or, for very large and very small ones, in powers of ten.
pub(in crate::picture) fn labels(ticks: &[f64]) -> Vec<String> {
    let largest = ticks.iter().fold(0.0, |m: f64, t| m.max(t.abs()));
    let few = |unit: f64| decimals(ticks, unit).filter(|places| *places <= 1);
    let scaled = match largest {
        m if m >= 1e9 || (m > 0.0 && m < 1e-3) => None,
        m if m >= 1e6 && few(1e6).is_some() => Some((1e6, "M")),
        m if m >= 1e4 && few(1e3).is_some() => Some((1e3, "k")),
        _ => Some((1.0, "")),
    };
    let scaled = scaled.and_then(|(unit, suffix)| Some((unit, suffix, decimals(ticks, unit)?)));
    let Some((unit, suffix, places)) = scaled else { return scientific(ticks) };
    let label = |&t: &f64| if t == 0.0 { "0".to_owned() } else { minus(format!("{:.places$}{suffix}", t / unit)) };
    ticks.iter().map(label).collect()
}

/// The texts of ticks on a log scale: each with its own decimals where they span decades.
pub(in crate::picture) fn log_labels(ticks: &[f64]) -> Vec<String> {
    let (first, last) = (ticks.first().copied().unwrap_or(1.0), ticks.last().copied().unwrap_or(1.0));
    if last >= 10.0 * first { ticks.iter().flat_map(|&t| labels(&[t])).collect() } else { labels(ticks) }
}

/// By how much a text may miss its tick: a hundredth of the way to the next one, so that rounding is not shown, and a digit that
/// tells two ticks apart is.
fn tolerance(ticks: &[f64]) -> f64 {
    let nearest = ticks.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(f64::INFINITY, f64::min);
    if nearest.is_finite() { 0.01 * nearest } else { ticks.iter().fold(0.0, |m: f64, t| m.max(1e-6 * t.abs())) }
}

/// The fewest decimals that tell `ticks`, in multiples of `unit`; `None` if there is no end to them.
fn decimals(ticks: &[f64], unit: f64) -> Option<usize> {
    let near = tolerance(ticks) / unit;
    let told = |places: usize| {
        let power = 10f64.powi(places as i32);
        ticks.iter().all(|t| (t / unit * power - (t / unit * power).round()).abs() <= near * power)
    };
    (0..=MOST_DIGITS).find(|&places| told(places))
}

/// `ticks` in powers of ten, each with no more digits than it takes to tell them all.
fn scientific(ticks: &[f64]) -> Vec<String> {
    let near = tolerance(ticks);
    let rounded = |t: f64, digits: usize| format!("{t:.digits$e}").parse().unwrap_or(t);
    let told = |&digits: &usize| ticks.iter().all(|&t| (rounded(t, digits) - t).abs() <= near);
    let digits = (0..=MOST_DIGITS).find(told).unwrap_or(MOST_DIGITS);
    let label = |&t: &f64| if t == 0.0 { "0".to_owned() } else { minus(format!("{:e}", rounded(t, digits))) };
    ticks.iter().map(label).collect()
}

/// `text` with a true minus sign.
fn minus(text: String) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_by_hand() {
        assert_eq!(linear(0.0, 1.0, 6), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(linear(-3.1, 3.1, 7), [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(linear(0.0, 10_000.0, 6), [0.0, 2_000.0, 4_000.0, 6_000.0, 8_000.0, 10_000.0]);
        assert_eq!(linear(0.013, 0.029, 5), [0.015, 0.02, 0.025]);
        assert_eq!(linear(97.0, 131.0, 4), [100.0, 110.0, 120.0, 130.0]);
    }

    #[test]
    fn log_ticks_by_hand() {
        assert_eq!(log(1.0, 100.0, 7), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log(0.01, 10.0, 7), [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]);
        assert_eq!(log(1e-3, 1e3, 7), [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3]);
        assert_eq!(log(1e-6, 1e6, 7), [1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6]);
        assert_eq!(log(0.31, 0.34, 4), [0.31, 0.32, 0.33, 0.34]);
    }

    #[test]
    fn labels_share_their_decimals() {
        assert_eq!(labels(&[0.0, 0.5, 1.0]), ["0", "0.5", "1.0"]);
        assert_eq!(labels(&[-20_000.0, 0.0, 20_000.0]), ["−20k", "0", "20k"]);
        assert_eq!(labels(&[-20_004.0, -20_002.0]), ["−20004", "−20002"]);
        assert_eq!(labels(&[1.5e6, 2e6]), ["1.5M", "2.0M"]);
        assert_eq!(labels(&[2e-5, 4e-5]), ["2e−5", "4e−5"]);
        assert_eq!(labels(&[0.0, 2e12]), ["0", "2e12"]);
        assert_eq!(log_labels(&[0.01, 0.1, 1.0, 100.0]), ["0.01", "0.1", "1", "100"]);
        assert_eq!(log_labels(&[0.5, 1.0, 2.0]), ["0.5", "1.0", "2.0"]);
        assert_eq!(log_labels(&[1e-6, 1e-3]), ["1e−6", "0.001"]);
    }

    #[test]
    fn labels_by_hand_where_ticks_are_close() {
        assert_eq!(labels(&linear(1_699_998_500.0, 1_700_001_500.0, 4)), ["1.699999e9", "1.7e9", "1.700001e9"]);
        assert_eq!(labels(&[-1.700_000_5e9, -1.7e9]), ["−1.7000005e9", "−1.7e9"]);
        assert_eq!(labels(&[1.0, 1.0 + 1e-9]), ["1.000000000", "1.000000001"]);
        assert_eq!(labels(&[1_000_000.0, 1_000_000.5]), ["1000000.0", "1000000.5"]);
        assert_eq!(labels(&[0.1 + 0.2, 0.4]), ["0.3", "0.4"], "rounding is not shown");
        assert_eq!(labels(&[3.0 * 1e-7, 4e-7]), ["3e−7", "4e−7"]);
        assert_eq!(log_labels(&[3.1e9, 3.2e9]), ["3.1e9", "3.2e9"]);
    }

    #[test]
    fn labels_tell_ticks_apart_and_mean_them() {
        let meant = |label: &str| -> f64 {
            let (number, unit) = match label.strip_suffix('M') {
                Some(number) => (number, 1e6),
                None => label.strip_suffix('k').map_or((label, 1.0), |number| (number, 1e3)),
            };
            number.replace('−', "-").parse::<f64>().expect("a number") * unit
        };
        for middle in [0.0f64, 1.0, 0.37, -0.9, 1234.5, 2.5e4, 7.7e5, -1.7e6, 3e8, 1.7e9, -1.7e9, 5e-5, 6e-12, 8e40] {
            for exponent in -15..=2 {
                let reach = f64::max(middle.abs(), 1e-300) * 10f64.powi(exponent);
                let (low, high) = (middle - reach, middle + reach);
                if low >= high {
                    continue;
                }
                let log = if low > 0.0 { log_labels(&log(low, high, 6)) } else { Vec::new() };
                let ticks = linear(low, high, 6);
                let texts = labels(&ticks);
                for texts in [&texts, &log] {
                    let distinct: std::collections::HashSet<&String> = texts.iter().collect();
                    assert_eq!(distinct.len(), texts.len(), "{middle} ± {reach}: {texts:?}");
                }
                let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
                for (tick, text) in ticks.iter().zip(&texts).filter(|_| step.is_finite()) {
                    assert!((meant(text) - tick).abs() <= 0.02 * step, "{middle} ± {reach}: {tick} as {text}");
                }
            }
        }
    }
}
