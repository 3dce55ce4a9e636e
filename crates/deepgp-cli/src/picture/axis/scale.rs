//! Scales: from a value to a place on an axis.

use super::ticks;

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::picture) enum Kind {
    Linear,
    /// Equal ratios at equal distances; values that are not positive have no place.
    Log,
}

/// An interval of values laid over `[0, 1]`.
#[derive(Debug, Clone, Copy)]
pub(in crate::picture) struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
}

impl Scale {
    /// A scale over the values that have a place on it, with a little room at both ends; `None` without any.
    /// A single value gets room on both sides.
    pub(in crate::picture) fn spanning(kind: Kind, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let placed = values.into_iter().filter(|&v| has_place(kind, v));
        let (low, high) = placed.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return None;
        }
        let narrow = high - low <= 1e-9 * low.abs().max(high.abs());
        Some(match kind {
            Kind::Linear => {
                let room = match (narrow, low == 0.0) {
                    (true, true) => 1.0,
                    (true, false) => 0.5 * low.abs(),
                    (false, _) => 0.04 * (high - low),
                };
                Self { kind, low: low - room, high: high + room }
            }
            Kind::Log => {
                let factor = if narrow { 2.0 } else { (high / low).powf(0.04) };
                Self { kind, low: low / factor, high: high * factor }
            }
        })
    }

    /// A linear scale over exactly `[low, high]`.
    pub(in crate::picture) fn between(low: f64, high: f64) -> Option<Self> {
        let proper = has_place(Kind::Linear, low) && has_place(Kind::Linear, high) && low < high;
        proper.then_some(Self { kind: Kind::Linear, low, high })
    }

    /// The scale from zero instead, where all its values are positive.
    pub(in crate::picture) fn starting_at_zero(self) -> Self {
        match self.kind {
            Kind::Linear if self.high > 0.0 => Self { low: 0.0, ..self },
            _ => self,
        }
    }

    /// The place of `v`, 0 at the low end and 1 at the high; `None` if that is not on the axis.
    pub(in crate::picture) fn place(&self, v: f64) -> Option<f64> {
        let at = self.unbounded(v)?;
        (-1e-9..=1.0 + 1e-9).contains(&at).then_some(at)
    }

    /// The [`place`](Self::place) of `v`, or the nearest end if it lies beyond.
    pub(in crate::picture) fn nearest_place(&self, v: f64) -> Option<f64> {
        match self.kind {
            Kind::Log if v <= 0.0 => Some(0.0),
            _ => self.unbounded(v).map(|at| at.clamp(0.0, 1.0)),
        }
    }

    /// The [`place`](Self::place) of `v`, below 0 or above 1 if it lies beyond the ends.
    pub(in crate::picture) fn unbounded(&self, v: f64) -> Option<f64> {
        let map = |v: f64| if self.kind == Kind::Log { v.ln() } else { v };
        has_place(self.kind, v).then(|| (map(v) - map(self.low)) / (map(self.high) - map(self.low)))
    }

    /// At most `most` ticks, each a place and a text.
    pub(in crate::picture) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let values = match self.kind {
            Kind::Linear => ticks::linear(self.low, self.high, most),
            Kind::Log => ticks::log(self.low, self.high, most),
        };
        let texts = match self.kind {
            Kind::Linear => ticks::labels(&values),
            Kind::Log => ticks::log_labels(&values),
        };
        values.iter().zip(texts).filter_map(|(&v, text)| Some((self.nearest_place(v)?, text))).collect()
    }
}

/// Whether a value can be drawn: finite, far enough from overflow, and positive where logarithms are taken.
pub(in crate::picture) fn has_place(kind: Kind, v: f64) -> bool {
    v.abs() < 1e150 && (kind == Kind::Linear || v > 1e-150)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_by_hand() {
        let linear = Scale::between(-1.0, 3.0).expect("a proper interval");
        assert_eq!(linear.place(0.0), Some(0.25));
        assert_eq!(linear.place(3.5), None);
        assert_eq!(linear.nearest_place(3.5), Some(1.0));
        assert_eq!(linear.place(f64::NAN), None);
        let log = Scale::spanning(Kind::Log, [0.1, 1000.0, -5.0]).expect("two positive values");
        assert!((log.place(10.0).expect("inside") - 0.5).abs() < 1e-12);
        assert_eq!(log.place(-5.0), None);
    }

    #[test]
    fn a_constant_has_room_and_nothing_has_no_scale() {
        for value in [0.0, 7.0, -1e-12, 1e100] {
            let scale = Scale::spanning(Kind::Linear, [value, value]).expect("a value");
            assert!((scale.place(value).expect("inside") - 0.5).abs() < 1e-9, "{value}");
            assert!(scale.ticks(6).len() > 1, "{value}");
        }
        assert!(Scale::spanning(Kind::Linear, [f64::NAN, f64::INFINITY]).is_none());
        assert!(Scale::spanning(Kind::Log, [0.0, -1.0]).is_none());
        assert!(Scale::between(1.0, 1.0).is_none());
    }
}
