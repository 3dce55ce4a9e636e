//! Verdicts on the paper's numbers: whether ours reach them, to the digits that the paper prints.
//!
//! molecules is a rebuilt dataset: its numbers stand beside the paper's without a verdict.

use super::GridLine;
use super::run::Model;
use super::summary::summaries;
use crate::reproduce::results::table::{Cell, Column, Group, Table};

/// The datasets on which our numbers can be held against the paper's.
pub const JUDGED: [&str; 2] = ["kin8nm", "protein"];
/// The digits after the point that the paper prints.
const DIGITS: usize = 2;

/// Our numbers for one dataset, model and depth, beside the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    dataset: &'static str,
    model: Model,
    hidden: usize,
    splits: usize,
    /// Mean test log likelihood, rounded as the paper prints it, and the paper's.
    log_likelihood: (f64, f64),
    /// Mean test RMSE, rounded as the paper prints it, and the paper's.
    rmse: (f64, f64),
}

impl Verdict {
    /// Whether the log likelihood is at least the paper's.
    pub fn reaches_log_likelihood(&self) -> bool {
        self.log_likelihood.0 >= self.log_likelihood.1
    }

    /// Whether the RMSE is at most the paper's.
    pub fn reaches_rmse(&self) -> bool {
        self.rmse.0 <= self.rmse.1
    }

    /// The scores that do not reach the paper's, and by how much.
    fn short(&self) -> String {
        let part = |name: &str, reached: bool, (ours, paper): (f64, f64)| {
            (!reached).then(|| format!("{name} {:.DIGITS$}", (ours - paper).abs()))
        };
        let likelihood = part("log likelihood", self.reaches_log_likelihood(), self.log_likelihood);
        likelihood.into_iter().chain(part("RMSE", self.reaches_rmse(), self.rmse)).collect::<Vec<_>>().join(", ")
    }
}

/// A verdict for each dataset, model and depth that the paper has numbers for.
pub fn verdicts(lines: &[GridLine]) -> Vec<Verdict> {
    let of = |dataset: &'static str| {
        summaries(lines, dataset).into_iter().filter_map(move |s| {
            let paper = s.printed?;
            Some(Verdict {
                dataset,
                model: s.model,
                hidden: s.hidden,
                splits: s.splits,
                log_likelihood: (printed(s.log_likelihood.0), paper.log_likelihood.0),
                rmse: (printed(s.rmse.0), paper.rmse.0),
            })
        })
    };
    JUDGED.into_iter().flat_map(of).collect()
}

/// The value, rounded as the paper prints it.
fn printed(value: f64) -> f64 {
    format!("{value:.DIGITS$}").parse().unwrap_or(value)
}

/// The tables of the verdicts: how many reach the paper's numbers, and those that do not.
pub fn tables(all: &[Verdict]) -> Vec<Table> {
    if all.is_empty() {
        return Vec::new();
    }
    let count = |of: &[&Verdict], reached: fn(&Verdict) -> bool| {
        let reached = of.iter().filter(|v| reached(v)).count();
        Cell::new(format!("{reached} of {}", of.len()))
    };
    let row = |name: &str, of: &[&Verdict]| {
        let both = count(of, |v| v.reaches_log_likelihood() && v.reaches_rmse());
        vec![Cell::new(name), count(of, Verdict::reaches_log_likelihood), count(of, Verdict::reaches_rmse), both]
    };
    let group = |dataset: &'static str| {
        let own: Vec<&Verdict> = all.iter().filter(|v| v.dataset == dataset).collect();
        let mut models: Vec<Model> = own.iter().map(|v| v.model).collect();
        models.sort_unstable();
        models.dedup();
        let of = |model| own.iter().copied().filter(|v| v.model == model).collect::<Vec<_>>();
        let rows = models.into_iter().map(|model| row(model.name(), &of(model))).collect();
        Group { name: dataset.into(), title: dataset.into(), rows }
    };
    let whole = Group {
        name: "all".into(),
        title: "all".into(),
        rows: vec![row("all models", &all.iter().collect::<Vec<_>>())],
    };
    let groups = JUDGED.into_iter().map(group).chain([whole]).filter(|group| !group.rows.is_empty()).collect();
    let short: Vec<&Verdict> = all.iter().filter(|v| !(v.reaches_log_likelihood() && v.reaches_rmse())).collect();
    let counts = Table {
        caption: "Depths that reach the paper".into(),
        grouped_by: Some(Column::name("dataset")),
        columns: vec![
            Column::name("model"),
            Column::number("log likelihood"),
            Column::number("RMSE"),
            Column::number("both"),
        ],
        groups,
        note: if short.is_empty() { "No cell falls short.".into() } else { String::new() },
    };
    let mut tables = vec![counts];
    if !short.is_empty() {
        tables.push(shortfalls(&short));
    }
    tables
}

