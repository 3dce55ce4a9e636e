//! What several commands do with a model: load its rows, train it, score it, place it on a device.

pub mod device;
pub mod learned_nothing;
pub mod rows;
pub mod score;
pub mod training_run;
pub mod units;
