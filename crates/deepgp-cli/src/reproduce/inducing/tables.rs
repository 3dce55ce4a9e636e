//! Where the runs end: each start, moved and left there, over splits.

use deepgp::InducingStart;

use super::gradient::LayerGradient;
use super::{InducingLine, STARTS, start_name};
use crate::reproduce::grid::digits;
use crate::reproduce::results::number_text::{layers, mean_with_deviation};
use crate::reproduce::results::summary::spread;
use crate::reproduce::results::table::{Cell, Column, Group, Table};

/// The results of runs that differ in their split alone.
struct Summary {
    splits: usize,
    log_likelihood: (f64, f64),
    rmse: (f64, f64),
    /// The farthest that `Z_a` and `Z_b` of any layer are at the end from where they started.
    moved: [f64; 2],
}

/// The summary of runs that differ in their split alone; `None` if there are none.
fn summary(own: &[&InducingLine]) -> Option<Summary> {
    if own.is_empty() {
        return None;
    }
    let each = |value: fn(&InducingLine) -> f64| spread(&own.iter().map(|line| value(line)).collect::<Vec<_>>());
    let ends = || own.iter().filter_map(|line| line.looks.last()).flat_map(|look| &look.layers);
    let farthest = |moved: fn(&LayerGradient) -> f64| ends().map(moved).fold(0.0, f64::max);
    Some(Summary {
        splits: own.len(),
        log_likelihood: each(|line| line.test_log_likelihood),
        rmse: each(|line| line.test_rmse),
        moved: [farthest(|layer| layer.mean_moved), farthest(|layer| layer.covariance_moved)],
    })
}

/// The table of one dataset and depth.
pub fn table(dataset: &str, hidden: usize, lines: &[&InducingLine]) -> Table {
    let of = |start: InducingStart, moved: bool| {
        summary(&lines.iter().copied().filter(|line| (line.start, line.moved) == (start, moved)).collect::<Vec<_>>())
    };
    let all: Vec<Summary> =
        STARTS.into_iter().flat_map(|start| [true, false].map(|moved| of(start, moved))).flatten().collect();
    let highest = all.iter().map(|s| s.log_likelihood.0).fold(f64::NEG_INFINITY, f64::max);
    let lowest = all.iter().map(|s| s.rmse.0).fold(f64::INFINITY, f64::min);
    let several = all.len() > 1;
    let row = |start: InducingStart, moved: bool| {
        let Summary { splits, log_likelihood, rmse, moved: far } = of(start, moved)?;
        let far = far.map(|far| Cell::new(if moved { format!("{far:.2}") } else { "–".into() }));
        let name = Cell::new(if moved { "moved" } else { "left there" });
        let [ll, error] =
            [mean_with_deviation(log_likelihood, splits, 3), mean_with_deviation(rmse, splits, digits(dataset))]
                .map(Cell::new);
        let ll = ll.best(several && log_likelihood.0 >= highest);
        let scores = [name, Cell::new(splits.to_string()), ll, error.best(several && rmse.0 <= lowest)];
        Some(scores.into_iter().chain(far).collect())
    };
    let group = |start: InducingStart| Group {
        name: start_name(start).into(),
        title: format!("started by {}", start_name(start)),
        rows: [true, false].into_iter().filter_map(|moved| row(start, moved)).collect(),
    };
    let number = Column::number;
    Table {
        caption: format!("{dataset}, {}", layers(hidden)),
        grouped_by: Some(Column::name("start")),
        columns: vec![
            Column::name("inducing inputs"),
            number("splits"),
            number("log likelihood"),
            number("RMSE"),
            number("Z_a moved"),
            number("Z_b moved"),
        ],
        groups: STARTS.into_iter().map(group).filter(|group| !group.rows.is_empty()).collect(),
        note: "Means and standard deviations over splits; in bold the best. How far inducing inputs are at the end from where \
               they started: root mean square of their distances, in lengthscales, of the layer and split where it is largest."
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::inducing::tests::line;

    #[test]
    fn splits_are_taken_together_and_the_best_stands_out() {
        let lines = [
            line(InducingStart::KMeans, true, 0, 1.2),
            line(InducingStart::KMeans, true, 1, 1.4),
            line(InducingStart::KMeans, false, 0, 1.1),
            line(InducingStart::RandomRows, true, 0, 1.25),
        ];
        let text = table("kin8nm", 1, &lines.iter().collect::<Vec<_>>()).markdown();
        for row in [
            "| k-means | moved | 2 | **1.300 ± 0.141** | **0.0740 ± 0.0028** | 0.40 | 0.80 |",
            "| k-means | left there | 1 | 1.100 | 0.0780 | – | – |",
            "| random rows | moved | 1 | 1.250 | 0.0750 | 0.40 | 0.80 |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
        assert!(!text.contains("greedy"), "{text}");
    }
}
