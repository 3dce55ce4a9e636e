//! Tables of results, written as Markdown and as HTML.

use std::fmt::Write as _;

use crate::picture::escape;

/// A table whose rows come in groups, to be written as Markdown or as HTML.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The caption; empty where a heading says the same.
    pub caption: String,
    /// The column that names the groups in Markdown; `None` if there is one group without a name.
    pub grouped_by: Option<Column>,
    /// The columns from left to right; the first one names its row.
    pub columns: Vec<Column>,
    /// The groups from top to bottom.
    pub groups: Vec<Group>,
    /// A note below the table on how to read it.
    pub note: String,
}

/// A column of a table: its heading, and what it holds.
#[derive(Clone, Debug)]
pub struct Column {
    heading: String,
    kind: Kind,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Name,
    Number,
    Aside,
    Words,
}

impl Column {
    /// A column of names.
    pub fn name(heading: &str) -> Self {
        Self { heading: heading.into(), kind: Kind::Name }
    }

    /// A column of numbers.
    pub fn number(heading: &str) -> Self {
        Self { heading: heading.into(), kind: Kind::Number }
    }

    /// A column of numbers that others are compared with; it is drawn less strongly.
    pub fn aside(heading: &str) -> Self {
        Self { heading: heading.into(), kind: Kind::Aside }
    }

    /// A column of texts, which may be long.
    pub fn words(heading: &str) -> Self {
        Self { heading: heading.into(), kind: Kind::Words }
    }

    /// The rule under the heading in Markdown, which sets the alignment.
    fn rule(&self) -> &'static str {
        if matches!(self.kind, Kind::Number | Kind::Aside) { "---:" } else { "---" }
    }
}

/// Rows of a table that belong together.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The group's name in its column, in Markdown.
    pub name: String,
    /// The group's name in a row above the others, in HTML.
    pub title: String,
    /// The rows, each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    text: String,
    remark: String,
    best: bool,
}

impl Cell {
    /// A cell with a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The cell, set in bold if it is the best of its column.
    pub fn best(self, best: bool) -> Self {
        Self { best, ..self }
    }

    /// The cell with a remark after its text, in small print.
    pub fn remark(self, remark: impl Into<String>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    /// The cell as Markdown.
    fn markdown(&self) -> String {
        let Self { text, remark, best } = self;
        let text = if *best { format!("**{text}**") } else { text.clone() };
        let whole = if remark.is_empty() { text } else { format!("{text}, {remark}") };
        whole.replace('|', "\\|").replace('\n', " ")
    }

    /// The cell as HTML.
    fn html(&self) -> String {
        let small = |remark: &str| format!(" <small>{}</small>", escape(remark));
        let remark = if self.remark.is_empty() { String::new() } else { small(&self.remark) };
        minus(&escape(&self.text)) + &remark
    }
}

impl Table {
    /// The table as Markdown, without the caption.
    pub fn markdown(&self) -> String {
        let columns: Vec<&Column> = self.grouped_by.iter().chain(&self.columns).collect();
        let headings: Vec<&str> = columns.iter().map(|column| column.heading.as_str()).collect();
        let rules: String = columns.iter().map(|column| format!("{}|", column.rule())).collect();
        let mut text = format!("| {} |\n|{rules}\n", headings.join(" | "));
        for group in &self.groups {
            for row in &group.rows {
                let name = self.grouped_by.as_ref().map(|_| Cell::new(&group.name));
                let cells = name.iter().chain(row).map(Cell::markdown);
                // An empty cell is one blank wide.
                let line: String =
                    cells.map(|cell| if cell.is_empty() { " |".into() } else { format!(" {cell} |") }).collect();
                let _ = writeln!(text, "|{line}");
            }
        }
        text
    }

