//! The figures of a model of classes: who is taken for whom, whether probabilities come true, and how sure the model was where it was wrong.

pub(in crate::report) mod confusion;
pub(in crate::report) mod mistakes;
pub(in crate::report) mod reliability;
