//! Tables of scores: a row for the model and for each baseline, the best of each column set off.

use crate::picture::escape;
use crate::report::number::percent;

/// Whose scores a row of a table has.
pub(super) struct Subject {
    pub(super) name: String,
    /// Whether it is the model that the report is about.
    pub(super) of_model: bool,
}

/// The columns of scores on one target, or on all together.
pub(super) struct Group {
    /// The target's name, where there are several.
    pub(super) title: String,
    pub(super) columns: Vec<Column>,
}

/// A column of scores: its heading, its cells, and the row that is best, if any is to stand out.
pub(super) struct Column {
    pub(super) heading: &'static str,
    pub(super) cells: Vec<String>,
    pub(super) best: Option<usize>,
}

/// Which way scores are better.
#[derive(Clone, Copy)]
pub(super) enum Better {
    Less,
    More,
}

impl Column {
    /// A column in which the best of all scores stands out, if there are several.
    pub(super) fn competing(
        heading: &'static str,
        values: &[f64],
        better: Better,
        write: fn(&[f64]) -> Vec<String>,
    ) -> Self {
        let sign = match better {
            Better::Less => 1.0,
            Better::More => -1.0,
        };
        let finite = (0..values.len()).filter(|&i| values.len() > 1 && values[i].is_finite());
        let best = finite.min_by(|&i, &j| (sign * values[i]).total_cmp(&(sign * values[j])));
        Self { heading, cells: write(values), best }
    }

    /// A column of shares, in per cent, none of which stands out.
    pub(super) fn shares(heading: &'static str, values: &[f64]) -> Self {
        Self { heading, cells: percents(values), best: None }
    }
}

/// Shares in per cent.
pub(super) fn percents(values: &[f64]) -> Vec<String> {
    values.iter().map(|share| percent(*share)).collect()
}

/// A group of columns without a title.
pub(super) fn untitled<const N: usize>(parts: [Vec<Column>; N]) -> Group {
    Group { title: String::new(), columns: parts.into_iter().flatten().collect() }
}

/// A table of scores as HTML.
pub(super) fn table(caption: &str, subjects: &[Subject], groups: &[Group]) -> String {
    let columns = groups.first().map_or(&[][..], |group| &group.columns);
    let headings: String = columns.iter().map(|column| format!("<th scope=\"col\">{}</th>", column.heading)).collect();
    let bodies: String = groups.iter().map(|group| body(subjects, group)).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><caption>{caption}</caption><thead><tr><td></td>{headings}</tr></thead>\n\
         {bodies}</table></div>\n"
    )
}

/// The rows of a group of columns as HTML.
fn body(subjects: &[Subject], Group { title, columns }: &Group) -> String {
    let wide = columns.len() + 1;
    let heading = format!(
        "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{wide}\"><span>{}</span></th></tr>\n",
        escape(title)
    );
    let lines = subjects.iter().enumerate().map(|(i, subject)| {
        let cell = |column: &Column| {
            let class = if column.best == Some(i) { " class=\"best\"" } else { "" };
            format!("<td{class}>{}</td>", escape(&column.cells[i]))
        };
        let class = if subject.of_model { " class=\"model\"" } else { "" };
        let cells: String = columns.iter().map(cell).collect();
        format!("<tr{class}><th scope=\"row\">{}</th>{cells}</tr>\n", escape(&subject.name))
    });
    let heading = if title.is_empty() { String::new() } else { heading };
    format!("<tbody>{heading}{}</tbody>", lines.collect::<String>())
}
