//! The three parts of a step: the prologue, rows forward and backward, the epilogue. Each function gives work out to a lane; in which
//! order, and on which lanes, is the business of `task/schedule.rs`.

pub mod backward;
pub mod epilogue;
pub mod forward;
pub mod prologue;
pub mod row_sums;

use crate::arrays::LayerArrays;
use crate::device::memory::Span;
use crate::device::program::Program;
use crate::kernels::common::{Control, Step};
use crate::kernels::{Covariance, General};

/// The programs and parameters that a layer's work needs.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    pub general: &'a Program<General>,
    pub covariance: &'a Program<Covariance>,
    /// All parameter values.
    pub values: Span<f64>,
    pub steps: Span<Step>,
    pub control: Span<Control>,
}

impl Scope<'_> {
    /// The covariance function's parameters.
    pub fn theta<T>(&self, layer: &LayerArrays<T>) -> Span<f64> {
        self.values.part(&layer.blueprint.theta)
    }

    /// The inducing inputs, all of them.
    pub fn inducing<T>(&self, layer: &LayerArrays<T>) -> Span<f64> {
        self.values.part(&layer.blueprint.inducing)
    }

    /// The mean's free numbers, `[M_a, P]`.
    pub fn free<T>(&self, layer: &LayerArrays<T>) -> Span<f64> {
        self.values.part(&layer.blueprint.free)
    }

    /// The points of learned sites, `[Q, P]`; nothing where there are none.
    pub fn points<T>(&self, layer: &LayerArrays<T>) -> Span<f64> {
        layer.blueprint.points.as_ref().map_or(Span::NONE, |range| self.values.part(range))
    }

    /// The covariance's free numbers: lower triangles, `[P, M_b, M_b]`, or diagonals, `[P, M_b]`.
    pub fn factor<T>(&self, layer: &LayerArrays<T>) -> Span<f64> {
        self.values.part(&layer.blueprint.factor)
    }
}
