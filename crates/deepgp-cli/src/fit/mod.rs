//! A fit from its first step to its last: the model file at its start, the training run with its checkpoints, and what
//! comes of it.

pub mod checkpoint;
pub mod continuation;
pub mod finish;
pub mod folds;
pub mod initial_model;
pub mod interruption;
pub mod learned_nothing;
pub mod levels_among;
pub mod model_place;
pub mod read;
pub mod rows_among;
pub mod rows_in;
pub mod rows_on_disk;
pub mod start;
pub mod step_pace;
pub mod summary;
pub mod time_limit;
pub mod training_run;
pub mod validation_costs;
