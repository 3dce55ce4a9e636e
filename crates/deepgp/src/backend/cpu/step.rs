//! The objective of a batch and its gradient: prologue, blocks of rows, reduction, epilogue.
//!
//! ```text
//! objective = (num_data / batch) Σ_n weight_n term_n − κ Σ_l KL_l            κ = 1 but for KL warm-up
//! ```
//!
//! 1. *Prologue*, a layer at a time, rows not involved: everything of size `M × M`, and the KL.
//! 2. *Blocks* of rows, each forward through all layers, the objective, and back while it is in cache. There are at most
//!    [`ACCUMULATORS`] sums; sum `i` takes blocks `i`, `i + ACCUMULATORS`, … in order. Neither their number nor the size of
//!    a block depends on threads, so threads do not change a bit; nor need the blocks of one step share a process.
//! 3. *Reduction* of the sums in a fixed order, in `f64`; where there are several processes, of theirs too ([`Communicator`]).
//! 4. *Epilogue*: the sums are pulled back to the parameters, a layer at a time.
//!
//! Memory is `O(threads · block · (M_a + P · M_b) · layers + ACCUMULATORS · parameters)`, whatever the batch.

use rayon::prelude::*;

use super::chain::{Chain, ChainRows, ChainSums, Workspaces};
use super::sums::{Sums, reduce};
use crate::backend::{Communicator, Evaluation};
use crate::data::{Dataset, InputLayout};
use crate::error::{Error, Result};
use crate::kernel::bound;
use crate::layer::{Layer, LayerMemory, Prepared, RowArrays, Want};
use crate::model::batch::Batch;
use crate::model::params::Parameters;
use crate::model::{DeepGp, Precision, Sites};
use crate::numeric::mat::Mat;
use crate::numeric::real::{Real, narrow, widen};
use crate::objective::{RowBars, RowTerm, Samples};
use crate::random::noise::{Noise, RowNumbers};

/// The number of rows (times samples) in a block: enough for fast products, few enough to stay in cache.
const BLOCK_ROWS: usize = 128;
/// The number of rows (times samples) in a block where the `G_p` of all layers take more than [`CACHED_BYTES`], and so do not stay in
/// cache from one block to the next.
const LARGE_BLOCK_ROWS: usize = 512;
/// The most bytes of `G_p` that are taken to stay in cache.
const CACHED_BYTES: usize = 8 << 20;
/// The largest number of partial sums.
const ACCUMULATORS: usize = 16;

/// The memory of a step, reused by the next. It carries nothing from one step to the next but the last gradient and the layers prepared
/// for it.
#[derive(Debug)]
pub(crate) struct StepMemory {
    /// Memory for each layer's `M × M` work.
    layers: Vec<LayerMemory>,
    /// The layers as the last evaluation prepared them.
    prepared: Vec<Prepared>,
    /// Memory for the work on rows.
    rows: RowMemory,
    /// The sums over all rows.
    total: Sums<f64>,
    /// The gradient in all parameter values.
    gradient: Vec<f64>,
}

/// The memory of a step that has the rows' precision.
#[derive(Debug)]
enum RowMemory {
    /// Rows in `f64`.
    F64(TypedMemory<f64>),
    /// Rows in `f32`.
    Mixed(TypedMemory<f32>),
}

/// Memory for the work on rows of one precision.
#[derive(Debug)]
struct TypedMemory<T> {
    /// The layers' matrices.
    arrays: Vec<RowArrays<T>>,
    /// The partial sums over blocks.
    sums: Vec<Sums<T>>,
    /// The blocks under way.
    workspaces: Workspaces<T>,
}

impl<T: Real> TypedMemory<T> {
    /// Empty memory for a model of so many layers.
    fn new(layers: usize) -> Self {
        Self { arrays: Vec::new(), sums: Vec::new(), workspaces: Workspaces::new(layers) }
    }
}

impl StepMemory {
    /// Memory for batches of one dataset.
    pub fn new(model: &DeepGp, data: &Dataset, communicator: &dyn Communicator) -> Self {
        let layers = model.layers().len();
        let rows = match model.precision() {
            Precision::F64 => RowMemory::F64(TypedMemory::new(layers)),
            Precision::Mixed => RowMemory::Mixed(TypedMemory::new(layers)),
        };
        let (total, gradient) = (Sums::zeros(model, model.layout(data, communicator)), Vec::new());
        Self { layers: empty_memory(layers), prepared: Vec::new(), rows, total, gradient }
    }

