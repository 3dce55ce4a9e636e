//! All rows of a batch through one layer, forward and backward. The equations are those of `deepgp`'s `layer/rows.rs`.
//!
//! Sums over rows are products that are cut into chunks of rows, so that there are enough of them to keep the device busy, and then
//! added up in order. In `mixed` precision the factors of most may be rounded to TF32. They run on the layer's own lanes, beside the way back
//! through the layers below.

use deepgp::{Floor, MeanFunction};

use crate::arrays::{BackArrays, LayerArrays, RowArrays};
use crate::chunks::{SQUARE_CHUNKS, chunks, symmetric_chunks};
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::product::{Operand, Shape};
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::covariance::{Cross, InputGradient, Norms, Weigh};
use crate::kernels::matrix::{ClearAbove, SumChunks};
use crate::kernels::rows::{Gaussian, Moments, Sample, SamplePullback, ThroughVariance, WeightedSquares};
use crate::kernels::symmetric::{SumTriangles, SymmetricSums};
use crate::prologue::Scope;

/// Where samples of the hidden layers get their noise.
#[derive(Clone, Copy, Debug)]
pub enum NoiseSource {
    /// Each row has its own, by its number: training.
    Rows {
        /// Philox's key.
        key: [u32; 2],
    },
    /// The same for all rows: prediction.
    Shared {
        /// Philox's key.
        key: [u32; 2],
    },
    /// It was uploaded.
    Given,
}

/// What does not change from layer to layer.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub floor: Floor,
    pub samples: usize,
    pub noise: NoiseSource,
    pub ids: Span<u32>,
}

/// `k(x, Z)` for the rows in `rows.x`: needs [`crate::prologue::begin`] alone.
pub fn cross<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane, beside: &Lane) -> Outcome<()> {
    let (plan, made, own) = (&layer.plan, &layer.made, &layer.rows);
    let (n, columns, d, leaves) = (own.rows, plan.columns(), plan.width, plan.text.leaves);
    let theta = scope.theta(layer);
    if plan.text.products {
        beside.after(lane)?;
        let of_rows = Norms { x1: own.x, theta, rows: n, norm: own.x_norms, scaled: Span::NONE, leaves };
        beside.run(scope.covariance, of_rows)?;
        let of_inducing = Norms { x1: made.z, theta, rows: columns, norm: own.z_norms, scaled: own.z_scaled, leaves };
        lane.run(scope.covariance, of_inducing)?;
        let x = Operand::new(own.x.from(1), d + 1);
        let z = Operand::new(own.z_scaled, d).t().each(columns * d);
        let to = Operand::new(own.products, columns).each(n * columns);
        lane.product(Shape::new(n, columns, d).times(leaves), 1.0, x, z, 0.0, to)?;
        lane.after(beside)?;
    }
    let RowArrays { products, x_norms, z_norms, k, .. } = *own;
    lane.run(scope.covariance, Cross { x1: own.x, z1: made.z, theta, products, x_norms, z_norms, rows: n, columns, k })
}

/// `A` and `Q`, after the covariance's part of the prologue.
pub fn project<T: Real>(layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (plan, made, own) = (&layer.plan, &layer.made, &layer.rows);
    let (n, m, p) = (own.rows, plan.covariances, plan.outputs);
    if plan.projects() {
        let k_b = Operand::new(own.k.from(plan.start), plan.columns());
        let r = Operand::new(made.projection, m);
        lane.product(Shape::new(n, m, m), 1.0, k_b, r.t(), 0.0, Operand::new(own.a, m))?;
    }
    let (a, g) = (Operand::new(own.a, own.a_stride), Operand::new(made.explained, m).t());
    lane.product(Shape::new(n, p * m, m), 1.0, a, g, 0.0, Operand::new(own.q, p * m))
}

/// `mean`, after the mean's part of the prologue.
pub fn means<T: Real>(layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (plan, made, own) = (&layer.plan, &layer.made, &layer.rows);
    let (n, d, p) = (own.rows, plan.width, plan.outputs);
    let (k_a, w, mean) =
        (Operand::new(own.k, plan.columns()), Operand::new(made.weights, p), Operand::new(own.mean, p));
    lane.product(Shape::new(n, p, plan.means), 1.0, k_a, w, 0.0, mean)?;
    if let (MeanFunction::Linear(_), Some(linear)) = (&plan.mean_function, made.linear) {
        let x = Operand::new(own.x.from(1), d + 1);
        lane.product(Shape::new(n, p, d), 1.0, x, Operand::new(linear, p), 1.0, mean)?;
    }
    Ok(())
}

