//! Text of numbers in tables and titles: of layers, of means with their deviation, of differences.

/// A number of hidden layers: `1 hidden layer`, `2 hidden layers`.
pub fn layers(hidden: usize) -> String {
    if hidden == 1 { "1 hidden layer".into() } else { format!("{hidden} hidden layers") }
}

/// A mean over splits and its standard deviation, `1.32 ± 0.03`; of one split the mean alone.
pub fn mean_with_deviation((mean, deviation): (f64, f64), splits: usize, digits: usize) -> String {
    if splits > 1 { format!("{mean:.digits$} ± {deviation:.digits$}") } else { format!("{mean:.digits$}") }
}

/// A mean difference over splits and its standard deviation, always with its sign; what rounds to zero has a plus.
pub fn signed_mean_with_deviation((mean, deviation): (f64, f64), splits: usize, digits: usize) -> String {
    let is_zero = mean.abs() < 0.5 * 0.1_f64.powi(digits as i32);
    let text = mean_with_deviation((if is_zero { 0.0 } else { mean }, deviation), splits, digits);
    if text.starts_with('-') { text } else { format!("+{text}") }
}

/// Seconds by the clock, with the number of runs that shared the device meanwhile if there were others.
pub fn seconds_with_sharing(seconds: f64, sharing: usize) -> String {
    if sharing > 1 { format!("{seconds:.1} ×{sharing}") } else { format!("{seconds:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_their_sign_and_no_minus_before_zeros() {
        let one = |mean| signed_mean_with_deviation((mean, f64::NAN), 1, 3);
        assert_eq!(
            [one(0.0121), one(-0.0121), one(-0.0004), one(-0.0006), one(0.0)],
            ["+0.012", "-0.012", "+0.000", "-0.001", "+0.000"]
        );
        assert_eq!(signed_mean_with_deviation((-0.0161, 0.0101), 5, 3), "-0.016 ± 0.010");
    }
}
