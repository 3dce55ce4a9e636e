//! The scores of all models of a dataset, with both densities, and of other programs' models beside them.

use super::pair::{Setting, depths};
use super::peers::{self, PeerLine};
use super::{ContinuedLine, Density};
use crate::reproduce::grid::{Model, digits};
use crate::reproduce::results::number_text::{layers, mean_with_deviation, seconds_with_sharing};
use crate::reproduce::results::summary::{fairest_timing, median, spread};
use crate::reproduce::results::table::{Cell, Column, Group, Table};
use crate::reproduce::runs::test_scores::TestScores;

/// The note below a table.
const READING: &str = "Means and standard deviations over splits; in bold the best of its depth. Coverage is the share of test rows in their \
                       central 95 % interval. Seconds are medians of whole fits; a number after × says how many runs shared the device.";

/// A score that stands in a table.
struct ScoreColumn {
    of: fn(&TestScores) -> f64,
    higher_is_better: bool,
}

/// The scores that stand in a table.
const SCORES: [ScoreColumn; 3] = [
    ScoreColumn { of: |scores| scores.test_log_likelihood, higher_is_better: true },
    ScoreColumn { of: |scores| scores.test_crps, higher_is_better: false },
    ScoreColumn { of: |scores| scores.test_rmse, higher_is_better: false },
];

/// The results of all splits of one model in one setting.
struct Entry<'a> {
    model: Model,
    density: Density,
    lines: Vec<&'a ContinuedLine>,
}

impl Entry<'_> {
    /// The mean of a score over splits.
    fn mean(&self, score: fn(&TestScores) -> f64) -> f64 {
        spread(&self.lines.iter().map(|line| score(&line.scores)).collect::<Vec<_>>()).0
    }

    /// The scores of all splits.
    fn scores(&self) -> Vec<TestScores> {
        self.lines.iter().map(|line| line.scores).collect()
    }

    /// Seconds of a fit and milliseconds of a step, of the runs that were timed most fairly.
    fn times(&self) -> [Cell; 2] {
        let timings = self.lines.iter().map(|line| line.provenance.timing());
        let Some(timing) = fairest_timing(timings) else { return ["–"; 2].map(Cell::new) };
        let timed = self.lines.iter().filter(|line| line.provenance.timing() == timing);
        let (fits, steps) = timed.map(|line| (line.provenance.seconds, 1e3 * line.step_seconds)).unzip();
        [Cell::new(seconds_with_sharing(median(fits), timing.sharing)), Cell::new(format!("{:.2}", median(steps)))]
    }
}

/// The table of a dataset, other programs' models below ours; `None` if there are no results.
pub fn of_dataset(dataset: &str, lines: &[ContinuedLine], peers: &[PeerLine]) -> Option<Table> {
    let mut groups: Vec<Group> =
        depths(lines, dataset).into_iter().map(|hidden| of_depth(dataset, hidden, lines)).collect();
    let others: Vec<Vec<Cell>> =
        peers::models(peers, dataset).into_iter().map(|model| of_peer(dataset, model, peers)).collect();
    if !others.is_empty() {
        groups.push(Group { name: String::new(), title: "other programs".into(), rows: others });
    }
    let number = Column::number;
    (!groups.is_empty()).then(|| Table {
        caption: dataset.into(),
        grouped_by: Some(number("hidden")),
        columns: vec![
            Column::name("model"),
            Column::name("density"),
            number("splits"),
            number("log likelihood"),
            number("CRPS"),
            number("RMSE"),
            number("coverage"),
            number("seconds"),
            number("ms a step"),
        ],
        groups,
        note: READING.into(),
    })
}

