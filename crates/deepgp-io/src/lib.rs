//! Files: tables in, model files in and out. Whatever deepgp reads as data or writes to last goes through here.

pub mod atomic;
pub mod error;
mod model;
pub mod table;

pub use error::{Error, Result};
pub use model::{History, HistoryPoint, ModelError, ModelFile, NoiseWatch, Record, ScoreRecord, TableRecord};
