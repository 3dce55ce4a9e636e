//! Is a decoupled model better than the full one: after as many steps, and after as much time?
//!
//! Models are compared split by split, on the same rows, which tells smaller differences than their means over splits do. At equal
//! time each has as long as the faster of the two took for all its steps; what a model was worth then is read off its learning curve,
//! so that only runs with the device to themselves count. Times of different devices are not compared.

use super::Line;
use super::figures::{MODELS, Spread, depth_axis, spreads, style};
use super::run::Model;
use super::summary::{commonest, median, spread};
use super::tables::digits;
use crate::html::Figure;
use crate::picture::{Axis, Chart, Mark, Panel};
use crate::reproduce::datasets::{DATASETS, DISTINCT};
use crate::reproduce::results::axis_range::{Curve, axis_range};
use crate::reproduce::results::number_text::{layers, signed_mean_with_deviation};
use crate::reproduce::results::table::{Cell, Column, Group, Table};
use crate::reproduce::runs::training_run::{CURVE_SAMPLES, CurvePoint};

/// What stands against the full model.
const AGAINST: [Model; 2] = [Model::Decoupled, Model::DecoupledWhitened];
/// Where there is nothing to tell.
const NONE: &str = "–";
/// How to read the table.
const READING: &str = "After as many steps, split by split: means and standard deviations of the differences; a higher log likelihood \
                       and a lower RMSE are better. Time is a multiple of the full model's, of runs that had the device to themselves.";
/// How to read its last column.
const EQUAL_TIME: &str = " The last column gives each model as long as the faster of the two took.";
/// How to read a gap there.
const NO_CURVE: &str = " A dash there beside a time: no learning curve was recorded.";
/// Panels in a row.
const ABREAST: usize = 2;

/// Runs of two models on the same rows.
struct Pair<'a> {
    full: &'a Line,
    other: &'a Line,
}

impl Pair<'_> {
    fn both(&self, of: impl Fn(&Line) -> Option<f64>) -> Option<(f64, f64)> {
        Some((of(self.full)?, of(self.other)?))
    }

    /// Whether both had the same device, and to themselves: else their times say nothing of the models.
    fn timed_alike(&self) -> bool {
        let (full, other) = (self.full.provenance.timing(), self.other.provenance.timing());
        full == other && full.sharing == 1
    }

    /// How long the other took, as a multiple of the full one.
    fn time(&self) -> Option<f64> {
        self.timed_alike().then(|| self.other.provenance.seconds / self.full.provenance.seconds)
    }

    /// By how much the other's log likelihood is higher when the faster one is done.
    fn at_equal_time(&self) -> Option<f64> {
        let until = self.full.provenance.seconds.min(self.other.provenance.seconds);
        let (full, other) = self.both(|line| after(&line.curve, until)).filter(|_| self.timed_alike())?;
        Some(other - full)
    }
}

/// The test log likelihood after so many seconds, between the points of a curve.
fn after(curve: &[CurvePoint], seconds: f64) -> Option<f64> {
    let points: Vec<(f64, f64)> = curve.iter().filter_map(|p| Some((p.seconds, p.test_log_likelihood?))).collect();
    // A run's time and that of its last point are the same but for the digits that a curve is written with.
    let next = points.iter().position(|(time, _)| *time >= seconds * (1.0 - 1e-4))?;
    let (to, value) = points[next];
    let Some((from, before)) = next.checked_sub(1).map(|i| points[i]) else { return Some(value) };
    let share = ((seconds - from) / (to - from)).clamp(0.0, 1.0);
    Some(before + share * (value - before))
}

fn pairs<'a>(lines: &'a [Line], dataset: &str, hidden: usize, model: Model) -> Vec<Pair<'a>> {
    let find = |model: Model, split: u64| {
        let same = |line: &&Line| {
            (line.dataset.as_str(), line.hidden, line.model, line.split) == (dataset, hidden, model, split)
        };
        lines.iter().find(same)
    };
    let of = lines.iter().filter(|line| (line.dataset.as_str(), line.hidden, line.model) == (dataset, hidden, model));
    of.filter_map(|other| Some(Pair { full: find(Model::Full, other.split)?, other })).collect()
}

