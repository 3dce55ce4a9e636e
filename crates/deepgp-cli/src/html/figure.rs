//! Pictures with captions.

use crate::picture::{Picture, escape};

/// A picture with what to say below it.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Of the file it is saved as; no two of a page are the same.
    pub stem: String,
    /// What is seen.
    pub picture: Picture,
    /// How to read it, and what good looks like.
    pub caption: String,
}

/// Figures side by side, as HTML; nothing if there are none.
pub fn figures(all: &[Figure]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let figure = |figure: &Figure| {
        let (picture, caption) = (figure.picture.inline(), escape(&figure.caption));
        format!("<figure id=\"figure-{}\">{picture}<figcaption>{caption}</figcaption></figure>\n", escape(&figure.stem))
    };
    format!("<div class=\"figures\">\n{}</div>\n", all.iter().map(figure).collect::<String>())
}
