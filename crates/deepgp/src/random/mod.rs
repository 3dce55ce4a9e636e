//! Random numbers without state: a draw is a function of a key and a counter, so that neither threads nor machines matter.

pub(crate) mod box_muller;
pub mod noise;
