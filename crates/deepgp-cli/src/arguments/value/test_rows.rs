//! The rows to test on, as people write them: a share of the rows, or of the last ones.

use std::fmt;
use std::str::FromStr;

use deepgp_io::SplitRule;
use serde::{Deserialize, Serialize};

/// The rows to test on: `0.2` is a fifth of the rows at random, `last:0.2` the last fifth, `last:0.2:day` the last fifth by the column `day`.
#[derive(Clone, Debug, PartialEq)]
pub struct TestRows {
    /// The share of the rows.
    pub share: f64,
    /// Which rows they are. The last ones of no column are those by the only column of dates, or in the order of the table.
    pub rule: SplitRule,
}

impl FromStr for TestRows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (share, rule) = match text.strip_prefix("last:").map(|rest| rest.split_once(':')) {
            None => (text, SplitRule::Random),
            Some(None) => (&text["last:".len()..], SplitRule::Last { column: None }),
            Some(Some((_, ""))) => return Err("name the column after the second colon, or leave the colon out".into()),
            Some(Some((share, column))) => (share, SplitRule::Last { column: Some(column.into()) }),
        };
        let share = share.trim().parse().map_err(|_| {
            String::from("give a share of the rows, such as 0.2, or of the last ones, last:0.2 or last:0.2:COLUMN")
        })?;
        Ok(Self { share, rule })
    }
}

impl fmt::Display for TestRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            SplitRule::Random => write!(f, "{}", self.share),
            SplitRule::Last { column: None } => write!(f, "last:{}", self.share),
            SplitRule::Last { column: Some(column) } => write!(f, "last:{}:{column}", self.share),
        }
    }
}

impl Serialize for TestRows {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.rule {
            SplitRule::Random => serializer.serialize_f64(self.share),
            SplitRule::Last { .. } => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for TestRows {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a share of the rows, such as 0.2, or 'last:0.2' or 'last:0.2:COLUMN'")]
        enum Written {
            Share(f64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Share(share) => Ok(Self { share, rule: SplitRule::Random }),
            Written::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_last_rows_are_read_from_flags_and_files() {
        let last = |column: Option<&str>| SplitRule::Last { column: column.map(String::from) };
        for (text, share, rule) in [
            ("0.2", 0.2, SplitRule::Random),
            ("last:0.25", 0.25, last(None)),
            ("last:0.1:day", 0.1, last(Some("day"))),
            ("last:0.1:12:30 to 13", 0.1, last(Some("12:30 to 13"))),
        ] {
            let read: TestRows = text.parse().unwrap();
            assert_eq!((&read, read.to_string()), (&TestRows { share, rule }, text.into()));
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<TestRows>(&json).unwrap(), read);
        }
        for text in ["", "last", "last:", "first:0.2", "last:day", "last:0.2:", "0.2:day"] {
            assert!(text.parse::<TestRows>().is_err(), "{text}");
        }
    }
}
