//! All rows of a batch forward through one layer. The equations are those of `deepgp`'s `layer/rows.rs`.

use deepgp::{CovarianceForm, Floor, MeanFunction};

use super::Scope;
use crate::arrays::LayerArrays;
use crate::arrays::rows::RowArrays;
use crate::device::lane::Lane;
use crate::device::memory::Span;
use crate::device::product::{Operand, Shape};
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::covariance::{Cross, Norms};
use crate::kernels::diagonal::DiagonalMoments;
use crate::kernels::rows::{ConditionalVariance, Moments, Sample};

/// Where samples of the hidden layers get their noise.
#[derive(Clone, Copy, Debug)]
pub enum NoiseSource {
    /// Each row has its own, by its number: training.
    Rows {
        /// Philox's key.
        key: [u32; 2],
    },
    /// The same for all rows.
    Shared {
        /// Philox's key.
        key: [u32; 2],
    },
    /// It was uploaded: with the batch, or the table that all rows of a prediction share.
    Given,
    /// The points of the model's learned sites, the same for all rows.
    Sites,
}

/// Noise as kernels take it.
struct NoiseArguments {
    /// The noise, unless it is drawn; its rows are taken over and over.
    given: Span<f64>,
    given_rows: usize,
    /// The numbers of the rows, where each draws its own.
    ids: Span<u32>,
    /// Philox's key.
    key: [u32; 2],
}

/// What rows go through layers with, the same for all layers.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// What variances are raised to.
    pub floor: Floor,
    /// Samples of the hidden layers for each row.
    pub samples: usize,
    pub noise: NoiseSource,
    /// Row numbers of the batch.
    pub ids: Span<u32>,
}

impl Setting {
    /// The noise of a hidden layer's outputs.
    fn noise_of<T>(&self, scope: Scope<'_>, layer: &LayerArrays<T>) -> NoiseArguments {
        let drawn = |ids, key| NoiseArguments { given: Span::NONE, given_rows: 0, ids, key };
        let there = |given: Span<f64>| {
            let given_rows = given.len() / layer.blueprint.outputs;
            NoiseArguments { given, given_rows, ids: Span::NONE, key: [0; 2] }
        };
        match self.noise {
            NoiseSource::Rows { key } => drawn(self.ids, key),
            NoiseSource::Shared { key } => drawn(Span::NONE, key),
            NoiseSource::Given => there(layer.rows.given),
            NoiseSource::Sites => there(scope.points(layer)),
        }
    }
}

/// `k(x, Z)` for the rows in `rows.x`: needs [`super::prologue::begin`] alone.
pub fn cross<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, lane: &Lane, beside: &Lane) -> Outcome<()> {
    let (blueprint, prepared, own) = (&layer.blueprint, &layer.prepared, &layer.rows);
    let (n, columns, d, leaves) = (own.rows, blueprint.columns(), blueprint.width, blueprint.text.leaves);
    let theta = scope.theta(layer);
    if blueprint.text.products {
        beside.after(lane)?;
        let of_rows = Norms { x1: own.x, theta, rows: n, norm: own.x_norms, scaled: Span::NONE, leaves };
        beside.run(scope.covariance, of_rows)?;
        let of_inducing =
            Norms { x1: prepared.z, theta, rows: columns, norm: own.z_norms, scaled: own.z_scaled, leaves };
        lane.run(scope.covariance, of_inducing)?;
        let x = Operand::new(own.x.from(1), d + 1);
        let z = Operand::new(own.z_scaled, d).t().each(columns * d);
        let to = Operand::new(own.products, columns).each(n * columns);
        lane.product(Shape::new(n, columns, d).times(leaves), 1.0, x, z, 0.0, to)?;
        lane.after(beside)?;
    }
    let RowArrays { products, x_norms, z_norms, k, .. } = *own;
    lane.run(
        scope.covariance,
        Cross { x1: own.x, z1: prepared.z, theta, products, x_norms, z_norms, rows: n, columns, k },
    )
}

/// `A` and, where `G` is dense, `Q`, after the covariance's part of the prologue.
pub fn project<T: Real>(layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (blueprint, prepared, own) = (&layer.blueprint, &layer.prepared, &layer.rows);
    let (n, m, p) = (own.rows, blueprint.covariances, blueprint.outputs);
    if blueprint.projects() {
        let k_b = Operand::new(own.k.from(blueprint.start), blueprint.columns());
        let r = Operand::new(prepared.projection, m);
        lane.product(Shape::new(n, m, m), 1.0, k_b, r.t(), 0.0, Operand::new(own.a, m))?;
    }
    match blueprint.covariance_form {
        CovarianceForm::Diagonal => Ok(()),
        CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => {
            let (a, g) = (Operand::new(own.a, own.a_stride), Operand::new(prepared.explained, m).t());
            lane.product(Shape::new(n, p * m, m), 1.0, a, g, 0.0, Operand::new(own.q, p * m))
        }
    }
}

