//! Dates in text, as numbers: what Parquet says with a type, a text says with digits.

use super::Cell;
use super::parquet_type::decimal;

/// Digits behind the point of a second: nanoseconds are the finest that Parquet has.
const FINEST: usize = 9;

const SECONDS_A_DAY: i64 = 86_400;

/// Seconds from the beginning of 1970 to `YYYY-MM-DD` or `YYYY-MM-DD[T ]HH:MM[:SS[.fff]][Z]`, rounded once, as a timestamp
/// of Parquet is. A date is its midnight; a time without `Z` is taken for one of the same zone.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let (day, time) = match text.split_at_checked(10)? {
        (day, "") => (day, None),
        (day, time) => (day, Some(time.strip_prefix(['T', ' '])?)),
    };
    let [year, month, day] = numbers(day, '-', [4, 2, 2])?;
    if !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) {
        return None;
    }
    let (time, fraction) = time.map_or(Some((0, "0")), time_of_day)?;
    let whole = days_since_1970(year, month, day) * SECONDS_A_DAY + time;
    let digits = fraction.len();
    let scaled = i128::from(whole) * 10i128.pow(digits as u32) + fraction.parse::<i128>().ok()?;
    match decimal(scaled, digits as i32) {
        Cell::Number(seconds) => Some(seconds),
        _ => None,
    }
}

/// `YYYY-MM-DD` of a day that is counted from the first of 1970. `None` if its year has not four digits.
pub(super) fn day(days: i64) -> Option<String> {
    // The average year has this many days, so the estimate is at most one off.
    let estimate = 1970 + (days as f64 / 365.2425).floor() as i64;
    let begins = |year: &i64| (0..=9999).contains(year) && days_since_1970(*year, 1, 1) <= days;
    let year =
        (estimate - 1..=estimate + 1).rev().find(begins).filter(|year| days_since_1970(*year, 12, 31) >= days)?;
    let month = (1..=12).rev().find(|month| days_since_1970(year, *month, 1) <= days)?;
    Some(format!("{year:04}-{month:02}-{:02}", days - days_since_1970(year, month, 1) + 1))
}

/// `YYYY-MM-DD HH:MM:SS`, with a fraction if there is one, of a moment since the beginning of 1970, in units of `10^-digits`
/// seconds.
pub(super) fn moment(units: i64, digits: u32) -> Option<String> {
    let units_a_day = SECONDS_A_DAY * 10i64.pow(digits);
    let date = day(units.div_euclid(units_a_day))?;
    Some(format!("{date} {}", time(units.rem_euclid(units_a_day), digits)?))
}

/// `HH:MM:SS`, the same since midnight.
pub(super) fn time(units: i64, digits: u32) -> Option<String> {
    let units_a_second = 10i64.pow(digits);
    let (second, fraction) = (units / units_a_second, units % units_a_second);
    if !(0..SECONDS_A_DAY).contains(&second) || fraction < 0 {
        return None;
    }
    let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    let fraction = format!(".{fraction:0width$}", width = digits as usize);
    Some(clock + fraction.trim_end_matches('0').trim_end_matches('.'))
}

/// Seconds since midnight, and the digits behind their point.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let [hour, minute, second] = match (numbers(clock, ':', [2, 2, 2]), fraction) {
        (Some(all), _) => all,
        (None, None) => numbers(clock, ':', [2, 2]).map(|[hour, minute]| [hour, minute, 0])?,
        (None, Some(_)) => return None,
    };
    let fraction = fraction.unwrap_or("0");
    let digits = (1..=FINEST).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    (hour < 24 && minute < 60 && second < 60 && digits).then_some((hour * 3600 + minute * 60 + second, fraction))
}

/// Numbers of so many digits each, with `mark` between them and nothing else.
fn numbers<const N: usize>(text: &str, mark: char, widths: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(mark);
    let mut all = [0; N];
    for (number, width) in all.iter_mut().zip(widths) {
        let part = parts.next().filter(|part| part.len() == width && part.bytes().all(|b| b.is_ascii_digit()))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(all)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The calendar of today, also for years before it was made.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Leap days of the years before this one; the year 0 is one, and what is divided is never negative.
    let leap_days = |year: i64| if year == 0 { 0 } else { (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1 };
    let before = (1..month).map(|month| days_of(year, month)).sum::<i64>();
    365 * (year - 1970) + leap_days(year) - leap_days(1970) + before + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_is_one_after_the_day_before() {
        let mut expected = seconds("0000-01-01").unwrap();
        for year in 0..=9999 {
            for month in 1..=12 {
                for day in 1..=days_of(year, month) {
                    let text = format!("{year:04}-{month:02}-{day:02}");
                    assert_eq!(seconds(&text), Some(expected));
                    assert_eq!(super::day((expected / 86_400.0) as i64), Some(text));
                    expected += 86_400.0;
                }
            }
        }
        assert_eq!(seconds("1970-01-01"), Some(0.0));
    }

    #[test]
    fn times_are_seconds_rounded_once() {
        // By another program.
        for (text, expected) in [
            ("2024-02-29", 1_709_164_800.0),
            ("2024-02-29T23:59", 1_709_251_140.0),
            ("2024-02-29 23:59:58", 1_709_251_198.0),
            ("2024-02-29T23:59:58Z", 1_709_251_198.0),
            ("1969-12-31 23:59:59.25", -0.75),
            ("2001-09-09T01:46:40.123456789Z", 1_000_000_000.123_456_8),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn moments_are_written_as_they_are_read() {
        for (units, digits, text) in [
            (0, 0, "1970-01-01 00:00:00"),
            (-1, 9, "1969-12-31 23:59:59.999999999"),
            (1_709_251_198_250, 3, "2024-02-29 23:59:58.25"),
            (1_709_251_198_000_010, 6, "2024-02-29 23:59:58.00001"),
        ] {
            assert_eq!(moment(units, digits).as_deref(), Some(text));
            assert_eq!(seconds(text), Some(units as f64 / 10f64.powi(digits as i32)));
        }
        assert_eq!((day(-719_529), day(2_932_897), day(i64::MIN), day(i64::MAX)), (None, None, None, None));
        assert_eq!((time(-1, 3), time(86_400, 0), moment(i64::MAX, 0)), (None, None, None));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "2024-02-30",
            "2023-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-01-00",
            "2024-1-1",
            "20240101",
            "01/02/2024",
            "2024-01-01T",
            "2024-01-01 24:00",
            "2024-01-01 10:60",
            "2024-01-01 10:00:60",
            "2024-01-01 10:00.5",
            "2024-01-01 10:00:00.",
            "2024-01-01 10:00:00.0123456789",
            "2024-01-01 10:00:00+02:00",
            "2024-01-01x10:00",
            "2024-01-01-01",
            "+024-01-01",
            "2024-01-0ä",
            "2024-01-ää",
            "",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
