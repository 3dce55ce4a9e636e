//! The paper's Tables 3 to 6 from the results of runs, with the paper's number beside each of ours.

use super::GridLine;
use super::baselines::BaselineLine;
use super::paper::Printed;
use super::summary::{BaselineSummary, Summary, baseline_summaries, summaries};
use crate::reproduce::results::number_text::{layers, mean_with_deviation, seconds_with_sharing};
use crate::reproduce::results::table::{Cell, Column, Group, Table};

/// The digits after the point that a dataset's RMSE is written with.
pub fn digits(dataset: &str) -> usize {
    if dataset == "kin8nm" { 4 } else { 3 }
}

/// The seconds of a summary as text, with the number of runs that shared the device meanwhile.
pub fn seconds(summary: &Summary<'_>) -> String {
    seconds_with_sharing(summary.seconds, summary.timing.sharing)
}

/// The note below a table.
const READING: &str = "Means and standard deviations over splits; in bold the best of its depth. The paper's seconds are medians \
                       of five runs on a Tesla K80";

/// The note where times of several devices are in one table.
const APART: &str = " Seconds are not all of one device: in bold are the best among those that are.";

/// The note on a table's seconds: medians of how many runs, and how many shared the device.
fn timing(all: &[Summary<'_>]) -> String {
    let counts = || all.iter().map(|s| s.timed);
    let (Some(fewest), Some(most)) = (counts().min(), counts().max()) else { return ".".into() };
    let whose = match (fewest, most) {
        (_, 1) => "of one run each".into(),
        _ if fewest == most => format!("medians of {most}"),
        _ => format!("medians of {fewest} to {most}"),
    };
    let alone = match (all.iter().any(|s| s.timing.sharing > 1), most) {
        (true, _) => "; a number after × says how many runs shared the device",
        (false, 1) => ", which had the device to itself",
        (false, _) => ", which had the device to themselves",
    };
    format!(", ours {whose}{alone}.")
}

/// The table of a dataset, baselines below the models; `None` if there are no results.
pub fn table(lines: &[GridLine], baselines: &[BaselineLine], dataset: &str) -> Option<Table> {
    let (all, simpler) = (summaries(lines, dataset), baseline_summaries(baselines, dataset));
    if all.is_empty() && simpler.is_empty() {
        return None;
    }
    let timing = timing(&all);
    let apart = all.iter().any(|s| s.timing.device != all[0].timing.device);
    let mut groups: Vec<Group> = Vec::new();
    for s in all {
        let paper = |cell: fn(Printed) -> String| Cell::new(s.printed.map_or_else(|| "–".into(), cell));
        let name = s.hidden.to_string();
        let row = vec![
            Cell::new(s.model.name()),
            Cell::new(s.splits.to_string()),
            Cell::new(mean_with_deviation(s.log_likelihood, s.splits, 3)).best(s.best[0]),
            paper(|p| format!("{:.2} ± {:.2}", p.log_likelihood.0, p.log_likelihood.1)),
            Cell::new(mean_with_deviation(s.rmse, s.splits, digits(dataset))).best(s.best[1]),
            paper(|p| format!("{:.2} ± {:.2}", p.rmse.0, p.rmse.1)),
            Cell::new(seconds(&s)).best(s.best[2]),
            paper(|p| format!("{:.0}", p.seconds)),
        ];
        match groups.last_mut() {
            Some(group) if group.name == name => group.rows.push(row),
            _ => groups.push(Group { name, title: layers(s.hidden), rows: vec![row] }),
        }
    }
    let rest = |BaselineSummary { model, splits, log_likelihood, rmse }: BaselineSummary<'_>| {
        let (ll, error) = (
            Cell::new(mean_with_deviation(log_likelihood, splits, 3)),
            Cell::new(mean_with_deviation(rmse, splits, digits(dataset))),
        );
        let none = || Cell::new("–");
        vec![Cell::new(model), Cell::new(splits.to_string()), ll, none(), error, none(), none(), none()]
    };
    if !simpler.is_empty() {
        let title = "simpler models".into();
        groups.push(Group { name: String::new(), title, rows: simpler.into_iter().map(rest).collect() });
    }
    let (number, paper) = (Column::number, || Column::aside("paper"));
    Some(Table {
        grouped_by: Some(number("hidden")),
        columns: vec![
            Column::name("model"),
            number("splits"),
            number("log likelihood"),
            paper(),
            number("RMSE"),
            paper(),
            number("seconds"),
            paper(),
        ],
        groups,
        note: String::from(READING) + &timing + if apart { APART } else { "" },
        ..Table::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::grid::run::Model;
    use crate::reproduce::grid::tests::line;

    #[test]
    fn tables_have_means_deviations_medians_and_the_papers_numbers() {
        let mut lines = Vec::new();
        for (split, ll) in [1.30, 1.32, 1.34].into_iter().enumerate() {
            lines.push(line(Model::Full, 1, split as u64, ll));
            lines.push(line(Model::Decoupled, 1, split as u64, ll + 0.1));
        }
        let simple = |split, ll| BaselineLine {
            dataset: "kin8nm".into(),
            model: "linear regression".into(),
            split,
            test_log_likelihood: ll,
            test_rmse: 0.2,
        };
        let baselines = [simple(0, 0.1), simple(1, 0.3)];
        let whole = table(&lines, &baselines, "kin8nm").unwrap();
        assert!(whole.note.ends_with("ours medians of 3, which had the device to themselves."), "{}", whole.note);
        let one = table(&lines[..2], &[], "kin8nm").unwrap().note;
        assert!(one.ends_with("ours of one run each, which had the device to itself."), "{one}");
        lines[0].provenance.sharing = 4;
        let some = table(&lines, &[], "kin8nm").unwrap().note;
        assert!(some.ends_with("ours medians of 2 to 3, which had the device to themselves."), "{some}");
        lines.iter_mut().for_each(|line| line.provenance.sharing = 4);
        let shared = table(&lines, &[], "kin8nm").unwrap().note;
        assert!(
            shared.ends_with("ours medians of 3; a number after × says how many runs shared the device."),
            "{shared}"
        );
        let text = whole.markdown();
        assert!(text.contains("| | linear regression | 2 | 0.200 ± 0.141 | – | 0.2000 ± 0.0000 |"), "{text}");
        let full = "| 1 | full | 3 | 1.320 ± 0.020 | 1.32 ± 0.03 | 0.0736 ± 0.0004 | 0.07 ± 0.00 | **11.0** | 481 |";
        let decoupled = "| 1 | decoupled | 3 | **1.420 ± 0.020** | 1.34 ± 0.02 | **0.0716 ± 0.0004** | 0.07 ± 0.00 | **11.0** | 433 |";
        assert!(text.contains(full) && text.contains(decoupled), "{text}");
        assert!(table(&lines, &baselines, "protein").is_none());
    }

    #[test]
    fn a_single_model_is_not_the_best_of_anything() {
        let text = table(&[line(Model::DecoupledWhitened, 2, 0, 1.4)], &[], "kin8nm").unwrap().markdown();
        assert!(text.contains("| 2 | decoupled-whitened | 1 | 1.400 | – |") && !text.contains("**"), "{text}");
    }
}