/// `variance`, after [`project`], and the mean function's share of `mean`, after [`means`].
pub fn moments<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    setting: Setting,
    fan: usize,
    lane: &Lane,
) -> Outcome<()> {
    let (plan, made, own) = (&layer.plan, &layer.made, &layer.rows);
    let moments = Moments {
        a: own.a,
        a_stride: own.a_stride,
        q: own.q,
        prior: made.prior,
        floor_absolute: setting.floor.absolute,
        floor_relative: setting.floor.relative,
        x1: own.x,
        width: plan.width,
        identity: plan.hands_on(),
        rows: own.rows,
        outputs: plan.outputs,
        m: plan.covariances,
        fan,
        steps: scope.steps,
        control: scope.control,
        mean: own.mean,
        variance: own.variance,
    };
    lane.run(scope.general, moments)
}

/// Samples of hidden layer `index` into the rows of the one above it.
pub fn sample<T: Real>(
    scope: Scope<'_>,
    below: &LayerArrays<T>,
    above: &LayerArrays<T>,
    index: usize,
    setting: Setting,
    lane: &Lane,
) -> Outcome<()> {
    let RowArrays { rows, mean, variance, noise, given, .. } = below.rows;
    let (given, ids, [k0, k1]) = match setting.noise {
        NoiseSource::Rows { key } => (Span::NONE, setting.ids, key),
        NoiseSource::Shared { key } => (Span::NONE, Span::NONE, key),
        NoiseSource::Given => (given, Span::NONE, [0; 2]),
    };
    let sample = Sample {
        mean,
        variance,
        given,
        ids,
        k0,
        k1,
        layer: index as u32,
        rows,
        fan: above.rows.rows / rows,
        samples: setting.samples,
        outputs: below.plan.outputs,
        steps: scope.steps,
        control: scope.control,
        noise,
        x1: above.rows.x,
    };
    lane.run(scope.general, sample)
}

/// Targets and where their sums go.
#[derive(Clone, Copy, Debug)]
pub struct Targets {
    pub y: Span<f64>,
    pub weights: Span<f64>,
    pub noise: Span<f64>,
    pub partial: Span<f64>,
}

/// The likelihood at the last layer's moments.
pub fn likelihood<T: Real>(
    scope: Scope<'_>,
    last: &LayerArrays<T>,
    back: &BackArrays<T>,
    targets: Targets,
    setting: Setting,
    fan: usize,
    lane: &Lane,
) -> Outcome<()> {
    let gaussian = Gaussian {
        mean: last.rows.mean,
        variance: last.rows.variance,
        y: targets.y,
        weights: targets.weights,
        ids: setting.ids,
        noise: targets.noise,
        rows: last.rows.rows,
        samples: fan,
        outputs: last.plan.outputs,
        steps: scope.steps,
        control: scope.control,
        mean_bar: back.mean_bar,
        variance_bar: back.variance_bar,
        partial: targets.partial,
    };
    lane.run(scope.general, gaussian)
}

/// From the gradients at samples of a layer to those at its moments.
pub fn sample_pullback<T: Real>(
    scope: Scope<'_>,
    below: &LayerArrays<T>,
    back: &BackArrays<T>,
    x_bar: Span<T>,
    fan: usize,
    lane: &Lane,
) -> Outcome<()> {
    let RowArrays { noise, variance, rows, .. } = below.rows;
    let BackArrays { mean_bar, variance_bar, .. } = *back;
    let outputs = below.plan.outputs;
    lane.run(scope.general, SamplePullback { x_bar, noise, variance, rows, fan, outputs, mean_bar, variance_bar })
}

