//! Numerics: matrices, factorisations, vector loops, root finding, special functions, threads. Nothing here knows of models.

pub(crate) mod golden_section;
pub(crate) mod incomplete;
pub(crate) mod linalg;
pub(crate) mod mat;
pub(crate) mod minimise;
pub(crate) mod normal;
pub(crate) mod real;
pub(crate) mod root_finding;
pub(crate) mod scratch;
pub(crate) mod simd;
pub(crate) mod special;
pub(crate) mod student_t_curve;
pub(crate) mod threads;
