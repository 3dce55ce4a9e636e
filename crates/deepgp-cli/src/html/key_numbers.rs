//! Key numbers, side by side in a strip.

use crate::picture::escape;

/// A number to see first, with its name and what to compare it with.
#[derive(Debug, Clone)]
pub struct KeyNumber {
    /// The name of the number.
    pub label: String,
    /// The number as text.
    pub value: String,
    /// What to compare the number with.
    pub remark: String,
}

/// The strip of key numbers as HTML, under a name if they have one; empty if there are none.
pub fn strip(name: &str, keys: &[KeyNumber]) -> String {
    if keys.is_empty() {
        return String::new();
    }
    let heading = if name.is_empty() { String::new() } else { format!("<h2 class=\"target\">{}</h2>", escape(name)) };
    let cell = |key: &KeyNumber| {
        format!(
            "<div><dt>{}</dt><dd class=\"value\">{}</dd><dd>{}</dd></div>",
            escape(&key.label),
            escape(&key.value),
            escape(&key.remark)
        )
    };
    format!("{heading}<dl class=\"key\">{}</dl>\n", keys.iter().map(cell).collect::<String>())
}
