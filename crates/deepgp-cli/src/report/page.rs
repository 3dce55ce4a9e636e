//! The page: header, key numbers, sections.

use super::figures::Section as Figures;
use super::{Report, choices, key_numbers, sections, tables};
use crate::html::{Document, Section, figures};

/// The whole report as one HTML page that needs nothing but itself: no network, no script.
pub fn page(report: &Report) -> String {
    let mut parts = Vec::new();
    let part = |id: &str, title: &str, lead: &str, content| Section {
        id: id.into(),
        title: title.into(),
        lead: lead.into(),
        content,
    };
    let scores = tables::scores(report);
    if !scores.is_empty() {
        parts.push(part("scores", "Scores", "How good is it, and against what?", scores));
    }
    let chosen = choices::choices(report);
    if !chosen.is_empty() {
        let lead = "What was assumed of the targets, what was maximised, and when would one choose otherwise?";
        parts.push(part("choices", "Likelihood and objective", lead, chosen));
    }
    let drawn = |section: &Figures| {
        let tables: String = section.tables.iter().map(tables::plain).collect();
        part(section.id, section.title, section.lead, figures(&section.figures) + &tables)
    };
    parts.extend(sections::sections(report).iter().map(drawn));
    if !report.settings.is_empty() {
        let table = tables::settings(&report.settings);
        parts.push(part("settings", "Settings", "What would make this model again.", table));
    }
    let document = Document {
        title: report.title.clone(),
        made: vec![report.version.clone(), report.created.clone()],
        summary: report.summary.clone(),
        key: key_numbers::key_numbers(report),
        notes: report.notes.clone(),
        sections: parts,
    };
    document.html()
}
