//! Cycles of dates: the season, the weekday, the time of day.
//!
//! Seconds since 1970 are a trend. What comes again, year by year or week by week, is far apart along them, so each cycle that a
//! column's dates can show becomes two further inputs, the sine and the cosine of its phase: the end of a cycle is then beside its beginning.

use std::collections::HashSet;
use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

const SECONDS_A_DAY: f64 = 86_400.0;
/// The mean length of a year of the calendar.
const DAYS_A_YEAR: f64 = 365.2425;
/// The years that dates must span, at least, for seasons to come again.
const YEARS: f64 = 1.5;
/// The number of different days in a year that show its course.
const DAYS_OF_A_SEASON: f64 = 8.0;
/// The weeks that they must span for weekdays to come again.
const WEEKS: f64 = 3.0;
/// Different days, and different times of day, are counted up to here.
const COUNTED: usize = 10_000;
/// With fewer different times of day there is no course of it.
const TIMES: usize = 3;

/// Something that comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cycle {
    /// The season: where in the year.
    Year,
    /// The weekday: where in the week.
    Week,
    /// The time of day.
    Day,
}

impl Cycle {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Year => "season",
            Self::Week => "weekday",
            Self::Day => "time of day",
        }
    }

    /// Sine and cosine of the phase at a moment in seconds since 1970, which was a Thursday.
    pub(super) fn circle(self, seconds: f64) -> [f64; 2] {
        let days = seconds / SECONDS_A_DAY;
        let phase = match self {
            Self::Year => days / DAYS_A_YEAR,
            Self::Week => (days + 3.0) / 7.0,
            Self::Day => days,
        };
        let (sine, cosine) = (phase.rem_euclid(1.0) * TAU).sin_cos();
        [sine, cosine]
    }
}

/// What has been seen of when dates are.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SeenDates {
    /// The first and the last.
    span: Option<(f64, f64)>,
    days: HashSet<i64>,
    times: HashSet<u32>,
}

impl SeenDates {
    /// One more date.
    pub(super) fn add(&mut self, seconds: f64) {
        self.stretch((seconds, seconds));
        let day = (seconds / SECONDS_A_DAY).floor();
        if self.days.len() < COUNTED {
            self.days.insert(day as i64);
        }
        if self.times.len() < COUNTED {
            self.times.insert((seconds - day * SECONDS_A_DAY) as u32);
        }
    }

    /// The dates that come next.
    pub(super) fn then(&mut self, next: Self) {
        next.span.into_iter().for_each(|span| self.stretch(span));
        // It matters how many there are, up to a limit, and not which.
        let room = |known: usize| COUNTED.saturating_sub(known);
        let days: Vec<i64> = next.days.difference(&self.days).copied().take(room(self.days.len())).collect();
        let times: Vec<u32> = next.times.difference(&self.times).copied().take(room(self.times.len())).collect();
        self.days.extend(days);
        self.times.extend(times);
    }

    /// Dates from one moment to another.
    fn stretch(&mut self, (from, to): (f64, f64)) {
        let (first, last) = self.span.unwrap_or((from, to));
        self.span = Some((first.min(from), last.max(to)));
    }

    /// The cycles that the dates can show: they come again, and dates are dense enough to see their course.
    pub(super) fn cycles(&self) -> Vec<Cycle> {
        let Some((first, last)) = self.span else { return Vec::new() };
        let (span, days) = ((last - first) / SECONDS_A_DAY, self.days.len() as f64);
        let mut cycles = Vec::new();
        if span >= YEARS * DAYS_A_YEAR && days >= DAYS_OF_A_SEASON * YEARS {
            cycles.push(Cycle::Year);
        }
        // On most days, or at least on more than one a week.
        if span >= WEEKS * 7.0 && (days > 2.0 * span / 7.0 || self.days.len() == COUNTED) {
            cycles.push(Cycle::Week);
        }
        if span >= 2.0 && self.times.len() >= TIMES {
            cycles.push(Cycle::Day);
        }
        cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(moments: impl IntoIterator<Item = f64>) -> Vec<Cycle> {
        let mut seen = SeenDates::default();
        moments.into_iter().for_each(|days| seen.add(days * SECONDS_A_DAY));
        seen.cycles()
    }

    #[test]
    fn what_dates_cannot_show_is_not_made() {
        let days = |from: i32, to: i32, step: usize| (from..to).step_by(step).map(f64::from);
        assert_eq!(cycles(days(19_000, 20_000, 1)), [Cycle::Year, Cycle::Week]);
        assert_eq!(cycles(days(-20_000, -19_000, 1)), [Cycle::Year, Cycle::Week], "before 1970");
        assert_eq!(cycles(days(0, 300, 1)), [Cycle::Week], "less than a year and a half");
        assert_eq!(cycles(days(0, 3000, 30)), [Cycle::Year], "months say nothing about weekdays");
        assert_eq!(cycles(days(0, 3000, 7)), [Cycle::Year], "all on one weekday");
        assert_eq!(cycles(days(0, 10, 1)), []);
        assert_eq!(cycles((0..24 * 40).map(|hour| f64::from(hour) / 24.0)), [Cycle::Week, Cycle::Day]);
        assert_eq!(cycles([]), []);
    }

    #[test]
    fn a_cycle_ends_where_it_begins() {
        let near = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).abs() < 1e-3 && (a[1] - b[1]).abs() < 1e-3;
        for (cycle, days) in [(Cycle::Year, DAYS_A_YEAR), (Cycle::Week, 7.0), (Cycle::Day, 1.0)] {
            for start in [-5000.3, 0.0, 19_876.6] {
                let at = |days: f64| cycle.circle((start + days) * SECONDS_A_DAY);
                assert!(near(at(0.0), at(days)) && near(at(0.0), at(-3.0 * days)), "{cycle:?}");
                assert!(!near(at(0.0), at(days / 2.0)), "{cycle:?}");
                assert!((at(0.3)[0].hypot(at(0.3)[1]) - 1.0).abs() < 1e-12);
            }
        }
        // 2024-01-01 was a Monday: the week begins.
        assert!(near(Cycle::Week.circle(1_704_067_200.0), [0.0, 1.0]));
    }
}
