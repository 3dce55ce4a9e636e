//! Every array of a task on the device. One function lays them out; it runs once to measure and once for real.

use deepgp::{CovarianceForm, MeanForm, MeanFunction};

use crate::blueprint::{Blueprint, GramPlan, LayerPlan};
use crate::chunks::{SQUARE_CHUNKS, SYMMETRIC_FROM, chunks, symmetric_chunks};
use crate::device::lane::WORKSPACE;
use crate::device::memory::{Arena, Span};
use crate::device::real::Real;
use crate::kernels::common::{Control, Step};
use crate::kernels::covariance::tiles;
use crate::kernels::rows::LIKELIHOOD_ROWS;

/// What a task is to do, and with how much.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Rows of a batch, filled up.
    pub rows: usize,
    /// Samples of the hidden layers for each row.
    pub samples: usize,
    /// Whether it goes backward too.
    pub gradients: bool,
    /// Steps that are planned at once.
    pub plans: usize,
    /// Rows of the dataset that stays on the device.
    pub data: usize,
    /// Whether they have weights.
    pub weighted: bool,
    /// Whether the noise is given.
    pub given_noise: bool,
    /// Lanes, each with a workspace.
    pub lanes: usize,
    /// Whether the device has a kernel of its own for `Ḡ`.
    pub symmetric: bool,
}

/// One kernel matrix of inducing inputs.
#[derive(Clone, Copy, Debug)]
pub struct GramArrays {
    pub plan: GramPlan,
    /// `K` with its jitter, `[n, n]`.
    pub k: Span<f64>,
    /// `L`, and `R = L⁻¹` where it is factored.
    pub l: Span<f64>,
    pub r: Span<f64>,
    pub log_det: Span<f64>,
    /// For distances by products.
    pub products: Span<f64>,
    pub norms: Span<f64>,
    pub scaled: Span<f64>,
    /// Jitter: absolute, relative.
    pub jitter: Span<f64>,
    /// What the factorisation said.
    pub info: Span<i32>,
    pub workspace: Span<f64>,
    /// The gradient at `K`, and working memory of the same size.
    pub k_bar: Span<f64>,
    pub work: [Span<f64>; 2],
    /// `∂/∂r²` of each leaf, and the sums that go with it.
    pub weights: Span<f64>,
    pub partial: Span<f64>,
}

/// What the dual covariance needs beside, `[P, M_b, M_b]` each.
#[derive(Clone, Copy, Debug)]
pub struct DualArrays {
    pub h: Span<f64>,
    pub h_addresses: Span<u64>,
    pub r: Span<f64>,
    pub log_dets: Span<f64>,
    pub infos: Span<i32>,
}

/// What a layer is made into once a step.
#[derive(Clone, Debug)]
pub struct PreparedArrays<T> {
    pub prior: Span<f64>,
    /// `[1 | Z]`.
    pub z_wide: Span<f64>,
    pub z: Span<T>,
    pub grams: Vec<GramArrays>,
    /// `w`, `[M_a, P]`.
    pub weights_wide: Span<f64>,
    pub weights: Span<T>,
    /// `R` of the covariance's set.
    pub projection: Span<T>,
    /// `G`, `[P, M_b, M_b]`.
    pub explained_wide: Span<f64>,
    pub explained: Span<T>,
    /// `V` (standard) or `H⁻¹` (dual).
    pub kept: Span<f64>,
    pub dual: Option<DualArrays>,
    /// `[M_a, P]` working memory.
    pub mean_work: [Span<f64>; 2],
    /// `[P, M_b, M_b]` working memory.
    pub square_work: [Span<f64>; 4],
    /// The fixed mean function's matrix, `[D, P]`.
    pub linear: Option<Span<T>>,
    /// The mean's share of the KL, and the covariance's, a number for each output.
    pub mean_kl: Span<f64>,
    pub covariance_kl: Span<f64>,
}

