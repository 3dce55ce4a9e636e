//! The figures of a model of counts: how often each count occurs, where truth fell in the predictions, and the hardest rows.

mod hardest;
mod pit;
mod rootogram;

pub(in crate::report) use hardest::hardest;
pub(in crate::report) use pit::pit;
pub(in crate::report) use rootogram::rootogram;
