//! Pieces of SVG text: escaped strings, short numbers, path data.

pub(super) mod colour;
pub(super) mod document;
pub(super) mod text_width;

/// The text made safe inside an element or a quoted attribute, of HTML as of XML.
///
/// Characters that XML forbids, and line breaks, which neither would show, become spaces.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Overrides of the writing direction, which would reach beyond the text.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            '\u{fffe}' | '\u{ffff}' => safe.push(' '),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// A coordinate with at most one decimal: a tenth of a pixel is finer than a screen shows.
pub(super) fn number(v: f64) -> String {
    let text = format!("{v:.1}");
    match text.strip_suffix(".0").unwrap_or(&text) {
        "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

/// Path data through `points`, one subpath for each run; a run of one point is a dot under a round cap.
pub(super) fn path(runs: &[Vec<(f64, f64)>]) -> String {
    let mut data = String::new();
    for run in runs.iter().filter(|run| !run.is_empty()) {
        for (i, &(x, y)) in run.iter().enumerate() {
            data.push(if i == 0 { 'M' } else { ' ' });
            data.push_str(&format!("{} {}", number(x), number(y)));
        }
        if run.len() == 1 {
            data.push_str("h.01");
        }
    }
    data
}

/// Which end of a text lies at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A `<text>` at a baseline; `attributes` are written as they are, `text` is escaped.
pub(super) fn text(x: f64, y: f64, anchor: Anchor, attributes: &str, text: &str) -> String {
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let space = if attributes.is_empty() { "" } else { " " };
    format!("<text x=\"{}\" y=\"{}\"{anchor}{space}{attributes}>{}</text>", number(x), number(y), escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(12.0), "12");
        assert_eq!(number(12.34), "12.3");
        assert_eq!(number(-0.01), "0");
        assert_eq!(number(-3.96), "-4");
    }

    #[test]
    fn markup_becomes_text() {
        assert_eq!(escape("<a b='c'>\"&\"\n\u{0}\u{202e}"), "&lt;a b=&#39;c&#39;&gt;&quot;&amp;&quot;  ");
    }

    #[test]
    fn runs_become_subpaths() {
        assert_eq!(path(&[vec![(0.0, 1.0), (2.0, 3.5)], vec![], vec![(4.0, 4.0)]]), "M0 1 2 3.5M4 4h.01");
    }
}
