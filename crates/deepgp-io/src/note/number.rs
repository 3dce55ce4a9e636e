//! A number that a note carries.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::words;

/// A number in a [`Note`](super::Note): any `f64`, equal to itself even if it is none. In files, what JSON has no number for is the
/// text `NaN`, `inf` or `-inf`. It is shown with four digits.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub f64);

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.0.total_cmp(&other.0).is_eq()
    }
}

impl Eq for Number {}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&words::number(self.0))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { serializer.serialize_f64(self.0) } else { serializer.collect_str(&self.0) }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a number, or one of the texts `NaN`, `inf` and `-inf`")]
        enum Stored {
            Finite(f64),
            Text(String),
        }
        match Stored::deserialize(deserializer)? {
            Stored::Finite(value) => Ok(Self(value)),
            Stored::Text(text) => match text.as_str() {
                "NaN" => Ok(Self(f64::NAN)),
                "inf" => Ok(Self(f64::INFINITY)),
                "-inf" => Ok(Self(f64::NEG_INFINITY)),
                _ => Err(D::Error::custom(format!("`{text}` is no number"))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back_from_json() {
        for value in [0.1 + 0.2, -0.0, 5.0, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let text = serde_json::to_string(&Number(value)).unwrap();
            assert_eq!(serde_json::from_str::<Number>(&text).unwrap(), Number(value), "{text}");
        }
        assert!(serde_json::from_str::<Number>("\"many\"").is_err());
    }
}