fn depths(lines: &[Line], dataset: &str) -> Vec<usize> {
    let mut all: Vec<usize> = lines.iter().filter(|line| line.dataset == dataset).map(|line| line.hidden).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// All differences from the full model; `None` if there is nothing to compare.
pub fn table(lines: &[Line]) -> Option<Table> {
    let number = Column::number;
    let difference = |values: &[f64], digits: usize| signed_mean_with_deviation(spread(values), values.len(), digits);
    let or_none = |values: &[f64], text: &dyn Fn(&[f64]) -> String| {
        Cell::new(if values.is_empty() { NONE.into() } else { text(values) })
    };
    let row = |dataset: &str, hidden: usize, model: Model| {
        let own = pairs(lines, dataset, hidden, model);
        let gains = |of: fn(&Line) -> f64| own.iter().map(|pair| of(pair.other) - of(pair.full)).collect::<Vec<f64>>();
        let likelihoods = gains(|line| line.test_log_likelihood);
        let better = likelihoods.iter().filter(|gain| **gain > 0.0).count();
        let times: Vec<f64> = own.iter().filter_map(Pair::time).collect();
        let at_equal_time: Vec<f64> = own.iter().filter_map(Pair::at_equal_time).collect();
        (!own.is_empty()).then(|| {
            vec![
                Cell::new(model.name()),
                Cell::new(hidden.to_string()),
                Cell::new(difference(&likelihoods, 3)),
                Cell::new(format!("{better} of {}", own.len())),
                Cell::new(difference(&gains(|line| line.test_rmse), digits(dataset))),
                or_none(&times, &|times| format!("{:.2}", median(times.to_vec()))),
                or_none(&at_equal_time, &|gains| difference(gains, 3)),
            ]
        })
    };
    let group = |dataset: &&str| {
        let each = AGAINST.into_iter().flat_map(|model| depths(lines, dataset).into_iter().map(move |h| (h, model)));
        let rows = each.filter_map(|(hidden, model)| row(dataset, hidden, model)).collect();
        Group { name: (*dataset).into(), title: (*dataset).into(), rows }
    };
    let mut groups: Vec<Group> = DATASETS.iter().map(group).filter(|group| !group.rows.is_empty()).collect();
    let is_told = |cell: Option<&Cell>| cell.is_some_and(|cell| *cell != Cell::new(NONE));
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let timed = rows().any(|row| is_told(row.last()));
    let gaps = rows().any(|row| is_told(row.iter().nth_back(1)) && !is_told(row.last()));
    let mut columns = vec![
        Column::name("model"),
        number("hidden"),
        number("log likelihood"),
        number("higher on"),
        number("RMSE"),
        number("time"),
    ];
    let mut note = String::from(READING);
    if timed {
        columns.push(number("log likelihood at equal time"));
        note += EQUAL_TIME;
        note += if gaps { NO_CURVE } else { "" };
    } else {
        groups.iter_mut().flat_map(|group| &mut group.rows).for_each(|row| row.truncate(columns.len()));
    }
    (!groups.is_empty()).then(|| Table {
        caption: "Differences from the full model".into(),
        grouped_by: Some(Column::name("dataset")),
        columns,
        groups,
        note,
    })
}

/// Differences of the test log likelihood against hidden layers, and for each dataset that has such runs, against seconds.
pub fn figures(lines: &[Line]) -> Vec<Figure> {
    differences(lines).into_iter().chain(DATASETS.iter().filter_map(|dataset| course(lines, dataset))).collect()
}

/// By how much the log likelihood is higher than the full model's, a panel for each of the paper's datasets.
fn differences(lines: &[Line]) -> Option<Figure> {
    let mut chart = Chart::new("Test log likelihood beyond the full model's");
    let mut drawn = Vec::new();
    for dataset in DATASETS.iter().filter(|dataset| **dataset != DISTINCT) {
        let of = |hidden: usize, model: Model| -> Option<Spread> {
            let gain = |pair: &Pair<'_>| pair.other.test_log_likelihood - pair.full.test_log_likelihood;
            let gains: Vec<f64> = pairs(lines, dataset, hidden, model).iter().map(gain).collect();
            (!gains.is_empty()).then(|| (hidden, spread(&gains)))
        };
        let depths = depths(lines, dataset);
        let mut panel = Panel::new(depth_axis(depths.iter().copied()), Axis::new(*dataset))
            .with(Mark::level(0.0, style(Model::Full).colour));
        let before = drawn.len();
        for model in AGAINST {
            let points: Vec<Spread> = depths.iter().filter_map(|hidden| of(*hidden, model)).collect();
            if !points.is_empty() {
                panel = spreads(&points, style(model).colour).into_iter().fold(panel, Panel::with);
                drawn.push(model);
            }
        }
        chart = if drawn.len() > before { chart.with(panel, 1.0) } else { chart };
    }
    for model in MODELS.into_iter().filter(|model| *model == Model::Full || drawn.contains(model)) {
        chart = chart.key(Mark::line([], style(model).colour).labelled(style(model).name));
    }
    (!drawn.is_empty()).then(|| Figure {
        stem: "difference".into(),
        picture: chart.draw(),
        caption: "After as many steps, split by split: lines are means of the differences, bands one standard deviation. Above the \
                  full model's line is better."
            .into(),
    })
}

/// Test log likelihood against seconds on one dataset, a panel for each depth.
fn course(lines: &[Line], dataset: &str) -> Option<Figure> {
    let timed = lines.iter().filter(|line| line.dataset == dataset && !line.curve.is_empty());
    let timing = commonest(timed.clone().map(|line| line.provenance.timing()))?;
    let own: Vec<&Line> = timed.filter(|line| line.provenance.timing() == timing).collect();
    let mut chart = Chart::new(format!("{dataset}: test log likelihood against time"));
    let mut drawn = 0;
    for hidden in depths(lines, dataset) {
        let curve = |line: &&Line| {
            let points = line.curve.iter().filter_map(|p| Some((p.seconds, p.test_log_likelihood?))).collect();
            (line.model, Curve { points, finished: true })
        };
        let curves: Vec<(Model, Curve)> = own.iter().filter(|line| line.hidden == hidden).map(curve).collect();
        let all: Vec<Curve> = curves.iter().map(|(_, curve)| curve.clone()).collect();
        let Some((low, high)) = axis_range(&all) else { continue };
        let mut panel = Panel::new(Axis::new("seconds"), Axis::new(layers(hidden)).between(low, high));
        for (model, curve) in curves {
            panel = panel.with(Mark::line(curve.points, style(model).colour));
        }
        chart = if drawn > 0 && drawn % ABREAST == 0 { chart.below() } else { chart }.with(panel, 1.0);
        drawn += 1;
    }
    for model in MODELS {
        if own.iter().any(|line| line.model == model) {
            chart = chart.key(Mark::line([], style(model).colour).labelled(style(model).name));
        }
    }
    (drawn > 0).then(|| Figure {
        stem: format!("time-{dataset}"),
        picture: chart.draw(),
        caption: format!("Runs that had the device to themselves, by {CURVE_SAMPLES} samples. A line that ends further left took less time for the same number of steps; \
                  at equal time the higher one is better. The range is that after a tenth of the time."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::grid::tests::line;
    use crate::reproduce::runs::provenance::Provenance;
    use crate::reproduce::runs::provenance::tests::provenance;

    /// From −1 at no time to `end` after so many seconds, in a straight line.
    fn timed(model: Model, split: u64, end: f64, seconds: f64) -> Line {
        let point = |k: u64| CurvePoint {
            step: 10 * k,
            seconds: seconds * k as f64 / 20.0,
            elbo: 0.0,
            lowest_elbo: 0.0,
            test_log_likelihood: Some(-1.0 + (end + 1.0) * k as f64 / 20.0),
        };
        let curve = (1..=20).map(point).collect();
        Line { curve, provenance: provenance(seconds, 200), ..line(model, 1, split, end) }
    }

    #[test]
    fn models_are_compared_split_by_split_at_equal_steps_and_at_equal_time() {
        let lines = [
            timed(Model::Full, 0, 1.0, 10.0),
            timed(Model::Decoupled, 0, 0.9, 5.0),
            line(Model::Full, 1, 1, 1.2),
            Line {
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
        let on = |device: &str, line: Line| Line {
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
        let last = |lines: &[Line]| figures(lines).pop().unwrap().picture.standalone();
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
