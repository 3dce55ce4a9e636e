//! A model that answers over HTTP: rows as JSON in, predictions as JSON out.
//!
//! ```text
//! one thread: connections ─→ heads and bodies, each with a time limit ─→ queue ─┐
//!                        answers ←──────────────────────────────────────────────┤
//! some threads: JSON ─→ rows ─→ numbers ─→ predictions, a chunk at a time ──────┘
//! ```
//!
//! A client that is slow costs a connection and no thread ([`server`]); the threads that predict ([`workers`]) see whole requests only. What a row means
//! is what it means to `deepgp predict`, and so are the numbers, to the last bit ([`predictions`]).

mod connections;
mod limits;
mod metrics;
mod patient;
mod predictions;
mod refusal;
mod request;
mod route;
mod row_schema;
mod server;
mod workers;

pub use limits::Limits;
pub use predictions::Predictions;
pub use server::{Served, health, serve};