/// A layer's rows, forward.
#[derive(Clone, Debug)]
pub struct RowArrays<T> {
    /// How many rows it sees.
    pub rows: usize,
    /// `[1 | x]`.
    pub x: Span<T>,
    /// For distances by products.
    pub products: Span<T>,
    pub x_norms: Span<T>,
    pub z_norms: Span<T>,
    pub z_scaled: Span<T>,
    pub k: Span<T>,
    pub a: Span<T>,
    pub a_stride: usize,
    pub q: Span<T>,
    pub mean: Span<T>,
    pub variance: Span<T>,
    /// The noise that samples of it take, and that which is given.
    pub noise: Span<T>,
    pub given: Span<f64>,
}

/// A layer's rows, backward, and sums over them: by chunks, then whole.
#[derive(Clone, Debug)]
pub struct BackArrays<T> {
    pub mean_bar: Span<T>,
    pub variance_bar: Span<T>,
    pub a_bar: Span<T>,
    /// Whether `Ḡ` is summed by a kernel of its own; then `e` stands beside `Q`, else it is multiplied into it.
    pub symmetric: bool,
    pub e: Span<T>,
    pub kb_bar: Span<T>,
    pub w: Span<T>,
    /// Sums for variances and shapes, of rows and kernel matrices: blocks of rows come first.
    pub partial: Span<f64>,
    pub blocks: usize,
    pub diagonal_bar: Span<f64>,
    /// `W [1 | z]` of the rows, `[leaves, rows, D + 1]`; only the first column for the first layer.
    pub x_sums: Span<T>,
    pub x_sums_width: usize,
    pub x_bar: Span<T>,
    pub squares: Span<f64>,
    pub weights_chunks: Span<T>,
    pub projection_chunks: Span<T>,
    pub explained_chunks: Span<T>,
    pub z_chunks: Span<T>,
    pub weights_bar: Span<f64>,
    pub projection_bar: Span<f64>,
    pub explained_bar: Span<f64>,
    pub z_sums: Span<f64>,
    pub gram_sums: Span<f64>,
}

/// One layer.
#[derive(Clone, Debug)]
pub struct LayerArrays<T> {
    pub plan: LayerPlan,
    pub made: PreparedArrays<T>,
    pub rows: RowArrays<T>,
    /// Where gradients are wanted.
    pub back: Option<BackArrays<T>>,
}

/// Parameters, optimiser, data and plans.
#[derive(Clone, Debug)]
pub struct Arrays<T> {
    pub layers: Vec<LayerArrays<T>>,
    /// Parameter values, and what the optimiser keeps beside: raw, first, second.
    pub values: Span<f64>,
    pub raw: Span<f64>,
    pub first: Span<f64>,
    pub second: Span<f64>,
    /// Raw, first, second and values before the last update.
    pub before: Span<f64>,
    pub gradient: Span<f64>,
    pub floors: Span<f64>,
    pub frozen: Span<u8>,
    pub x: Span<T>,
    pub y: Span<f64>,
    pub weights: Span<f64>,
    pub ids: Span<u32>,
    pub steps: Span<Step>,
    pub control: Span<Control>,
    pub records: Span<f64>,
    pub infos: Span<i32>,
    pub kls: Span<f64>,
    /// Sums of the likelihood by blocks.
    pub likelihood: Span<f64>,
    pub workspaces: Vec<Span<u8>>,
}

fn when(yes: bool, n: usize) -> usize {
    if yes { n } else { 0 }
}

