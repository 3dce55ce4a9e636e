//! Tables of the forms: where the runs of each depth and learning rate end, how far their ELBO falls on the way, and
//! which could not go on.

use deepgp::{CovarianceForm, MeanForm};

use super::{COVARIANCES, FormsLine, MEANS, RATES, covariance_name, mean_name};
use crate::reproduce::results::summary::{median, spread};
use crate::reproduce::results::table::{Cell, Column, Group, Table};
use crate::reproduce::runs::training_run::CurvePoint;

/// The note on the tables of final scores.
const READING: &str = "At the end; in bold the best of those that came to it. Beside a number: how many steps had to be rolled back, and at \
                       which step a run got stuck.";

/// The note on the tables of falls.
const FALLS: &str = "By how many nats a row the lowest ELBO between two points of the curve lies below the first of them, after a fifth of \
                     the steps: the middle one of all pairs, and the largest. An estimate from samples falls a little even where it rises on \
                     the whole.";
/// The share of the steps, at the beginning, whose falls do not count.
const EARLY: f64 = 0.2;

/// The tables of one dataset and depth.
pub fn tables(lines: &[&FormsLine]) -> Vec<Table> {
    let of_rate = |rate: f64| lines.iter().copied().filter(|line| line.learning_rate == rate).collect::<Vec<_>>();
    let rates = || RATES.into_iter().map(|rate| (rate, of_rate(rate))).filter(|(_, own)| !own.is_empty());
    let mut all: Vec<Table> = rates().map(|(rate, own)| ends(rate, &own)).collect();
    if let Some(last) = all.last_mut() {
        last.note = READING.into();
    }
    all.extend(rates().next().and_then(|(rate, own)| fall_table(rate, &own)));
    all.extend(stuck(lines));
    all
}

/// The runs of one form of the mean and one of the covariance.
fn of<'a>(lines: &[&'a FormsLine], mean: MeanForm, covariance: CovarianceForm) -> Vec<&'a FormsLine> {
    let own = |line: &&FormsLine| (line.mean_form, line.covariance_form) == (mean, covariance);
    lines.iter().copied().filter(own).collect()
}

/// A table with a row for each form of the mean and a column for each of the covariance.
fn matrix(caption: String, lines: &[&FormsLine], cell: impl Fn(Vec<&FormsLine>) -> Cell) -> Table {
    let row = |mean: MeanForm| {
        let cells = COVARIANCES.into_iter().map(|covariance| cell(of(lines, mean, covariance)));
        [Cell::new(format!("{} mean", mean_name(mean)))].into_iter().chain(cells).collect()
    };
    let columns = COVARIANCES.map(|form| Column::number(&format!("{} covariance", covariance_name(form))));
    Table {
        caption,
        columns: [Column::name("form of the mean")].into_iter().chain(columns).collect(),
        groups: vec![Group { rows: MEANS.into_iter().map(row).collect(), ..Group::default() }],
        ..Table::default()
    }
}

/// The falls of a run's ELBO between the points of its curve, in nats a row.
fn falls(line: &FormsLine) -> Vec<f64> {
    let late = |point: &CurvePoint| point.step as f64 >= EARLY * line.provenance.steps as f64;
    let fall = |pair: &[CurvePoint]| (pair[0].elbo - pair[1].lowest_elbo).max(0.0) / line.rows as f64;
    line.curve.windows(2).filter(|pair| late(&pair[0])).map(fall).collect()
}

/// The table of falls at one learning rate, which tells stable forms from others; `None` without curves.
fn fall_table(rate: f64, lines: &[&FormsLine]) -> Option<Table> {
    let all = |own: &[&FormsLine]| own.iter().copied().flat_map(falls).collect::<Vec<f64>>();
    if all(lines).is_empty() {
        return None;
    }
    let cell = |own: Vec<&FormsLine>| {
        let falls = all(&own);
        if falls.is_empty() {
            return Cell::new("");
        }
        let largest = falls.iter().copied().fold(0.0, f64::max);
        Cell::new(format!("{:.3}", median(falls))).remark(format!("largest {largest:.2}"))
    };
    Some(Table { note: FALLS.into(), ..matrix(format!("Falls of the ELBO at rate {rate}"), lines, cell) })
}

