//! Central intervals: the two quantiles between which an observation lies with a given probability.
//!
//! The interval of level `q` leaves as much of the distribution below it as above it,
//!
//! ```text
//! lower = F⁻¹((1 − q) / 2)        upper = F⁻¹((1 + q) / 2)
//! ```
//!
//! so that an observation of a number lies in it with probability `q`, and one of a count, whose quantiles are whole numbers, with at least that.

use crate::error::{Error, Result};

/// The least distance of an interval's level from 0 and 1.
const EXTREME_LEVEL: f64 = 1e-9;

/// The levels of the quantiles at which the central intervals of `levels` begin and end, one after the other. Fails unless these lie between 0
/// and 1.
pub(crate) fn ends_of_intervals(levels: &[f64]) -> Result<Vec<f64>> {
    let answerable = EXTREME_LEVEL..=1.0 - EXTREME_LEVEL;
    if let Some(bad) = levels.iter().find(|level| !answerable.contains(level)) {
        let requirement = "a probability between 1e-9 and 1 - 1e-9, such as 0.9";
        return Err(Error::Setting { name: "interval", value: bad.to_string(), requirement });
    }
    Ok(levels.iter().flat_map(|level| [0.5 * (1.0 - level), 0.5 * (1.0 + level)]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_leaves_as_much_below_as_above() {
        let ends = ends_of_intervals(&[0.5, 0.9]).unwrap();
        assert_eq!(ends[..2], [0.25, 0.75]);
        assert!((ends[2] - 0.05).abs() < 1e-15 && (ends[3] - 0.95).abs() < 1e-15);
        for bad in [0.0, 1.0, -0.5, 95.0, f64::NAN] {
            let error = ends_of_intervals(&[0.5, bad]).unwrap_err();
            assert!(matches!(error, Error::Setting { name: "interval", .. }), "{error}");
        }
    }
}
