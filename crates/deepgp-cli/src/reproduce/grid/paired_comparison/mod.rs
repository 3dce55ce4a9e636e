//! A paired comparison: is a decoupled model better than the full one, after as many steps, and after as much time?
//!
//! Models are compared split by split, on the same rows, which shows smaller differences than their means over splits
//! do. At equal time each has as long as the faster of the two took for all its steps; what a model was worth then is
//! read off its learning curve, so that only runs with the device to themselves count. Times of different devices are
//! not compared.

mod figures;
mod table;

use super::GridLine;
use super::run::Model;
use crate::reproduce::runs::training_run::CurvePoint;

pub use figures::figures;
pub use table::table;

/// The models that are compared with the full one.
const AGAINST: [Model; 2] = [Model::Decoupled, Model::DecoupledWhitened];
/// The results of the full model and of another one on the same split.
struct Pair<'a> {
    full: &'a GridLine,
    other: &'a GridLine,
}

impl Pair<'_> {
    /// A value of both runs, if both have it.
    fn both(&self, of: impl Fn(&GridLine) -> Option<f64>) -> Option<(f64, f64)> {
        Some((of(self.full)?, of(self.other)?))
    }

    /// Whether the times of both say something of the models.
    fn timed_alike(&self) -> bool {
        self.full.provenance.is_timed_like(&self.other.provenance)
    }

    /// The other model's time as a multiple of the full one's.
    fn time(&self) -> Option<f64> {
        self.timed_alike().then(|| self.other.provenance.seconds / self.full.provenance.seconds)
    }

    /// The difference of the log likelihoods, the other's minus the full one's, at the time when the faster of the two
    /// is done.
    fn at_equal_time(&self) -> Option<f64> {
        let until = self.full.provenance.seconds.min(self.other.provenance.seconds);
        let (full, other) = self.both(|line| after(&line.curve, until)).filter(|_| self.timed_alike())?;
        Some(other - full)
    }
}

/// The test log likelihood after so many seconds, interpolated between the points of a learning curve; `None` beyond
/// its end.
fn after(curve: &[CurvePoint], seconds: f64) -> Option<f64> {
    let points: Vec<(f64, f64)> = curve.iter().filter_map(|p| Some((p.seconds, p.test_log_likelihood?))).collect();
    // A run's time and that of its last point are the same but for the digits that a curve is written with.
    let next = points.iter().position(|(time, _)| *time >= seconds * (1.0 - 1e-4))?;
    let (to, value) = points[next];
    let Some((from, before)) = next.checked_sub(1).map(|i| points[i]) else { return Some(value) };
    let share = ((seconds - from) / (to - from)).clamp(0.0, 1.0);
    Some(before + share * (value - before))
}

/// The pairs of a dataset, depth and model: one for each split that both models have.
fn pairs<'a>(lines: &'a [GridLine], dataset: &str, hidden: usize, model: Model) -> Vec<Pair<'a>> {
    let find = |model: Model, split: u64| {
        let same = |line: &&GridLine| {
            (line.dataset.as_str(), line.hidden, line.model, line.split) == (dataset, hidden, model, split)
        };
        lines.iter().find(same)
    };
    let of = lines.iter().filter(|line| (line.dataset.as_str(), line.hidden, line.model) == (dataset, hidden, model));
    of.filter_map(|other| Some(Pair { full: find(Model::Full, other.split)?, other })).collect()
}

