//! Heads of ARFF files, which is how OpenML keeps tables: `@attribute` names a column, `@data` begins the rows.

use anyhow::{Result, bail};

/// Whether the text begins as ARFF does: comments and blank lines aside, with `@relation`.
pub fn is_arff(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('%'));
    first.is_some_and(|line| keyword(line, "@relation").is_some())
}

/// The names of the columns, and the number of lines before the first row.
pub fn head(text: &str) -> Result<(Vec<String>, usize)> {
    let mut names = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(declared) = keyword(line, "@attribute") {
            names.push(name(declared));
        } else if line.eq_ignore_ascii_case("@data") {
            return Ok((names, i + 1));
        }
    }
    bail!("it ends before its rows begin: there is no line @data")
}

/// The rest of a line that begins with `word`, in upper or lower case.
fn keyword<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let (first, rest) = line.split_once(char::is_whitespace)?;
    first.eq_ignore_ascii_case(word).then(|| rest.trim_start())
}

/// The name of a column: the first word, or what stands in quotes.
fn name(declared: &str) -> String {
    let quote = declared.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let name = match quote {
        Some(quote) => declared[1..].split(quote).next(),
        None => declared.split_whitespace().next(),
    };
    name.unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case_and_quoted() {
        let text = "% a comment\n\n@RELATION 'an arm'\n@attribute theta1 real\n@ATTRIBUTE 'the angle' numeric\r\n\
                    @attribute \"y\" REAL\n@Data\n1,2,3\n";
        assert!(is_arff(text));
        assert_eq!(head(text).unwrap(), (vec!["theta1".into(), "the angle".into(), "y".into()], 7));
    }

    #[test]
    fn a_head_that_is_cut_is_an_error_and_other_texts_are_none() {
        let error = head("@relation arm\n@attribute a real\n").unwrap_err().to_string();
        assert!(error.contains("@data"), "{error}");
        for text in ["", "a,b\n1,2\n", "%\n", "relation x\n"] {
            assert!(!is_arff(text), "{text}");
        }
    }
}
