//! Requests that are not answered: the status and a sentence that says what to do, as JSON.

use hyper::StatusCode;
use serde_json::json;

use crate::terminal::visible;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the response.
    pub status: StatusCode,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Refusal {
    /// With this status, for this reason.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// Because what is asked for cannot be had of this model.
    pub fn of_content(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// The body of the response.
    pub fn body(&self) -> String {
        let error = json!({ "status": self.status.as_u16(), "message": self.message });
        visible::json(json!({ "error": error }).to_string())
    }

    /// The whole response, for connections that no request has come from.
    pub fn response(&self) -> Vec<u8> {
        let (status, body) = (self.status, self.body());
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n");
        format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }
}
