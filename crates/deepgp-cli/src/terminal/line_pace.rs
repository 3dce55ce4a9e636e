//! The pace of plain lines where there is no terminal: seldom, and ever more seldom, so that a log stays short.

use std::time::Instant;

/// Seconds before the first line, and between it and the next.
const FIRST: f64 = 2.0;
/// The factor by which lines grow rarer.
const GROWTH: f64 = 1.5;
/// Seconds between lines when they have grown as rare as they get.
const RAREST: f64 = 60.0;

/// When the next plain line is due.
#[derive(Clone, Copy, Debug)]
pub struct LinePace {
    /// The time of the last line, or of the beginning.
    last: Instant,
    /// Seconds from then to the next line.
    pause: f64,
}

impl LinePace {
    /// The pace of something that begins now.
    pub fn new() -> Self {
        Self { last: Instant::now(), pause: FIRST }
    }

    /// Whether a line is due; if so, the next one is due later.
    pub fn is_due(&mut self) -> bool {
        let due = self.last.elapsed().as_secs_f64() >= self.pause;
        if due {
            (self.last, self.pause) = (Instant::now(), (self.pause * GROWTH).min(RAREST));
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn lines_grow_rarer() {
        let mut pace = LinePace::new();
        assert!(!pace.is_due());
        let later = |pace: LinePace, seconds| LinePace { last: pace.last - Duration::from_secs(seconds), ..pace };
        pace = later(pace, 2);
        assert!(pace.is_due() && !pace.is_due());
        pace = later(pace, 2);
        assert!(!pace.is_due());
        pace = later(pace, 1);
        assert!(pace.is_due());
    }
}
