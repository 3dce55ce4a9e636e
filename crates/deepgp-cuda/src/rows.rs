//! All rows of a batch through one layer, forward and backward. The equations are those of `deepgp`'s `layer/rows.rs`.
//!
//! Sums over rows are products that are cut into chunks of rows, so that there are enough of them to keep the device busy, and then
//! added up in order. In `mixed` precision the factors of most may be rounded to TF32. They run on the layer's own lanes, beside the way back
//! through the layers below.

use deepgp::{Floor, MeanFunction};

use crate::arrays::{BackArrays, LayerArrays, RowArrays};
use crate::chunks::{LIKELIHOOD_ROWS, SQUARE_CHUNKS, chunks, symmetric_blocks, symmetric_chunks};
use crate::fault::Outcome;
use crate::lane::{Factor, Lane, Real, Shape};
use crate::memory::Span;
use crate::program::SYMMETRIC_SUMS;
use crate::prologue::Scope;

/// Outputs that a thread of `through_variance` has under way: as in `rows.cu`.
pub const UNDER_WAY: usize = 10;

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
        let norms = scope.kernel.get("norms");
        let warps = |rows: usize| (rows * leaves * 32).div_ceil(256);
        let none = Span::<T>::NONE;
        let arguments = [own.x.into(), theta.into(), n.into(), own.x_norms.into(), none.into()];
        beside.after(lane)?;
        beside.launch(norms, (warps(n), 1), 256, 0, &arguments)?;
        let arguments = [made.z.into(), theta.into(), columns.into(), own.z_norms.into(), own.z_scaled.into()];
        lane.launch(norms, (warps(columns), 1), 256, 0, &arguments)?;
        let x = Factor::new(own.x.from(1), d + 1);
        let z = Factor::new(own.z_scaled, d).t().each(columns * d);
        lane.product(Shape::new(n, columns, d).times(leaves), 1.0, x, z, 0.0, own.products, columns, n * columns)?;
        lane.after(beside)?;
    }
    let arguments = [
        own.x.into(),
        made.z.into(),
        theta.into(),
        own.products.into(),
        own.x_norms.into(),
        own.z_norms.into(),
        n.into(),
        columns.into(),
        own.k.into(),
    ];
    lane.launch(scope.kernel.get("cross"), (columns.div_ceil(64), n.div_ceil(32)), 256, 0, &arguments)
}

/// `A` and `Q`, after the covariance's part of the prologue.
pub fn project<T: Real>(layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (plan, made, own) = (&layer.plan, &layer.made, &layer.rows);
    let (n, m, p) = (own.rows, plan.covariances, plan.outputs);
    if plan.projects() {
        let k_b = Factor::new(own.k.from(plan.start), plan.columns());
        lane.product(Shape::new(n, m, m), 1.0, k_b, Factor::new(made.projection, m).t(), 0.0, own.a, m, 0)?;
    }
    let (a, g) = (Factor::new(own.a, own.a_stride), Factor::new(made.explained, m).t());
    lane.product(Shape::new(n, p * m, m), 1.0, a, g, 0.0, own.q, p * m, 0)
}

