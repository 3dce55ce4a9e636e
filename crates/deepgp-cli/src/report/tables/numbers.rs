//! The tables of scores where targets are numbers.

use deepgp::Score;

use super::score_table::{Better, Column, Group, Subject, table, untitled};
use crate::report::number::{column, differences, duration};
use crate::report::{Report, ScoreRow};

/// A function that picks the scores of a row in the units of a table.
type Units = fn(&ScoreRow) -> &Score;

/// All tables of scores as HTML; empty without scores.
pub(super) fn scores(report: &Report) -> String {
    let rows = &report.scores[..];
    if rows.is_empty() {
        return String::new();
    }
    let subject = |row: &ScoreRow| Subject { name: row.name.clone(), of_model: row.of_model };
    let subjects: Vec<Subject> = rows.iter().map(subject).collect();
    let (original, standardised): (Units, Units) = (|row| &row.original, |row| &row.standardised);
    let scored_on = super::scored_on(report);
    if report.targets.len() < 2 {
        let own =
            untitled([vec![likelihood(rows, original)], errors(rows, original, 0), coverage(rows, 0), time(rows)]);
        let scaled = untitled([vec![likelihood(rows, standardised)], errors(rows, standardised, 0)]);
        return format!(
            "{}<p class=\"caption\">Log likelihood: mean log density of a row, higher is better. RMSE, MAE and CRPS: errors, \
             lower is better. The share of rows inside 50, 90 and 95 % intervals should match its heading.{scored_on}</p>{}\
             <p class=\"caption\">With the target scaled to mean 0 and standard deviation 1 on the training rows: an RMSE of \
             about 1 is what predicting the mean would give.</p>",
            table("In units of the target", &subjects, &[own]),
            table("Standardised", &subjects, &[scaled]),
        );
    }
    let scaled = Column { heading: "standardised", ..likelihood(rows, standardised) };
    let together = untitled([vec![likelihood(rows, original), scaled], time(rows)]);
    let each = |columns: &dyn Fn(usize) -> Vec<Column>| -> Vec<Group> {
        let targets = report.targets.iter().enumerate();
        targets.map(|(p, target)| Group { title: target.clone(), columns: columns(p) }).collect()
    };
    let own = each(&|p| errors(rows, original, p).into_iter().chain(coverage(rows, p)).collect());
    format!(
        "{}<p class=\"caption\">Joint log likelihood: mean log density of a row, of all its targets at once; higher is \
         better.{scored_on}</p>{}<p class=\"caption\">RMSE, MAE and CRPS: errors, lower is better. The share of rows inside \
         50, 90 and 95 % intervals should match its heading.</p>{}<p class=\"caption\">With each target scaled to mean 0 and \
         standard deviation 1 on the training rows: an RMSE of about 1 is what predicting the mean would give.</p>",
        table("All targets together", &subjects, &[together]),
        table("In units of each target", &subjects, &own),
        table("Standardised", &subjects, &each(&|p| errors(rows, standardised, p))),
    )
}

/// The column of log likelihoods, in the units that `of` picks.
fn likelihood(rows: &[ScoreRow], of: Units) -> Column {
    let joint = rows.iter().any(|row| row.original.rmse.len() > 1);
    let heading = if joint { "joint log likelihood" } else { "log likelihood" };
    Column::competing(heading, &values(rows, &|row| of(row).log_likelihood), Better::More, differences)
}

/// The columns of errors on target `p`, in the units that `of` picks.
fn errors(rows: &[ScoreRow], of: Units, p: usize) -> Vec<Column> {
    let error = |heading, score: &dyn Fn(&ScoreRow) -> f64| {
        Column::competing(heading, &values(rows, score), Better::Less, column)
    };
    vec![
        error("RMSE", &|row| of(row).rmse[p]),
        error("MAE", &|row| of(row).mae[p]),
        error("CRPS", &|row| of(row).crps[p]),
    ]
}

/// The columns of shares of rows inside intervals for target `p`.
fn coverage(rows: &[ScoreRow], p: usize) -> Vec<Column> {
    let covered =
        |heading, share: &dyn Fn(&Score) -> f64| Column::shares(heading, &values(rows, &|row| share(&row.original)));
    vec![
        covered("in 50 %", &|score| score.coverage_50[p]),
        covered("in 90 %", &|score| score.coverage_90[p]),
        covered("in 95 %", &|score| score.coverage_95[p]),
    ]
}

/// The column of seconds of training, where they are known.
fn time(rows: &[ScoreRow]) -> Vec<Column> {
    let known = rows.iter().any(|row| row.seconds.is_some());
    let cells = || rows.iter().map(|row| row.seconds.map_or("–".to_owned(), duration)).collect();
    known.then(|| Column { heading: "time", cells: cells(), best: None }).into_iter().collect()
}

/// A score of each row.
fn values(rows: &[ScoreRow], score: &dyn Fn(&ScoreRow) -> f64) -> Vec<f64> {
    rows.iter().map(score).collect()
}
