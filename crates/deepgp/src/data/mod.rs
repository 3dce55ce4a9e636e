//! Rows before a model sees them: checked ([`Dataset`]), split ([`split_rows`]), brought to the model's units ([`Standardiser`]).

pub(crate) mod compressed;
pub(crate) mod copies;
mod dataset;
mod inputs;
mod merge;
mod scaling;
pub mod simulate;
pub(crate) mod sparse;
mod split;

pub use dataset::Dataset;
pub(crate) use dataset::check_finite;
pub(crate) use inputs::{InputLayout, Inputs};
pub use scaling::{ConstantColumns, Scaling, Standardiser};
pub(crate) use split::held_out;
pub use split::split_rows;
