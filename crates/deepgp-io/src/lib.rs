//! Files: tables in, model files in and out. The only crate of deepgp that opens a file.

pub mod atomic;
pub mod error;
mod model;
pub mod table;

pub use error::{Error, Result};
pub use model::{History, HistoryPoint, ModelError, ModelFile, Record, ScoreRecord, TableRecord};