/// `mean`, after the mean's part of the prologue.
pub fn means<T: Real>(layer: &LayerArrays<T>, lane: &Lane) -> Outcome<()> {
    let (blueprint, prepared, own) = (&layer.blueprint, &layer.prepared, &layer.rows);
    let (n, d, p) = (own.rows, blueprint.width, blueprint.outputs);
    let (k_a, w, mean) =
        (Operand::new(own.k, blueprint.columns()), Operand::new(prepared.weights, p), Operand::new(own.mean, p));
    lane.product(Shape::new(n, p, blueprint.means), 1.0, k_a, w, 0.0, mean)?;
    match blueprint.mean_function {
        MeanFunction::Linear(_) => {
            let (x, linear) = (Operand::new(own.x.from(1), d + 1), Operand::new(prepared.linear, p));
            lane.product(Shape::new(n, p, d), 1.0, x, linear, 1.0, mean)
        }
        // `moments` adds inputs that are handed on as they are.
        MeanFunction::Zero | MeanFunction::Identity | MeanFunction::ZeroPadding => Ok(()),
    }
}

/// `variance`, after [`project`], the mean function's share of `mean`, after [`means`], and samples into the rows of the layer `above`, if there
/// is one. `fan` rows of layer `index` belong to one of the batch.
pub fn moments<T: Real>(
    scope: Scope<'_>,
    layer: &LayerArrays<T>,
    above: Option<&LayerArrays<T>>,
    (index, fan): (usize, usize),
    setting: Setting,
    lane: &Lane,
) -> Outcome<()> {
    let (blueprint, prepared, own) = (&layer.blueprint, &layer.prepared, &layer.rows);
    match blueprint.covariance_form {
        CovarianceForm::Diagonal => {
            // One sample of a row is drawn at once; many are, by many threads, afterwards.
            let (at_once, afterwards) = match above {
                Some(above) if above.rows.rows > own.rows => (Span::NONE, Some(above)),
                above => (above.map_or(Span::NONE, |above| above.rows.x), None),
            };
            let NoiseArguments { given, given_rows, ids, key: [k0, k1] } = setting.noise_of(scope, layer);
            let moments = DiagonalMoments {
                a: own.a,
                a_stride: own.a_stride,
                s: scope.factor(layer),
                prior: prepared.prior,
                floor_absolute: setting.floor.absolute,
                floor_relative: setting.floor.relative,
                x1: own.x,
                width: blueprint.width,
                identity: blueprint.hands_on(),
                rows: own.rows,
                outputs: blueprint.outputs,
                m: blueprint.covariances,
                fan,
                given,
                given_rows,
                ids,
                k0,
                k1,
                layer: index as u32,
                samples: setting.samples,
                steps: scope.steps,
                control: scope.control,
                mean: own.mean,
                variance: own.variance,
                noise: own.noise,
                above: at_once,
            };
            lane.run(scope.general, moments)?;
            afterwards.map_or(Ok(()), |above| sample(scope, layer, above, index, setting, lane))
        }
        CovarianceForm::Dual | CovarianceForm::Standard | CovarianceForm::Whitened => {
            let moments = Moments {
                a: own.a,
                a_stride: own.a_stride,
                q: own.q,
                prior: prepared.prior,
                floor_absolute: setting.floor.absolute,
                floor_relative: setting.floor.relative,
                x1: own.x,
                width: blueprint.width,
                identity: blueprint.hands_on(),
                rows: own.rows,
                outputs: blueprint.outputs,
                m: blueprint.covariances,
                fan,
                steps: scope.steps,
                control: scope.control,
                mean: own.mean,
                variance: own.variance,
            };
            lane.run(scope.general, moments)?;
            above.map_or(Ok(()), |above| sample(scope, layer, above, index, setting, lane))
        }
    }
}

/// The conditional variance of the last layer's rows, after [`project`], where the objective reads it.
pub fn conditional<T: Real>(scope: Scope<'_>, layer: &LayerArrays<T>, setting: Setting, lane: &Lane) -> Outcome<()> {
    let RowArrays { a, a_stride, rows, conditional, .. } = layer.rows;
    if conditional.len() == 0 {
        return Ok(());
    }
    let of_rows = ConditionalVariance {
        a,
        a_stride,
        prior: layer.prepared.prior,
        floor_absolute: setting.floor.absolute,
        floor_relative: setting.floor.relative,
        rows,
        m: layer.blueprint.covariances,
        conditional,
    };
    lane.run(scope.general, of_rows)
}

/// Samples of hidden layer `index` into the rows of the one above it.
fn sample<T: Real>(
    scope: Scope<'_>,
    below: &LayerArrays<T>,
    above: &LayerArrays<T>,
    index: usize,
    setting: Setting,
    lane: &Lane,
) -> Outcome<()> {
    let RowArrays { rows, mean, variance, noise, .. } = below.rows;
    let NoiseArguments { given, given_rows, ids, key: [k0, k1] } = setting.noise_of(scope, below);
    let sample = Sample {
        mean,
        variance,
        given,
        given_rows,
        ids,
        k0,
        k1,
        layer: index as u32,
        rows,
        fan: above.rows.rows / rows,
        samples: setting.samples,
        outputs: below.blueprint.outputs,
        steps: scope.steps,
        control: scope.control,
        noise,
        x1: above.rows.x,
    };
    lane.run(scope.general, sample)
}