    /// The gradient of the last evaluation that was asked for one.
    pub fn gradient(&self) -> &[f64] {
        &self.gradient
    }

    /// The gradient of the last evaluation that was asked for one, by value.
    pub fn into_gradient(self) -> Vec<f64> {
        self.gradient
    }

    /// The layers as the last evaluation prepared them.
    pub fn prepared(&self) -> &[Prepared] {
        &self.prepared
    }
}

/// Empty memory for so many layers.
fn empty_memory(layers: usize) -> Vec<LayerMemory> {
    (0..layers).map(|_| LayerMemory::default()).collect()
}

impl DeepGp {
    /// The prologue of a step, in memory of its own: all layers prepared for rows.
    pub(crate) fn prepare(&self) -> Result<Vec<Prepared>> {
        self.prepare_in(&mut empty_memory(self.layers().len()))
    }

    /// The prologue of a step in memory that is reused, all layers in parallel.
    fn prepare_in(&self, memory: &mut [LayerMemory]) -> Result<Vec<Prepared>> {
        let layers = self.layers().par_iter().zip(memory).enumerate();
        let prepared: Vec<Result<Prepared>> =
            layers.map(|(i, (layer, memory))| layer.prepare(self.jitter(), i, memory)).collect();
        // In order, so that the first error is the same on any number of threads.
        prepared.into_iter().collect()
    }

