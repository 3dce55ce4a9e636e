//! From the sums over rows back to the parameters, rows not involved. The equations are those of `deepgp`'s `layer/mean.rs`,
//! `layer/covariance.rs` and `layer/factor.rs`, all outputs at once.

use deepgp::MeanForm;

use super::Scope;
use crate::arrays::LayerArrays;
use crate::arrays::prepared::{CovarianceArrays, GramArrays};
use crate::arrays::row_sums::BlockSums;
use crate::arrays::rows::{BackArrays, KernelSums};
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::product::{Operand, Shape};
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::covariance::{GramSums, InducingGradient, ThetaGradient, WeighGram};
use crate::kernels::diagonal::{DIAGONAL_CHUNKS, DiagonalGradient, SummedDiagonalGradient};
use crate::kernels::matrix::{
    AddKl, AddRowDots, ClearAbove, DualHBar, FinishFactor, MirrorHalf, ScaleRows, SumSquares, Whiten,
};
use crate::kernels::optimiser::CheckFinite;

/// Which gradients have reached a kernel matrix so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reached {
    /// Something stands in `k_bar`.
    direct: bool,
    /// The lower triangle of `Lᵀ L̄` has `−free workᵀ`, with the mean's working memory.
    outer: bool,
    /// Its leading block of order `M_b` has what stands in `work[0]`.
    inner: bool,
    /// Outputs whose KL has `½ log |K_bb|`.
    log_dets: usize,
    /// What stands in `square_work[0]`, for each output, is to be added to the leading block of `k_bar`.
    squares: bool,
}

impl Reached {
    /// What has reached a matrix on two ways.
    pub fn and(self, other: Self) -> Self {
        Self {
            direct: self.direct || other.direct,
            outer: self.outer || other.outer,
            inner: self.inner || other.inner,
            log_dets: self.log_dets + other.log_dets,
            squares: self.squares || other.squares,
        }
    }
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
    let (free, w, w_bar) = (scope.free(layer), prepared.weights_wide, back.sums.weights);
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
            let whiten = Whiten { r: gram.r, from: w_bar, free, n, width: p, steps, control, to: work, free_bar };
            lane.run(scope.general, whiten)?;
            reached.outer = true;
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
    let (factor, g_bar) = (scope.factor(layer), back.sums.explained);
    let factor_bar = gradient.part(&blueprint.factor);
    let all = |span: Span<f64>| Operand::new(span, m).each(square);
    let each = Shape::new(m, m, m).times(p);
    let into = |alpha: f64, a, b, beta: f64, c: Span<f64>| lane.product(each, alpha, a, b, beta, all(c));
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
            into(1.0, Operand::new(prepared.projection_wide, m).t(), all(v_bar), 0.0, factor_bar)?;
            into(1.0, all(v_bar), all(factor).t(), 0.0, second)?;
            let to = back.sums.projection;
            lane.run(general, SumSquares { from: second, count: p, m, add: true, to, stride: m })?;
            lane.run(general, ClearAbove { m: back.sums.projection, n: m })?;
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
            into(2.0, Operand::new(gram.k, gram.blueprint.order), all(b_h_bar), 2.0, factor_bar)?;
            into(1.0, all(b_h_bar), all(factor).t(), 0.0, first)?;
            reached.squares = true;
            false
        }
        CovarianceArrays::Diagonal => {
            if let Some(BlockSums { diagonal_explained: g_bar, .. }) = back.sums.blocks {
                let gradient = SummedDiagonalGradient { g_bar, s: factor, n: p * m, steps, control, s_bar: factor_bar };
                return lane.run(general, gradient);
            }
            let (partial, chunks) = (back.explained_chunks, DIAGONAL_CHUNKS);
            let gradient = DiagonalGradient { partial, chunks, s: factor, n: p * m, steps, control, s_bar: factor_bar };
            return lane.run(general, gradient);
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
    let (m, prepared) = (layer.blueprint.covariances, &layer.prepared);
    if !layer.blueprint.projects() {
        return Ok(());
    }
    let (bar, r) = (Operand::new(back.sums.projection, m), Operand::new(prepared.projection_wide, m).t());
    reached.inner = true;
    lane.product(Shape::new(m, m, m), -1.0, bar, r, 0.0, Operand::new(prepared.grams.covariance().work[0], m))
}

