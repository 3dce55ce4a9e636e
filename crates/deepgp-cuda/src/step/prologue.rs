//! Once a step, rows not involved: kernel matrices, inverse factors, `w`, `R`, `G` and the KL. The equations are those of
//! `deepgp`'s `layer/mean.rs` and `layer/covariance.rs`, all outputs at once.
//!
//! The mean's set and the covariance's go their own ways, on lanes of their own. Where the sets are one, its factor is made on the mean's
//! lane, and the covariance takes the leading block of it.

use deepgp::MeanForm;

use super::Scope;
use crate::arrays::LayerArrays;
use crate::arrays::prepared::{CovarianceArrays, GramArrays};
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::product::{Operand, Shape};
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::covariance::{Gram, Prior, WideNorms};
use crate::kernels::diagonal::DiagonalKl;
use crate::kernels::factor::{FactorLower, InvertLower};
use crate::kernels::matrix::{AddIdentity, Complement, CovarianceKl, Dot, DualKl, Narrow, ScaleRows};
use crate::kernels::resident::FactorResident;
use crate::kernels::rows::WithOnes;

/// `[1 | Z]`: what every lane of the layer needs.
pub fn begin<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (blueprint, prepared) = (&layer.blueprint, &layer.prepared);
    let with_ones = WithOnes {
        z: scope.inducing(layer),
        rows: blueprint.columns(),
        width: blueprint.width,
        wide: prepared.z_wide,
        narrow: prepared.z,
    };
    lane.run(scope.general, with_ones)
}

/// `k(x, x)`.
pub fn prior<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    lane.run(scope.covariance, Prior { theta: scope.theta(layer), out: layer.prepared.prior })
}

/// The mean's kernel matrix and its factor, with which `w` may come.
pub fn mean_matrix<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let prepared = &layer.prepared;
    let free = if prepared.solved { scope.free(layer) } else { Span::NONE };
    matrix(scope, layer, prepared.grams.mean(), free, lane)?;
    if prepared.solved { narrow(scope, prepared.weights_wide, prepared.weights, lane) } else { Ok(()) }
}

/// The kernel matrix of the covariance's own set, and its factor.
pub fn covariance_matrix<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    gram: &GramArrays,
    lane: &Lane,
) -> Outcome<()> {
    matrix(scope, layer, gram, Span::NONE, lane)
}

/// `R = L⁻¹` and `log |K|`, where a form asked for a factor.
pub fn inverse(scope: Scope<'_>, gram: &GramArrays, lane: &Lane) -> Outcome<()> {
    let n = gram.blueprint.order;
    if !gram.blueprint.factored {
        return Ok(());
    }
    lane.run(scope.general, InvertLower { l: gram.l, stride: n, r: gram.r, n, log_det: gram.log_det, count: 1 })
}

/// The leading block of [`inverse`] by itself, where rows are projected by that.
pub fn head_inverse<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (prepared, gram) = (&layer.prepared, layer.prepared.grams.covariance());
    if !layer.blueprint.projects() {
        return Ok(());
    }
    let invert = InvertLower {
        l: gram.l,
        stride: gram.blueprint.order,
        r: prepared.projection_wide,
        n: layer.blueprint.covariances,
        log_det: prepared.projection_log_det,
        count: 1,
    };
    lane.run(scope.general, invert)
}

/// `w` from `R`, unless it came with the factor.
pub fn weights<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let prepared = &layer.prepared;
    if prepared.solved {
        return Ok(());
    }
    let gram = prepared.grams.mean();
    let (n, p, free, w) = (layer.blueprint.means, layer.blueprint.outputs, scope.free(layer), prepared.weights_wide);
    let r = Operand::new(gram.r, n);
    let [work, _] = prepared.mean_work;
    let times = |a, b: Span<f64>, c: Span<f64>| {
        lane.product(Shape::new(n, p, n), 1.0, a, Operand::new(b, p), 0.0, Operand::new(c, p))
    };
    match layer.blueprint.mean_form {
        MeanForm::Dual => {}
        MeanForm::ScaledDual => lane.run(scope.general, ScaleRows { k: gram.k, from: free, n, width: p, to: w })?,
        MeanForm::Standard => {
            times(r, free, work)?;
            times(r.t(), work, w)?;
        }
        MeanForm::Whitened => times(r.t(), free, w)?,
    }
    narrow(scope, w, prepared.weights, lane)
}

/// The mean's part of the KL, which no row waits for. Leaves `K w` in `mean_work[0]` for the dual forms' way back.
pub fn mean_divergence<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let prepared = &layer.prepared;
    let (n, p, free, w) = (layer.blueprint.means, layer.blueprint.outputs, scope.free(layer), prepared.weights_wide);
    let (left, right) = match layer.blueprint.mean_form {
        MeanForm::Dual | MeanForm::ScaledDual => {
            let (k, work) = (Operand::new(prepared.grams.mean().k, n), prepared.mean_work[0]);
            lane.product(Shape::new(n, p, n), 1.0, k, Operand::new(w, p), 0.0, Operand::new(work, p))?;
            (w, work)
        }
        MeanForm::Standard => (free, w),
        MeanForm::Whitened => (free, free),
    };
    lane.run(scope.general, Dot { a: left, b: right, factor: 0.5, n: n * p, to: prepared.mean_kl })
}

