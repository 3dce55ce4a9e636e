//! Figures on a page: pictures with captions.

use crate::picture::{Picture, escape};

/// A picture with a caption.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The name of the file that the picture is saved as, without its ending; no two of a page are the same.
    pub stem: String,
    /// The picture.
    pub picture: Picture,
    /// The caption: how to read the picture, and what good looks like.
    pub caption: String,
}

/// Figures side by side as HTML; empty if there are none.
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
