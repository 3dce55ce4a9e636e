//! Once a step, rows not involved: kernel matrices, inverse factors, `w`, `R`, `G` and the KL. The equations are those of
//! `deepgp`'s `layer/mean.rs` and `layer/covariance.rs`, all outputs at once.
//!
//! The mean's set and the covariance's go their own ways, on lanes of their own; a tied layer takes the covariance's lane alone.

use deepgp::{CovarianceForm, MeanForm};

use crate::arrays::{GramArrays, LayerArrays};
use crate::fault::Outcome;
use crate::lane::{Factor, Lane, Real, Shape};
use crate::memory::Span;
use crate::program::{FACTOR, Program};

/// Blocks and their threads that factor a matrix together: `CLUSTER` and `FACTOR_WARPS` in `matrix.cu`.
pub const CLUSTER: usize = 8;
pub const FACTOR_WARPS: usize = 16;
/// Columns of an inverse factor that one block computes: `STRIP` in `matrix.cu`.
pub const STRIP: usize = 8;
/// What `invert_lower` takes of shared memory for itself.
pub const INVERT_OWN: usize = 10 << 10;

/// The largest matrix whose factor can be inverted with so much shared memory.
pub fn largest_order(shared: usize) -> usize {
    shared / (STRIP * size_of::<f64>())
}

/// The programs and parameters that a layer's work needs.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    pub general: &'a Program,
    pub kernel: &'a Program,
    /// All parameter values.
    pub values: Span<f64>,
    pub plans: Span<u64>,
    pub control: Span<i32>,
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
    let arguments = [scope.inducing(layer).into(), columns.into(), d.into(), made.z_wide.into(), made.z.into()];
    lane.each(scope.general.get("with_ones"), columns * (d + 1), &arguments)?;
    lane.launch(scope.kernel.get("prior"), (1, 1), 1, 0, &[scope.theta(layer).into(), made.prior.into()])
}

/// The mean's kernel matrix and `w`. For a tied layer, after [`covariance`] and on the same lane.
pub fn mean<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let made = &layer.made;
    let gram = &made.grams[0];
    if made.grams.len() == 2 {
        kernel_matrix(scope, layer, gram, lane)?;
    }
    let (n, p, free, w) = (layer.plan.means, layer.plan.outputs, scope.free(layer), made.weights_wide);
    let r = Factor::new(gram.r, n);
    let [work, _] = made.mean_work;
    let times =
        |a, b: Span<f64>, c: Span<f64>| lane.product(Shape::new(n, p, n), 1.0, a, Factor::new(b, p), 0.0, c, p, 0);
    match layer.plan.mean_form {
        MeanForm::Dual => {}
        MeanForm::ScaledDual => {
            let arguments = [gram.k.into(), free.into(), n.into(), p.into(), w.into()];
            lane.each(scope.general.get("scale_rows"), n * p, &arguments)?;
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
            let (k, work) = (Factor::new(made.grams[0].k, n), made.mean_work[0]);
            lane.product(Shape::new(n, p, n), 1.0, k, Factor::new(w, p), 0.0, work, p, 0)?;
            (w, work)
        }
        MeanForm::Standard => (free, w),
        MeanForm::Whitened => (free, free),
    };
    let arguments = [left.into(), right.into(), 0.5.into(), (n * p).into(), made.mean_kl.into()];
    lane.launch(scope.general.get("dot"), (1, 1), 1024, 0, &arguments)
}

