//! Pages: one self-contained HTML file each, which needs nothing but itself: no network, no script.
//!
//! A [`Document`] is a header and [`Section`]s; what all pages look like is in `page.css`. Start reading at
//! [`Document::html`].

mod figure;
mod key_numbers;

pub use figure::{Figure, figures};
pub use key_numbers::{KeyNumber, strip};

use crate::picture::{escape, style_sheet};

/// The style sheet of the layout; colours come from [`style_sheet`].
const STYLE: &str = include_str!("page.css");

/// A page. Texts are escaped when they are written, except where they are HTML.
#[derive(Debug, Clone)]
pub struct Document {
    /// The heading, and the title of the window.
    pub title: String,
    /// What made the page and when, as far as that is known, in small print above the heading.
    pub made: Vec<String>,
    /// A sentence or two below the heading.
    pub summary: String,
    /// The key numbers, as HTML.
    pub key: String,
    /// The notes below the key numbers.
    pub notes: Vec<String>,
    /// The sections from top to bottom.
    pub sections: Vec<Section>,
}

/// A section of a page: a question, and its answer.
#[derive(Debug, Clone)]
pub struct Section {
    /// The anchor of links to the section.
    pub id: String,
    /// The heading of the section.
    pub title: String,
    /// The question.
    pub lead: String,
    /// The answer, as HTML.
    pub content: String,
}

impl Document {
    /// The page as an HTML file.
    pub fn html(&self) -> String {
        let link = |s: &Section| format!("<a href=\"#{}\">{}</a> ", escape(&s.id), escape(&s.title));
        let links: String = self.sections.iter().map(link).collect();
        let body: String = self.sections.iter().map(Section::html).collect();
        let made: Vec<String> = self.made.iter().filter(|text| !text.is_empty()).map(|text| escape(text)).collect();
        let title = escape(&self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{}\n{STYLE}</style>\n</head>\n<body>\n\
             <header>\n<p class=\"made\">{}</p>\n<h1>{title}</h1>\n<p class=\"summary\">{}</p>\n{}{}\
             <nav aria-label=\"Sections\">{links}</nav>\n</header>\n<main>\n{body}</main>\n</body>\n</html>\n",
            style_sheet(":root"),
            made.join(" · "),
            escape(&self.summary),
            self.key,
            notes(&self.notes),
        )
    }
}

impl Section {
    /// The section as HTML: title and question beside or above the content.
    fn html(&self) -> String {
        let Self { id, title, lead, content } = self;
        let (id, title, lead) = (escape(id), escape(title), escape(lead));
        format!(
            "<section id=\"{id}\">\n<div class=\"lead\"><h2>{title}</h2><p>{lead}</p></div>\n\
             <div class=\"content\">\n{content}</div>\n</section>\n"
        )
    }
}

/// The notes as HTML; empty if there are none.
fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items: String = notes.iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
    format!("<aside aria-label=\"Notes\"><ul>{items}</ul></aside>\n")
}

#[cfg(test)]
pub(crate) mod laws {
    //! Laws that hold of every page.

    use std::collections::HashSet;

    /// Asserts that `page` loads nothing, runs nothing, links to what is there, and closes what it opens.
    pub(crate) fn assert_sound(kind: &str, page: &str) {
        for forbidden in ["http", "src=x", " src=\"", "<script", "<img", "@import", "url("] {
            let found = page.replace("&lt;script", "").replace("&lt;img src=x", "").contains(forbidden);
            assert!(!found, "{kind}: {forbidden}");
        }
        let mut ids = HashSet::new();
        for piece in page.split(" id=\"").skip(1) {
            let id = piece.split('"').next().unwrap_or_default();
            assert!(ids.insert(id), "{kind}: {id} twice");
        }
        for piece in page.split("href=\"#").skip(1) {
            let target = piece.split('"').next().unwrap_or_default();
            assert!(ids.contains(target), "{kind}: no {target}");
        }
        assert!(!page.contains("NaN"), "{kind}");
        assert_balanced(kind, page);
    }

    /// Asserts that every element that is opened is closed, in order.
    fn assert_balanced(kind: &str, page: &str) {
        let mut open: Vec<&str> = Vec::new();
        let body = &page[page.find("</style>").map_or(0, |at| at + "</style>".len())..];
        for tag in body.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').unwrap_or_else(|| panic!("{kind}: <{tag} has no end"));
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
            if tag.starts_with('/') {
                // The head was opened before the style sheet.
                if !matches!(name, "head" | "html") {
                    assert_eq!(open.pop(), Some(name), "{kind}");
                }
            } else if !tag.ends_with('/') && name != "meta" {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{kind}: {open:?}");
    }
}
