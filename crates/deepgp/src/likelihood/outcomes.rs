//! The kinds of targets: numbers, classes, counts.

use crate::error::{Error, Result};
use crate::numeric::mat::View;

/// The values that an observation can take, and so what is asked of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcomes {
    /// Numbers on the real line.
    Real,
    /// Class numbers `0, 1, …` below so many.
    Classes(usize),
    /// Counts `0, 1, 2, …`.
    Counts,
}

impl Outcomes {
    /// The largest count.
    ///
    /// The terms of `log p(y | f) = y x − exp x − ln y!` are of the size `y ln y`, and cancel: at `10¹²` rounding leaves 0.004 of uncertainty
    /// in each density, at `10¹⁴` more than a whole unit, and a gradient is no slope any more. What is counted in larger numbers is known
    /// no better than as a number.
    pub const LARGEST_COUNT: f64 = 1e12;

    /// Whether this value is one of them.
    pub fn holds(self, y: f64) -> bool {
        match self {
            Self::Real => y.is_finite(),
            Self::Classes(classes) => y >= 0.0 && y < classes as f64 && y.fract() == 0.0,
            Self::Counts => (0.0..=Self::LARGEST_COUNT).contains(&y) && y.fract() == 0.0,
        }
    }

    /// Fails at the first value that is none of them; `likelihood` is the name of the one that asks.
    pub(crate) fn check(self, y: View<'_>, likelihood: &str) -> Result<()> {
        let Some(at) = y.as_slice().iter().position(|y| !self.holds(*y)) else { return Ok(()) };
        let requirement = match self {
            Self::Real => "a finite number",
            Self::Classes(2) => "0 or 1",
            Self::Classes(_) => "a class number: 0, 1, …, up to one less than there are classes",
            Self::Counts => "a count: 0, 1, 2, …, up to 10^12",
        };
        let (row, value) = (at / y.ncols(), y.as_slice()[at]);
        Err(Error::Target { row, value, likelihood: likelihood.into(), requirement })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::mat::Mat;

    #[test]
    fn what_is_no_class_and_no_count_is_named_with_its_row() {
        let message = |outcomes: Outcomes, y: &[f64]| {
            outcomes.check(Mat::column(y.to_vec()).view(), "some").unwrap_err().to_string()
        };
        assert!(message(Outcomes::Classes(2), &[0.0, 1.0, 2.0]).contains("row 2 is 2, but for the likelihood `some`"));
        assert!(message(Outcomes::Classes(2), &[0.5]).contains("must be 0 or 1"));
        assert!(message(Outcomes::Classes(5), &[4.0, 5.0]).contains("row 1 is 5"));
        assert!(message(Outcomes::Classes(5), &[-1.0]).contains("must be a class number"));
        assert!(message(Outcomes::Counts, &[3.0, -1.0]).contains("row 1 is -1"));
        assert!(message(Outcomes::Counts, &[f64::NAN]).contains("must be a count: 0, 1, 2"));
        assert!(message(Outcomes::Counts, &[1e300]).contains("row 0"));
        assert!(message(Outcomes::Counts, &[1e12, 1e12 + 1.0]).contains("row 1 is 1000000000001,"));
        assert!(message(Outcomes::Counts, &[1e13]).contains("up to 10^12"));
        assert!(Outcomes::Counts.check(Mat::column(vec![0.0, 7.0]).view(), "some").is_ok());
        assert!(Outcomes::Real.holds(-0.3) && !Outcomes::Real.holds(f64::INFINITY));
    }
}
