//! The machine: its memory, streams of work on it, and the programs that run there. Nothing here knows of models.

pub mod cholesky;
pub mod lane;
pub mod memory;
pub mod pinned;
pub mod product;
pub mod program;
pub mod real;
