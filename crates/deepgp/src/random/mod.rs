//! Random numbers without state: a draw is a function of a key and a counter, whatever thread or machine computes it.

pub(crate) mod balanced;
pub(crate) mod box_muller;
pub mod noise;
