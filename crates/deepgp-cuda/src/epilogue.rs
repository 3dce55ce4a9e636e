//! From the sums over rows back to the parameters, rows not involved. The equations are those of `deepgp`'s `layer/mean.rs`,
//! `layer/covariance.rs` and `layer/factor.rs`, all outputs at once.

use deepgp::{CovarianceForm, MeanForm};

use crate::arrays::{BackArrays, GramArrays, LayerArrays};
use crate::chunks::SQUARE_CHUNKS;
use crate::fault::Outcome;
use crate::lane::{Factor, Lane, Real, Shape};
use crate::memory::Span;
use crate::prologue::Scope;

/// What has reached a kernel matrix so far.
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
    let (plan, made) = (&layer.plan, &layer.made);
    let gram = &made.grams[0];
    let (n, p) = (plan.means, plan.outputs);
    let (free, w, w_bar) = (scope.free(layer), made.weights_wide, back.weights_bar);
    let free_bar = gradient.from(plan.free).first(n * p);
    let [work, other] = made.mean_work;
    let r = Factor::new(gram.r, n);
    let times =
        |a, b: Span<f64>, c: Span<f64>| lane.product(Shape::new(n, p, n), 1.0, a, Factor::new(b, p), 0.0, c, p, 0);
    let outer = |alpha: f64, a: Span<f64>, b: Span<f64>, beta: f64, c: Span<f64>| {
        lane.product(Shape::new(n, n, p), alpha, Factor::new(a, p), Factor::new(b, p).t(), beta, c, n, 0)
    };
    let add_kl =
        |x: Span<f64>, z: Span<f64>, factor: f64, y: Span<f64>| add_kl(scope, x, z, factor, 0.0, y, n * p, lane);
    match plan.mean_form {
        MeanForm::Dual | MeanForm::ScaledDual => {
            // `work` still holds K w.
            let scaled = plan.mean_form == MeanForm::ScaledDual;
            let total = if scaled { work } else { free_bar };
            add_kl(w_bar, work, 1.0, total)?;
            add_kl(Span::NONE, w, 0.5, other)?;
            outer(1.0, other, w, beta(&mut reached.direct), gram.k_bar)?;
            if scaled {
                let arguments = [total.into(), free.into(), n.into(), p.into(), gram.k_bar.into()];
                lane.each(scope.general.get("add_row_dots"), n, &arguments)?;
                let arguments = [gram.k.into(), total.into(), n.into(), p.into(), free_bar.into()];
                lane.each(scope.general.get("scale_rows"), n * p, &arguments)?;
            }
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
    let (plan, made, general) = (&layer.plan, &layer.made, scope.general);
    let gram = &made.grams[made.grams.len() - 1];
    let (m, p) = (plan.covariances, plan.outputs);
    let (square, count) = (m * m, p * m * m);
    let (factor, g_bar) = (scope.factor(layer), back.explained_bar);
    let factor_bar = gradient.from(plan.factor).first(count);
    let all = |span: Span<f64>| Factor::new(span, m).each(square);
    let each = Shape::new(m, m, m).times(p);
    let into = |alpha: f64, a, b, beta: f64, c: Span<f64>| lane.product(each, alpha, a, b, beta, c, m, square);
    let sum_outputs = |from: Span<f64>, add: bool, to: Span<f64>| {
        let arguments = [from.into(), p.into(), square.into(), add.into(), to.into()];
        lane.each(general.get("sum_wide_chunks"), square, &arguments)
    };
    let [first, second, third, fourth] = made.square_work;
    match plan.covariance_form {
        CovarianceForm::Whitened => {
            into(-2.0, all(g_bar), all(factor), 0.0, factor_bar)?;
            add_kl(scope, Span::NONE, factor, 1.0, 1.0, factor_bar, count, lane)?;
        }
        CovarianceForm::Standard => {
            let (v, v_bar) = (made.kept, first);
            into(-2.0, all(g_bar), all(v), 0.0, v_bar)?;
            add_kl(scope, Span::NONE, v, 1.0, 1.0, v_bar, count, lane)?;
            into(1.0, Factor::new(gram.r, m).t(), all(v_bar), 0.0, factor_bar)?;
            into(1.0, all(v_bar), all(factor).t(), 0.0, second)?;
            sum_outputs(second, true, back.projection_bar)?;
            lane.each(general.get("clear_above"), square, &[back.projection_bar.into(), m.into()])?;
            reached.log_dets = p;
        }
        CovarianceForm::Dual => {
            let h_inverse = made.kept;
            let (b_h, g_b_h, h_square, h_bar) = (first, second, third, fourth);
            into(1.0, all(factor), all(h_inverse), 0.0, b_h)?;
            into(1.0, all(g_bar), all(b_h), 0.0, g_b_h)?;
            into(1.0, all(h_inverse), all(h_inverse), 0.0, h_square)?;
            let arguments = [
                h_inverse.into(),
                h_square.into(),
                count.into(),
                scope.plans.into(),
                scope.control.into(),
                h_bar.into(),
            ];
            lane.each(general.get("dual_h_bar"), count, &arguments)?;
            into(-1.0, all(b_h).t(), all(g_b_h), 1.0, h_bar)?;
            let b_h_bar = h_square;
            into(1.0, all(factor), all(h_bar), 0.0, b_h_bar)?;
            lane.copy(g_b_h, factor_bar)?;
            into(2.0, Factor::new(gram.k, m), all(b_h_bar), 2.0, factor_bar)?;
            into(1.0, all(b_h_bar), all(factor).t(), 0.0, b_h)?;
            let add = beta(&mut reached.direct) > 0.0;
            sum_outputs(b_h, add, gram.k_bar)?;
        }
    }
    let with_log = plan.projects();
    let arguments = [
        factor.into(),
        m.into(),
        count.into(),
        with_log.into(),
        scope.plans.into(),
        scope.control.into(),
        factor_bar.into(),
    ];
    lane.each(general.get("finish_factor"), count, &arguments)
}

/// What reaches the covariance's kernel matrix through `R`: `Lᵀ L̄ = −R̄ Rᵀ`.
pub fn projection<T: Real>(
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    reached: &mut Reached,
    lane: &Lane,
) -> Outcome<()> {
    let (m, made) = (layer.plan.covariances, &layer.made);
    if !layer.plan.projects() {
        return Ok(());
    }
    let gram = &made.grams[made.grams.len() - 1];
    let (bar, r) = (Factor::new(back.projection_bar, m), Factor::new(gram.r, m).t());
    lane.product(Shape::new(m, m, m), -1.0, bar, r, beta(&mut reached.inner), gram.work[0], m, 0)
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
    let (plan, made) = (&layer.plan, &layer.made);
    let (n, d, leaves, columns) = (gram.plan.order, plan.width, plan.text.leaves, plan.columns());
    if reached.inner {
        // K̄ = Rᵀ Ψ R.
        let [inner, psi] = gram.work;
        let arguments =
            [inner.into(), n.into(), reached.log_dets.into(), scope.plans.into(), scope.control.into(), psi.into()];
        lane.each(scope.general.get("mirror_half"), n * n, &arguments)?;
        let (r, shape) = (Factor::new(gram.r, n), Shape::new(n, n, n));
        lane.product(shape, 1.0, Factor::new(psi, n), r, 0.0, inner, n, 0)?;
        lane.product(shape, 1.0, r.t(), Factor::new(inner, n), beta(&mut reached.direct), gram.k_bar, n, 0)?;
    }
    let z = made.z_wide.from(gram.plan.first * (d + 1));
    let arguments = [
        gram.k.into(),
        z.into(),
        scope.theta(layer).into(),
        gram.jitter.into(),
        gram.k_bar.into(),
        n.into(),
        gram.weights.into(),
        gram.partial.into(),
    ];
    lane.launch(scope.kernel.get("weigh_gram"), (n.div_ceil(64), n.div_ceil(32)), 256, 0, &arguments)?;
    let (w, z) = (Factor::new(gram.weights, n).each(n * n), Factor::new(z, d + 1));
    let to = back.gram_sums.from(gram.plan.first * (d + 1));
    lane.product(Shape::new(n, d + 1, n).times(leaves), 1.0, w, z, 0.0, to, d + 1, columns * (d + 1))
}

/// The gradients at inducing inputs and the kernel's parameters, when all sums are there.
pub fn finish<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    gradient: Span<f64>,
    lane: &Lane,
) -> Outcome<()> {
    let plan = &layer.plan;
    let (d, columns, leaves) = (plan.width, plan.columns(), plan.text.leaves);
    let (z, theta) = (scope.inducing(layer), scope.theta(layer));
    let arguments = [
        z.into(),
        back.z_sums.into(),
        back.gram_sums.into(),
        theta.into(),
        columns.into(),
        gradient.from(plan.inducing).into(),
    ];
    lane.each(scope.kernel.get("inducing_gradient"), columns * d, &arguments)?;
    let arguments = [
        z.into(),
        back.z_sums.into(),
        back.gram_sums.into(),
        back.squares.into(),
        SQUARE_CHUNKS.into(),
        back.partial.into(),
        back.blocks.into(),
        back.diagonal_bar.into(),
        layer.rows.rows.into(),
        layer.made.prior.into(),
        theta.into(),
        columns.into(),
        gradient.from(plan.theta).into(),
    ];
    lane.launch(scope.kernel.get("theta_gradient"), (leaves * d + leaves, 1), 1024, 0, &arguments)
}

#[allow(clippy::too_many_arguments, reason = "y = x + factor kl_bar z + keep y, n numbers")]
fn add_kl(
    scope: Scope<'_>,
    x: Span<f64>,
    z: Span<f64>,
    factor: f64,
    keep: f64,
    y: Span<f64>,
    n: usize,
    lane: &Lane,
) -> Outcome<()> {
    let arguments =
        [x.into(), z.into(), factor.into(), keep.into(), n.into(), scope.plans.into(), scope.control.into(), y.into()];
    lane.each(scope.general.get("add_kl"), n, &arguments)
}