    /// The layout in which rows of `data` come to the first layer: the same in all processes, and so dense if there are several.
    fn layout<'d>(&self, data: &'d Dataset, communicator: &dyn Communicator) -> InputLayout<'d> {
        if communicator.is_alone() { bound::layout(&*self.layers()[0].kernel, data) } else { InputLayout::Dense }
    }

    /// Whether all parameters are finite, and so is everything that follows from them alone.
    pub(crate) fn is_sound(&self) -> bool {
        let mut finite = true;
        self.clone().visit(&mut |leaf| finite &= leaf.values.iter().all(|v| v.is_finite()));
        finite
            && self.prepare().is_ok_and(|prepared| prepared.iter().all(|p| (p.mean.kl + p.covariance.kl).is_finite()))
    }

    /// The objective of a batch; if `gradient` is set, its gradient is left in `memory`. Data and batch must have been checked.
    pub(super) fn evaluate(
        &self,
        batch: Batch<'_>,
        noise: Noise<'_>,
        communicator: &dyn Communicator,
        memory: &mut StepMemory,
        gradient: bool,
    ) -> Result<Evaluation> {
        let StepMemory { layers, prepared, rows, total, gradient: out } = memory;
        for (used, layer) in prepared.drain(..).zip(layers.iter_mut()) {
            used.give(layer);
        }
        *prepared = self.prepare_in(layers)?;
        let layout = self.layout(batch.data, communicator);
        let want = (layout, gradient);
        match rows {
            RowMemory::F64(rows) => reduce(self.accumulate(prepared, batch, &noise, rows, want), total, gradient),
            RowMemory::Mixed(rows) => reduce(self.accumulate(prepared, batch, &noise, rows, want), total, gradient),
        }
        total.over_processes(communicator, gradient)?;
        let evaluation = Evaluation {
            objective: batch.objective.name(),
            data_term: total.data_term,
            kl: prepared.iter().map(|p| p.mean.kl + p.covariance.kl).collect(),
            clamped: total.clamped,
            jitter: prepared.iter().flat_map(|p| p.events.iter().cloned()).collect(),
        };
        if !evaluation.total().is_finite() {
            let what = match evaluation.kl.iter().position(|kl| !kl.is_finite()) {
                Some(layer) => format!("the KL of layer {layer}"),
                None => "the data term".into(),
            };
            return Err(Error::Diverged { what });
        }
        if gradient {
            self.epilogue(prepared, total, (batch.kl_weight, layout), layers, out);
            if let Some(at) = out.iter().position(|g| !g.is_finite()) {
                let name = self.parameters().into_iter().find(|p| p.range.contains(&at)).map(|p| p.name);
                return Err(Error::Diverged { what: format!("the gradient of {}", name.unwrap_or_default()) });
            }
        }
        Ok(evaluation)
    }

    /// Takes all blocks of rows, in this layout and in parallel, into as many partial sums as there are blocks, but no more than
    /// [`ACCUMULATORS`].
    fn accumulate<'m, T: Real>(
        &self,
        prepared: &[Prepared],
        batch: Batch<'_>,
        noise: &Noise<'_>,
        memory: &'m mut TypedMemory<T>,
        (layout, gradient): (InputLayout<'_>, bool),
    ) -> &'m [Sums<T>] {
        let TypedMemory { arrays, sums, workspaces } = memory;
        let (floor, samples) = (self.precision().floor(), self.samples(batch.samples));
        let noise = &self.sites().map_or(*noise, |sites| Noise::Table(sites.points()));
        let log_weights = self.sites().map(Sites::log_weights);
        let mut chain = Chain::reusing(arrays, self.layers(), prepared, floor, samples, Want::Gradients, layout);
        if batch.objective.wants_conditional() {
            chain = chain.with_conditional();
        }
        let block_rows = self.rows_at_once::<T>().div_ceil(chain.mixture_size());
        let blocks = batch.rows.len().div_ceil(block_rows);
        let used = blocks.min(ACCUMULATORS);
        while sums.len() < used {
            sums.push(Sums::zeros(self, layout));
        }
        let sums = &mut sums[..used];
        sums.par_iter_mut().enumerate().with_max_len(1).for_each(|(i, sum)| {
            let mut rows = workspaces.take();
            sum.clear();
            for block in (i..blocks).step_by(used) {
                let first = block * block_rows;
                let block = first..batch.rows.len().min(first + block_rows);
                let (ids, places) = (&batch.rows[block.clone()], &batch.places()[block]);
                rows.layers[0].x.gather(batch.data, layout, places);
                sum.clamped += chain.forward(&mut rows, noise, RowNumbers { ids, first, offset: batch.offset() });
                self.add_objective(&mut rows, places, batch, log_weights.as_deref(), gradient, sum);
                if gradient {
                    let sums = ChainSums { layers: &mut sum.layers, points: &mut sum.points };
                    chain.backward(&mut rows, Some(sums));
                }
            }
        });
        chain.recycle(arrays);
        sums
    }

    /// The number of rows (times samples) in a block: more where every block has to fetch all the `G_p` from memory.
    fn rows_at_once<T: Real>(&self) -> usize {
        let numbers: usize = self.layers().iter().map(|layer| layer.covariance.factor.as_slice().len()).sum();
        if numbers * size_of::<T>() > CACHED_BYTES { LARGE_BLOCK_ROWS } else { BLOCK_ROWS }
    }

    /// Adds the objective of a block's rows, which are at these places, from the last layer's moments, to `sum`, and writes the gradients at these
    /// moments.
    fn add_objective<T: Real>(
        &self,
        rows: &mut ChainRows<T>,
        places: &[u32],
        batch: Batch<'_>,
        log_weights: Option<&[f64]>,
        gradient: bool,
        sum: &mut Sums<T>,
    ) {
        let (width, scale) = (self.latent_width(), batch.scale());
        let last = rows.layers.last_mut().expect("a model has a layer");
        last.mean_bar.reshape_for_overwrite(last.mean.nrows(), width);
        last.variance_bar.reshape_for_overwrite(last.mean.nrows(), width);
        last.conditional_bar.resize(last.conditional.len(), T::ZERO);
        // The samples of a row stand one below the other.
        let samples = last.mean.nrows() / places.len();
        let (each, conditionals) = (samples * width, last.conditional.len() / places.len());
        rows.row.resize(4 * each + 2 * conditionals, 0.0);
        let (moments, bars) = rows.row.split_at_mut(2 * each + conditionals);
        let (mean, rest) = moments.split_at_mut(each);
        let (variance, conditional) = rest.split_at_mut(each);
        let (mean_bar, rest) = bars.split_at_mut(each);
        let (variance_bar, conditional_bar) = rest.split_at_mut(each);
        for (i, &place) in places.iter().enumerate() {
            let (own, own_samples) = (i * each..(i + 1) * each, i * conditionals..(i + 1) * conditionals);
            widen(&last.mean.as_slice()[own.clone()], mean);
            widen(&last.variance.as_slice()[own.clone()], variance);
            widen(&last.conditional[own_samples.clone()], conditional);
            if let Some(offsets) = batch.data.offsets() {
                self.add_offset(offsets[place as usize], mean);
            }
            let term = RowTerm {
                likelihood: self.likelihood(),
                shared: self.shared_values(),
                y: batch.data.y().row(place as usize),
                f: Samples { mean, variance, width, log_weights, conditional },
                weight: batch.data.weights().map_or(1.0, |weights| weights[place as usize]),
                scale,
                progress: batch.progress,
            };
            if !gradient {
                batch.objective.add(&term, &mut sum.data_term);
            } else {
                for bar in [&mut *mean_bar, variance_bar, conditional_bar] {
                    bar.fill(0.0);
                }
                let bars = RowBars {
                    mean: &mut *mean_bar,
                    variance: &mut *variance_bar,
                    conditional: &mut *conditional_bar,
                    log_weights: &mut sum.log_weights,
                    likelihood: &mut sum.likelihood,
                    shared: &mut sum.shared,
                };
                batch.objective.add_with_pullback(&term, &mut sum.data_term, bars);
                narrow(conditional_bar, &mut last.conditional_bar[own_samples]);
                narrow(mean_bar, &mut last.mean_bar.as_mut_slice()[own.clone()]);
                narrow(variance_bar, &mut last.variance_bar.as_mut_slice()[own]);
            }
        }
    }

    /// The epilogue of a step: writes the gradient in all parameters to `out`, from the sums over rows, all layers in parallel.
    fn epilogue(
        &self,
        prepared: &mut [Prepared],
        total: &mut Sums<f64>,
        (kl_weight, first): (f64, InputLayout<'_>),
        memory: &mut [LayerMemory],
        out: &mut Vec<f64>,
    ) {
        let lengths = self.layers().iter().map(Layer::parameter_count);
        let points: usize = total.points.iter().map(|own| own.as_slice().len()).sum();
        let beside_layers = total.likelihood.len() + total.shared.len() + points + total.log_weights.len();
        out.resize(lengths.clone().sum::<usize>() + beside_layers, 0.0);
        let mut rest = &mut out[..];
        let mut work = Vec::with_capacity(prepared.len());
        for ((length, prepared), (sums, memory)) in lengths.zip(prepared).zip(total.layers.iter_mut().zip(memory)) {
            let (own, after) = rest.split_at_mut(length);
            work.push((prepared, sums, memory, own));
            rest = after;
        }
        let beside = [&total.likelihood[..], &total.shared].into_iter().chain(total.points.iter().map(Mat::as_slice));
        for from in beside {
            let (own, after) = rest.split_at_mut(from.len());
            own.copy_from_slice(from);
            rest = after;
        }
        if let Some(sites) = self.sites() {
            sites.logits_pullback(&total.log_weights, rest);
        }
        work.into_par_iter().zip(self.layers()).enumerate().for_each(|(l, ((prepared, sums, memory, own), layer))| {
            layer.pullback(prepared, sums, -kl_weight, first.of_layer(l), memory, own);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Alone;
    use crate::numeric::simd::baseline;
    use crate::random::noise::{Key, Purpose};
    use crate::settings::{InducingSize, ModelSettings};
    use crate::testing::uniform;

    fn bits(rows: usize) -> Mat {
        uniform(rows, 40, 3).map(|v| f64::from(u8::from(v > 0.8)))
    }

    #[test]
    fn sparse_inputs_are_found_for_kernels_that_can_take_them() {
        let data = Dataset::new(bits(50), uniform(50, 1, 2)).unwrap();
        let dense = Dataset::new(uniform(50, 40, 1), uniform(50, 1, 2)).unwrap();
        let settings = ModelSettings { inducing: InducingSize::Tied(3), ..ModelSettings::default() };
        let model = DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
        let sparse = |model: &DeepGp, data| matches!(model.layout(data, &Alone), InputLayout::Sparse(_));
        assert!(sparse(&model, &data) && !sparse(&model, &dense));
        let mut layers = model.layers().to_vec();
        layers[0].kernel = Box::new(crate::kernel::Matern12::new(1.0, vec![1.0; 40]));
        let kinked = DeepGp::new(layers, model.likelihood().clone_box()).unwrap();
        assert!(!sparse(&kinked, &data));
    }

    #[test]
    fn loops_without_vectors_give_the_same_bits() {
        for x in [uniform(300, 3, 1), bits(300)] {
            let data = Dataset::new(x, uniform(300, 1, 2)).unwrap();
            let rows: Vec<u32> = (0..300).collect();
            for precision in [Precision::F64, Precision::Mixed] {
                let inducing = InducingSize::decoupled(40, 35);
                let settings = ModelSettings { hidden_layers: 1, inducing, precision, ..ModelSettings::default() };
                let model = DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
                let evaluate = || {
                    let batch = Batch { samples: 2, ..Batch::of(&data, &rows) };
                    let noise = Noise::Rows { key: Key::new(1, Purpose::Train), step: 0 };
                    model.objective_gradient(batch, noise).unwrap()
                };
                assert_eq!(evaluate(), baseline::run(evaluate), "{precision:?}");
            }
        }
    }
}
