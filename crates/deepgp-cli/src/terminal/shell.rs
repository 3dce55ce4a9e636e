//! Paths in commands that a person is to copy into a shell.

use std::path::Path;

/// The characters that mean themselves to a shell, besides letters and digits.
const PLAIN: &str = "/._-+,:@%";

/// A path as one word of a shell: in single quotes where it needs them, and never taken for an option.
pub fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let text = if text.starts_with('-') { format!("./{text}") } else { text };
    if !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || PLAIN.contains(c)) {
        text
    } else {
        // A quote cannot stand between quotes: they close, it stands by itself, they open again.
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_path_that_was_written() {
        for (path, written) in [
            ("/tmp/model.deepgp.checkpoint", "/tmp/model.deepgp.checkpoint"),
            ("my dir/my model", "'my dir/my model'"),
            ("-x", "./-x"),
            ("- x", "'./- x'"),
            ("it's", r"'it'\''s'"),
            ("~", "'~'"),
            ("a;b", "'a;b'"),
            ("$HOME", "'$HOME'"),
            ("größe", "größe"),
            ("", "''"),
        ] {
            assert_eq!(word(Path::new(path)), written);
            let said = std::process::Command::new("sh").args(["-c", &format!("printf %s {written}")]).output().unwrap();
            let expected = if path.starts_with('-') { format!("./{path}") } else { path.into() };
            assert_eq!(String::from_utf8(said.stdout).unwrap(), expected);
        }
    }
}
