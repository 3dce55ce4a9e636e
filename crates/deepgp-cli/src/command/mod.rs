//! The commands, a file each: arguments in, calls to the libraries below, an [`Outcome`](crate::terminal::output::Outcome) out.

mod benchmark;
mod data;
mod demo;
mod evaluate;
pub mod fit;
pub mod info;
mod predict;
mod report;
mod reproduce;

pub use benchmark::benchmark;
pub use data::data;
pub use demo::demo;
pub use evaluate::evaluate;
pub use fit::{fit, resume};
pub use info::info;
pub use predict::predict;
pub use report::report;
pub use reproduce::reproduce;
