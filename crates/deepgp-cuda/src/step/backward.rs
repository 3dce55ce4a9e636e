//! All rows of a batch back through one layer, from the data term to the layer's inputs. The equations are those of `deepgp`'s
//! `layer/rows.rs`; sums over rows are in `row_sums.rs`.

use deepgp::{CovarianceForm, MeanFunction};

use super::Scope;
use super::forward::Setting;
use crate::arrays::LayerArrays;
use crate::arrays::rows::{BackArrays, RowArrays};
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::product::{Operand, Shape};
use crate::device::program::Program;
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::DataTerm;
use crate::kernels::covariance::{InputGradient, Weigh};
use crate::kernels::data_term::DataTermSums;
use crate::kernels::diagonal::{ThroughDiagonal, block_rows};
use crate::kernels::rows::{PointGradient, SamplePullback, ThroughConditional, ThroughVariance};
use crate::model::blueprint::LikelihoodBlueprint;

/// What the last layer's moments are compared with, and where the sums go.
#[derive(Clone, Copy, Debug)]
pub struct Targets<'a> {
    pub likelihood: &'a LikelihoodBlueprint,
    pub y: Span<f64>,
    pub weights: Span<f64>,
    pub offsets: Span<f64>,
    /// The logits of learned sites' weights; nothing where samples weigh alike.
    pub logits: Span<f64>,
    /// The power of the predictive objective.
    pub power: f64,
    pub partial: Span<f64>,
}

/// The data term at the last layer's moments, and its gradients there; `samples` of its rows belong to one of the batch.
pub fn data_term<T: Real>(
    (program, scope): (&Program<DataTerm>, Scope<'_>),
    last: &LayerArrays<T>,
    back: &BackArrays<T>,
    targets: Targets<'_>,
    setting: Setting,
    samples: usize,
    lane: &Lane,
) -> Outcome<()> {
    let Targets { likelihood, y, weights, offsets, logits, power, partial } = targets;
    let sums = DataTermSums {
        mean: last.rows.mean,
        variance: last.rows.variance,
        conditional: last.rows.conditional,
        y,
        weights,
        offsets,
        ids: setting.ids,
        theta: scope.values.part(&likelihood.parameters),
        logits,
        rows: last.rows.rows,
        samples,
        latents: likelihood.latents,
        observed: likelihood.observed,
        parameters: likelihood.parameters.len(),
        power,
        steps: scope.steps,
        control: scope.control,
        mean_bar: back.mean_bar,
        variance_bar: back.variance_bar,
        conditional_bar: back.conditional_bar,
        partial,
    };
    lane.run(program, sums)
}

/// The gradient at the points of learned sites that a hidden layer's outputs take, if there are any, to `points_bar`, from `x_bar` at samples,
/// `fan` for each row of the layer.
pub fn points<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    points_bar: Span<f64>,
    (x_bar, fan): (Span<T>, usize),
    setting: Setting,
    lane: &Lane,
) -> Outcome<()> {
    if layer.blueprint.points.is_none() {
        return Ok(());
    }
    let (samples, outputs) = (setting.samples, layer.blueprint.outputs);
    let point_gradient = PointGradient {
        x_bar,
        variance: layer.rows.variance,
        batch_rows: layer.rows.rows * fan / samples,
        fan,
        samples,
        outputs,
        control: scope.control,
        points_bar,
    };
    lane.run(scope.general, point_gradient)
}

/// From the gradients at samples of a layer, `fan` for each row, to those at its moments, unless `x_bar` is [`Span::NONE`]; and from
/// `variance_bar` to `Ā` and `e`. Where a dense `Ḡ` is summed by a product, `Q` becomes `e ∘ A` instead.
pub fn through_variance<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    (x_bar, fan): (Span<T>, usize),
    setting: Setting,
    lane: &Lane,
) -> Outcome<()> {
    let RowArrays { a, a_stride, q, noise, variance, rows, .. } = layer.rows;
    let BackArrays { mean_bar, variance_bar, e, a_bar, diagonal_bar, .. } = *back;
    let (prior, outputs, m) = (layer.prepared.prior, layer.blueprint.outputs, layer.blueprint.covariances);
    let (floor_absolute, floor_relative) = (setting.floor.absolute, setting.floor.relative);
    match layer.blueprint.covariance_form {
        CovarianceForm::Diagonal => {
            let through_diagonal = ThroughDiagonal {
                a,
                a_stride,
                s: scope.factor(layer),
                x_bar,
                noise,
                fan,
                variance,
                prior,
                floor_absolute,
                floor_relative,
                rows,
                outputs,
                m,
                block_rows: block_rows::<T>(outputs),
                mean_bar,
                variance_bar,
                e,
                a_bar,
                diagonal_bar,
            };
            lane.run(scope.general, through_diagonal)
        }
        CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => {
            if x_bar.len() > 0 {
                let pullback = SamplePullback { x_bar, noise, variance, rows, fan, outputs, mean_bar, variance_bar };
                lane.run(scope.general, pullback)?;
            }
            let through_variance = ThroughVariance {
                a,
                a_stride,
                q,
                variance,
                variance_bar,
                prior,
                floor_absolute,
                floor_relative,
                outputs,
                m,
                e,
                a_bar,
                diagonal_bar,
                rows,
            };
            lane.run(scope.general, through_variance)
        }
    }
}

