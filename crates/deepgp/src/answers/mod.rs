//! What people ask of a model that predicts: which inputs its answers depend on, in which way, and whether another model is better.
//!
//! Everything here is a function of answers alone, whatever gives them: [`importance`] and [`dependence`] of a function of rows, [`paired`] of what
//! two models are worth on the same rows.

pub(crate) mod dependence;
pub(crate) mod importance;
pub(crate) mod paired;
