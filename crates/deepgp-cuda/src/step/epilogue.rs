//! From the sums over rows back to the parameters, rows not involved. The equations are those of `deepgp`'s `layer/mean.rs`,
//! `layer/covariance.rs` and `layer/factor.rs`, all outputs at once.

use deepgp::MeanForm;

use super::Scope;
use crate::arrays::LayerArrays;
use crate::arrays::chunks::SQUARE_CHUNKS;
use crate::arrays::prepared::{CovarianceArrays, GramArrays};
use crate::arrays::rows::BackArrays;
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::product::{Operand, Shape};
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::covariance::{InducingGradient, ThetaGradient, WeighGram};
use crate::kernels::matrix::{
    AddKl, AddRowDots, ClearAbove, DualHBar, FinishFactor, MirrorHalf, ScaleRows, SumWideChunks,
};

/// Which gradients have reached a kernel matrix so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reached {
    /// Something stands in `k_bar`.
    direct: bool,
    /// Something stands in `work[0]`: the lower triangle of `Lᵀ L̄`.
    inner: bool,
    /// Outputs whose KL has `½ log |K|`.
    log_dets: usize,
}

/// 0 to overwrite, 1 to add; from now on there is something to add to.
fn beta(there: &mut bool) -> f64 {
    if std::mem::replace(there, true) { 1.0 } else { 0.0 }
}

/// `∂/∂free` into the gradient, and what reaches the mean's kernel matrix.
pub fn mean<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    gradient: Span<f64>,
    reached: &mut Reached,
    lane: &Lane,
) -> Outcome<()> {
    let (blueprint, prepared) = (&layer.blueprint, &layer.prepared);
    let gram = prepared.grams.mean();
    let (n, p) = (blueprint.means, blueprint.outputs);
    let (free, w, w_bar) = (scope.free(layer), prepared.weights_wide, back.weights_bar);
    let free_bar = gradient.part(&blueprint.free);
    let [work, other] = prepared.mean_work;
    let r = Operand::new(gram.r, n);
    let times = |a, b: Span<f64>, c: Span<f64>| {
        lane.product(Shape::new(n, p, n), 1.0, a, Operand::new(b, p), 0.0, Operand::new(c, p))
    };
    let outer = |alpha: f64, a: Span<f64>, b: Span<f64>, beta: f64, c: Span<f64>| {
        let (a, b) = (Operand::new(a, p), Operand::new(b, p).t());
        lane.product(Shape::new(n, n, p), alpha, a, b, beta, Operand::new(c, n))
    };
    let Scope { steps, control, .. } = scope;
    let add_kl = |x: Span<f64>, z: Span<f64>, factor: f64, y: Span<f64>| {
        lane.run(scope.general, AddKl { x, z, factor, keep: 0.0, n: n * p, steps, control, y })
    };
    // The dual forms: `total`, the whole gradient at w, and what reaches K through ½ wᵀ K w. `work` still holds K w.
    let mut through_weights = |total: Span<f64>| {
        add_kl(w_bar, work, 1.0, total)?;
        add_kl(Span::NONE, w, 0.5, other)?;
        outer(1.0, other, w, beta(&mut reached.direct), gram.k_bar)
    };
    match blueprint.mean_form {
        MeanForm::Dual => through_weights(free_bar)?,
        MeanForm::ScaledDual => {
            through_weights(work)?;
            lane.run(scope.general, AddRowDots { a: work, b: free, n, width: p, k_bar: gram.k_bar })?;
            lane.run(scope.general, ScaleRows { k: gram.k, from: work, n, width: p, to: free_bar })?;
        }
        MeanForm::Standard => {
            times(r, w_bar, work)?;
            times(r.t(), work, other)?;
            add_kl(other, w, 1.0, free_bar)?;
            add_kl(other, w, 0.5, work)?;
            outer(-0.5, work, w, beta(&mut reached.direct), gram.k_bar)?;
            outer(-0.5, w, work, 1.0, gram.k_bar)?;
        }
        MeanForm::Whitened => {
            times(r, w_bar, work)?;
            add_kl(work, free, 1.0, free_bar)?;
            outer(-1.0, free, work, beta(&mut reached.inner), gram.work[0])?;
        }
    }
    Ok(())
}

