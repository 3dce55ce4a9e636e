//! A fit from its first step to its last: the model file at its start, the training run with its checkpoints, and what
//! comes of it.

pub mod checkpoint;
pub mod finish;
pub mod learned_nothing;
pub mod start;
pub mod time_limit;
pub mod training_run;
