//! Once a step, rows not involved: kernel matrices, inverse factors, `w`, `R`, `G` and the KL. The equations are those of
//! `deepgp`'s `layer/mean.rs` and `layer/covariance.rs`, all outputs at once.
//!
//! The mean's set and the covariance's go their own ways, on lanes of their own; a tied layer takes the covariance's lane alone.

use deepgp::{CovarianceForm, MeanForm};

use crate::arrays::{GramArrays, LayerArrays};
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::product::{Operand, Shape};
use crate::device::program::Program;
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::common::{Control, Step};
use crate::kernels::covariance::{Gram, Prior, WideNorms};
use crate::kernels::matrix::{
    AddIdentity, Complement, CovarianceKl, Dot, DualKl, FactorLower, InvertLower, Narrow, ScaleRows,
};
use crate::kernels::rows::WithOnes;
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
    pub fn theta<T>(&self, layer: &LayerArrays<T>) -> Span<f64> {
        self.values.from(layer.plan.theta).first(layer.plan.text.parameters)
    }

    pub fn inducing<T>(&self, layer: &LayerArrays<T>) -> Span<f64> {
        self.values.from(layer.plan.inducing).first(layer.plan.columns() * layer.plan.width)
    }

    pub fn free<T>(&self, layer: &LayerArrays<T>) -> Span<f64> {
        self.values.from(layer.plan.free).first(layer.plan.means * layer.plan.outputs)
    }

    pub fn factor<T>(&self, layer: &LayerArrays<T>) -> Span<f64> {
        let m = layer.plan.covariances;
        self.values.from(layer.plan.factor).first(layer.plan.outputs * m * m)
    }
}

/// `[1 | Z]` and `k(x, x)`: what every lane of the layer needs.
pub fn begin<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (d, columns, made) = (layer.plan.width, layer.plan.columns(), &layer.made);
    let with_ones = WithOnes { z: scope.inducing(layer), rows: columns, width: d, wide: made.z_wide, narrow: made.z };
    lane.run(scope.general, with_ones)?;
    lane.run(scope.covariance, Prior { theta: scope.theta(layer), out: made.prior })
}

/// The mean's kernel matrix and `w`. For a tied layer, after [`covariance`] and on the same lane.
pub fn mean<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let made = &layer.made;
    let gram = &made.grams[0];
    if made.grams.len() == 2 {
        kernel_matrix(scope, layer, gram, lane)?;
    }
    let (n, p, free, w) = (layer.plan.means, layer.plan.outputs, scope.free(layer), made.weights_wide);
    let r = Operand::new(gram.r, n);
    let [work, _] = made.mean_work;
    let times = |a, b: Span<f64>, c: Span<f64>| {
        lane.product(Shape::new(n, p, n), 1.0, a, Operand::new(b, p), 0.0, Operand::new(c, p))
    };
    match layer.plan.mean_form {
        MeanForm::Dual => {}
        MeanForm::ScaledDual => {
            lane.run(scope.general, ScaleRows { k: gram.k, from: free, n, width: p, to: w })?;
        }
        MeanForm::Standard => {
            times(r, free, work)?;
            times(r.t(), work, w)?;
        }
        MeanForm::Whitened => times(r.t(), free, w)?,
    }
    narrow(scope, w, made.weights, lane)
}

/// The mean's share of the KL, which no row waits for. Leaves `K w` in `mean_work[0]` for the dual forms' way back.
pub fn mean_divergence<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let made = &layer.made;
    let (n, p, free, w) = (layer.plan.means, layer.plan.outputs, scope.free(layer), made.weights_wide);
    let (left, right) = match layer.plan.mean_form {
        MeanForm::Dual | MeanForm::ScaledDual => {
            let (k, work) = (Operand::new(made.grams[0].k, n), made.mean_work[0]);
            lane.product(Shape::new(n, p, n), 1.0, k, Operand::new(w, p), 0.0, Operand::new(work, p))?;
            (w, work)
        }
        MeanForm::Standard => (free, w),
        MeanForm::Whitened => (free, free),
    };
    lane.run(scope.general, Dot { a: left, b: right, factor: 0.5, n: n * p, to: made.mean_kl })
}

