//! Why training ended.

use std::fmt;

use deepgp::Stop;
use serde::{Deserialize, Serialize};

/// Why training ended. `Display` says it in a sentence, [`StopReason::name`] in a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All steps were made.
    Steps,
    /// The validation rows saw nothing better for as many looks as patience allows.
    Patience,
    /// The time that was given is over.
    TimeLimit,
    /// Somebody asked for the end.
    Interrupted,
    /// No step could be made any more.
    Stuck {
        /// What went wrong at the last one.
        cause: String,
    },
}

impl StopReason {
    /// The reason of a run that the library ended with `stop`; `time_up` tells an end by the clock from one that somebody asked for.
    pub fn new(stop: &Stop, time_up: bool) -> Self {
        match stop {
            Stop::Steps => Self::Steps,
            Stop::Patience => Self::Patience,
            Stop::Callback if time_up => Self::TimeLimit,
            Stop::Callback => Self::Interrupted,
            Stop::Stuck(reason) => Self::Stuck { cause: reason.to_string() },
        }
    }

    /// The reason in a word, as Python tells it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Patience => "patience",
            Self::TimeLimit => "time limit",
            Self::Interrupted => "interrupted",
            Self::Stuck { .. } => "stuck",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps => f.write_str("all steps were made"),
            Self::Patience => f.write_str("the validation rows saw nothing better for a while"),
            Self::TimeLimit => f.write_str("the time was up"),
            Self::Interrupted => f.write_str("it was interrupted"),
            Self::Stuck { cause } => write!(f, "it could not go on: {cause}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_told_from_somebody_who_asked() {
        assert_eq!(StopReason::new(&Stop::Callback, true), StopReason::TimeLimit);
        assert_eq!(StopReason::new(&Stop::Callback, false), StopReason::Interrupted);
        assert_eq!(StopReason::new(&Stop::Steps, true), StopReason::Steps);
    }

    #[test]
    fn every_reason_has_a_name_of_its_own() {
        let stuck = StopReason::Stuck { cause: "no numbers".into() };
        let all = [StopReason::Steps, StopReason::Patience, StopReason::TimeLimit, StopReason::Interrupted, stuck];
        let names = all.each_ref().map(StopReason::name);
        assert_eq!(names, ["steps", "patience", "time limit", "interrupted", "stuck"]);
    }
}
