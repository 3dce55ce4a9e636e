//! The tables of the defaults: each candidate beside version 0.1's settings, over all datasets and on each.

use super::{Candidate, DefaultsLine};
use crate::reproduce::grid::digits;
use crate::reproduce::results::number_text::mean_with_deviation;
use crate::reproduce::results::summary::spread;
use crate::reproduce::results::table::{Cell, Column, Group, Table};

/// The datasets with their lines.
type Sets<'a> = [(&'a str, Vec<&'a DefaultsLine>)];

/// The mean of a value over the splits of one candidate, `NaN` if it has none.
fn mean(lines: &[&DefaultsLine], candidate: Candidate, value: fn(&DefaultsLine) -> f64) -> f64 {
    let own: Vec<f64> = lines.iter().filter(|line| line.candidate == candidate).map(|line| value(line)).collect();
    if own.is_empty() { f64::NAN } else { spread(&own).0 }
}

/// Each candidate against the first one, over the datasets that both were run on.
pub fn over_datasets(sets: &Sets<'_>) -> Table {
    let first = Candidate::ALL[0];
    let row = |candidate: Candidate| {
        let both: Vec<&[&DefaultsLine]> = sets
            .iter()
            .map(|(_, lines)| &lines[..])
            .filter(|lines| [first, candidate].iter().all(|c| lines.iter().any(|line| line.candidate == *c)))
            .collect();
        if both.is_empty() {
            return None;
        }
        let each = |value: fn(&DefaultsLine) -> f64| -> Vec<(f64, f64)> {
            both.iter().map(|lines| (mean(lines, candidate, value), mean(lines, first, value))).collect()
        };
        let ratio = |value: fn(&DefaultsLine) -> f64| {
            let logs: Vec<f64> = each(value).iter().map(|(own, other)| (own / other).ln()).collect();
            spread(&logs).0.exp()
        };
        let likelihoods = each(|line| line.test_log_likelihood);
        let gains: Vec<f64> = likelihoods.iter().map(|(own, other)| own - other).collect();
        let coverage: Vec<f64> = each(|line| line.test_coverage_95).iter().map(|(own, _)| *own).collect();
        Some(vec![
            Cell::new(candidate.change()),
            Cell::new(both.len().to_string()),
            Cell::new(format!("{:+.3}", spread(&gains).0)),
            Cell::new(if candidate == first {
                "–".into()
            } else {
                gains.iter().filter(|gain| **gain > 0.0).count().to_string()
            }),
            Cell::new(format!("{:.3}", ratio(|line| line.test_crps))),
            Cell::new(format!("{:.3}", ratio(|line| line.test_rmse))),
            Cell::new(format!("{:.3}", spread(&coverage).0)),
            Cell::new(format!("{:.2}", ratio(|line| line.provenance.seconds))),
        ])
    };
    let number = Column::number;
    Table {
        caption: "All datasets".into(),
        grouped_by: None,
        columns: vec![
            Column::words("settings"),
            number("datasets"),
            number("log likelihood"),
            number("higher on"),
            number("CRPS"),
            number("RMSE"),
            number("coverage"),
            number("time"),
        ],
        groups: vec![Group { rows: Candidate::ALL.into_iter().filter_map(row).collect(), ..Group::default() }],
        note: "Against version 0.1's settings on the same datasets, means over splits: the difference in log likelihood, averaged over \
               datasets, and on how many it is higher; CRPS, RMSE and time as multiples (geometric means); the share of test rows in \
               their 95 % interval."
            .into(),
    }
}

/// The scores of each candidate on one dataset.
pub fn of_dataset(dataset: &str, lines: &[&DefaultsLine]) -> Table {
    let ran: Vec<Candidate> =
        Candidate::ALL.into_iter().filter(|c| lines.iter().any(|line| line.candidate == *c)).collect();
    let all = |value: fn(&DefaultsLine) -> f64| ran.iter().map(move |c| mean(lines, *c, value));
    let highest = all(|line| line.test_log_likelihood).fold(f64::NEG_INFINITY, f64::max);
    let row = |candidate: &Candidate| {
        let own: Vec<&DefaultsLine> = lines.iter().copied().filter(|line| line.candidate == *candidate).collect();
        let text = |value: fn(&DefaultsLine) -> f64, digits: usize| {
            mean_with_deviation(spread(&own.iter().map(|line| value(line)).collect::<Vec<_>>()), own.len(), digits)
        };
        let best = ran.len() > 1 && mean(lines, *candidate, |line| line.test_log_likelihood) >= highest;
        vec![
            Cell::new(candidate.name()),
            Cell::new(own.len().to_string()),
            Cell::new(text(|line| line.test_log_likelihood, 3)).best(best),
            Cell::new(text(|line| line.test_crps, digits(dataset))),
            Cell::new(text(|line| line.test_rmse, digits(dataset))),
            Cell::new(format!("{:.3}", mean(lines, *candidate, |line| line.test_coverage_95))),
            Cell::new(format!("{:.0}", mean(lines, *candidate, |line| line.provenance.seconds))),
        ]
    };
    let number = Column::number;
    Table {
        caption: dataset.into(),
        grouped_by: None,
        columns: vec![
            Column::name("settings"),
            number("splits"),
            number("log likelihood"),
            number("CRPS"),
            number("RMSE"),
            number("coverage"),
            number("seconds"),
        ],
        groups: vec![Group { rows: ran.iter().map(row).collect(), ..Group::default() }],
        note: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::defaults::tests::line;

    #[test]
    fn candidates_are_compared_where_both_were_run() {
        let lines = [
            line("kin8nm", Candidate::Decoupled, 0, 1.0),
            line("kin8nm", Candidate::Decoupled, 1, 1.2),
            line("kin8nm", Candidate::Nested, 0, 1.2),
            line("energy", Candidate::Decoupled, 0, 0.0),
            line("energy", Candidate::Nested, 0, -0.2),
            line("concrete", Candidate::Nested, 0, 9.0),
        ];
        let of = |name: &'static str| (name, lines.iter().filter(|line| line.dataset == name).collect::<Vec<_>>());
        let sets = ["kin8nm", "energy", "concrete"].map(of);
        let text = over_datasets(&sets).markdown();
        let nested = "| + nested sets | 2 | -0.050 | 1 | 1.049 | 1.049 | 0.950 | 0.50 |";
        assert!(text.contains(nested), "{text}");
        let own = of_dataset("kin8nm", &sets[0].1).markdown();
        assert!(own.contains("| decoupled | 2 | 1.100 ± 0.141 |"), "{own}");
        assert!(own.contains("| nested | 1 | **1.200** |"), "{own}");
    }
}