/// What the gradient at conditional variances adds to `Ā` and to that at `k(x, x)`, after [`through_variance`], where the objective reads them.
pub fn through_conditional<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    back: &BackArrays<T>,
    setting: Setting,
    lane: &Lane,
) -> Outcome<()> {
    let RowArrays { a, a_stride, rows, conditional, .. } = layer.rows;
    if conditional.len() == 0 {
        return Ok(());
    }
    let pullback = ThroughConditional {
        a,
        a_stride,
        conditional,
        conditional_bar: back.conditional_bar,
        prior: layer.prepared.prior,
        floor_absolute: setting.floor.absolute,
        floor_relative: setting.floor.relative,
        rows,
        m: layer.blueprint.covariances,
        a_bar: back.a_bar,
        diagonal_bar: back.diagonal_bar,
    };
    lane.run(scope.general, pullback)
}

/// `W` of the kernel's pullback, after [`through_variance`].
pub fn weigh<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, back: &BackArrays<T>, lane: &Lane) -> Outcome<()> {
    let (blueprint, prepared, own) = (&layer.blueprint, &layer.prepared, &layer.rows);
    let (n, m) = (own.rows, blueprint.covariances);
    let kb_bar = match blueprint.projects() {
        true => {
            let (a_bar, r) = (Operand::new(back.a_bar, m), Operand::new(prepared.projection, m));
            lane.product(Shape::new(n, m, m), 1.0, a_bar, r, 0.0, Operand::new(back.kb_bar, m))?;
            back.kb_bar
        }
        false => back.a_bar,
    };
    let weigh = Weigh {
        k: own.k,
        x1: own.x,
        z1: prepared.z,
        theta: scope.theta(layer),
        products: own.products,
        x_norms: own.x_norms,
        z_norms: own.z_norms,
        mean_bar: back.mean_bar,
        weights: prepared.weights,
        outputs: blueprint.outputs,
        means: blueprint.means,
        kb_bar,
        start: blueprint.start,
        covariances: m,
        rows: n,
        columns: blueprint.columns(),
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
    let (blueprint, prepared, own) = (&layer.blueprint, &layer.prepared, &layer.rows);
    let (n, d, p, columns, leaves) =
        (own.rows, blueprint.width, blueprint.outputs, blueprint.columns(), blueprint.text.leaves);
    let w = Operand::new(back.w, columns).each(n * columns);
    let (z, width) = (Operand::new(prepared.z, d + 1), back.x_sums_width);
    let sums = Operand::new(back.x_sums, width).each(n * width);
    lane.product(Shape::new(n, width, columns).times(leaves), 1.0, w, z, 0.0, sums)?;
    if first {
        return Ok(());
    }
    // Whether something stands in x_bar already.
    let add = match blueprint.mean_function {
        MeanFunction::Linear(_) => {
            let (mean_bar, linear) = (Operand::new(back.mean_bar, p), Operand::new(prepared.linear, p).t());
            lane.product(Shape::new(n, d, p), 1.0, mean_bar, linear, 0.0, Operand::new(back.x_bar, d))?;
            true
        }
        MeanFunction::Zero | MeanFunction::Identity | MeanFunction::ZeroPadding => false,
    };
    let gradient = InputGradient {
        x1: own.x,
        s: back.x_sums,
        theta: scope.theta(layer),
        mean_bar: back.mean_bar,
        outputs: p,
        identity: blueprint.hands_on(),
        add,
        rows: n,
        x_bar: back.x_bar,
        width: d,
    };
    lane.run(scope.covariance, gradient)
}
