//! Runs of experiments: what they share, in which order they are made, how one is trained, and what is written down of
//! it.

pub mod journal;
mod progress;
pub mod provenance;
pub mod queue;
pub mod setup;
pub mod test_scores;
pub mod training_run;
