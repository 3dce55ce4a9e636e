//! Files: tables in, model files in and out. Whatever deepgp reads as data or writes to last goes through here.

pub mod atomic;
pub mod chunks;
pub mod disk;
pub mod error;
pub mod limits;
pub mod memory;
mod model;
pub mod note;
pub mod onnx;
mod row_file;
pub mod table;
pub mod words;

pub use error::{Error, Result};
pub use model::{
    Baseline, Bound, ClassWeights, FoldScore, FoldScores, FoldSubject, History, HistoryPoint, ImplausibleNumbers,
    LikelihoodWatch, Metric, ModelError, ModelFile, Provenance, Record, RowSample, ScoreRecord, SearchRecord,
    SplitRule, StopReason, Subject, TableRecord, TrainingProgress, noise_of_first_target, now,
};
pub use note::Note;
pub use row_file::{RowFile, RowFileWriter};