/// The table of final test log likelihoods at one learning rate.
fn ends(rate: f64, lines: &[&FormsLine]) -> Table {
    let likelihood = |own: &[&FormsLine]| {
        let values: Option<Vec<f64>> = own.iter().map(|line| line.test_log_likelihood).collect();
        values.filter(|values| !values.is_empty()).map(|values| spread(&values))
    };
    let each = || MEANS.into_iter().flat_map(|mean| COVARIANCES.map(|covariance| of(lines, mean, covariance)));
    let finished = each().filter(|own| own.iter().all(|line| line.stuck.is_none()));
    let best = finished.filter_map(|own| Some(likelihood(&own)?.0)).fold(f64::NEG_INFINITY, f64::max);
    let cell = |own: Vec<&FormsLine>| {
        if own.is_empty() {
            return Cell::new("");
        }
        let value = likelihood(&own);
        let text = value.map_or_else(
            || "–".into(),
            |(mean, deviation)| {
                let mean = if mean.abs() < 1e4 { format!("{mean:.3}") } else { format!("{mean:.2e}") };
                if own.len() > 1 { format!("{mean} ± {deviation:.3}") } else { mean }
            },
        );
        let stuck = own.iter().any(|line| line.stuck.is_some());
        Cell::new(text).best(!stuck && value.is_some_and(|(mean, _)| mean >= best)).remark(remark(&own))
    };
    matrix(format!("Test log likelihood at rate {rate}"), lines, cell)
}

/// The remark on runs that were rolled back or could not go on.
fn remark(own: &[&FormsLine]) -> String {
    let back: u64 = own.iter().map(|line| line.rolled_back).sum();
    let back = (back > 0).then(|| format!("{back} rolled back"));
    let stops: Vec<String> =
        own.iter().filter(|line| line.stuck.is_some()).map(|line| line.provenance.steps.to_string()).collect();
    let stuck = (!stops.is_empty()).then(|| format!("stuck at {}", stops.join(" and ")));
    back.into_iter().chain(stuck).collect::<Vec<_>>().join(", ")
}

/// The table of runs that could not go on, and why; `None` if all could.
fn stuck(lines: &[&FormsLine]) -> Option<Table> {
    let row = |line: &&FormsLine| {
        let reason = line.stuck.as_ref()?;
        Some(vec![
            Cell::new(format!(
                "{} mean, {} covariance",
                mean_name(line.mean_form),
                covariance_name(line.covariance_form)
            )),
            Cell::new(line.learning_rate.to_string()),
            Cell::new(line.split.to_string()),
            Cell::new(line.provenance.steps.to_string()),
            Cell::new(reason),
        ])
    };
    let rows: Vec<Vec<Cell>> = lines.iter().filter_map(row).collect();
    let number = Column::number;
    (!rows.is_empty()).then(|| Table {
        caption: "Runs that could not go on".into(),
        columns: vec![Column::name("run"), number("rate"), number("split"), number("step"), Column::words("why")],
        groups: vec![Group { rows, ..Group::default() }],
        ..Table::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::forms::tests::line;
    use crate::reproduce::runs::provenance::tests::provenance;

    #[test]
    fn the_best_that_ended_stands_out_and_what_got_stuck_says_where_and_why() {
        let whitened = line(MeanForm::Whitened, CovarianceForm::Whitened, 0.01, 1.3);
        let rolled = FormsLine { rolled_back: 5, ..line(MeanForm::Whitened, CovarianceForm::Standard, 0.01, 1.25) };
        let stuck = FormsLine {
            stuck: Some("not | finite".into()),
            provenance: provenance(1.0, 70),
            ..line(MeanForm::Dual, CovarianceForm::Dual, 0.01, 1.4)
        };
        let lost = FormsLine { test_log_likelihood: None, ..line(MeanForm::Dual, CovarianceForm::Standard, 0.01, 0.0) };
        let slow = line(MeanForm::Standard, CovarianceForm::Dual, 0.001, 1.5);
        let [fast, slow, _, reasons] = &tables(&[&whitened, &rolled, &stuck, &lost, &slow])[..] else {
            panic!("two rates, falls, and what got stuck");
        };
        let text = fast.markdown();
        assert!(text.contains("| whitened mean | | 1.250, 5 rolled back | **1.300** |"), "{text}");
        assert!(text.contains("| dual mean | 1.400, stuck at 70 | – | |"), "{text}");
        assert!(slow.caption.contains("0.001") && slow.markdown().contains("| standard mean | **1.500** | | |"));
        let text = reasons.markdown();
        assert!(text.contains("| dual mean, dual covariance | 0.01 | 0 | 70 | not \\| finite |"), "{text}");
    }

    #[test]
    fn falls_are_measured_from_the_point_before() {
        let mut one = line(MeanForm::Dual, CovarianceForm::Dual, 0.01, 1.0);
        // Points are at 100, 200, ... of 2000 steps, and rise; each falls by 1 below itself, and rows are 1000.
        let quiet = falls(&one);
        assert_eq!(quiet.len(), 16, "pairs from step 400 on");
        one.curve[9].lowest_elbo = one.curve[8].elbo - 500.0;
        assert_eq!(falls(&one).into_iter().fold(0.0, f64::max), 0.5);
        let text = fall_table(0.01, &[&one]).unwrap().markdown();
        assert!(text.contains("| dual mean | 0.000, largest 0.50 | | |"), "{text}");
        one.curve.clear();
        assert!(fall_table(0.01, &[&one]).is_none());
    }
}
