//! The table of differences from the full model.

use super::{AGAINST, Pair, depths, pairs};
use crate::reproduce::datasets::DATASETS;
use crate::reproduce::grid::GridLine;
use crate::reproduce::grid::run::Model;
use crate::reproduce::grid::tables::digits;
use crate::reproduce::results::number_text::signed_mean_with_deviation;
use crate::reproduce::results::summary::{median, spread};
use crate::reproduce::results::table::{Cell, Column, Group, Table};

/// The text of a cell without a number.
const NONE: &str = "–";
/// The note below the table.
const READING: &str = "After as many steps, split by split: means and standard deviations of the differences; a higher log likelihood \
                       and a lower RMSE are better. Time is a multiple of the full model's, of runs that had the device to themselves.";
/// The note on the last column.
const EQUAL_TIME: &str = " The last column gives each model as long as the faster of the two took.";
/// The note on gaps in the last column.
const NO_CURVE: &str = " A dash there beside a time: no learning curve was recorded.";
/// The table of all differences from the full model; `None` if there is nothing to compare.
pub fn table(lines: &[GridLine]) -> Option<Table> {
    let number = Column::number;
    let difference = |values: &[f64], digits: usize| signed_mean_with_deviation(spread(values), values.len(), digits);
    let or_none = |values: &[f64], text: &dyn Fn(&[f64]) -> String| {
        Cell::new(if values.is_empty() { NONE.into() } else { text(values) })
    };
    let row = |dataset: &str, hidden: usize, model: Model| {
        let own = pairs(lines, dataset, hidden, model);
        let gains =
            |of: fn(&GridLine) -> f64| own.iter().map(|pair| of(pair.other) - of(pair.full)).collect::<Vec<f64>>();
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
