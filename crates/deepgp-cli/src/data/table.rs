//! Tables of numbers: read from the text of a source, and written as the CSV that is kept.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use deepgp_io::table::{Cell, Source};
use sha2::{Digest, Sha256};

use super::arff;

/// A table of numbers with named columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The numbers, row by row.
    pub values: Vec<f64>,
}

impl Table {
    /// Reads the text of a source, ARFF or CSV, in which every cell is a number.
    pub fn parse(text: &str) -> Result<Self> {
        let (names, before) = if arff::is_arff(text) {
            arff::head(text)?
        } else {
            let head = text.lines().next().context("it is empty")?;
            (head.split(',').map(|name| name.trim().trim_matches('"').to_string()).collect(), 1)
        };
        ensure!(!names.is_empty(), "it has no columns");
        let mut values = Vec::new();
        for (i, line) in text.lines().enumerate().skip(before) {
            let line = line.trim();
            // Comments of ARFF; no number begins so.
            if line.is_empty() || line.starts_with('%') {
                continue;
            }
            let first = values.len();
            for field in line.split(',').map(str::trim) {
                let number = field.parse().ok().filter(|number: &f64| number.is_finite());
                values.push(number.ok_or_else(|| anyhow!("line {}: \"{}\" is no number", i + 1, shorten(field)))?);
            }
            let found = values.len() - first;
            ensure!(found == names.len(), "line {} has {found} fields, where {} were expected", i + 1, names.len());
        }
        Ok(Self { names, values })
    }

    /// Reads a file with the reader that `deepgp fit` has.
    pub fn read(path: &Path) -> Result<Self> {
        let source = Source::open(path)?;
        let (mut values, mut rows, mut cells) = (Vec::new(), source.rows()?, Vec::new());
        while let Some(number) = rows.next(&mut cells)? {
            for (cell, name) in cells.iter().zip(source.names()) {
                match cell {
                    Cell::Number(value) => values.push(*value),
                    _ => bail!("{}: {}, column `{name}` holds no number", path.display(), source.place(number)),
                }
            }
        }
        Ok(Self { names: source.names().to_vec(), values })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.names.len()
    }

    /// The table with these columns, in that order, each as (new name, old name).
    pub fn arranged(&self, columns: &[(&str, &str)]) -> Result<Self> {
        let position = |old: &str| {
            let known = || shorten(&self.names.join(", "));
            self.names.iter().position(|own| own == old).with_context(|| format!("no column `{old}` among {}", known()))
        };
        let positions: Vec<usize> = columns.iter().map(|(_, old)| position(old)).collect::<Result<_>>()?;
        let rows = self.values.chunks_exact(self.names.len());
        let values = rows.flat_map(|row| positions.iter().map(|&at| row[at])).collect();
        Ok(Self { names: columns.iter().map(|(new, _)| (*new).into()).collect(), values })
    }

    /// The table as CSV: a header, and every number with the fewest digits that give it back.
    pub fn to_csv(&self) -> String {
        let mut text = self.names.join(",");
        text.push('\n');
        for row in self.values.chunks_exact(self.names.len()) {
            for (i, value) in row.iter().enumerate() {
                // Writing to a string does not fail.
                let _ = write!(text, "{}{value}", if i == 0 { "" } else { "," });
            }
            text.push('\n');
        }
        text
    }

    /// The SHA-256 of [`Table::to_csv`] in hexadecimal: for a file that is kept, what `gunzip -c FILE | sha256sum` prints.
    pub fn sha256(&self) -> String {
        Sha256::digest(self.to_csv()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The beginning of a text that came from elsewhere.
fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut short: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arff_and_csv_of_the_same_numbers_are_one_table() {
        let arff = "@relation r\n@attribute a real\n@attribute y real\n@data\n% rows\n-1.50e-02, 3.0e+00\n\n1.2e-5,2\n";
        let csv = "\"a\",\"y\"\r\n-0.015,3\r\n0.000012,2.000\r\n";
        let table = Table::parse(arff).unwrap();
        assert_eq!(table, Table::parse(csv).unwrap());
        assert_eq!(table.to_csv(), "a,y\n-0.015,3\n0.000012,2\n");
        assert_eq!(Table::parse(&table.to_csv()).unwrap(), table);
        // Of these bytes, by another program.
        assert_eq!(table.sha256(), "bd90ab3c15618d3976bd816a01c23af79a63a7a51db44c1745ec58dd315db158");
    }

    #[test]
    fn columns_are_found_by_name() {
        let table = Table::parse("t,a,b\n1,2,3\n4,5,6\n").unwrap();
        let arranged = table.arranged(&[("x0", "b"), ("y", "t")]).unwrap();
        assert_eq!(arranged.to_csv(), "x0,y\n3,1\n6,4\n");
        assert_eq!(arranged.rows(), 2);
        let error = table.arranged(&[("y", "c")]).unwrap_err().to_string();
        assert_eq!(error, "no column `c` among t, a, b");
    }

    #[test]
    fn what_is_no_table_of_numbers_is_refused_by_its_line() {
        for (text, told) in [
            ("", "it is empty"),
            ("a,b\n1,2\n1,two\n", "line 3: \"two\" is no number"),
            ("a,b\n1,\n", "line 2: \"\" is no number"),
            ("a,b\n1,nan\n", "line 2: \"nan\" is no number"),
            ("a,b\n1,2,3\n", "line 2 has 3 fields, where 2 were expected"),
        ] {
            assert_eq!(Table::parse(text).unwrap_err().to_string(), told);
        }
        let long = Table::parse(&format!("a\n{}\n", "é".repeat(100))).unwrap_err().to_string();
        assert!(long.chars().count() < 70 && long.contains('…'), "{long}");
    }
}
