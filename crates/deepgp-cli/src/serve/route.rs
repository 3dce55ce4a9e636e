//! What can be asked for.

use hyper::{Method, StatusCode};

use super::refusal::Refusal;

/// Something that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Route {
    /// Predictions of rows.
    Predict,
    /// Whether the server is there.
    Health,
    /// What a row is.
    Schema,
    /// What the server has done so far.
    Metrics,
    /// Anything else.
    Unknown,
}

impl Route {
    /// All routes.
    pub const ALL: [Self; 5] = [Self::Predict, Self::Health, Self::Schema, Self::Metrics, Self::Unknown];

    /// The route of a path.
    pub fn of(path: &str) -> Self {
        Self::ALL.into_iter().find(|route| route.path() == path).unwrap_or(Self::Unknown)
    }

    /// Its path; none that a client could send where it is unknown.
    pub fn path(self) -> &'static str {
        match self {
            Self::Predict => "/predict",
            Self::Health => "/health",
            Self::Schema => "/schema",
            Self::Metrics => "/metrics",
            Self::Unknown => "other",
        }
    }

    /// The methods it takes.
    pub fn methods(self) -> &'static str {
        match self {
            Self::Predict => "POST",
            Self::Health | Self::Schema | Self::Metrics => "GET, HEAD",
            Self::Unknown => "",
        }
    }

    /// Fails if there is nothing at this path, or not by this method.
    pub fn check(self, method: &Method, path: &str) -> Result<(), Refusal> {
        let taken = match self {
            Self::Predict => method == Method::POST,
            Self::Health | Self::Schema | Self::Metrics => method == Method::GET || method == Method::HEAD,
            Self::Unknown => {
                let shown: String = path.chars().take(80).collect();
                let message = format!(
                    "there is nothing at {shown}: ask for POST /predict, GET /health, GET /schema or GET /metrics"
                );
                return Err(Refusal::new(StatusCode::NOT_FOUND, message));
            }
        };
        if taken {
            return Ok(());
        }
        let (path, methods) = (self.path(), self.methods());
        let message = format!("{method} {path} is not served: ask with {methods}");
        Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, message))
    }
}
