//! The table of differences from the full model, split by split.

use super::pair::{Pair, Setting, depths, others, pairs};
use super::{ContinuedLine, Density};
use crate::reproduce::datasets::DATASETS;
use crate::reproduce::grid::{Model, digits};
use crate::reproduce::results::number_text::signed_mean_with_deviation;
use crate::reproduce::results::summary::{median, spread};
use crate::reproduce::results::table::{Cell, Column, Group, Table};
use crate::reproduce::runs::test_scores::TestScores;

/// The note below the table.
const READING: &str = "Means and standard deviations of the differences, split by split, the model's score minus the full one's; in bold \
                       where all splits agree that it is the better one. A higher log likelihood and a lower CRPS and RMSE are better. Times \
                       are multiples of the full model's, of runs that had the device to themselves: of a step, and of the whole fit, which \
                       early stopping may end sooner.";

/// The table of all differences from the full model; `None` if there is nothing to compare.
pub fn table(lines: &[ContinuedLine]) -> Option<Table> {
    let group = |dataset: &&str| {
        let mut rows = Vec::new();
        for (model, density) in others(lines).into_iter().flat_map(|model| Density::ALL.map(|density| (model, density)))
        {
            let of = |hidden| row(lines, Setting { dataset, density, hidden }, model);
            rows.extend(depths(lines, dataset).into_iter().filter_map(of));
        }
        Group { name: (*dataset).into(), title: (*dataset).into(), rows }
    };
    let groups: Vec<Group> = DATASETS.iter().map(group).filter(|group| !group.rows.is_empty()).collect();
    let number = Column::number;
    (!groups.is_empty()).then(|| Table {
        caption: "Differences from the full model".into(),
        grouped_by: Some(Column::name("dataset")),
        columns: vec![
            Column::name("model"),
            Column::name("density"),
            number("hidden"),
            number("log likelihood"),
            number("better on"),
            number("CRPS"),
            number("better on"),
            number("RMSE"),
            number("better on"),
            number("time of a step"),
            number("time"),
        ],
        groups,
        note: READING.into(),
    })
}

/// The row of a model in a setting; `None` if it has no split in common with the full model.
fn row(lines: &[ContinuedLine], setting: Setting<'_>, model: Model) -> Option<Vec<Cell>> {
    let own = pairs(lines, setting, model);
    let splits = own.len();
    // Differences are a digit finer than scores.
    let fine = digits(setting.dataset) + 1;
    let compared = |score: fn(&TestScores) -> f64, sign: f64, digits: usize| {
        let gains: Vec<f64> = own.iter().map(|pair| pair.difference(score)).collect();
        let better = gains.iter().filter(|gain| **gain * sign > 0.0).count();
        let text = signed_mean_with_deviation(spread(&gains), splits, digits);
        [Cell::new(text).best(better == splits), Cell::new(format!("{better} of {splits}"))]
    };
    let time = |time: fn(&ContinuedLine) -> f64| {
        let ratios: Vec<f64> = own.iter().filter_map(|pair: &Pair<'_>| pair.time_ratio(time)).collect();
        Cell::new(if ratios.is_empty() { "–".into() } else { format!("{:.2}", median(ratios)) })
    };
    let names = [model.name(), setting.density.name(), &setting.hidden.to_string()].map(Cell::new);
    let scores = [
        compared(|scores| scores.test_log_likelihood, 1.0, 3),
        compared(|scores| scores.test_crps, -1.0, fine),
        compared(|scores| scores.test_rmse, -1.0, fine),
    ];
    let times = [time(|line| line.step_seconds), time(|line| line.provenance.seconds)];
    (splits > 0).then(|| names.into_iter().chain(scores.into_iter().flatten()).chain(times).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::continued::tests::line;

    #[test]
    fn differences_are_told_split_by_split() {
        let mut lines = Vec::new();
        for (split, gain) in [0.1, 0.3].into_iter().enumerate() {
            lines.push(line(Model::Full, Density::InputDependent, 2, split as u64, 1.0));
            lines.push(line(Model::NestedDiagonal, Density::InputDependent, 2, split as u64, 1.0 + gain));
        }
        lines.push(line(Model::Full, Density::OneNoise, 2, 0, 1.0));
        lines.push(line(Model::NestedDiagonal, Density::OneNoise, 2, 0, 0.8));
        let text = table(&lines).unwrap().markdown();
        let one = "| kin8nm | nested-diagonal | one-noise | 2 | -0.200 | 0 of 1 | +0.01000 | 0 of 1 | +0.02000 | 0 of 1 | 0.50 | 0.50 |";
        let both = "| kin8nm | nested-diagonal | input-dependent | 2 | **+0.200 ± 0.141** | 2 of 2 | **-0.01000 ± 0.00707** | 2 of 2 |";
        assert!(text.contains(one) && text.contains(both), "{text}");
        lines.iter_mut().for_each(|line| line.provenance.sharing = 3);
        assert!(table(&lines).unwrap().markdown().contains("| 0 of 1 | – | – |"), "shared times say nothing");
        assert!(table(&lines[..1]).is_none());
    }
}