/// The numbers of hidden layers that a dataset has results of.
fn depths(lines: &[GridLine], dataset: &str) -> Vec<usize> {
    let mut all: Vec<usize> = lines.iter().filter(|line| line.dataset == dataset).map(|line| line.hidden).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::grid::tests::line;
    use crate::reproduce::runs::provenance::Provenance;
    use crate::reproduce::runs::provenance::tests::provenance;

    /// A result whose curve rises in a straight line from −1 to `end` within so many seconds.
    fn timed(model: Model, split: u64, end: f64, seconds: f64) -> GridLine {
        let point = |k: u64| CurvePoint {
            step: 10 * k,
            seconds: seconds * k as f64 / 20.0,
            elbo: 0.0,
            lowest_elbo: 0.0,
            test_log_likelihood: Some(-1.0 + (end + 1.0) * k as f64 / 20.0),
        };
        let curve = (1..=20).map(point).collect();
        GridLine { curve, provenance: provenance(seconds, 200), ..line(model, 1, split, end) }
    }

    #[test]
    fn models_are_compared_split_by_split_at_equal_steps_and_at_equal_time() {
        let lines = [
            timed(Model::Full, 0, 1.0, 10.0),
            timed(Model::Decoupled, 0, 0.9, 5.0),
            line(Model::Full, 1, 1, 1.2),
            GridLine {
                provenance: Provenance { sharing: 4, ..provenance(9.0, 5000) },
                ..line(Model::Decoupled, 1, 1, 1.3)
            },
            line(Model::Decoupled, 1, 2, 9.0), // has no partner
        ];
        let text = table(&lines).unwrap().markdown();
        // Half way the full model was at 0.
        let row = "| kin8nm | decoupled | 1 | +0.000 ± 0.141 | 1 of 2 | +0.0000 ± 0.0028 | 0.50 | +0.900 |";
        assert!(text.contains(row), "{text}");
        let untimed = table(&lines[2..]).unwrap().markdown();
        assert!(untimed.contains("| 1 of 1 | -0.0020 | – |\n") && !untimed.contains("equal time"), "{untimed}");
        assert!(table(&lines[..1]).is_none());
        let drawn = figures(&lines);
        assert_eq!(drawn.iter().map(|figure| figure.stem.as_str()).collect::<Vec<_>>(), ["difference", "time-kin8nm"]);
        let apart = drawn[0].picture.standalone();
        assert!(apart.contains("kin8nm") && !apart.contains("whitened") && !apart.contains('…'), "{apart}");
        let svg = drawn[1].picture.standalone();
        assert!(svg.contains("full 200") && svg.contains("1 hidden layer") && !svg.contains("whitened"), "{svg}");
        assert_eq!(figures(&lines[2..]).len(), 1, "without curves there is nothing to draw against time");
        assert!(figures(&lines[4..]).is_empty(), "nor without a pair the differences");
    }

    #[test]
    fn times_of_different_devices_are_not_compared() {
        let on = |device: &str, line: GridLine| GridLine {
            provenance: Provenance { device: device.into(), ..line.provenance.clone() },
            ..line
        };
        let mut lines =
            vec![on("cuda", timed(Model::Full, 0, 1.0, 10.0)), on("cpu", timed(Model::Decoupled, 0, 0.9, 5.0))];
        let text = table(&lines).unwrap().markdown();
        assert!(text.contains("| 0 of 1 | +0.0020 | – |\n") && !text.contains("equal time"), "{text}");
        // Of two splits, the one that was timed on one device counts.
        lines.extend([on("cpu", timed(Model::Full, 1, 1.0, 20.0)), on("cpu", timed(Model::Decoupled, 1, 1.0, 5.0))]);
        let text = table(&lines).unwrap().markdown();
        assert!(text.contains("| 0.25 | +1.500 |"), "{text}");
        let last = |lines: &[GridLine]| figures(lines).pop().unwrap().picture.standalone();
        let svg = last(&lines);
        let curves = svg.matches("stroke-linejoin").count();
        lines.remove(0);
        assert_eq!(last(&lines).matches("stroke-linejoin").count(), curves);
    }

    #[test]
    fn a_curve_is_read_between_its_points_and_not_beyond() {
        let curve = timed(Model::Full, 0, 1.0, 20.0).curve;
        for (seconds, expected) in
            [(0.5, Some(-0.9)), (1.0, Some(-0.9)), (10.25, Some(0.025)), (20.0, Some(1.0)), (21.0, None)]
        {
            let found = after(&curve, seconds);
            assert_eq!(found.is_some(), expected.is_some(), "{seconds}");
            assert!(found.zip(expected).is_none_or(|(a, b)| (a - b).abs() < 1e-12), "{seconds}: {found:?}");
        }
    }
}
