//! How the rows of a fit were split, so that they can be split in the same way again.

use serde::{Deserialize, Serialize};

/// Which rows of a fit are held out, for testing and for early stopping. Groups, if the schema has a column of them, stay together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitRule {
    /// Rows at random.
    #[default]
    Random,
    /// The last rows.
    Last {
        /// The column that says when a row was; the order of the table if there is none.
        column: Option<String>,
    },
}

impl SplitRule {
    /// Whether rows are held out at random.
    pub fn is_random(&self) -> bool {
        *self == Self::Random
    }

    /// The column that says when a row was, if there is one.
    pub fn time_column(&self) -> Option<&str> {
        match self {
            Self::Random | Self::Last { column: None } => None,
            Self::Last { column: Some(column) } => Some(column),
        }
    }
}