impl<T: Real> Arrays<T> {
    /// Lays everything out. `factor_workspace` says how much a factorisation of an order needs.
    pub fn new(
        blueprint: &Blueprint,
        task: Task,
        factor_workspace: &dyn Fn(usize) -> usize,
        arena: &mut Arena,
    ) -> Self {
        let n = blueprint.parameters;
        let train = when(task.gradients, n);
        let factors: usize = blueprint.layers.iter().map(factors).sum();
        let values = arena.take(n);
        let infos: Span<i32> = arena.take(factors);
        let kls: Span<f64> = arena.take(blueprint.layers.iter().map(divergences).sum());
        let (mut layers, mut info, mut kl) = (Vec::new(), 0, 0);
        let last = blueprint.layers.len() - 1;
        // Without a way back, the largest arrays are needed in one layer at a time.
        let shared = (!task.gradients).then(|| {
            let rows = task.rows * task.samples;
            let widest = |width: fn(&LayerPlan) -> usize| blueprint.layers.iter().map(width).max().unwrap_or(0);
            let k = arena.take(rows * widest(LayerPlan::columns));
            (k, arena.take(rows * widest(|plan| plan.outputs * plan.covariances)))
        });
        for (l, plan) in blueprint.layers.iter().enumerate() {
            let own = infos.from(info);
            info += self::factors(plan);
            let own_kls = kls.from(kl).first(divergences(plan));
            kl += divergences(plan);
            let made = prepared(plan, values, own, own_kls, task.gradients, factor_workspace, arena);
            let rows = row_arrays(plan, task, l, l == last, shared, arena);
            let (back, made) = match task.gradients {
                true => {
                    let (back, grams) = back_arrays(
                        plan,
                        &made.grams,
                        rows.rows,
                        l == 0,
                        task.symmetric && plan.covariances >= SYMMETRIC_FROM,
                        arena,
                    );
                    (Some(back), PreparedArrays { grams, ..made })
                }
                false => (None, made),
            };
            layers.push(LayerArrays { plan: plan.clone(), made, rows, back });
        }
        let last_rows = layers[last].rows.rows;
        Self {
            values,
            raw: arena.take(train),
            first: arena.take(train),
            second: arena.take(train),
            before: arena.take(4 * train),
            gradient: arena.take(train),
            floors: arena.take(train),
            frozen: arena.take(train),
            x: arena.take(task.data * blueprint.layers[0].width),
            y: arena.take(when(task.gradients, task.data * blueprint.outputs)),
            weights: if task.weighted { arena.take(task.data) } else { Span::NONE },
            ids: arena.take(task.plans * task.rows),
            steps: arena.take(task.plans),
            control: arena.take(1),
            records: arena.take(task.plans * record_length(blueprint)),
            likelihood: arena.take(when(task.gradients, last_rows.div_ceil(LIKELIHOOD_ROWS) * (1 + blueprint.outputs))),
            workspaces: (0..task.lanes).map(|_| arena.take(WORKSPACE)).collect(),
            infos,
            kls,
            layers,
        }
    }
}

/// Factorisations of a layer that report how they went.
pub fn factors(plan: &LayerPlan) -> usize {
    let dual = when(plan.covariance_form == CovarianceForm::Dual, plan.outputs);
    plan.grams.iter().filter(|gram| gram.factored).count() + dual
}

/// Numbers that add up to a layer's KL.
pub fn divergences(plan: &LayerPlan) -> usize {
    1 + plan.outputs
}

/// Numbers in the record of a step: data term, clamped, good, infos, KLs.
pub fn record_length(blueprint: &Blueprint) -> usize {
    3 + blueprint.layers.iter().map(|plan| factors(plan) + divergences(plan)).sum::<usize>()
}