/// The rows of one depth.
fn of_depth(dataset: &str, hidden: usize, lines: &[ContinuedLine]) -> Group {
    let mut models: Vec<Model> = lines.iter().map(|line| line.model).collect();
    models.sort_unstable();
    models.dedup();
    let entry = |(density, model): (Density, Model)| {
        let setting = Setting { dataset, density, hidden };
        let own = lines.iter().filter(|line| line.model == model && setting.has(line)).collect();
        Entry { model, density, lines: own }
    };
    let each = Density::ALL.into_iter().flat_map(|density| models.iter().map(move |model| (density, *model)));
    let entries: Vec<Entry<'_>> = each.map(entry).filter(|entry| !entry.lines.is_empty()).collect();
    let best = SCORES.map(|ScoreColumn { of, higher_is_better }| {
        let all = entries.iter().map(|entry| entry.mean(of));
        if higher_is_better { all.fold(f64::NEG_INFINITY, f64::max) } else { all.fold(f64::INFINITY, f64::min) }
    });
    let row = |entry: &Entry<'_>| {
        let is_best = |i: usize| entries.len() > 1 && entry.mean(SCORES[i].of) == best[i];
        let names = [Cell::new(entry.model.name()), Cell::new(entry.density.name())];
        names.into_iter().chain(score_cells(dataset, &entry.scores(), is_best)).chain(entry.times()).collect()
    };
    Group { name: hidden.to_string(), title: layers(hidden), rows: entries.iter().map(row).collect() }
}

/// The row of another program's model.
fn of_peer(dataset: &str, model: &str, peers: &[PeerLine]) -> Vec<Cell> {
    let own: Vec<&PeerLine> = peers.iter().filter(|line| line.dataset == dataset && line.model == model).collect();
    let scores: Vec<TestScores> = own.iter().map(|line| line.scores).collect();
    let seconds: Vec<f64> = own.iter().filter_map(|line| line.seconds).collect();
    let seconds = if seconds.is_empty() { "–".into() } else { format!("{:.1}", median(seconds)) };
    let names = [Cell::new(model), Cell::new("its own")];
    let times = [Cell::new(seconds), Cell::new("–")];
    names.into_iter().chain(score_cells(dataset, &scores, |_| false)).chain(times).collect()
}

/// The cells of one model's scores over splits, the number of splits before them; `is_best` says it of each of [`SCORES`].
fn score_cells(dataset: &str, scores: &[TestScores], is_best: impl Fn(usize) -> bool) -> Vec<Cell> {
    let of = |score: fn(&TestScores) -> f64| spread(&scores.iter().map(score).collect::<Vec<f64>>());
    let digits = [3, digits(dataset), digits(dataset)];
    let text = |i: usize| mean_with_deviation(of(SCORES[i].of), scores.len(), digits[i]);
    let cells = (0..SCORES.len()).map(|i| Cell::new(text(i)).best(is_best(i)));
    let coverage = Cell::new(format!("{:.3}", of(|scores| scores.test_coverage_95).0));
    std::iter::once(Cell::new(scores.len().to_string())).chain(cells).chain([coverage]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::continued::peers::tests::line as peer;
    use crate::reproduce::continued::tests::line;

    #[test]
    fn every_model_stands_with_its_scores_and_others_below() {
        let mut lines = vec![
            line(Model::Full, Density::OneNoise, 1, 0, 1.0),
            line(Model::Full, Density::OneNoise, 1, 1, 1.2),
            line(Model::NestedDiagonal, Density::InputDependent, 1, 0, 1.3),
            line(Model::Full, Density::OneNoise, 2, 0, 1.0),
        ];
        lines[1].provenance.sharing = 4;
        lines[3].provenance.sharing = 4;
        let peers = [peer("k-NN mixture", 0, 0.5), PeerLine { seconds: Some(3.0), ..peer("k-NN mixture", 1, 0.7) }];
        let text = of_dataset("kin8nm", &lines, &peers).unwrap().markdown();
        for row in [
            "| 1 | full | one-noise | 2 | 1.100 ± 0.141 | 0.0450 ± 0.0071 | 0.0900 ± 0.0141 | 0.950 | 20.0 | 20.00 |",
            "| 1 | nested-diagonal | input-dependent | 1 | **1.300** | **0.0350** | **0.0700** | 0.950 | 10.0 | 10.00 |",
            "| 2 | full | one-noise | 1 | 1.000 | 0.0500 | 0.1000 | 0.950 | 20.0 ×4 | 20.00 |",
            "| | k-NN mixture | its own | 2 | 0.600 ± 0.141 | 0.1000 ± 0.0000 | 0.2000 ± 0.0000 | 0.900 | 3.0 | – |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
        assert!(of_dataset("protein", &lines, &peers).is_none());
    }
}
