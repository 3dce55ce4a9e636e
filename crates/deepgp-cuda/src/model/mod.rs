//! What the device must know of a model, and what of it is too much.

pub mod blueprint;
pub mod limits;
pub mod parameter_list;
