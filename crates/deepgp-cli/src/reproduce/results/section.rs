//! A section of results: tables and figures on one question, for `tables.md` and for the page.

use std::fmt::Write as _;

use super::table::Table;
use crate::html::{Figure, Section, figures};

/// Tables and figures that answer one question.
#[derive(Clone, Debug)]
pub struct ResultSection {
    /// The anchor of links to the section.
    pub id: String,
    /// The heading.
    pub title: String,
    /// The question, and how it was answered.
    pub lead: String,
    /// The tables of the answer.
    pub tables: Vec<Table>,
    /// The figures of the answer.
    pub figures: Vec<Figure>,
}

impl ResultSection {
    /// The section's tables as Markdown; empty if it has none.
    pub fn markdown(&self) -> String {
        if self.tables.is_empty() {
            return String::new();
        }
        let mut text = format!("\n## {}\n", self.title);
        for paragraph in [&self.lead].into_iter().filter(|text| !text.is_empty()) {
            let _ = write!(text, "\n{paragraph}\n");
        }
        for table in &self.tables {
            if !table.caption.is_empty() {
                let _ = write!(text, "\n### {}\n", table.caption);
            }
            if !table.groups.is_empty() {
                let _ = write!(text, "\n{}", table.markdown());
            }
            if !table.note.is_empty() {
                let _ = write!(text, "\n{}\n", table.note);
            }
        }
        text
    }

    /// The whole section as HTML, for the page.
    pub fn as_html(&self) -> Section {
        let tables: String = self.tables.iter().map(Table::html).collect();
        let content = tables + &figures(&self.figures);
        Section { id: self.id.clone(), title: self.title.clone(), lead: self.lead.clone(), content }
    }
}