/// From `variance_bar` to `Ā` and `e`; where [`explained_sum`] is a product, `Q` becomes `e ∘ A` instead.
pub fn through_variance<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    setting: Setting,
    lane: &Lane,
) -> Outcome<()> {
    let own = &layer.rows;
    let through_variance = ThroughVariance {
        a: own.a,
        a_stride: own.a_stride,
        q: own.q,
        variance: own.variance,
        variance_bar: back.variance_bar,
        prior: layer.made.prior,
        floor_absolute: setting.floor.absolute,
        floor_relative: setting.floor.relative,
        outputs: layer.plan.outputs,
        m: layer.plan.covariances,
        e: back.e,
        a_bar: back.a_bar,
        diagonal_bar: back.diagonal_bar,
        rows: own.rows,
    };
    lane.run(scope.general, through_variance)
}

/// `W` of the kernel's pullback, after [`through_variance`].
pub fn weigh<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    let (plan, made, own) = (&layer.plan, &layer.made, &layer.rows);
    let (n, m) = (own.rows, plan.covariances);
    let kb_bar = match plan.projects() {
        true => {
            let (a_bar, r) = (Operand::new(back.a_bar, m), Operand::new(made.projection, m));
            lane.product(Shape::new(n, m, m), 1.0, a_bar, r, 0.0, Operand::new(back.kb_bar, m))?;
            back.kb_bar
        }
        false => back.a_bar,
    };
    let weigh = Weigh {
        k: own.k,
        x1: own.x,
        z1: made.z,
        theta: scope.theta(layer),
        products: own.products,
        x_norms: own.x_norms,
        z_norms: own.z_norms,
        mean_bar: back.mean_bar,
        weights: made.weights,
        outputs: plan.outputs,
        means: plan.means,
        kb_bar,
        start: plan.start,
        rows: n,
        columns: plan.columns(),
        w: back.w,
        partial: back.partial,
    };
    lane.run(scope.covariance, weigh)
}

/// `x_bar`, after [`weigh`]; for the first layer only the sums that the lengthscales need.
pub fn inputs<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    first: bool,
    lane: &Lane,
) -> Outcome<()> {
    let (plan, made, own) = (&layer.plan, &layer.made, &layer.rows);
    let (n, d, p, columns, leaves) = (own.rows, plan.width, plan.outputs, plan.columns(), plan.text.leaves);
    let w = Operand::new(back.w, columns).each(n * columns);
    let (z, width) = (Operand::new(made.z, d + 1), back.x_sums_width);
    let sums = Operand::new(back.x_sums, width).each(n * width);
    lane.product(Shape::new(n, width, columns).times(leaves), 1.0, w, z, 0.0, sums)?;
    if first {
        return Ok(());
    }
    let mut add = false;
    if let (MeanFunction::Linear(_), Some(linear)) = (&plan.mean_function, made.linear) {
        let (mean_bar, linear) = (Operand::new(back.mean_bar, p), Operand::new(linear, p).t());
        lane.product(Shape::new(n, d, p), 1.0, mean_bar, linear, 0.0, Operand::new(back.x_bar, d))?;
        add = true;
    }
    let gradient = InputGradient {
        x1: own.x,
        s: back.x_sums,
        theta: scope.theta(layer),
        mean_bar: back.mean_bar,
        outputs: p,
        identity: plan.hands_on(),
        add,
        rows: n,
        x_bar: back.x_bar,
        width: d,
    };
    lane.run(scope.covariance, gradient)
}

/// `w̄`, after [`through_variance`].
pub fn weights_sum<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    lane: &Lane,
) -> Outcome<()> {
    let (plan, own) = (&layer.plan, &layer.rows);
    let (p, columns) = (plan.outputs, plan.columns());
    let (k_a, mean_bar) = (Operand::new(own.k, columns), Operand::new(back.mean_bar, p));
    let sum = RowSum { m: plan.means, n: p, rows: own.rows, left: (k_a, columns), right: (mean_bar, p), rough: true };
    sum.run(scope, back.weights_chunks, back.weights_bar, lane)
}

