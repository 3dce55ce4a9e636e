//! The tables of the page: the scores of the model and the baselines, texts, and the settings.

mod classes;
mod counts;
mod numbers;
mod score_table;

use super::{PlainTable, Report};
use crate::picture::escape;

/// All tables of scores as HTML; empty without scores.
pub(super) fn scores(report: &Report) -> String {
    let of_numbers = numbers::scores(report);
    let of_classes = report.classes.as_ref().map(|own| classes::scores(own, &scored_on(report)));
    let of_counts = report.counts.as_ref().map(|own| counts::scores(own, &scored_on(report)));
    of_numbers + &of_classes.unwrap_or_default() + &of_counts.unwrap_or_default()
}

/// The rows that were scored as a sentence of HTML, with a space before it; empty if nobody knows.
fn scored_on(report: &Report) -> String {
    report.scored_on.as_ref().map_or(String::new(), |rows| format!(" Scored on {}.", escape(rows)))
}

/// A table of texts as HTML.
pub(super) fn plain(PlainTable { title, cells, caption }: &PlainTable) -> String {
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
