//! Dates in text, as numbers: what Parquet says with a type, a text says with digits.

use super::Cell;
use super::parquet_type::decimal;

/// Digits behind the point of a second: nanoseconds are the finest that Parquet has.
const FINEST: usize = 9;

const SECONDS_A_DAY: i64 = 86_400;

/// Seconds from the beginning of 1970, UTC, to `YYYY-MM-DD` or `YYYY-MM-DD[T ]HH:MM[:SS[.fff]][zone]`, rounded once, as a
/// timestamp of Parquet is; `/` may stand for `-`. A date is its midnight. A zone is `Z`, for UTC, or an offset from it:
/// `+01:00`, `+0100` or `+01`, after a blank or none. What has none is taken for UTC.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let (day, time) = match text.split_at_checked(10)? {
        (day, "") => (day, None),
        (day, time) => (day, Some(time.strip_prefix(['T', ' '])?)),
    };
    let [year, month, day] = numbers(day, '-', [4, 2, 2]).or_else(|| numbers(day, '/', [4, 2, 2]))?;
    if !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) {
        return None;
    }
    let (clock, ahead) = time.map_or(Some(("00:00", 0)), clock_and_offset)?;
    let (time, fraction) = time_of_day(clock)?;
    let whole = days_since_1970(year, month, day) * SECONDS_A_DAY + time - ahead;
    let digits = fraction.len();
    let scaled = i128::from(whole) * 10i128.pow(digits as u32) + fraction.parse::<i128>().ok()?;
    match decimal(scaled, digits as i32) {
        Cell::Number(seconds) => Some(seconds),
        _ => None,
    }
}

/// The order of day and month in dates whose year comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// `12/31/2024`, as in the United States.
    MonthFirst,
    /// `31/12/2024`, `31.12.2024`, as in most other places.
    DayFirst,
}

/// Seconds from the beginning of 1970, UTC, to a date whose year of four digits comes last, and its time if there is one: `H:MM[:SS]`, with or
/// without AM or PM. Day and month have one or two digits, with `/`, `.` or `-` between them.
pub(super) fn seconds_ordered(text: &str, order: Order) -> Option<f64> {
    let (day, clock) = match text.split_once([' ', 'T']) {
        Some((day, clock)) => (day, Some(clock.trim())),
        None => (text, None),
    };
    let mark = day.chars().find(|c| matches!(c, '/' | '.' | '-'))?;
    let parts: Vec<&str> = day.split(mark).collect();
    let [first, second, year] = parts[..] else { return None };
    let number = |part: &str, widths: std::ops::RangeInclusive<usize>| {
        let fits = widths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| part.parse::<i64>().ok()).flatten()
    };
    let (first, second, year) = (number(first, 1..=2)?, number(second, 1..=2)?, number(year, 4..=4)?);
    let (month, day) = match order {
        Order::MonthFirst => (first, second),
        Order::DayFirst => (second, first),
    };
    let clock = clock.map_or(Some("00:00:00".into()), twenty_four_hours)?;
    seconds(&format!("{year:04}-{month:02}-{day:02} {clock}"))
}

/// A time of day with two digits for its hour, which counts from 0 to 23.
fn twenty_four_hours(clock: &str) -> Option<String> {
    let upper = clock.to_ascii_uppercase();
    let (digits, afternoon) = match (upper.strip_suffix("AM"), upper.strip_suffix("PM")) {
        (Some(digits), _) => (digits, Some(false)),
        (_, Some(digits)) => (digits, Some(true)),
        (None, None) => (&upper[..], None),
    };
    let (hour, rest) = digits.trim_end().split_once(':')?;
    let hour: i64 = Some(hour).filter(|hour| (1..=2).contains(&hour.len()))?.parse().ok()?;
    let hour = match afternoon {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(false) => hour % 12,
        Some(true) => hour % 12 + 12,
    };
    Some(format!("{hour:02}:{rest}"))
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

/// Whether a date has a zone; `None` if it has no time that one could be for.
pub(super) fn zoned(date: &str) -> Option<bool> {
    date.get(10..).filter(|time| !time.is_empty()).map(|time| time.contains(['Z', '+', '-']))
}

/// A time without its zone, and how many seconds that is ahead of UTC.
fn clock_and_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let Some(at) = time.find(['+', '-']) else { return Some((time, 0)) };
    let (clock, offset) = time.split_at(at);
    let (sign, digits) = offset.split_at(1);
    let [hours, minutes] = match digits.len() {
        2 => numbers(digits, ':', [2]).map(|[hours]| [hours, 0]),
        4 => numbers(digits, ':', [4]).map(|[both]| [both / 100, both % 100]),
        _ => numbers(digits, ':', [2, 2]),
    }?;
    let ahead = hours * 3600 + minutes * 60;
    let clock = clock.strip_suffix(' ').unwrap_or(clock);
    (hours < 24 && minutes < 60).then_some((clock, if sign == "-" { -ahead } else { ahead }))
}

/// Seconds since midnight, and the digits behind their point.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
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
    fn years_may_come_last() {
        let iso = |text: &str| seconds(text).unwrap();
        for (text, order, same) in [
            ("12/31/2024", Order::MonthFirst, "2024-12-31"),
            ("1/5/2024", Order::MonthFirst, "2024-01-05"),
            ("1/5/2024", Order::DayFirst, "2024-05-01"),
            ("31.12.2024 7:05", Order::DayFirst, "2024-12-31 07:05"),
            ("01-02-2024 12:30:15 AM", Order::MonthFirst, "2024-01-02 00:30:15"),
            ("01/02/2024 12:30 pm", Order::MonthFirst, "2024-01-02 12:30"),
            ("01/02/2024 11:59PM", Order::MonthFirst, "2024-01-02 23:59"),
        ] {
            assert_eq!(seconds_ordered(text, order), Some(iso(same)), "{text}");
        }
        for text in [
            "31/12/2024",
            "12/31/24",
            "2024-01-01",
            "1/2",
            "2/30/2024",
            "1/2/2024 13:00 PM",
            "1/2/2024 x",
            "a/b/2024",
            "1/2.2024",
            "",
        ] {
            assert_eq!(seconds_ordered(text, Order::MonthFirst), None, "{text}");
        }
    }

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
            ("2024/02/29", 1_709_164_800.0),
            ("2024/02/29 23:59", 1_709_251_140.0),
            ("2024-01-01T00:00:00+01:00", 1_704_063_600.0),
            ("2024-01-01 00:00:00 +01:00", 1_704_063_600.0),
            ("2024-01-01T00:00:00+0100", 1_704_063_600.0),
            ("2024-01-01 00:00+01", 1_704_063_600.0),
            ("2024-01-01T00:00:00.5-03:30", 1_704_079_800.5),
            ("2023-12-31 23:00:00Z", 1_704_063_600.0),
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
            "2024-01-01+02:00",
            "2024-01-01 10:00:00+24:00",
            "2024-01-01 10:00:00+02:60",
            "2024-01-01 10:00:00+2",
            "2024-01-01 10:00:00+02:00:00",
            "2024-01-01 10:00:00+02:00Z",
            "2024-01-01 10:00:00+ä",
            "2024-01-01 +02:00",
            "2024-01/01",
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