/// The covariance's kernel matrix, `R` and `G`.
pub fn covariance<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let made = &layer.made;
    let gram = &made.grams[made.grams.len() - 1];
    kernel_matrix(scope, layer, gram, lane)?;
    let (m, p, factor) = (layer.plan.covariances, layer.plan.outputs, scope.factor(layer));
    let (square, each) = (m * m, Shape::new(m, m, m).times(p));
    let all = |span: Span<f64>| Factor::new(span, m).each(square);
    let into = |alpha: f64, a, b, c: Span<f64>| lane.product(each, alpha, a, b, 0.0, c, m, square);
    let general = scope.general;
    let complement = |v: Span<f64>| {
        into(-1.0, all(v), all(v).t(), made.explained_wide)?;
        let arguments = [made.explained_wide.into(), m.into(), (p * square).into(), made.explained.into()];
        lane.each(general.get("complement"), p * square, &arguments)
    };
    match (layer.plan.covariance_form, &made.dual) {
        (CovarianceForm::Dual, Some(dual)) => {
            let [k_b, t, ..] = made.square_work;
            into(1.0, Factor::new(gram.k, m), all(factor), k_b)?;
            into(1.0, all(factor).t(), all(k_b), dual.h)?;
            lane.each(general.get("add_identity"), p * m, &[dual.h.into(), m.into(), p.into()])?;
            lane.factor_each(dual.h_addresses, m, dual.infos)?;
            invert(scope, lane, dual.h, dual.r, m, p, dual.log_dets)?;
            into(1.0, all(dual.r).t(), all(dual.r), made.kept)?;
            into(1.0, all(dual.r), all(factor).t(), t)?;
            into(1.0, all(t).t(), all(t), made.explained_wide)?;
            narrow(scope, made.explained_wide, made.explained, lane)
        }
        (CovarianceForm::Standard, _) => {
            into(1.0, Factor::new(gram.r, m), all(factor), made.kept)?;
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
        let arguments = [v.into(), factor.into(), m.into(), log_det.into(), made.covariance_kl.into()];
        lane.launch(scope.general.get("covariance_kl"), (p, 1), 512, 0, &arguments)
    };
    match (layer.plan.covariance_form, &made.dual) {
        (CovarianceForm::Dual, Some(dual)) => {
            let arguments = [made.kept.into(), m.into(), dual.log_dets.into(), made.covariance_kl.into()];
            lane.launch(scope.general.get("dual_kl"), (p, 1), 256, 0, &arguments)
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
        let arguments = [z.into(), theta.into(), n.into(), gram.norms.into(), gram.scaled.into()];
        lane.launch(scope.kernel.get("wide_norms"), ((n * leaves * 32).div_ceil(256), 1), 256, 0, &arguments)?;
        let (points, scaled) = (Factor::new(z.from(1), d + 1), Factor::new(gram.scaled, d).t().each(n * d));
        lane.product(Shape::new(n, n, d).times(leaves), 1.0, points, scaled, 0.0, gram.products, n, n * n)?;
    }
    let arguments = [
        z.into(),
        theta.into(),
        gram.jitter.into(),
        gram.products.into(),
        gram.norms.into(),
        n.into(),
        gram.k.into(),
        gram.l.into(),
    ];
    lane.launch(scope.kernel.get("gram"), (n.div_ceil(64), n.div_ceil(32)), 256, 0, &arguments)?;
    if !gram.plan.factored {
        return Ok(());
    }
    match scope.general.find(FACTOR) {
        Some(kernel) => {
            lane.launch(kernel, (CLUSTER, 1), 32 * FACTOR_WARPS, 0, &[gram.l.into(), n.into(), gram.info.into()])?;
        }
        None => lane.factor(gram.l, n, gram.workspace, gram.info)?,
    }
    invert(scope, lane, gram.l, gram.r, n, 1, gram.log_det)
}

/// `r = l⁻¹` for `count` lower triangles one after the other, and `log |l lᵀ|` of each.
fn invert(
    scope: Scope<'_>,
    lane: &Lane,
    l: Span<f64>,
    r: Span<f64>,
    n: usize,
    count: usize,
    log_dets: Span<f64>,
) -> Outcome<()> {
    let arguments = [l.into(), r.into(), n.into(), log_dets.into()];
    let shared = n * STRIP * size_of::<f64>();
    lane.launch(scope.general.get("invert_lower"), (n.div_ceil(STRIP), count), 32 * STRIP, shared, &arguments)
}

/// `wide` in the rows' precision, unless it already is.
pub fn narrow<T: Real>(scope: Scope<'_>, wide: Span<f64>, to: Span<T>, lane: &Lane) -> Outcome<()> {
    if T::alias(wide).is_some() {
        return Ok(());
    }
    lane.each(scope.general.get("narrow"), wide.len(), &[wide.into(), to.into(), wide.len().into()])
}
