//! x
#![allow(missing_docs)]
mod chain;
pub mod data;
pub mod error;
pub mod kernel;
pub mod layer;
pub mod likelihood;
mod linalg;
pub mod mat;
pub mod model;
pub mod noise;
pub mod params;
pub mod real;
pub mod step;
#[cfg(test)]
mod testing;
