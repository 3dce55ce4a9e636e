//! Training: from a model and rows to a better model.
//!
//! [`Training`] is the whole way in the user's units: rows are held out and standardised once, the model is built, trained and returned.
//! [`Trainer`] is the loop in it: minibatch, objective, step, report. [`state::TrainState`] is all that changes on the way.

pub(crate) mod adam;
mod minibatch_reader;
pub(crate) mod optimiser;
mod row_order;
pub(crate) mod shared_rows;
pub(crate) mod state;
mod stored_start;
mod trainer;
mod training;
mod transform_choice;

pub use trainer::{Method, Trainer};
pub use training::{Fit, Training, hold_out};
pub use transform_choice::TransformFinding;
