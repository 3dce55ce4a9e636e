//! What `deepgp benchmark` needs: data to time training on, and what the arithmetic of a step alone would take.

pub mod synthetic;
pub mod work;