/// `R` in the rows' precision, and `G`, after the inverse of the covariance's factor.
pub fn covariance<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (prepared, gram) = (&layer.prepared, layer.prepared.grams.covariance());
    narrow(scope, prepared.projection_wide, prepared.projection, lane)?;
    let (m, p, factor) = (layer.blueprint.covariances, layer.blueprint.outputs, scope.factor(layer));
    let (square, each) = (m * m, Shape::new(m, m, m).times(p));
    let all = |span: Span<f64>| Operand::new(span, m).each(square);
    let into = |alpha: f64, a, b, c: Span<f64>| lane.product(each, alpha, a, b, 0.0, all(c));
    // G = I − v vᵀ.
    let complement = |v: Span<f64>| {
        into(-1.0, all(v), all(v).t(), prepared.explained_wide)?;
        let complement = Complement { from: prepared.explained_wide, n: m, count: p * square, g: prepared.explained };
        lane.run(scope.general, complement)
    };
    match prepared.covariance {
        CovarianceArrays::Dual { h, h_addresses, r, log_dets, infos, h_inverse } => {
            let [k_b, t, ..] = prepared.square_work;
            into(1.0, Operand::new(gram.k, gram.blueprint.order), all(factor), k_b)?;
            into(1.0, all(factor).t(), all(k_b), h)?;
            lane.run(scope.general, AddIdentity { h, n: m, outputs: p })?;
            lane.factor_each(h_addresses, m, infos)?;
            lane.run(scope.general, InvertLower { l: h, stride: m, r, n: m, log_det: log_dets, count: p })?;
            into(1.0, all(r).t(), all(r), h_inverse)?;
            into(1.0, all(r), all(factor).t(), t)?;
            into(1.0, all(t).t(), all(t), prepared.explained_wide)?;
            narrow(scope, prepared.explained_wide, prepared.explained, lane)
        }
        CovarianceArrays::Standard { v } => {
            into(1.0, Operand::new(prepared.projection_wide, m), all(factor), v)?;
            complement(v)
        }
        CovarianceArrays::Whitened => complement(factor),
        CovarianceArrays::Diagonal => Ok(()),
    }
}

/// The covariance's part of the KL, a number for each output, which no row waits for.
pub fn covariance_divergence<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (prepared, f) = (&layer.prepared, scope.factor(layer));
    let (n, outputs, kl) = (layer.blueprint.covariances, layer.blueprint.outputs, prepared.covariance_kl);
    match prepared.covariance {
        CovarianceArrays::Dual { log_dets, h_inverse, .. } => {
            lane.run(scope.general, DualKl { h_inverse, n, log_det: log_dets, kl, outputs })
        }
        CovarianceArrays::Standard { v } => {
            let log_det = prepared.projection_log_det;
            lane.run(scope.general, CovarianceKl { v, f, n, log_det, kl, outputs })
        }
        CovarianceArrays::Whitened => {
            lane.run(scope.general, CovarianceKl { v: f, f, n, log_det: Span::NONE, kl, outputs })
        }
        CovarianceArrays::Diagonal => lane.run(scope.general, DiagonalKl { s: f, m: n, kl, outputs }),
    }
}

/// `K` with its jitter and, where a form asks for it, its factor `L`; unless `free` is [`Span::NONE`], also `w = L⁻ᵀ free`.
fn matrix<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    gram: &GramArrays,
    free: Span<f64>,
    lane: &Lane,
) -> Outcome<()> {
    let n = gram.blueprint.order;
    let (d, leaves, theta) = (layer.blueprint.width, layer.blueprint.text.leaves, scope.theta(layer));
    let z = layer.prepared.z_wide.from(gram.blueprint.first * (d + 1));
    if layer.blueprint.text.products {
        let norms = WideNorms { x1: z, theta, rows: n, norm: gram.norms, scaled: gram.scaled, leaves };
        lane.run(scope.covariance, norms)?;
        let (points, scaled) = (Operand::new(z.from(1), d + 1), Operand::new(gram.scaled, d).t().each(n * d));
        let to = Operand::new(gram.products, n).each(n * n);
        lane.product(Shape::new(n, n, d).times(leaves), 1.0, points, scaled, 0.0, to)?;
    }
    let GramArrays { jitter, products, norms, k, l, .. } = *gram;
    lane.run(scope.covariance, Gram { z1: z, theta, jitter, products, norms, n, k, l })?;
    if !gram.blueprint.factored {
        return Ok(());
    }
    let GramArrays { l: a, info, .. } = *gram;
    if gram.resident {
        let (width, weights) = (layer.blueprint.outputs, layer.prepared.weights_wide);
        return lane.run(scope.general, FactorResident { a, n, free, width, weights, info });
    }
    match scope.general.has::<FactorLower>() {
        true => lane.run(scope.general, FactorLower { a, n, info }),
        false => lane.factor(a, n, gram.workspace, info),
    }
}

/// `wide` in the rows' precision, unless it already is.
fn narrow<T: Real>(scope: Scope<'_>, wide: Span<f64>, to: Span<T>, lane: &Lane) -> Outcome<()> {
    if T::alias(wide).is_some() {
        return Ok(());
    }
    lane.run(scope.general, Narrow { from: wide, to, n: wide.len() })
}
