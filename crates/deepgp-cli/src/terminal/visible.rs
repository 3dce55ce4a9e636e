//! Text for a terminal in which nothing but its words arrives: what would move the cursor, change colours or turn the order of letters around is
//! written out as `\u{1b}`.
//!
//! Names of columns, labels, notes and paths come from files that anybody may have made. They become part of sentences of ours, so that all text
//! goes through here on its way out. Line ends and tabs are ours where a text has several lines, and nobody's in a text of one line.

use std::borrow::Cow;
use std::fmt::Write;

/// A text of one line, with everything written out that does something on a terminal.
pub fn line(text: &str) -> Cow<'_, str> {
    written_out(text, acts)
}

/// A text of several lines, with everything written out that does something on a terminal, but for line ends and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    written_out(text, |c| acts(c) && !matches!(c, '\n' | '\t'))
}

/// The same JSON with everything escaped that does something on a terminal: JSON itself escapes some of it only.
pub fn json(text: String) -> String {
    if !text.contains(acts) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            // Such characters stand in strings alone, and have four digits.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character does something on a terminal in place of being seen: a control character, a separator of lines, or one that turns the
/// order of what follows around.
fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn written_out(text: &str, is_meant: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_meant) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_meant(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_written_out_and_letters_stay() {
        for (text, shown) in [
            ("größe `x`, 5 %", "größe `x`, 5 %"),
            ("\x1b[31mred\x1b]0;title\x07", r"\u{1b}[31mred\u{1b}]0;title\u{7}"),
            ("over\rwritten\u{8}\u{7f}", r"over\rwritten\u{8}\u{7f}"),
            ("\u{9b}2J", r"\u{9b}2J"),
            ("\u{202e}gpj.exe\u{2066}", r"\u{202e}gpj.exe\u{2066}"),
        ] {
            assert_eq!((line(text), lines(text)), (shown.into(), shown.into()));
        }
        assert_eq!((line("a\n\tb"), lines("a\n\tb")), (r"a\n\tb".into(), "a\n\tb".into()));
    }

    #[test]
    fn json_says_the_same_as_before() {
        let text = "\u{9b}2J \x7f \u{202e} \x1b ü \u{1f600}";
        let shown = json(serde_json::json!({ "a": text }).to_string());
        assert!(!shown.contains(acts), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap()["a"], text);
    }
}
