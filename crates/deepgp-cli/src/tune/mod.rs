//! A search for settings: what the library's search needs of a table, of files and of people.
//!
//! ```text
//! table → test rows set aside → rows to train on, and rows that judge → search → the best settings → an ordinary fit of all rows but the test rows
//! ```
//!
//! What is tried and what came of it is in a folder beside the model, `model.deepgp.search`: a journal, the page that shows it, and the models that may
//! go on. The same command goes on from there. Test rows are first looked at when the search has ended.

pub mod comparison;
pub mod journal;
pub mod page;
pub mod progress;
pub mod refit;
pub mod rows;
pub mod space;
pub mod summary;

/// The number of candidates that share a GPU, unless another is asked for.
pub const SHARING: usize = 4;
