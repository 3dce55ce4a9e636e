//! Numbers and nothing else: matrices, factorisations, vector loops, threads. Knows of no model.

pub(crate) mod linalg;
pub(crate) mod mat;
pub(crate) mod real;
pub(crate) mod root_finding;
pub(crate) mod scratch;
pub(crate) mod simd;
pub(crate) mod threads;
