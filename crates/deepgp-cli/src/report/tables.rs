//! The tables of the page: the scores of the model and the baselines, and the settings.

use deepgp::Score;

use super::number::{column, differences, duration, percent};
use super::{PlainTable, Report, ScoreRow};
use crate::picture::escape;

/// A function that picks the scores of a row in the units of a table.
type Units = fn(&ScoreRow) -> &Score;

/// The columns of scores on one target, or on all together.
struct Group {
    /// The target's name, where there are several.
    title: String,
    columns: Vec<Column>,
}

/// A column of scores: its heading, its cells, and the row that is best, if any is to stand out.
struct Column {
    heading: &'static str,
    cells: Vec<String>,
    best: Option<usize>,
}

/// All tables of scores as HTML; empty without scores.
pub(super) fn scores(report: &Report) -> String {
    let rows = &report.scores[..];
    if rows.is_empty() {
        return report.score_tables.iter().map(plain).collect();
    }
    let (original, standardised): (Units, Units) = (|row| &row.original, |row| &row.standardised);
    let scored_on = report.scored_on.as_ref().map_or(String::new(), |rows| format!(" Scored on {}.", escape(rows)));
    if report.targets.len() < 2 {
        let own = chain([vec![likelihood(rows, original)], errors(rows, original, 0), coverage(rows, 0), time(rows)]);
        let scaled = chain([vec![likelihood(rows, standardised)], errors(rows, standardised, 0)]);
        return format!(
            "{}<p class=\"caption\">Log likelihood: mean log density of a row, higher is better. RMSE, MAE and CRPS: errors, \
             lower is better. The share of rows inside 50, 90 and 95 % intervals should match its heading.{scored_on}</p>{}\
             <p class=\"caption\">With the target scaled to mean 0 and standard deviation 1 on the training rows: an RMSE of \
             about 1 is what predicting the mean would give.</p>",
            table("In units of the target", rows, &[own]),
            table("Standardised", rows, &[scaled]),
        );
    }
    let scaled = Column { heading: "standardised", ..likelihood(rows, standardised) };
    let together = chain([vec![likelihood(rows, original), scaled], time(rows)]);
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
        table("All targets together", rows, &[together]),
        table("In units of each target", rows, &own),
        table("Standardised", rows, &each(&|p| errors(rows, standardised, p))),
    )
}

/// A group of columns without a title.
fn chain<const N: usize>(parts: [Vec<Column>; N]) -> Group {
    Group { title: String::new(), columns: parts.into_iter().flatten().collect() }
}

/// The column of log likelihoods, in the units that `of` picks.
fn likelihood(rows: &[ScoreRow], of: Units) -> Column {
    let joint = rows.iter().any(|row| row.original.rmse.len() > 1);
    let heading = if joint { "joint log likelihood" } else { "log likelihood" };
    competing(heading, rows, &|row| of(row).log_likelihood, -1.0, differences)
}

/// The columns of errors on target `p`, in the units that `of` picks.
fn errors(rows: &[ScoreRow], of: Units, p: usize) -> Vec<Column> {
    vec![
        competing("RMSE", rows, &|row| of(row).rmse[p], 1.0, column),
        competing("MAE", rows, &|row| of(row).mae[p], 1.0, column),
        competing("CRPS", rows, &|row| of(row).crps[p], 1.0, column),
    ]
}

/// The columns of shares of rows inside intervals for target `p`.
fn coverage(rows: &[ScoreRow], p: usize) -> Vec<Column> {
    let covered = |heading, share: &dyn Fn(&Score) -> f64| {
        let cells = rows.iter().map(|row| percent(share(&row.original))).collect();
        Column { heading, cells, best: None }
    };
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

/// A column in which the least `sign * score` is best.
fn competing(
    heading: &'static str,
    rows: &[ScoreRow],
    score: &dyn Fn(&ScoreRow) -> f64,
    sign: f64,
    write: fn(&[f64]) -> Vec<String>,
) -> Column {
    let values: Vec<f64> = rows.iter().map(score).collect();
    let finite = (0..values.len()).filter(|&i| values.len() > 1 && values[i].is_finite());
    let best = finite.min_by(|&i, &j| (sign * values[i]).total_cmp(&(sign * values[j])));
    Column { heading, cells: write(&values), best }
}

/// A table of scores as HTML.
fn table(caption: &str, rows: &[ScoreRow], groups: &[Group]) -> String {
    let columns = groups.first().map_or(&[][..], |group| &group.columns);
    let headings: String = columns.iter().map(|column| format!("<th scope=\"col\">{}</th>", column.heading)).collect();
    let bodies: String = groups.iter().map(|group| body(rows, group)).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><caption>{caption}</caption><thead><tr><td></td>{headings}</tr></thead>\n\
         {bodies}</table></div>\n"
    )
}

/// The rows of a group of columns as HTML.
fn body(rows: &[ScoreRow], Group { title, columns }: &Group) -> String {
    let wide = columns.len() + 1;
    let heading = format!(
        "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{wide}\"><span>{}</span></th></tr>\n",
        escape(title)
    );
    let lines = rows.iter().enumerate().map(|(i, row)| {
        let cell = |column: &Column| {
            let class = if column.best == Some(i) { " class=\"best\"" } else { "" };
            format!("<td{class}>{}</td>", escape(&column.cells[i]))
        };
        let class = if row.of_model { " class=\"model\"" } else { "" };
        let cells: String = columns.iter().map(cell).collect();
        format!("<tr{class}><th scope=\"row\">{}</th>{cells}</tr>\n", escape(&row.name))
    });
    let heading = if title.is_empty() { String::new() } else { heading };
    format!("<tbody>{heading}{}</tbody>", lines.collect::<String>())
}

/// A table of texts as HTML.
fn plain(PlainTable { title, cells, caption }: &PlainTable) -> String {
    let (head, rows) = cells.split_first().map_or((&[][..], &[][..]), |(head, rows)| (&head[..], rows));
    let headings = head.iter().skip(1).map(|heading| format!("<th scope=\"col\">{}</th>", escape(heading)));
    let line = |row: &Vec<String>| {
        let name = row.first().map_or("", String::as_str);
        let cells: String = row.iter().skip(1).map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escape(name))
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><caption>{}</caption><thead><tr><td>{}</td>{}</tr></thead>\n\
         <tbody>{}</tbody></table></div>\n<p class=\"caption\">{}</p>",
        escape(title),
        escape(head.first().map_or("", String::as_str)),
        headings.collect::<String>(),
        rows.iter().map(line).collect::<String>(),
        escape(caption)
    )
}

/// The settings as a table of two columns, as HTML.
pub(super) fn settings(settings: &[(String, String)]) -> String {
    let row = |(name, value): &(String, String)| {
        format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(name), escape(value))
    };
    let rows: String = settings.iter().map(row).collect();
    format!("<div class=\"scroll\" tabindex=\"0\"><table class=\"settings\"><tbody>{rows}</tbody></table></div>\n")
}
