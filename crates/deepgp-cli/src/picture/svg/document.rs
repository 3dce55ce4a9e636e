//! Finished pictures, and the two ways to write them.

use super::colour::{Colour, style_sheet};
use super::text_width::{LABEL, TITLE, fit};
use super::{Anchor, escape, number, text};

/// The width of every picture, in its own units: about that of a phone, so that text stays legible on one.
pub(in crate::picture) const WIDTH: f64 = 400.0;
/// The height of the title.
pub(in crate::picture) const HEAD: f64 = 24.0;

/// A finished picture, [`WIDTH`] wide.
#[derive(Debug, Clone)]
pub struct Picture {
    title: String,
    height: f64,
    body: String,
}

impl Picture {
    /// A picture of SVG elements that keep off the first [`HEAD`] units, where the title goes.
    pub(in crate::picture) fn new(title: &str, height: f64, body: String) -> Self {
        Self { title: title.to_owned(), height, body }
    }

    /// The picture as an `<svg>` element for a page that has [`style_sheet`]; it takes the width of what it lies in.
    pub fn inline(&self) -> String {
        format!("<svg class=\"picture\" {}>{}</svg>", self.attributes(), self.content())
    }

    /// The picture as an SVG file with its own colours, light or dark, and a ground to lie on.
    pub fn standalone(&self) -> String {
        let (pad, width, height) = (12.0, number(WIDTH + 24.0), number(self.height + 24.0));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" {}><style>{}</style>\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/><g transform=\"translate({pad} {pad})\">{}</g></svg>\n",
            escape(&self.title),
            font(),
            style_sheet("svg"),
            Colour::Paper.css(),
            self.content()
        )
    }

    /// The attributes of the `<svg>` element that both ways share.
    fn attributes(&self) -> String {
        format!(
            "viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" {}",
            number(WIDTH),
            number(self.height),
            escape(&self.title),
            font()
        )
    }

    /// Title and drawing, which both ways share.
    fn content(&self) -> String {
        let look = format!("font-size=\"{TITLE}\" font-weight=\"600\" fill=\"{}\"", Colour::Ink.css());
        text(0.0, 14.0, Anchor::Start, &look, &fit(&self.title, 1.12 * TITLE, WIDTH)) + &self.body
    }
}

/// The font: whatever sans the reader's system prefers.
fn font() -> String {
    format!("font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"{LABEL}\"")
}
