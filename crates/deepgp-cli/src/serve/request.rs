//! What a body asks for: rows, and what is to be told of them.

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::limits::Limits;
use super::refusal::Refusal;
use crate::arguments::value::limits::{DRAWS, allowed};
use crate::terminal::text::count;

/// How a request is written, for whoever wrote it in another way.
const FORM: &str = "send {\"rows\": [{\"COLUMN\": VALUE, …}, …]}, with \"quantiles\", \"interval\", \"draws\" and \"seed\" if wanted; GET /schema says \
                    what a row is";

/// What a body asks for.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictRequest {
    /// The rows, by the names of columns.
    pub rows: Vec<Map<String, Value>>,
    /// Levels of quantiles.
    #[serde(default)]
    pub quantiles: Vec<f64>,
    /// The level of a central interval.
    pub interval: Option<f64>,
    /// How many draws of the target.
    #[serde(default)]
    pub draws: usize,
    /// The seed of samples and draws.
    pub seed: Option<u64>,
}

impl PredictRequest {
    /// What the body asks for: an object, or a list of rows alone.
    pub fn read(body: &[u8], limits: &Limits) -> Result<Self, Refusal> {
        let is_list = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let read = if is_list {
            serde_json::from_slice(body).map(|rows| Self { rows, ..Self::default() })
        } else {
            serde_json::from_slice(body)
        };
        let request: Self = read.map_err(|error| match error.classify() {
            Category::Syntax | Category::Eof | Category::Io => {
                Refusal::new(StatusCode::BAD_REQUEST, format!("the body is no JSON: {error}; {FORM}"))
            }
            Category::Data => Refusal::of_content(format!("the body is no request for predictions: {error}; {FORM}")),
        })?;
        request.check(limits)?;
        Ok(request)
    }

    /// Fails if it asks for too much, or for what cannot be.
    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        if self.rows.is_empty() {
            return Err(Refusal::of_content(format!("there are no rows; {FORM}")));
        }
        if self.rows.len() > limits.rows {
            let (rows, most) = (count(self.rows.len(), "row"), limits.rows);
            return Err(Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "{rows} are more than {most}, the most of a request (--max-rows): send them in several requests"
                ),
            ));
        }
        for (index, level) in self.quantiles.iter().enumerate() {
            if self.quantiles[..index].contains(level) {
                return Err(Refusal::of_content(format!("quantiles: {level} is there twice: give each level once")));
            }
        }
        match allowed(self.draws, &DRAWS) {
            Ok(_) => Ok(()),
            Err(advice) => Err(Refusal::of_content(format!("draws: {}: {advice}", self.draws))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: Limits = Limits { body: 1 << 20, rows: 2, time: Duration::from_secs(1), connections: 1 };

    fn read(body: &str) -> Result<PredictRequest, (u16, String)> {
        PredictRequest::read(body.as_bytes(), &LIMITS).map_err(|refusal| (refusal.status.as_u16(), refusal.message))
    }

    #[test]
    fn rows_are_a_list_or_in_an_object() {
        let list = read(r#" [{"a": 1}]"#).unwrap();
        assert_eq!(list, read(r#"{"rows": [{"a": 1}]}"#).unwrap());
        let all = read(r#"{"rows": [{"a": 1}], "quantiles": [0.5], "interval": 0.9, "draws": 2, "seed": 7}"#).unwrap();
        assert_eq!((all.quantiles.as_slice(), all.draws, all.seed), (&[0.5][..], 2, Some(7)));
        assert_eq!(all.interval, Some(0.9));
    }

    #[test]
    fn what_is_no_request_is_told_what_one_is() {
        for (body, status, said) in [
            ("", 400, "no JSON"),
            ("{\"rows\": [", 400, "no JSON"),
            ("{\"rows\": [{\"a\": 1e999}]}", 400, "no JSON"),
            ("{\"rows\": 3}", 422, "expected a sequence"),
            ("[3]", 422, "expected a map"),
            ("{\"rows\": [], \"draws\": 1}", 422, "no rows"),
            ("{\"row\": []}", 422, "unknown field `row`"),
            ("[{}, {}, {}]", 413, "3 rows are more than 2"),
            ("{\"rows\": [{}], \"quantiles\": [0.5, 0.5]}", 422, "twice"),
            ("{\"rows\": [{}], \"draws\": 1000000000}", 422, "at most"),
            ("{\"rows\": [{}], \"draws\": -1}", 422, "expected usize"),
        ] {
            let (found, message) = read(body).unwrap_err();
            assert!(found == status && message.contains(said), "{body}: {found} {message}");
        }
    }
}