#[allow(clippy::too_many_arguments, reason = "what a layer shares with the others, and where it goes")]
fn prepared<T: Real>(
    plan: &LayerPlan,
    values: Span<f64>,
    mut infos: Span<i32>,
    kls: Span<f64>,
    gradients: bool,
    factor_workspace: &dyn Fn(usize) -> usize,
    arena: &mut Arena,
) -> PreparedArrays<T> {
    let LayerPlan { width: d, outputs: p, means, covariances: m, .. } = *plan;
    let columns = plan.columns();
    let narrowed = |wide: Span<f64>, arena: &mut Arena| T::alias(wide).unwrap_or_else(|| arena.take(wide.len()));
    let mut grams = Vec::new();
    for &gram in &plan.grams {
        let n = gram.order;
        let square = |yes: bool, arena: &mut Arena| arena.take(when(yes, n * n));
        grams.push(GramArrays {
            plan: gram,
            k: square(true, arena),
            l: square(true, arena),
            r: square(gram.factored, arena),
            log_det: arena.take(1),
            products: arena.take(when(plan.text.products, plan.text.leaves * n * n)),
            norms: arena.take(when(plan.text.products, plan.text.leaves * n)),
            scaled: arena.take(when(plan.text.products, plan.text.leaves * n * d)),
            jitter: arena.take(2),
            info: infos.first(usize::from(gram.factored)),
            workspace: arena.take(if gram.factored { factor_workspace(n) } else { 0 }),
            k_bar: square(gradients, arena),
            work: [(); 2].map(|()| square(gradients, arena)),
            weights: arena.take(when(gradients, plan.text.leaves * n * n)),
            partial: Span::NONE,
        });
        infos = infos.from(usize::from(gram.factored));
    }
    let squares = p * m * m;
    let is_dual = plan.covariance_form == CovarianceForm::Dual;
    let dual = is_dual.then(|| DualArrays {
        h: arena.take(squares),
        h_addresses: arena.take(p),
        r: arena.take(squares),
        log_dets: arena.take(p),
        infos: infos.first(p),
    });
    let z_wide = arena.take(columns * (d + 1));
    let weights_wide = match plan.mean_form {
        MeanForm::Dual => values.from(plan.free).first(means * p),
        _ => arena.take(means * p),
    };
    let explained_wide = arena.take(squares);
    let projection = match plan.projects() {
        true => narrowed(grams[grams.len() - 1].r, arena),
        false => Span::NONE,
    };
    PreparedArrays {
        prior: arena.take(1 + plan.text.leaves),
        z_wide,
        z: narrowed(z_wide, arena),
        grams,
        weights_wide,
        weights: narrowed(weights_wide, arena),
        projection,
        explained_wide,
        explained: narrowed(explained_wide, arena),
        kept: arena.take(when(plan.covariance_form != CovarianceForm::Whitened, squares)),
        dual,
        mean_work: [(); 2].map(|()| arena.take(means * p)),
        square_work: [(); 4].map(|()| arena.take(when(gradients || is_dual, squares))),
        linear: matches!(plan.mean_function, MeanFunction::Linear(_)).then(|| arena.take(d * p)),
        mean_kl: kls.first(1),
        covariance_kl: kls.from(1),
    }
}

fn row_arrays<T: Real>(
    plan: &LayerPlan,
    task: Task,
    layer: usize,
    last: bool,
    shared: Option<(Span<T>, Span<T>)>,
    arena: &mut Arena,
) -> RowArrays<T> {
    let LayerPlan { width: d, outputs: p, covariances: m, .. } = *plan;
    let (columns, leaves, products) = (plan.columns(), plan.text.leaves, plan.text.products);
    let rows = if layer == 0 { task.rows } else { task.rows * task.samples };
    let samples = when(!last, task.rows * task.samples * p);
    let k = shared.map_or_else(|| arena.take(rows * columns), |(k, _)| k.first(rows * columns));
    let q = shared.map_or_else(|| arena.take(rows * p * m), |(_, q)| q.first(rows * p * m));
    let (a, a_stride) = match plan.projects() {
        true => (arena.take(rows * m), m),
        false => (k.from(plan.start), columns),
    };
    RowArrays {
        rows,
        x: arena.take(rows * (d + 1)),
        products: arena.take(when(products, leaves * rows * columns)),
        x_norms: arena.take(when(products, leaves * rows)),
        z_norms: arena.take(when(products, leaves * columns)),
        z_scaled: arena.take(when(products, leaves * columns * d)),
        k,
        a,
        a_stride,
        q,
        mean: arena.take(rows * p),
        variance: arena.take(rows * p),
        noise: arena.take(samples),
        given: if task.given_noise { arena.take(samples) } else { Span::NONE },
    }
}