/// `mean`, after the mean's part of the prologue.
pub fn means<T: Real>(layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (plan, made, own) = (&layer.plan, &layer.made, &layer.rows);
    let (n, d, p) = (own.rows, plan.width, plan.outputs);
    let (k_a, w) = (Factor::new(own.k, plan.columns()), Factor::new(made.weights, p));
    lane.product(Shape::new(n, p, plan.means), 1.0, k_a, w, 0.0, own.mean, p, 0)?;
    if let (MeanFunction::Linear(_), Some(linear)) = (&plan.mean_function, made.linear) {
        let x = Factor::new(own.x.from(1), d + 1);
        lane.product(Shape::new(n, p, d), 1.0, x, Factor::new(linear, p), 1.0, own.mean, p, 0)?;
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
    let (n, d, p, m) = (own.rows, plan.width, plan.outputs, plan.covariances);
    let arguments = [
        own.a.into(),
        own.a_stride.into(),
        own.q.into(),
        made.prior.into(),
        setting.floor.absolute.into(),
        setting.floor.relative.into(),
        own.x.into(),
        d.into(),
        plan.hands_on().into(),
        n.into(),
        p.into(),
        m.into(),
        fan.into(),
        scope.plans.into(),
        scope.control.into(),
        own.mean.into(),
        own.variance.into(),
    ];
    lane.launch(scope.general.get("moments"), ((n * p * 32).div_ceil(256), 1), 256, 0, &arguments)
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
    let (p, fan) = (below.plan.outputs, above.rows.rows / rows);
    let (given, ids, key) = match setting.noise {
        NoiseSource::Rows { key } => (Span::NONE, setting.ids, key),
        NoiseSource::Shared { key } => (Span::NONE, Span::NONE, key),
        NoiseSource::Given => (given, Span::NONE, [0; 2]),
    };
    let arguments = [
        mean.into(),
        variance.into(),
        given.into(),
        ids.into(),
        key[0].into(),
        key[1].into(),
        (index as u32).into(),
        rows.into(),
        fan.into(),
        setting.samples.into(),
        p.into(),
        scope.plans.into(),
        scope.control.into(),
        noise.into(),
        above.rows.x.into(),
    ];
    lane.each(scope.general.get("sample"), rows * fan * p, &arguments)
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
    let rows = last.rows.rows;
    let arguments = [
        last.rows.mean.into(),
        last.rows.variance.into(),
        targets.y.into(),
        targets.weights.into(),
        setting.ids.into(),
        targets.noise.into(),
        rows.into(),
        fan.into(),
        last.plan.outputs.into(),
        scope.plans.into(),
        scope.control.into(),
        back.mean_bar.into(),
        back.variance_bar.into(),
        targets.partial.into(),
    ];
    let grid = (rows.div_ceil(LIKELIHOOD_ROWS), 1);
    lane.launch(scope.general.get("gaussian"), grid, LIKELIHOOD_ROWS, 0, &arguments)
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
    let (rows, p) = (below.rows.rows, below.plan.outputs);
    let arguments = [
        x_bar.into(),
        below.rows.noise.into(),
        below.rows.variance.into(),
        rows.into(),
        fan.into(),
        p.into(),
        back.mean_bar.into(),
        back.variance_bar.into(),
    ];
    lane.each(scope.general.get("sample_pullback"), rows * p, &arguments)
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
    let Floor { absolute, relative } = setting.floor;
    let arguments = [
        own.a.into(),
        own.a_stride.into(),
        own.q.into(),
        own.variance.into(),
        back.variance_bar.into(),
        layer.made.prior.into(),
        absolute.into(),
        relative.into(),
        layer.plan.outputs.into(),
        layer.plan.covariances.into(),
        back.e.into(),
        back.a_bar.into(),
        back.diagonal_bar.into(),
    ];
    let threads = layer.plan.covariances.next_multiple_of(32).min(256);
    // Whole groups, and one more, since the compiler reads pairs.
    let shared = (layer.plan.outputs.next_multiple_of(UNDER_WAY) + 1) * size_of::<T>();
    lane.launch(scope.general.get("through_variance"), (own.rows, 1), threads, shared, &arguments)
}

/// `W` of the kernel's pullback, after [`through_variance`].
pub fn weigh<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    let (plan, made, own) = (&layer.plan, &layer.made, &layer.rows);
    let (n, m, columns) = (own.rows, plan.covariances, plan.columns());
    let kb_bar = match plan.projects() {
        true => {
            let (a_bar, r) = (Factor::new(back.a_bar, m), Factor::new(made.projection, m));
            lane.product(Shape::new(n, m, m), 1.0, a_bar, r, 0.0, back.kb_bar, m, 0)?;
            back.kb_bar
        }
        false => back.a_bar,
    };
    let arguments = [
        own.k.into(),
        own.x.into(),
        made.z.into(),
        scope.theta(layer).into(),
        own.products.into(),
        own.x_norms.into(),
        own.z_norms.into(),
        back.mean_bar.into(),
        made.weights.into(),
        plan.outputs.into(),
        plan.means.into(),
        kb_bar.into(),
        plan.start.into(),
        n.into(),
        columns.into(),
        back.w.into(),
        back.partial.into(),
    ];
    lane.launch(scope.kernel.get("weigh"), (columns.div_ceil(64), n.div_ceil(32)), 256, 0, &arguments)
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
    let w = Factor::new(back.w, columns).each(n * columns);
    let (z, width) = (Factor::new(made.z, d + 1), back.x_sums_width);
    lane.product(Shape::new(n, width, columns).times(leaves), 1.0, w, z, 0.0, back.x_sums, width, n * width)?;
    if first {
        return Ok(());
    }
    let mut add = false;
    if let (MeanFunction::Linear(_), Some(linear)) = (&plan.mean_function, made.linear) {
        let (mean_bar, linear) = (Factor::new(back.mean_bar, p), Factor::new(linear, p).t());
        lane.product(Shape::new(n, d, p), 1.0, mean_bar, linear, 0.0, back.x_bar, d, 0)?;
        add = true;
    }
    let arguments = [
        own.x.into(),
        back.x_sums.into(),
        scope.theta(layer).into(),
        back.mean_bar.into(),
        p.into(),
        plan.hands_on().into(),
        add.into(),
        n.into(),
        back.x_bar.into(),
    ];
    lane.each(scope.kernel.get("input_gradient"), n * d, &arguments)
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
    let (k_a, mean_bar) = (Factor::new(own.k, columns), Factor::new(back.mean_bar, p));
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
    let Some(kernel) = back.symmetric.then(|| scope.general.get(SYMMETRIC_SUMS)) else {
        let (scaled, a) = (Factor::new(own.q, p * m), Factor::new(own.a, own.a_stride));
        let sum =
            RowSum { m: p * m, n: m, rows: own.rows, left: (scaled, p * m), right: (a, own.a_stride), rough: true };
        return sum.run(scope, back.explained_chunks, back.explained_bar, lane);
    };
    let chunks = symmetric_chunks(own.rows, m, p);
    let arguments = [
        own.a.into(),
        own.a_stride.into(),
        back.e.into(),
        own.rows.into(),
        own.rows.div_ceil(chunks).into(),
        p.into(),
        m.into(),
        back.explained_chunks.into(),
    ];
    let (pairs, groups) = symmetric_blocks(m, p);
    lane.launch(kernel, (pairs, groups * chunks), 256, 0, &arguments)?;
    let arguments = [back.explained_chunks.into(), chunks.into(), p.into(), m.into(), back.explained_bar.into()];
    lane.each(scope.general.get("sum_triangles"), p * m * m, &arguments)
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
    let (a_bar, k_b) = (Factor::new(back.a_bar, m), Factor::new(own.k.from(plan.start), columns));
    let sum = RowSum { m, n: m, rows: own.rows, left: (a_bar, m), right: (k_b, columns), rough: true };
    sum.run(scope, back.projection_chunks, back.projection_bar, lane)?;
    lane.each(scope.general.get("clear_above"), m * m, &[back.projection_bar.into(), m.into()])
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
        let (w, x) = (Factor::new(back.w.from(leaf * n * columns), columns), Factor::new(own.x, d + 1));
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
        let arguments = [
            back.x_sums.from(leaf * n * stride).into(),
            stride.into(),
            own.x.into(),
            n.into(),
            d.into(),
            n.div_ceil(SQUARE_CHUNKS).into(),
            back.squares.from(leaf * SQUARE_CHUNKS * d).into(),
        ];
        let threads = d.next_multiple_of(32).min(256);
        lane.launch(scope.general.get("weighted_squares"), (SQUARE_CHUNKS, 1), threads, 0, &arguments)?;
    }
    Ok(())
}

/// `Σ_n leftᵀ right`, an `[m, n]` matrix; each factor with the stride of its rows.
struct RowSum<T> {
    m: usize,
    n: usize,
    rows: usize,
    left: (Factor<T>, usize),
    right: (Factor<T>, usize),
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
        lane.product(shape, 1.0, left, right, 0.0, partial, n, m * n)?;
        let arguments = [partial.into(), chunks.into(), (m * n).into(), false.into(), to.into()];
        lane.each(scope.general.get("sum_chunks"), m * n, &arguments)
    }
}