/// `Ḡ`, after [`through_variance`]: by a kernel of its own where the device has one for it, else as a product.
pub fn explained_sum<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    lane: &Lane,
) -> Outcome<()> {
    let (plan, own) = (&layer.plan, &layer.rows);
    let (m, p) = (plan.covariances, plan.outputs);
    if !back.symmetric {
        let (scaled, a) = (Operand::new(own.q, p * m), Operand::new(own.a, own.a_stride));
        let sum =
            RowSum { m: p * m, n: m, rows: own.rows, left: (scaled, p * m), right: (a, own.a_stride), rough: true };
        return sum.run(scope, back.explained_chunks, back.explained_bar, lane);
    }
    let (chunks, partial) = (symmetric_chunks(own.rows, m, p), back.explained_chunks);
    let sums = SymmetricSums {
        a: own.a,
        a_stride: own.a_stride,
        e: back.e,
        all_rows: own.rows,
        chunk_rows: own.rows.div_ceil(chunks),
        outputs: p,
        m,
        partial,
        chunks,
    };
    lane.run(scope.general, sums)?;
    lane.run(scope.general, SumTriangles { from: partial, chunks, outputs: p, m, to: back.explained_bar })
}

/// The lower triangle of `R̄`, where rows are projected, after [`through_variance`].
pub fn projection_sum<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    lane: &Lane,
) -> Outcome<()> {
    let (plan, own) = (&layer.plan, &layer.rows);
    let (m, columns) = (plan.covariances, plan.columns());
    if !plan.projects() {
        return Ok(());
    }
    let (a_bar, k_b) = (Operand::new(back.a_bar, m), Operand::new(own.k.from(plan.start), columns));
    let sum = RowSum { m, n: m, rows: own.rows, left: (a_bar, m), right: (k_b, columns), rough: true };
    sum.run(scope, back.projection_chunks, back.projection_bar, lane)?;
    lane.run(scope.general, ClearAbove { m: back.projection_bar, n: m })
}

/// `Wᵀ [1 | x]`, after [`weigh`].
pub fn inducing_sums<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    lane: &Lane,
) -> Outcome<()> {
    let (plan, own) = (&layer.plan, &layer.rows);
    let (n, d, columns) = (own.rows, plan.width, plan.columns());
    let size = columns * (d + 1);
    for leaf in 0..plan.text.leaves {
        let (w, x) = (Operand::new(back.w.from(leaf * n * columns), columns), Operand::new(own.x, d + 1));
        // Not rough: the gradients of lengthscales and inducing inputs are small differences of these sums.
        let sum = RowSum { m: columns, n: d + 1, rows: n, left: (w, columns), right: (x, d + 1), rough: false };
        sum.run(scope, back.z_chunks, back.z_sums.from(leaf * size).first(size), lane)?;
    }
    Ok(())
}

/// `Σ s_n x_n²`, after [`inputs`].
pub fn squares<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    let (own, d) = (&layer.rows, layer.plan.width);
    let (n, stride) = (own.rows, back.x_sums_width);
    for leaf in 0..layer.plan.text.leaves {
        let squares = WeightedSquares {
            s: back.x_sums.from(leaf * n * stride),
            s_stride: stride,
            x1: own.x,
            rows: n,
            width: d,
            chunk_rows: n.div_ceil(SQUARE_CHUNKS),
            partial: back.squares.from(leaf * SQUARE_CHUNKS * d),
            chunks: SQUARE_CHUNKS,
        };
        lane.run(scope.general, squares)?;
    }
    Ok(())
}

/// `Σ_n leftᵀ right`, an `[m, n]` matrix; each factor with the stride of its rows.
struct RowSum<T> {
    m: usize,
    n: usize,
    rows: usize,
    left: (Operand<T>, usize),
    right: (Operand<T>, usize),
    /// Whether `f32` factors may be rounded to the digits of TF32.
    rough: bool,
}

impl<T: Real> RowSum<T> {
    fn run(&self, scope: Scope<'_>, partial: Span<T>, to: Span<f64>, lane: &Lane) -> Outcome<()> {
        let Self { m, n, rows, .. } = *self;
        let chunks = chunks(m, n);
        let own = rows / chunks;
        let (left, right) = (self.left.0.t().each(own * self.left.1), self.right.0.each(own * self.right.1));
        let shape = Shape::new(m, n, own).times(chunks);
        let shape = if self.rough { shape.roughly() } else { shape };
        lane.product(shape, 1.0, left, right, 0.0, Operand::new(partial, n).each(m * n))?;
        lane.run(scope.general, SumChunks { from: partial, chunks, n: m * n, add: false, to })
    }
}