/// Says whether the gradients at the mean's `free` and at the covariance's `factor` are finite.
pub fn check<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, gradient: Span<f64>, lane: &Lane) -> Outcome<()> {
    let range = layer.blueprint.free.start..layer.blueprint.factor.end;
    let (n, control) = (range.len(), scope.control);
    lane.run(scope.general, CheckFinite { gradient: gradient.part(&range), n, control })
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
    let (n, d, m, p) = (gram.blueprint.order, blueprint.width, blueprint.covariances, blueprint.outputs);
    let (leaves, columns) = (blueprint.text.leaves, blueprint.columns());
    if reached.outer || reached.inner {
        // K̄ = Rᵀ Ψ R.
        let ([first, psi], Scope { steps, control, .. }) = (gram.work, scope);
        let (left, right) =
            if reached.outer { (scope.free(layer), prepared.mean_work[0]) } else { (Span::NONE, Span::NONE) };
        let (inner, m) = if reached.inner { (first, m) } else { (Span::NONE, 0) };
        let outputs = reached.log_dets;
        lane.run(scope.general, MirrorHalf { left, right, width: p, inner, m, outputs, n, steps, control, psi })?;
        let (r, product, shape) = (Operand::new(gram.r, n), Operand::new(first, n), Shape::new(n, n, n));
        lane.product(shape, 1.0, Operand::new(psi, n), r, 0.0, product)?;
        lane.product(shape, 1.0, r.t(), product, beta(&mut reached.direct), Operand::new(gram.k_bar, n))?;
    }
    if reached.squares {
        let (from, to, add) = (prepared.square_work[0], gram.k_bar, reached.direct);
        // In a matrix of its own the leading block is all there is.
        assert!(add || m == n, "the mean has reached every number of a shared matrix");
        lane.run(scope.general, SumSquares { from, count: p, m, add, to, stride: n })?;
    }
    let GramArrays { k, jitter, k_bar, weights: w, partial, .. } = *gram;
    let (z, theta) = (prepared.z_wide.from(gram.blueprint.first * (d + 1)), scope.theta(layer));
    let sums = back.gram_sums.from(gram.blueprint.first * (d + 1));
    if blueprint.text.sums_at_once {
        return lane.run(scope.covariance, GramSums { k, z1: z, theta, jitter, k_bar, n, t: sums, partial });
    }
    lane.run(scope.covariance, WeighGram { k, z1: z, theta, jitter, k_bar, n, w, partial })?;
    let (w, z) = (Operand::new(w, n).each(n * n), Operand::new(z, d + 1));
    let to = Operand::new(sums, d + 1).each(columns * (d + 1));
    lane.product(Shape::new(n, d + 1, n).times(leaves), 1.0, w, z, 0.0, to)
}

/// The gradient at the points of learned sites, if there are any, from the sum over all processes.
pub fn points<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    gradient: Span<f64>,
    lane: &Lane,
) -> Outcome<()> {
    let (Some(range), Some(sums)) = (&layer.blueprint.points, back.sums.blocks) else { return Ok(()) };
    let (n, gradient, control) = (range.len(), gradient.part(range), scope.control);
    lane.copy(sums.points, gradient)?;
    lane.run(scope.general, CheckFinite { gradient, n, control })
}

/// Puts the sums over all processes that reach variances and shapes in front of those of kernel matrices.
pub fn whole_blocks<T: Real>(back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    back.sums.blocks.map_or(Ok(()), |sums| lane.copy(sums.variances, back.whole_block()))
}

/// The gradients at inducing inputs, on the lane `beside`, and at the kernel's parameters, when all sums are there.
pub fn finish<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    gradient: Span<f64>,
    (lane, beside): (&Lane, &Lane),
) -> Outcome<()> {
    let blueprint = &layer.blueprint;
    let (d, columns, leaves) = (blueprint.width, blueprint.columns(), blueprint.text.leaves);
    let (z, theta) = (scope.inducing(layer), scope.theta(layer));
    let (s, t, z_bar, control) =
        (back.sums.inducing, back.gram_sums, gradient.part(&blueprint.inducing), scope.control);
    let KernelSums { squares, chunks, partial, blocks, diagonal_bar, rows } = back.kernel_sums();
    beside.after(lane)?;
    beside.run(scope.covariance, InducingGradient { z, s, t, theta, columns, control, z_bar, width: d })?;
    let of_theta = ThetaGradient {
        z,
        s,
        t,
        squares,
        chunks,
        partial,
        blocks,
        diagonal_bar,
        rows,
        prior: layer.prepared.prior,
        theta,
        columns,
        control,
        theta_bar: gradient.part(&blueprint.theta),
        leaves,
        width: d,
    };
    lane.run(scope.covariance, of_theta)
}
