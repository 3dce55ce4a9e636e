//! What files of format version 1, those of deepgp 0.1, say in English, read as the facts that it stands for.
//!
//! This is the one place where a sentence is taken for more than text.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::{Baseline, Provenance, StopReason, Subject, TableRecord};

/// What stood in place of a table's path where Python had handed over arrays, or nothing.
const ARRAYS: &str = "(arrays in Python)";

/// What a file says now, or what it said in version 1.
#[derive(Deserialize)]
#[serde(untagged)]
enum Either<New, Old> {
    New(New),
    Old(Old),
}

/// Why training ended, which was a sentence.
pub(super) fn stop<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<StopReason>, D::Error> {
    let sentence = match Option::<Either<StopReason, String>>::deserialize(deserializer)? {
        None => return Ok(None),
        Some(Either::New(reason)) => return Ok(Some(reason)),
        Some(Either::Old(sentence)) => sentence,
    };
    let reason = match sentence.as_str() {
        "all steps were made" => StopReason::Steps,
        "the validation rows saw nothing better for a while" => StopReason::Patience,
        "the time was up" => StopReason::TimeLimit,
        "it was interrupted" => StopReason::Interrupted,
        _ => match sentence.strip_prefix("it could not go on: ") {
            Some(cause) => StopReason::Stuck { cause: cause.into() },
            None => return Err(D::Error::custom(format!("`{sentence}` is no reason for the end of training"))),
        },
    };
    Ok(Some(reason))
}

/// What a score is of, which was a name.
pub(super) fn subject<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Subject, D::Error> {
    let name = match Either::<Subject, String>::deserialize(deserializer)? {
        Either::New(subject) => return Ok(subject),
        Either::Old(name) => name,
    };
    Ok(match name.as_str() {
        "deep GP" => Subject::Model { deep: true },
        "sparse GP" => Subject::Model { deep: false },
        "10 nearest neighbours" => Subject::Baseline(Baseline::NearestNeighbours { count: 10, among: None }),
        "linear regression" => Subject::Baseline(Baseline::LinearRegression),
        "the mean" => Subject::Baseline(Baseline::Mean),
        _ => return Err(D::Error::custom(format!("`{name}` is no model that can be scored"))),
    })
}

/// Where data came from, which was always told as a table.
pub(super) fn provenance<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Provenance, D::Error> {
    Ok(match Either::<Provenance, TableRecord>::deserialize(deserializer)? {
        Either::New(provenance) => provenance,
        Either::Old(TableRecord { path, rows: 0, .. }) if path == ARRAYS => Provenance::Unfitted,
        Either::Old(TableRecord { path, rows, .. }) if path == ARRAYS => Provenance::Arrays { rows },
        Either::Old(table) => Provenance::Table(table),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Note, ScoreRecord};
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Ended {
        #[serde(deserialize_with = "stop")]
        stop: Option<StopReason>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Fitted {
        #[serde(alias = "table", deserialize_with = "provenance")]
        data: Provenance,
    }

    #[test]
    fn reasons_that_were_sentences_are_read_and_say_the_same_again() {
        let stuck = StopReason::Stuck { cause: "layer 0: no numbers".into() };
        for (sentence, reason) in [
            ("all steps were made", StopReason::Steps),
            ("the validation rows saw nothing better for a while", StopReason::Patience),
            ("the time was up", StopReason::TimeLimit),
            ("it was interrupted", StopReason::Interrupted),
            ("it could not go on: layer 0: no numbers", stuck),
        ] {
            assert_eq!(reason.to_string(), sentence);
            for stored in [json!({ "stop": sentence }), json!({ "stop": reason })] {
                let read: Ended = serde_json::from_value(stored.clone()).unwrap();
                assert_eq!(read.stop.as_ref(), Some(&reason), "{stored}");
            }
        }
        assert_eq!(serde_json::from_value::<Ended>(json!({ "stop": null })).unwrap().stop, None);
        assert!(serde_json::from_value::<Ended>(json!({ "stop": "it was tired" })).is_err());
    }

    #[test]
    fn scores_that_had_names_are_read_and_have_the_same_names() {
        let score = json!({
            "log_likelihood": -1.5, "rmse": [1.0], "mae": [1.0], "crps": [0.5],
            "coverage_50": [0.5], "coverage_90": [0.9], "coverage_95": [0.95],
        });
        for (name, subject) in [
            ("deep GP", Subject::Model { deep: true }),
            ("sparse GP", Subject::Model { deep: false }),
            ("10 nearest neighbours", Subject::Baseline(Baseline::NearestNeighbours { count: 10, among: None })),
            ("linear regression", Subject::Baseline(Baseline::LinearRegression)),
            ("the mean", Subject::Baseline(Baseline::Mean)),
        ] {
            assert_eq!(subject.to_string(), name);
            let old: ScoreRecord = serde_json::from_value(json!({ "name": name, "score": score })).unwrap();
            assert_eq!(old.of, subject);
            let stored = serde_json::to_value(&old).unwrap();
            assert_eq!(serde_json::from_value::<ScoreRecord>(stored).unwrap(), old);
        }
        assert!(serde_json::from_value::<ScoreRecord>(json!({ "name": "a forest", "score": score })).is_err());
    }

    #[test]
    fn a_table_that_was_none_is_known() {
        let read = |stored: serde_json::Value| serde_json::from_value::<Fitted>(stored).unwrap().data;
        let table = |path: &str, rows: usize| json!({ "table": { "path": path, "sha256": "00", "rows": rows } });
        let known = TableRecord { path: "arm.csv".into(), more: Vec::new(), sha256: "00".into(), rows: 60 };
        for (old, data) in [
            (table("arm.csv", 60), Provenance::Table(known)),
            (table(ARRAYS, 60), Provenance::Arrays { rows: 60 }),
            (table(ARRAYS, 0), Provenance::Unfitted),
        ] {
            assert_eq!(read(old), data);
            assert_eq!(read(json!({ "data": data })), data);
        }
    }

    #[test]
    fn notes_that_were_sentences_are_shown_as_they_are() {
        let old: Vec<Note> = serde_json::from_value(json!(["3 of 5 rows were left out", "Copies"])).unwrap();
        assert_eq!(old, [Note::Text("3 of 5 rows were left out".into()), Note::Text("Copies".into())]);
        assert_eq!(old[0].to_string(), "3 of 5 rows were left out");
        assert_eq!(serde_json::to_value(&old[0]).unwrap(), json!("3 of 5 rows were left out"));
    }
}
