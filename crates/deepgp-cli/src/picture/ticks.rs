//! Where an axis is marked, and with what text.
//!
//! Ticks are multiples of 1, 2 or 5 times a power of ten. On a log scale they are powers of ten, with 2 and 5
//! between them where there is room.

/// At most `most` ticks inside `[low, high]`: the multiples of the smallest fitting step.
pub(super) fn linear(low: f64, high: f64, most: usize) -> Vec<f64> {
    let mut exponent = ((high - low) / most as f64).log10().floor() as i32;
    loop {
        for digit in [1.0, 2.0, 5.0] {
            let step = times_power(digit, exponent);
            // The ends count even if rounding put them a hair outside.
            let (first, last) = ((low / step - 1e-6).ceil(), (high / step + 1e-6).floor());
            if last - first + 1.0 <= most as f64 {
                let count = (last - first + 1.0).max(0.0) as usize;
                return (0..count).map(|k| times_power((first + k as f64) * digit, exponent)).collect();
            }
        }
        exponent += 1;
    }
}

/// Ticks of a log scale over `[low, high]`, both positive; falls back on [`linear`] inside one decade.
pub(super) fn log(low: f64, high: f64, most: usize) -> Vec<f64> {
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

/// The texts of ticks, all with the same number of decimals: plain, in thousands (k), in millions (M), or, for
/// very large and very small ones, in powers of ten.
pub(super) fn labels(ticks: &[f64]) -> Vec<String> {
    let largest = ticks.iter().fold(0.0, |m: f64, t| m.max(t.abs()));
    let plain = decimals(ticks, 1.0);
    let (unit, suffix) = match largest {
        m if m >= 1e9 || (m > 0.0 && m < 1e-3) => return ticks.iter().map(|&t| scientific(t)).collect(),
        m if m >= 1e6 && decimals(ticks, 1e6) <= 1 => (1e6, "M"),
        m if m >= 1e4 && decimals(ticks, 1e3) <= 1 => (1e3, "k"),
        _ if plain > 6 => return ticks.iter().map(|&t| scientific(t)).collect(),
        _ => (1.0, ""),
    };
    let places = decimals(ticks, unit);
    let label = |&t: &f64| if t == 0.0 { "0".to_owned() } else { minus(format!("{:.places$}{suffix}", t / unit)) };
    ticks.iter().map(label).collect()
}

/// The texts of ticks on a log scale: each with its own decimals where they span decades.
pub(super) fn log_labels(ticks: &[f64]) -> Vec<String> {
    let (first, last) = (ticks.first().copied().unwrap_or(1.0), ticks.last().copied().unwrap_or(1.0));
    if last >= 10.0 * first { ticks.iter().flat_map(|&t| labels(&[t])).collect() } else { labels(ticks) }
}

/// How many decimals tell `ticks` exactly, in multiples of `unit`.
fn decimals(ticks: &[f64], unit: f64) -> usize {
    let exact = |places: usize| {
        ticks.iter().all(|t| {
            let scaled = t / unit * 10f64.powi(places as i32);
            (scaled - scaled.round()).abs() <= 1e-6 * scaled.abs().max(1e-3)
        })
    };
    (0..12).find(|&places| exact(places)).unwrap_or(12)
}

/// `v` in powers of ten, with as few digits as tell it.
fn scientific(v: f64) -> String {
    if v == 0.0 {
        return "0".to_owned();
    }
    // Six digits first: a sum of tenths should not show its rounding.
    let rounded: f64 = format!("{v:.5e}").parse().unwrap_or(v);
    minus(format!("{rounded:e}"))
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
}
