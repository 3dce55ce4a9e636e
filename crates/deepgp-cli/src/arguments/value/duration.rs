//! Durations and intervals between checkpoints, as people write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A duration in seconds, written `90`, `90s`, `1.5m` or `2h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(pub f64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
            Some(number) if text.ends_with('m') => (number, 60.0),
            Some(number) if text.ends_with('h') => (number, 3600.0),
            Some(number) => (number, 1.0),
            None => (text, 1.0),
        };
        match number.trim().parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(Self(number * unit)),
            _ => Err("give a time such as 90s, 10m or 2h".into()),
        }
    }
}

/// The interval between two checkpoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CheckpointInterval {
    /// A checkpoint after so many steps.
    Steps(u64),
    /// A checkpoint after so many seconds.
    Seconds(f64),
}

impl Default for CheckpointInterval {
    fn default() -> Self {
        Self::Seconds(60.0)
    }
}

impl FromStr for CheckpointInterval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(steps) = text.parse::<u64>() {
            return if steps > 0 { Ok(Self::Steps(steps)) } else { Err("give at least 1 step".into()) };
        }
        let Seconds(seconds) = text.parse().map_err(|_| "give a number of steps, or a time such as 30s or 5m")?;
        Ok(Self::Seconds(seconds))
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0)
    }
}

impl fmt::Display for CheckpointInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(f, "{steps}"),
            Self::Seconds(seconds) => write!(f, "{seconds}s"),
        }
    }
}

/// Implements `Serialize` and `Deserialize` by the text of the command line; in a file a bare number is read too.
macro_rules! as_text {
    ($($kind:ty),*) => {$(
        impl Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = match toml::Value::deserialize(deserializer)? {
                    toml::Value::String(text) => text,
                    other => other.to_string(),
                };
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
as_text!(Seconds, CheckpointInterval);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_steps_are_read() {
        assert_eq!("90".parse(), Ok(Seconds(90.0)));
        assert_eq!("1.5m".parse(), Ok(Seconds(90.0)));
        assert_eq!("2h".parse(), Ok(Seconds(7200.0)));
        assert!(
            "0".parse::<Seconds>().is_err() && "-3s".parse::<Seconds>().is_err() && "soon".parse::<Seconds>().is_err()
        );
        assert_eq!("200".parse(), Ok(CheckpointInterval::Steps(200)));
        assert_eq!("5m".parse(), Ok(CheckpointInterval::Seconds(300.0)));
        assert!("0".parse::<CheckpointInterval>().is_err() && "often".parse::<CheckpointInterval>().is_err());
    }
}
