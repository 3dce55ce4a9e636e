//! Tables: the scores of the model and the baselines, and the settings.

use super::number::{column, differences, duration, percent};
use super::{Metrics, Report, ScoreRow};
use crate::picture::escape;

/// A column of scores: its heading, its cells, and the row that is best, if any is to stand out.
struct Column {
    heading: &'static str,
    cells: Vec<String>,
    best: Option<usize>,
}

/// Both tables of scores; empty without scores.
pub(super) fn scores(report: &Report) -> String {
    let rows = &report.scores[..];
    if rows.is_empty() {
        return String::new();
    }
    let mut original = errors(rows, |row| &row.original);
    let covered = |share: fn(&Metrics) -> f64| rows.iter().map(|row| percent(share(&row.original))).collect();
    let plain = |heading, cells| Column { heading, cells, best: None };
    original.push(plain("in 50 %", covered(|m| m.coverage_50)));
    original.push(plain("in 90 %", covered(|m| m.coverage_90)));
    original.push(plain("in 95 %", covered(|m| m.coverage_95)));
    if rows.iter().any(|row| row.seconds.is_some()) {
        original.push(plain("time", rows.iter().map(|row| row.seconds.map_or("–".to_owned(), duration)).collect()));
    }
    let scored_on = report.scored_on.as_ref().map_or(String::new(), |rows| format!(" Scored on {}.", escape(rows)));
    format!(
        "{}<p class=\"caption\">Log likelihood: mean log density of a row, higher is better. RMSE, MAE and CRPS: errors, lower \
         is better. The share of rows inside 50, 90 and 95 % intervals should match its heading.{scored_on}</p>{}",
        table("In units of the target", rows, &original),
        table("Standardised", rows, &errors(rows, |row| &row.standardised)),
    ) + "<p class=\"caption\">With the target scaled to mean 0 and standard deviation 1 on the training rows: an RMSE of 1 \
         is what predicting the mean would give.</p>"
}

/// The scores in the units that `of` picks.
fn errors(rows: &[ScoreRow], of: fn(&ScoreRow) -> &Metrics) -> Vec<Column> {
    // With several targets the rows do not compete.
    let compete = rows.len() > 1 && rows.iter().filter(|row| row.of_model).count() == 1;
    let best_of = |heading, score: fn(&Metrics) -> f64, sign: f64, write: fn(&[f64]) -> Vec<String>| {
        let values: Vec<f64> = rows.iter().map(|row| score(of(row))).collect();
        let finite = (0..values.len()).filter(|&i| compete && values[i].is_finite());
        let best = finite.min_by(|&i, &j| (sign * values[i]).total_cmp(&(sign * values[j])));
        Column { heading, cells: write(&values), best }
    };
    vec![
        best_of("log likelihood", |m| m.log_likelihood, -1.0, differences),
        best_of("RMSE", |m| m.rmse, 1.0, column),
        best_of("MAE", |m| m.mae, 1.0, column),
        best_of("CRPS", |m| m.crps, 1.0, column),
    ]
}

fn table(caption: &str, rows: &[ScoreRow], columns: &[Column]) -> String {
    let headings: String = columns.iter().map(|column| format!("<th scope=\"col\">{}</th>", column.heading)).collect();
    let body = rows.iter().enumerate().map(|(i, row)| {
        let cell = |column: &Column| {
            let class = if column.best == Some(i) { " class=\"best\"" } else { "" };
            format!("<td{class}>{}</td>", escape(&column.cells[i]))
        };
        let class = if row.of_model { " class=\"model\"" } else { "" };
        let cells: String = columns.iter().map(cell).collect();
        format!("<tr{class}><th scope=\"row\">{}</th>{cells}</tr>\n", escape(&row.name))
    });
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><caption>{caption}</caption><thead><tr><td></td>{headings}</tr></thead>\n\
         <tbody>{}</tbody></table></div>\n",
        body.collect::<String>()
    )
}

/// The settings as a table of two columns.
pub(super) fn settings(settings: &[(String, String)]) -> String {
    let row = |(name, value): &(String, String)| {
        format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(name), escape(value))
    };
    let rows: String = settings.iter().map(row).collect();
    format!("<div class=\"scroll\" tabindex=\"0\"><table class=\"settings\"><tbody>{rows}</tbody></table></div>\n")
}