/// Also the grams, with their part of the sums.
fn back_arrays<T: Real>(
    plan: &LayerPlan,
    grams: &[GramArrays],
    rows: usize,
    first: bool,
    symmetric: bool,
    arena: &mut Arena,
) -> (BackArrays<T>, Vec<GramArrays>) {
    let LayerPlan { width: d, outputs: p, means, covariances: m, .. } = *plan;
    let (columns, leaves) = (plan.columns(), plan.text.leaves);
    let of_rows = tiles(rows, columns);
    let blocks = of_rows + grams.iter().map(|gram| tiles(gram.plan.order, gram.plan.order)).sum::<usize>();
    let partial: Span<f64> = arena.take(blocks * 2 * leaves);
    let mut at = of_rows * 2 * leaves;
    let with_partial = |gram: &GramArrays| {
        let own = partial.from(at);
        at += tiles(gram.plan.order, gram.plan.order) * 2 * leaves;
        GramArrays { partial: own, ..*gram }
    };
    let grams = grams.iter().map(with_partial).collect();
    let sums = leaves * columns * (d + 1);
    let x_sums_width = if first { 1 } else { d + 1 };
    let back = BackArrays {
        mean_bar: arena.take(rows * p),
        variance_bar: arena.take(rows * p),
        a_bar: arena.take(rows * m),
        symmetric,
        e: if symmetric { arena.take(rows * p) } else { Span::NONE },
        kb_bar: arena.take(when(plan.projects(), rows * m)),
        w: arena.take(leaves * rows * columns),
        partial,
        blocks,
        diagonal_bar: arena.take(rows),
        x_sums: arena.take(leaves * rows * x_sums_width),
        x_sums_width,
        x_bar: arena.take(when(!first, rows * d)),
        squares: arena.take(leaves * SQUARE_CHUNKS * d),
        weights_chunks: arena.take(chunks(means, p) * means * p),
        projection_chunks: arena.take(chunks(m, m) * m * m),
        explained_chunks: arena
            .take(if symmetric { symmetric_chunks(rows, m, p) } else { chunks(p * m, m) } * p * m * m),
        z_chunks: arena.take(chunks(columns, d + 1) * sums),
        weights_bar: arena.take(means * p),
        projection_bar: arena.take(m * m),
        explained_bar: arena.take(p * m * m),
        z_sums: arena.take(sums),
        gram_sums: arena.take(sums),
    };
    (back, grams)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::{DeepGp, InducingSize, Mat, ModelSettings};

    fn used(rows: usize, gradients: bool, base: u64) -> usize {
        let x = Mat::from_fn(60, 3, |i, j| ((7 * i + 3 * j) % 61) as f64);
        let inducing = InducingSize::decoupled(20, 10);
        let settings = ModelSettings { hidden_layers: 1, width: 4, inducing, ..ModelSettings::default() };
        let model = DeepGp::for_regression(x.view(), 1, &settings).unwrap();
        let task = Task {
            rows,
            samples: 2,
            gradients,
            plans: 3,
            data: 60,
            weighted: false,
            given_noise: false,
            lanes: 1,
            symmetric: true,
        };
        let mut arena = Arena::new(base);
        let arrays = Arrays::<f64>::new(&Blueprint::new(&model).unwrap(), task, &|n| n * n, &mut arena);
        assert_eq!(arrays.layers.len(), 2);
        assert_eq!((arrays.layers[0].rows.rows, arrays.layers[1].rows.rows), (rows, 2 * rows));
        arena.used()
    }

    #[test]
    fn what_is_measured_is_what_is_laid_out_and_grows_with_the_rows() {
        assert_eq!(used(64, true, 0), used(64, true, 1 << 40));
        assert!(used(128, true, 0) > used(64, true, 0));
        assert!(used(64, false, 0) < used(64, true, 0));
    }
}