/// The verdicts that do not reach the paper's numbers, and by how much.
fn shortfalls(short: &[&Verdict]) -> Table {
    let of = |(ours, paper): (f64, f64)| [ours, paper].map(|v| Cell::new(format!("{v:.DIGITS$}")));
    let row = |v: &&Verdict| {
        let ([ll, ll_paper], [rmse, rmse_paper]) = (of(v.log_likelihood), of(v.rmse));
        let [hidden, splits] = [v.hidden, v.splits].map(|n| Cell::new(n.to_string()));
        vec![Cell::new(v.model.name()), hidden, splits, ll, ll_paper, rmse, rmse_paper, Cell::new(v.short())]
    };
    let group = |dataset: &str| Group {
        name: dataset.into(),
        title: dataset.into(),
        rows: short.iter().filter(|v| v.dataset == dataset).map(row).collect(),
    };
    Table {
        caption: "Cells that fall short".into(),
        grouped_by: Some(Column::name("dataset")),
        columns: vec![
            Column::name("model"),
            Column::number("hidden"),
            Column::number("splits"),
            Column::number("log likelihood"),
            Column::aside("paper"),
            Column::number("RMSE"),
            Column::aside("paper"),
            Column::words("short by"),
        ],
        groups: JUDGED.into_iter().map(group).filter(|group| !group.rows.is_empty()).collect(),
        note: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::grid::tests::line;

    #[test]
    fn numbers_are_compared_as_the_paper_prints_them() {
        // The paper has 1.32 and 0.07 for one hidden layer, 1.38 and 0.06 for two.
        let reached = GridLine { test_log_likelihood: 1.3151, test_rmse: 0.0749, ..line(Model::Full, 1, 0, 0.0) };
        let missed = GridLine { test_log_likelihood: 1.3749, test_rmse: 0.0651, ..line(Model::Full, 2, 0, 0.0) };
        let molecules = GridLine { dataset: "molecules".into(), ..line(Model::Full, 1, 0, -9.0) };
        let whitened = line(Model::DecoupledWhitened, 1, 0, -9.0);
        let all = verdicts(&[reached.clone(), missed, molecules, whitened]);
        assert_eq!(
            all.iter().map(|v| (v.reaches_log_likelihood(), v.reaches_rmse())).collect::<Vec<_>>(),
            [(true, true), (false, false)]
        );
        let [counts, short] = &tables(&all)[..] else { panic!("two tables") };
        assert!(counts.markdown().contains("| kin8nm | full | 1 of 2 | 1 of 2 | 1 of 2 |"), "{}", counts.markdown());
        let text = short.markdown();
        assert!(
            text.contains("| kin8nm | full | 2 | 1 | 1.37 | 1.38 | 0.07 | 0.06 | log likelihood 0.01, RMSE 0.01 |"),
            "{text}"
        );
        let all = tables(&verdicts(&[reached]));
        assert_eq!((all.len(), all[0].note.as_str()), (1, "No cell falls short."));
        assert!(tables(&verdicts(&[])).is_empty());
    }
}
