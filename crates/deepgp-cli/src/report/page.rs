//! The page: header, key numbers, sections.

use super::figure::{Figure, Section};
use super::{Report, key, sections, tables};
use crate::picture::{escape, style_sheet};

/// The layout; colours come from [`style_sheet`].
const STYLE: &str = include_str!("page.css");

/// The whole report as one HTML page that needs nothing but itself: no network, no script.
pub fn page(report: &Report) -> String {
    let mut parts = Vec::new();
    let scores = tables::scores(report);
    if !scores.is_empty() {
        parts.push(("scores", "Scores", block("scores", "Scores", "How good is it, and against what?", &scores)));
    }
    for section in sections::sections(report) {
        parts.push((section.id, section.title, figures(&section)));
    }
    if !report.settings.is_empty() {
        let table = tables::settings(&report.settings);
        parts.push((
            "settings",
            "Settings",
            block("settings", "Settings", "What would make this model again.", &table),
        ));
    }
    let links: String = parts.iter().map(|(id, title, _)| format!("<a href=\"#{id}\">{title}</a> ")).collect();
    let body: String = parts.iter().map(|(_, _, html)| html.as_str()).collect();
    let title = escape(&report.title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{}\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<p class=\"made\">{}</p>\n<h1>{title}</h1>\n<p class=\"summary\">{}</p>\n{}{}\
         <nav aria-label=\"Sections\">{links}</nav>\n</header>\n<main>\n{body}</main>\n</body>\n</html>\n",
        style_sheet(":root"),
        made(report),
        escape(&report.summary),
        key::key_numbers(report),
        notes(&report.notes),
    )
}

/// Version and date, as far as they are known.
fn made(report: &Report) -> String {
    let known = [&report.version, &report.created].into_iter().filter(|text| !text.is_empty());
    known.map(|text| escape(text)).collect::<Vec<_>>().join(" · ")
}

fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items: String = notes.iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
    format!("<aside aria-label=\"Notes\"><ul>{items}</ul></aside>\n")
}

fn figures(section: &Section) -> String {
    let figure = |figure: &Figure| {
        let (picture, caption) = (figure.picture.inline(), escape(&figure.caption));
        format!("<figure id=\"figure-{}\">{picture}<figcaption>{caption}</figcaption></figure>\n", escape(&figure.stem))
    };
    let figures: String = section.figures.iter().map(figure).collect();
    block(section.id, section.title, section.lead, &format!("<div class=\"figures\">\n{figures}</div>\n"))
}

/// A section: its title and question beside or above its content.
fn block(id: &str, title: &str, lead: &str, content: &str) -> String {
    format!(
        "<section id=\"{id}\">\n<div class=\"lead\"><h2>{title}</h2><p>{lead}</p></div>\n\
         <div class=\"content\">\n{content}</div>\n</section>\n"
    )
}