/// The covariance's kernel matrix, `R` and `G`.
pub fn covariance<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let made = &layer.made;
    let gram = &made.grams[made.grams.len() - 1];
    kernel_matrix(scope, layer, gram, lane)?;
    let (m, p, factor) = (layer.plan.covariances, layer.plan.outputs, scope.factor(layer));
    let (square, each) = (m * m, Shape::new(m, m, m).times(p));
    let all = |span: Span<f64>| Operand::new(span, m).each(square);
    let into = |alpha: f64, a, b, c: Span<f64>| lane.product(each, alpha, a, b, 0.0, all(c));
    let complement = |v: Span<f64>| {
        into(-1.0, all(v), all(v).t(), made.explained_wide)?;
        let complement = Complement { from: made.explained_wide, n: m, count: p * square, g: made.explained };
        lane.run(scope.general, complement)
    };
    match (layer.plan.covariance_form, &made.dual) {
        (CovarianceForm::Dual, Some(dual)) => {
            let [k_b, t, ..] = made.square_work;
            into(1.0, Operand::new(gram.k, m), all(factor), k_b)?;
            into(1.0, all(factor).t(), all(k_b), dual.h)?;
            lane.run(scope.general, AddIdentity { h: dual.h, n: m, outputs: p })?;
            lane.factor_each(dual.h_addresses, m, dual.infos)?;
            lane.run(scope.general, InvertLower { l: dual.h, r: dual.r, n: m, log_det: dual.log_dets, count: p })?;
            into(1.0, all(dual.r).t(), all(dual.r), made.kept)?;
            into(1.0, all(dual.r), all(factor).t(), t)?;
            into(1.0, all(t).t(), all(t), made.explained_wide)?;
            narrow(scope, made.explained_wide, made.explained, lane)
        }
        (CovarianceForm::Standard, _) => {
            into(1.0, Operand::new(gram.r, m), all(factor), made.kept)?;
            complement(made.kept)?;
            narrow(scope, gram.r, made.projection, lane)
        }
        _ => {
            complement(factor)?;
            narrow(scope, gram.r, made.projection, lane)
        }
    }
}

/// The covariance's share of the KL, a number for each output, which no row waits for.
pub fn covariance_divergence<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (made, factor) = (&layer.made, scope.factor(layer));
    let (m, p) = (layer.plan.covariances, layer.plan.outputs);
    let log_det = made.grams[made.grams.len() - 1].log_det;
    let general = |v: Span<f64>, log_det: Span<f64>| {
        let kl = CovarianceKl { v, f: factor, n: m, log_det, kl: made.covariance_kl, outputs: p };
        lane.run(scope.general, kl)
    };
    match (layer.plan.covariance_form, &made.dual) {
        (CovarianceForm::Dual, Some(dual)) => {
            let kl = made.covariance_kl;
            lane.run(scope.general, DualKl { h_inverse: made.kept, n: m, log_det: dual.log_dets, kl, outputs: p })
        }
        (CovarianceForm::Standard, _) => general(made.kept, log_det),
        _ => general(factor, Span::NONE),
    }
}

/// `K` with its jitter and, where a form asks for it, `R = L⁻¹` and `log |K|`.
fn kernel_matrix<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, gram: &GramArrays, lane: &Lane) -> Outcome<()> {
    let n = gram.plan.order;
    let z = layer.made.z_wide.from(gram.plan.first * (layer.plan.width + 1));
    let (d, leaves, theta) = (layer.plan.width, layer.plan.text.leaves, scope.theta(layer));
    if layer.plan.text.products {
        let norms = WideNorms { x1: z, theta, rows: n, norm: gram.norms, scaled: gram.scaled, leaves };
        lane.run(scope.covariance, norms)?;
        let (points, scaled) = (Operand::new(z.from(1), d + 1), Operand::new(gram.scaled, d).t().each(n * d));
        let to = Operand::new(gram.products, n).each(n * n);
        lane.product(Shape::new(n, n, d).times(leaves), 1.0, points, scaled, 0.0, to)?;
    }
    let GramArrays { jitter, products, norms, k, l, .. } = *gram;
    lane.run(scope.covariance, Gram { z1: z, theta, jitter, products, norms, n, k, l })?;
    if !gram.plan.factored {
        return Ok(());
    }
    match scope.general.has::<FactorLower>() {
        true => lane.run(scope.general, FactorLower { a: gram.l, n, info: gram.info })?,
        false => lane.factor(gram.l, n, gram.workspace, gram.info)?,
    }
    lane.run(scope.general, InvertLower { l: gram.l, r: gram.r, n, log_det: gram.log_det, count: 1 })
}

/// `wide` in the rows' precision, unless it already is.
pub fn narrow<T: Real>(scope: Scope<'_>, wide: Span<f64>, to: Span<T>, lane: &Lane) -> Outcome<()> {
    if T::alias(wide).is_some() {
        return Ok(());
    }
    lane.run(scope.general, Narrow { from: wide, to, n: wide.len() })
}