    /// The table as HTML, in a box that scrolls by itself.
    pub fn html(&self) -> String {
        let caption = if self.caption.is_empty() {
            String::new()
        } else {
            format!("<caption>{}</caption>", escape(&self.caption))
        };
        let heading = |column: &Column| {
            format!("<th scope=\"col\"{}>{}</th>", class(column.kind, false), escape(&column.heading))
        };
        let headings: String = self.columns.iter().map(heading).collect();
        let bodies: String = self.groups.iter().map(|group| self.body(group)).collect();
        let note = if self.note.is_empty() {
            String::new()
        } else {
            format!("<p class=\"caption\">{}</p>\n", escape(&self.note))
        };
        format!(
            "<div class=\"scroll\" tabindex=\"0\"><table class=\"results\">{caption}<thead><tr>{headings}</tr></thead>\n{bodies}\
             </table></div>\n{note}"
        )
    }

    /// A group of rows as HTML.
    fn body(&self, group: &Group) -> String {
        let wide = self.columns.len();
        let title = format!(
            "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{wide}\"><span>{}</span></th></tr>\n",
            escape(&group.title)
        );
        let cell =
            |(cell, column): (&Cell, &Column)| format!("<td{}>{}</td>", class(column.kind, cell.best), cell.html());
        let row = |row: &Vec<Cell>| {
            let name = row.first().map_or_else(String::new, |name| format!("<th scope=\"row\">{}</th>", name.html()));
            format!("<tr>{name}{}</tr>\n", row.iter().zip(&self.columns).skip(1).map(cell).collect::<String>())
        };
        let title = if group.title.is_empty() { String::new() } else { title };
        format!("<tbody>{title}{}</tbody>\n", group.rows.iter().map(row).collect::<String>())
    }
}

/// The class of a cell in HTML, as an attribute.
fn class(kind: Kind, best: bool) -> &'static str {
    match kind {
        Kind::Words => " class=\"words\"",
        Kind::Aside => " class=\"aside\"",
        _ if best => " class=\"best\"",
        _ => "",
    }
}

/// `text` with true minus signs before its numbers.
fn minus(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (i, c) in text.char_indices() {
        let negative = c == '-' && before == ' ' && text[i + 1..].starts_with(|next: char| next.is_ascii_digit());
        out.push(if negative { '−' } else { c });
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = |name: &str, cell: Cell, paper: &str| vec![Cell::new(name), cell, Cell::new(paper)];
        Table {
            caption: "a & b".into(),
            grouped_by: Some(Column::number("hidden")),
            columns: vec![Column::name("model"), Column::number("score"), Column::aside("paper")],
            groups: vec![
                Group {
                    name: "1".into(),
                    title: "1 hidden layer".into(),
                    rows: vec![
                        row("k-means", Cell::new("-1.5").best(true), "-1.4"),
                        row("<other>", Cell::new("-2 ± 1").remark("stuck"), "–"),
                    ],
                },
                Group { rows: vec![row("simple", Cell::new("3"), "")], ..Group::default() },
            ],
            note: "read it".into(),
        }
    }

    #[test]
    fn markdown_has_groups_in_a_column() {
        let expected = "| hidden | model | score | paper |\n|---:|---|---:|---:|\n\
                        | 1 | k-means | **-1.5** | -1.4 |\n| 1 | <other> | -2 ± 1, stuck | – |\n| | simple | 3 | |\n";
        assert_eq!(table().markdown(), expected);
        let plain = Table { grouped_by: None, ..table() };
        assert!(plain.markdown().starts_with("| model | score | paper |\n|---|---:|---:|\n| k-means |"));
    }

    #[test]
    fn html_has_groups_in_rows_the_best_in_bold_and_escaped_names() {
        let html = table().html();
        for section in [
            "<caption>a &amp; b</caption>",
            "colspan=\"3\"><span>1 hidden layer</span>",
            "<th scope=\"row\">k-means</th><td class=\"best\">−1.5</td><td class=\"aside\">−1.4</td>",
            "<th scope=\"row\">&lt;other&gt;</th><td>−2 ± 1 <small>stuck</small></td>",
            "<p class=\"caption\">read it</p>",
        ] {
            assert!(html.contains(section), "{section}: {html}");
        }
        assert_eq!(html.matches("class=\"group\"").count(), 1, "no row for a group without a title");
    }
}
