//! Numbers to see first, in a strip.

use crate::picture::escape;

/// A number, what it is, and what to hold it against.
#[derive(Debug, Clone)]
pub struct Key {
    /// What it is.
    pub label: String,
    /// As it is shown.
    pub value: String,
    /// What to hold it against.
    pub remark: String,
}

/// Numbers side by side under a name, if they have one, as HTML; nothing if there are none.
pub fn strip(name: &str, keys: &[Key]) -> String {
    if keys.is_empty() {
        return String::new();
    }
    let heading = if name.is_empty() { String::new() } else { format!("<h2 class=\"target\">{}</h2>", escape(name)) };
    let cell = |key: &Key| {
        format!(
            "<div><dt>{}</dt><dd class=\"value\">{}</dd><dd>{}</dd></div>",
            escape(&key.label),
            escape(&key.value),
            escape(&key.remark)
        )
    };
    format!("{heading}<dl class=\"key\">{}</dl>\n", keys.iter().map(cell).collect::<String>())
}
