//! Widths of texts, near enough to lay out labels without reading a font.

/// The text size of labels, in the picture's units.
pub(in crate::picture) const LABEL: f64 = 12.5;
/// The text size of titles.
pub(in crate::picture) const TITLE: f64 = 13.5;

/// The width of `text` at `size`: shares of the size for each kind of letter, after DejaVu Sans, a wide face.
pub(in crate::picture) fn width(text: &str, size: f64) -> f64 {
    let share = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '(' | ')' => 0.35,
        'f' | 'r' | 't' | '-' | '/' | '[' | ']' => 0.41,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '—' => 0.95,
        '−' | '+' | '=' | '<' | '>' | '±' => 0.84,
        'A'..='Z' => 0.72,
        c if c.is_ascii() => 0.62,
        c if (c as u32) < 0x1100 => 0.68,
        _ => 1.0,
    };
    size * text.chars().map(share).sum::<f64>()
}

/// The text, cut to at most `most` units, with an ellipsis where it was cut.
pub(in crate::picture) fn fit(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept, size) > most - size {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_to_the_width_it_is_given() {
        assert_eq!(fit("short", LABEL, 100.0), "short");
        let cut = fit(&"wide ".repeat(50), LABEL, 100.0);
        assert!(cut.ends_with('…') && width(&cut, LABEL) <= 100.0, "{cut}");
        assert_eq!(fit("名前", LABEL, 3.0), "…");
    }
}
