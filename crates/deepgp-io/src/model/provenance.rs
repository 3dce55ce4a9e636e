//! Where the data of a fit came from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where the data came from that a model was fitted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// A table, in a file.
    Table(TableRecord),
    /// Arrays that Python handed over, which nobody can read again.
    Arrays {
        /// Rows that were used.
        rows: usize,
    },
    /// Nowhere: the model was built, and not fitted.
    Unfitted,
}

/// The table that a model was fitted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRecord {
    /// Where it was; the first of its files, if it is in several.
    pub path: String,
    /// Where its other files were, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<String>,
    /// The SHA-256 of its bytes, in hexadecimal; of several files, that of their digests.
    pub sha256: String,
    /// Rows that were used.
    pub rows: usize,
}

impl Provenance {
    /// Rows that were used, those for testing and validation included.
    pub fn rows(&self) -> usize {
        match self {
            Self::Table(table) => table.rows,
            Self::Arrays { rows } => *rows,
            Self::Unfitted => 0,
        }
    }

    /// The table, if there is one to read again.
    pub fn table(&self) -> Option<&TableRecord> {
        match self {
            Self::Table(table) => Some(table),
            Self::Arrays { .. } | Self::Unfitted => None,
        }
    }

    /// Whether the model was fitted to data, be it by no step at all, and not just built.
    pub fn is_fitted(&self) -> bool {
        match self {
            Self::Table(_) | Self::Arrays { .. } => true,
            Self::Unfitted => false,
        }
    }
}

/// The path of a table, or what there was in place of one.
impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(TableRecord { path, more, .. }) if !more.is_empty() => {
                write!(f, "{path} and {} more", more.len())
            }
            Self::Table(table) => f.write_str(&table.path),
            Self::Arrays { .. } => f.write_str("arrays in Python"),
            Self::Unfitted => f.write_str("no data"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_table_can_be_read_again() {
        let table = TableRecord { path: "data/arm.csv".into(), more: Vec::new(), sha256: "00".into(), rows: 60 };
        let all = [Provenance::Table(table.clone()), Provenance::Arrays { rows: 50 }, Provenance::Unfitted];
        assert_eq!(all.each_ref().map(Provenance::table), [Some(&table), None, None]);
        assert_eq!(all.each_ref().map(Provenance::rows), [60, 50, 0]);
        assert_eq!(all.each_ref().map(Provenance::is_fitted), [true, true, false]);
        assert_eq!(all.each_ref().map(Provenance::to_string), ["data/arm.csv", "arrays in Python", "no data"]);
    }
}
