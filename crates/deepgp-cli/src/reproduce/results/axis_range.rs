//! The range of values that the axis of learning curves shows.
//!
//! Early values are enormous and bad runs dive: an axis over all of them would show nothing of the rest.

/// The share of the steps whose values do not count, at the beginning.
const EARLY: f64 = 0.1;
/// A run ends badly if it ends this many times further below the median run than the best one ends above it.
const FAR: f64 = 3.0;
/// Nats a row: a run that ends no further below the median one than this does not end badly.
const NEAR: f64 = 0.1;
/// The share of the late values of good runs that may lie below the range.
const BELOW: f64 = 0.15;

/// A learning curve, as far as its range matters.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Step or second, and value; a value that is not finite is a gap.
    pub points: Vec<(f64, f64)>,
    /// Whether the run came to its end.
    pub finished: bool,
}

/// The range of an axis: what good runs do after the first tenth of the steps, but for a few values, and where they
/// end. Good ones end not far below the median run. `None` if there are no values.
pub fn axis_range(curves: &[Curve]) -> Option<(f64, f64)> {
    let last = curves.iter().flat_map(|curve| &curve.points).map(|p| p.0).fold(0.0, f64::max);
    let late = |curve: &Curve| -> Vec<f64> {
        let late = curve.points.iter().filter(|p| p.0 > EARLY * last && p.1.is_finite());
        late.map(|p| p.1).collect()
    };
    let any_finished = curves.iter().any(|curve| curve.finished && !late(curve).is_empty());
    let counted = curves.iter().filter(|curve| curve.finished || !any_finished);
    let all: Vec<Vec<f64>> = counted.map(late).filter(|values| !values.is_empty()).collect();
    let mut ends: Vec<f64> = all.iter().filter_map(|values| values.last().copied()).collect();
    ends.sort_by(f64::total_cmp);
    let (middle, best) = (*ends.get(ends.len() / 2)?, *ends.last()?);
    let worst = middle - (FAR * (best - middle)).max(NEAR);
    let good = || all.iter().filter(|values| values.last().is_some_and(|end| *end >= worst));
    let mut values: Vec<f64> = good().flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    let lowest_end = ends.iter().copied().find(|end| *end >= worst)?;
    let low = values[(BELOW * values.len() as f64) as usize].min(lowest_end);
    let high = *values.last()?;
    let room = if high > low { 0.05 * (high - low) } else { high.abs().max(1.0) };
    // More below: the lowest of good runs moves about its end.
    Some((low - 2.0 * room, high + room))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(end: f64, finished: bool) -> Curve {
        let points = (1..=100).map(|i| (f64::from(i), if i <= 10 { -1e6 } else { end - 1.0 / f64::from(i) })).collect();
        Curve { points, finished }
    }

    #[test]
    fn neither_early_values_nor_runs_that_dive_count() {
        let mut curves: Vec<Curve> = [1.0, 1.05, 1.1, 0.95].map(|end| curve(end, true)).into();
        let (low, high) = axis_range(&curves).unwrap();
        assert!((0.8..0.95).contains(&low) && (1.09..1.2).contains(&high), "{low} {high}");
        curves.push(curve(-500.0, true));
        curves.push(curve(-1e9, false));
        assert_eq!(axis_range(&curves), Some((low, high)));
        curves[0].points[50].1 = f64::NAN;
        curves[1].points[60].1 = -300.0;
        assert_eq!(axis_range(&curves).map(|w| (w.1 - high).abs() < 0.01), Some(true));
        assert!(axis_range(&curves).unwrap().0 > 0.8, "a spike is cut off");
    }

    #[test]
    fn there_is_a_window_wherever_there_is_a_value() {
        assert_eq!(axis_range(&[]), None);
        assert_eq!(axis_range(&[Curve { points: vec![(1.0, f64::NAN)], finished: true }]), None);
        let one = Curve { points: vec![(1.0, 5.0)], finished: false };
        assert!(axis_range(&[one]).is_some_and(|(low, high)| low < 5.0 && high > 5.0));
    }
}