/// `∂/∂factor` into the gradient, and what reaches `R̄` or the covariance's kernel matrix that way.
pub fn covariance<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    gradient: Span<f64>,
    reached: &mut Reached,
    lane: &Lane,
) -> Outcome<()> {
    let (blueprint, prepared) = (&layer.blueprint, &layer.prepared);
    let Scope { general, steps, control, .. } = scope;
    let gram = prepared.grams.covariance();
    let (m, p) = (blueprint.covariances, blueprint.outputs);
    let (square, count) = (m * m, p * m * m);
    let (factor, g_bar) = (scope.factor(layer), back.explained_bar);
    let factor_bar = gradient.part(&blueprint.factor);
    let all = |span: Span<f64>| Operand::new(span, m).each(square);
    let each = Shape::new(m, m, m).times(p);
    let into = |alpha: f64, a, b, beta: f64, c: Span<f64>| lane.product(each, alpha, a, b, beta, all(c));
    let sum_outputs = |from: Span<f64>, add: bool, to: Span<f64>| {
        lane.run(general, SumWideChunks { from, chunks: p, n: square, add, to })
    };
    // What the KL adds where it has `½ |z|²`.
    let add_kl = |z: Span<f64>, y: Span<f64>| {
        let x = Span::NONE;
        lane.run(general, AddKl { x, z, factor: 1.0, keep: 1.0, n: count, steps, control, y })
    };
    let [first, second, third, fourth] = prepared.square_work;
    // Whether log |S| is in the KL.
    let with_log = match prepared.covariance {
        CovarianceArrays::Whitened => {
            into(-2.0, all(g_bar), all(factor), 0.0, factor_bar)?;
            add_kl(factor, factor_bar)?;
            true
        }
        CovarianceArrays::Standard { v } => {
            let v_bar = first;
            into(-2.0, all(g_bar), all(v), 0.0, v_bar)?;
            add_kl(v, v_bar)?;
            into(1.0, Operand::new(gram.r, m).t(), all(v_bar), 0.0, factor_bar)?;
            into(1.0, all(v_bar), all(factor).t(), 0.0, second)?;
            sum_outputs(second, true, back.projection_bar)?;
            lane.run(general, ClearAbove { m: back.projection_bar, n: m })?;
            reached.log_dets = p;
            true
        }
        CovarianceArrays::Dual { h_inverse, .. } => {
            let (b_h, g_b_h, h_square, h_bar) = (first, second, third, fourth);
            into(1.0, all(factor), all(h_inverse), 0.0, b_h)?;
            into(1.0, all(g_bar), all(b_h), 0.0, g_b_h)?;
            into(1.0, all(h_inverse), all(h_inverse), 0.0, h_square)?;
            lane.run(general, DualHBar { h_inverse, h_square, count, steps, control, h_bar })?;
            into(-1.0, all(b_h).t(), all(g_b_h), 1.0, h_bar)?;
            let b_h_bar = h_square;
            into(1.0, all(factor), all(h_bar), 0.0, b_h_bar)?;
            lane.copy(g_b_h, factor_bar)?;
            into(2.0, Operand::new(gram.k, m), all(b_h_bar), 2.0, factor_bar)?;
            into(1.0, all(b_h_bar), all(factor).t(), 0.0, b_h)?;
            let add = beta(&mut reached.direct) > 0.0;
            sum_outputs(b_h, add, gram.k_bar)?;
            false
        }
    };
    lane.run(general, FinishFactor { f: factor, n: m, count, with_log, steps, control, f_bar: factor_bar })
}

/// What reaches the covariance's kernel matrix through `R`: `Lᵀ L̄ = −R̄ Rᵀ`.
pub fn projection<T: Real>(
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    reached: &mut Reached,
    lane: &Lane,
) -> Outcome<()> {
    let (m, gram) = (layer.blueprint.covariances, layer.prepared.grams.covariance());
    if !layer.blueprint.projects() {
        return Ok(());
    }
    let (bar, r) = (Operand::new(back.projection_bar, m), Operand::new(gram.r, m).t());
    let to = Operand::new(gram.work[0], m);
    lane.product(Shape::new(m, m, m), -1.0, bar, r, beta(&mut reached.inner), to)
}

/// From what has reached a kernel matrix to the sums that inducing inputs and the kernel's parameters need.
pub fn kernel_matrix<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    gram: &GramArrays,
    mut reached: Reached,
    lane: &Lane,
) -> Outcome<()> {
    let (blueprint, prepared) = (&layer.blueprint, &layer.prepared);
    let (n, d) = (gram.blueprint.order, blueprint.width);
    let (leaves, columns) = (blueprint.text.leaves, blueprint.columns());
    if reached.inner {
        // K̄ = Rᵀ Ψ R.
        let ([inner, psi], Scope { steps, control, .. }) = (gram.work, scope);
        lane.run(scope.general, MirrorHalf { inner, n, outputs: reached.log_dets, steps, control, psi })?;
        let (r, inner, shape) = (Operand::new(gram.r, n), Operand::new(inner, n), Shape::new(n, n, n));
        lane.product(shape, 1.0, Operand::new(psi, n), r, 0.0, inner)?;
        lane.product(shape, 1.0, r.t(), inner, beta(&mut reached.direct), Operand::new(gram.k_bar, n))?;
    }
    let GramArrays { k, jitter, k_bar, weights: w, partial, .. } = *gram;
    let (z, theta) = (prepared.z_wide.from(gram.blueprint.first * (d + 1)), scope.theta(layer));
    lane.run(scope.covariance, WeighGram { k, z1: z, theta, jitter, k_bar, n, w, partial })?;
    let (w, z) = (Operand::new(w, n).each(n * n), Operand::new(z, d + 1));
    let to = Operand::new(back.gram_sums.from(gram.blueprint.first * (d + 1)), d + 1).each(columns * (d + 1));
    lane.product(Shape::new(n, d + 1, n).times(leaves), 1.0, w, z, 0.0, to)
}

/// The gradients at inducing inputs and the kernel's parameters, when all sums are there.
pub fn finish<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    gradient: Span<f64>,
    lane: &Lane,
) -> Outcome<()> {
    let blueprint = &layer.blueprint;
    let (d, columns, leaves) = (blueprint.width, blueprint.columns(), blueprint.text.leaves);
    let (z, theta) = (scope.inducing(layer), scope.theta(layer));
    let (s, t, z_bar) = (back.z_sums, back.gram_sums, gradient.part(&blueprint.inducing));
    lane.run(scope.covariance, InducingGradient { z, s, t, theta, columns, z_bar, width: d })?;
    let of_theta = ThetaGradient {
        z,
        s,
        t,
        squares: back.squares,
        chunks: SQUARE_CHUNKS,
        partial: back.partial,
        blocks: back.blocks,
        diagonal_bar: back.diagonal_bar,
        rows: layer.rows.rows,
        prior: layer.prepared.prior,
        theta,
        columns,
        theta_bar: gradient.part(&blueprint.theta),
        leaves,
        width: d,
    };
    lane.run(scope.covariance, of_theta)
}
