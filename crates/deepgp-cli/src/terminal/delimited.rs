//! Lines of CSV and TSV.

use std::path::Path;

/// The character between the cells of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimiter(char);

impl Delimiter {
    /// The delimiter of a file: a tab in `.tsv` and `.tab`; a comma in any other file, and on standard output.
    pub fn of(path: Option<&Path>) -> Self {
        let ending = path.and_then(Path::extension);
        let tabs = ending.is_some_and(|own| ["tsv", "tab"].iter().any(|known| own.eq_ignore_ascii_case(known)));
        Self(if tabs { '\t' } else { ',' })
    }

    /// A line of text from its cells, with a line break. Cells that could be read as something else are quoted.
    pub fn line<'a>(self, cells: impl IntoIterator<Item = &'a str>) -> String {
        let mut line = String::new();
        for (index, cell) in cells.into_iter().enumerate() {
            if index > 0 {
                line.push(self.0);
            }
            if cell.contains([self.0, '"', '\n', '\r']) {
                line += &format!("\"{}\"", cell.replace('"', "\"\""));
            } else {
                line += cell;
            }
        }
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_tells_its_delimiter() {
        for (name, delimiter) in [("p.csv", ','), ("p.txt", ','), ("p", ','), ("p.tsv", '\t'), ("p.TAB", '\t')] {
            assert_eq!(Delimiter::of(Some(name.as_ref())), Delimiter(delimiter), "{name}");
        }
        assert_eq!(Delimiter::of(None), Delimiter(','));
    }

    #[test]
    fn cells_that_could_be_mistaken_are_quoted() {
        let cells = ["", "a,b", "c\td", "5\" pipe", "two\nlines", "ü"];
        assert_eq!(Delimiter(',').line(cells), ",\"a,b\",c\td,\"5\"\" pipe\",\"two\nlines\",ü\n");
        assert_eq!(Delimiter('\t').line(cells), "\ta,b\t\"c\td\"\t\"5\"\" pipe\"\t\"two\nlines\"\tü\n");
    }
}
