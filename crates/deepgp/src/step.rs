//! The ELBO of a batch and its gradient: prologue, blocks of rows, reduction, epilogue.
//!
//! ```text
//! ELBO = (num_data / batch) Σ_n weight_n E[log p(y_n | f_n)] − κ Σ_l KL_l            κ = 1 but for KL warm-up
//! ```
//!
//! 1. *Prologue*, a layer at a time, rows not involved: everything of size `M × M`, and the KL.
//! 2. *Blocks* of rows, each forward through all layers, the likelihood, and back while it is in cache. There are at most
//!    [`ACCUMULATORS`] sums; sum `i` takes blocks `i`, `i + ACCUMULATORS`, … in order. Neither their number nor the size of
//!    a block depends on threads, so threads do not change a bit; nor need the blocks of one step share a process.
//! 3. *Reduction* of the sums in a fixed order, in `f64`.
//! 4. *Epilogue*: the sums are pulled back to the parameters, a layer at a time.
//!
//! Memory is `O(threads · block · (M_a + P · M_b) · layers + ACCUMULATORS · parameters)`, whatever the batch.

use rayon::prelude::*;

use crate::batch::Batch;
use crate::chain::{Block, Chain, ChainRows, Workspaces};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::kernel::Evaluate;
use crate::layer::{JitterEvent, Layer, LayerMemory, LayerSums, Prepared, RowArrays, Want};
use crate::likelihood::{Latent, LatentBars};
use crate::model::{DeepGp, Precision};
use crate::noise::Noise;
use crate::params::{self, Parameters};
use crate::real::{Real, narrow, widen};
use crate::simd::vectorised;
use crate::sparse::SparseInputs;

/// Rows (times samples) in a block: enough for fast products, few enough to stay in cache.
const BLOCK_ROWS: usize = 128;
/// Rows in a block where the `G_p` of all layers take more than [`CACHED_BYTES`], and so do not stay in cache from one to the next.
const LARGE_BLOCK_ROWS: usize = 512;
const CACHED_BYTES: usize = 8 << 20;
/// Numbers that one thread adds up over all partial sums, while they are in its cache.
const REDUCE_AT_ONCE: usize = 4096;
/// How many partial sums there are at most.
const ACCUMULATORS: usize = 16;

/// The ELBO of a batch in its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Elbo {
    /// `(num_data / batch) Σ_n weight_n E[log p(y_n | f_n)]`.
    pub data_term: f64,
    /// `KL[q ‖ p]` of each layer.
    pub kl: Vec<f64>,
    /// How many variances were raised to the floor.
    pub clamped: usize,
    /// Kernel matrices that needed more jitter than asked for.
    pub jitter: Vec<JitterEvent>,
}

impl Elbo {
    /// The bound itself, whatever `kl_weight` was.
    pub fn total(&self) -> f64 {
        self.data_term - self.kl.iter().sum::<f64>()
    }
}

/// One partial sum over rows.
#[derive(Debug)]
struct Sums<T> {
    layers: Vec<LayerSums<T>>,
    likelihood: Vec<f64>,
    data_term: f64,
    clamped: usize,
}

/// Memory that steps use again and again. It carries nothing from one step to the next but the last gradient.
#[derive(Debug)]
pub(crate) struct StepMemory {
    layers: Vec<LayerMemory>,
    rows: RowMemory,
    total: Sums<f64>,
    gradient: Vec<f64>,
}

/// The part of it that is of the rows' precision.
#[derive(Debug)]
enum RowMemory {
    F64(Memory<f64>),
    Mixed(Memory<f32>),
}

#[derive(Debug)]
struct Memory<T> {
    arrays: Vec<RowArrays<T>>,
    sums: Vec<Sums<T>>,
    workspaces: Workspaces<T>,
}

impl<T: Real> Memory<T> {
    fn new(layers: usize) -> Self {
        Self { arrays: Vec::new(), sums: Vec::new(), workspaces: Workspaces::new(layers) }
    }
}

impl StepMemory {
    /// For batches of one dataset.
    pub fn new(model: &DeepGp, data: &Dataset) -> Self {
        let layers = model.layers().len();
        let rows = match model.precision() {
            Precision::F64 => RowMemory::F64(Memory::new(layers)),
            Precision::Mixed => RowMemory::Mixed(Memory::new(layers)),
        };
        Self { layers: spare(layers), rows, total: Sums::zeros(model, data), gradient: Vec::new() }
    }

    /// What the last evaluation that was asked for a gradient found.
    pub fn gradient(&self) -> &[f64] {
        &self.gradient
    }
}

/// Memory for so many layers, still empty.
fn spare(layers: usize) -> Vec<LayerMemory> {
    (0..layers).map(|_| LayerMemory::default()).collect()
}

impl<T: Real> Sums<T> {
    fn zeros(model: &DeepGp, data: &Dataset) -> Self {
        let sparse = |l| l == 0 && model.sparse_inputs(data).is_some();
        Self {
            layers: model.layers().iter().enumerate().map(|(l, layer)| LayerSums::zeros(layer, sparse(l))).collect(),
            likelihood: vec![0.0; params::count(&mut *model.likelihood().clone_box())],
            data_term: 0.0,
            clamped: 0,
        }
    }

    fn clear(&mut self) {
        for layer in &mut self.layers {
            let (matrices, theta) = layer.parts_mut();
            for part in matrices {
                part.fill(T::ZERO);
            }
            theta.fill(0.0);
        }
        self.likelihood.fill(0.0);
        (self.data_term, self.clamped) = (0.0, 0);
    }
}

/// Adds the partial sums in order, in `f64`; those that only a gradient needs if it is wanted.
fn reduce<T: Real>(sums: &[Sums<T>], total: &mut Sums<f64>, gradient: bool) {
    total.clear();
    for sum in sums {
        total.data_term += sum.data_term;
        total.clamped += sum.clamped;
        for (to, from) in total.likelihood.iter_mut().zip(&sum.likelihood) {
            *to += from;
        }
    }
    if !gradient {
        return;
    }
    total.layers.par_iter_mut().enumerate().for_each(|(l, total)| {
        let (into, theta) = total.parts_mut();
        for (part, into) in into.into_iter().enumerate() {
            into.par_chunks_mut(REDUCE_AT_ONCE).enumerate().for_each(|(chunk, into)| {
                for sum in sums {
                    let from = &sum.layers[l].parts()[part][chunk * REDUCE_AT_ONCE..];
                    vectorised(
                        #[inline(always)]
                        || {
                            for (to, from) in into.iter_mut().zip(from) {
                                *to += from.to_f64();
                            }
                        },
                    );
                }
            });
        }
        for sum in sums {
            for (to, from) in theta.iter_mut().zip(&sum.layers[l].theta) {
                *to += from;
            }
        }
    });
}

impl DeepGp {
    /// The ELBO of a batch.
    pub fn elbo(&self, batch: Batch<'_>, noise: Noise<'_>) -> Result<Elbo> {
        self.check_data(batch.data)?;
        if let Some(accelerator) = self.accelerator() {
            self.check_batch(batch, &noise)?;
            return Ok(accelerator.evaluate(self, batch, noise, false)?.0);
        }
        self.evaluate(batch, noise, &mut StepMemory::new(self, batch.data), false)
    }

    /// The ELBO of a batch, and the gradient of `data_term − kl_weight · Σ KL` in all parameter values, in the order of
    /// [`DeepGp::parameters`].
    pub fn elbo_gradient(&self, batch: Batch<'_>, noise: Noise<'_>) -> Result<(Elbo, Vec<f64>)> {
        self.check_data(batch.data)?;
        if let Some(accelerator) = self.accelerator() {
            self.check_batch(batch, &noise)?;
            return accelerator.evaluate(self, batch, noise, true);
        }
        let mut memory = StepMemory::new(self, batch.data);
        let elbo = self.evaluate(batch, noise, &mut memory, true)?;
        Ok((elbo, memory.gradient))
    }

    /// The prologue, in memory of its own.
    pub(crate) fn prepare(&self) -> Result<Vec<Prepared>> {
        self.prepare_in(&mut spare(self.layers().len()))
    }

    /// The prologue: all layers side by side.
    fn prepare_in(&self, memory: &mut [LayerMemory]) -> Result<Vec<Prepared>> {
        let layers = self.layers().par_iter().zip(memory).enumerate();
        let prepared: Vec<Result<Prepared>> =
            layers.map(|(i, (layer, memory))| layer.prepare(self.jitter(), i, memory)).collect();
        // In order, so that the first error is the same on any number of threads.
        prepared.into_iter().collect()
    }

    /// The inputs in sparse form, if they have one and the first layer's kernel can make use of it.
    fn sparse_inputs<'d>(&self, data: &'d Dataset) -> Option<&'d SparseInputs> {
        Evaluate::<f64>::sparse(&*self.layers()[0].kernel).and_then(|_| data.sparse())
    }

    /// Whether all parameters are finite, and so is everything that follows from them alone.
    pub(crate) fn is_sound(&self) -> bool {
        let mut finite = true;
        self.clone().visit(&mut |leaf| finite &= leaf.values.iter().all(|v| v.is_finite()));
        finite
            && self.prepare().is_ok_and(|prepared| prepared.iter().all(|p| (p.mean.kl + p.covariance.kl).is_finite()))
    }

    /// The ELBO; if `gradient` is set, its gradient is left in `memory`. The data must have been checked.
    pub(crate) fn evaluate(
        &self,
        batch: Batch<'_>,
        noise: Noise<'_>,
        memory: &mut StepMemory,
        gradient: bool,
    ) -> Result<Elbo> {
        self.check_batch(batch, &noise)?;
        let StepMemory { layers, rows, total, gradient: out } = memory;
        let prepared = self.prepare_in(layers)?;
        match rows {
            RowMemory::F64(rows) => reduce(self.accumulate(&prepared, batch, &noise, rows, gradient), total, gradient),
            RowMemory::Mixed(rows) => {
                reduce(self.accumulate(&prepared, batch, &noise, rows, gradient), total, gradient)
            }
        }
        let elbo = Elbo {
            data_term: total.data_term,
            kl: prepared.iter().map(|p| p.mean.kl + p.covariance.kl).collect(),
            clamped: total.clamped,
            jitter: prepared.iter().flat_map(|p| p.events.iter().cloned()).collect(),
        };
        if !elbo.total().is_finite() {
            let what = match elbo.kl.iter().position(|kl| !kl.is_finite()) {
                Some(layer) => format!("the KL of layer {layer}"),
                None => "the data term".into(),
            };
            return Err(Error::NonFinite { what });
        }
        if gradient {
            self.epilogue(prepared, total, batch, layers, out);
            if let Some(at) = out.iter().position(|g| !g.is_finite()) {
                let name = self.parameters().into_iter().find(|p| p.range.contains(&at)).map(|p| p.name);
                return Err(Error::NonFinite { what: format!("the gradient of {}", name.unwrap_or_default()) });
            }
        }
        Ok(elbo)
    }

    /// All blocks of rows, in parallel, into as many partial sums as there are blocks, but no more than [`ACCUMULATORS`].
    fn accumulate<'m, T: Real>(
        &self,
        prepared: &[Prepared],
        batch: Batch<'_>,
        noise: &Noise<'_>,
        memory: &'m mut Memory<T>,
        gradient: bool,
    ) -> &'m [Sums<T>] {
        let Memory { arrays, sums, workspaces } = memory;
        let (floor, sparse) = (self.precision().floor(), self.sparse_inputs(batch.data));
        let chain = Chain::reusing(arrays, self.layers(), prepared, floor, batch.samples, Want::Gradients, sparse);
        let block_rows = self.rows_at_once::<T>().div_ceil(chain.mixture_size());
        let blocks = batch.rows.len().div_ceil(block_rows);
        let used = blocks.min(ACCUMULATORS);
        while sums.len() < used {
            sums.push(Sums::zeros(self, batch.data));
        }
        let sums = &mut sums[..used];
        sums.par_iter_mut().enumerate().with_max_len(1).for_each(|(i, sum)| {
            let mut rows = workspaces.take();
            sum.clear();
            for block in (i..blocks).step_by(used) {
                let first = block * block_rows;
                let ids = &batch.rows[first..batch.rows.len().min(first + block_rows)];
                self.block(&chain, &mut rows, Block { ids, first }, batch, noise, gradient, sum);
            }
        });
        chain.recycle(arrays);
        sums
    }

    /// Rows (times samples) in a block: more where every block has to fetch all the `G_p` from memory.
    fn rows_at_once<T: Real>(&self) -> usize {
        let numbers: usize = self.layers().iter().map(|layer| layer.covariance.factor.as_slice().len()).sum();
        if numbers * size_of::<T>() > CACHED_BYTES { LARGE_BLOCK_ROWS } else { BLOCK_ROWS }
    }

    /// One block, forward, through the likelihood, and backward into `sum`.
    #[allow(clippy::too_many_arguments, reason = "a block is a function of exactly these")]
    fn block<T: Real>(
        &self,
        chain: &Chain<'_, T>,
        rows: &mut ChainRows<T>,
        block: Block<'_>,
        batch: Batch<'_>,
        noise: &Noise<'_>,
        gradient: bool,
        sum: &mut Sums<T>,
    ) {
        let first = &mut rows.layers[0];
        if let Some(inputs) = self.sparse_inputs(batch.data) {
            first.sparse.get_or_insert_default().gather(inputs, block.ids);
        } else {
            first.x.reshape_for_overwrite(block.ids.len(), self.input_width());
            for (i, &id) in block.ids.iter().enumerate() {
                for (to, from) in first.x.row_mut(i).iter_mut().zip(batch.data.x().row(id as usize)) {
                    *to = T::of(*from);
                }
            }
        }
        sum.clamped += chain.forward(rows, noise, block);

        let (fan, p) = (chain.mixture_size(), self.latent_width());
        let scale = batch.num_data as f64 / batch.rows.len() as f64 / fan as f64;
        let last = rows.layers.last_mut().expect("a model has a layer");
        last.mean_bar.reshape_for_overwrite(block.ids.len() * fan, p);
        last.variance_bar.reshape_for_overwrite(block.ids.len() * fan, p);
        let buffer = &mut rows.observed;
        buffer.resize(4 * p, 0.0);
        for (i, &id) in block.ids.iter().enumerate() {
            let y = batch.data.y().row(id as usize);
            let weight = scale * batch.data.weights().map_or(1.0, |w| w[id as usize]);
            for s in i * fan..(i + 1) * fan {
                let (moments, bars) = buffer.split_at_mut(2 * p);
                let (mean, variance) = moments.split_at_mut(p);
                let (mean_bar, variance_bar) = bars.split_at_mut(p);
                widen(last.mean.row(s), mean);
                widen(last.variance.row(s), variance);
                let f = Latent { mean, variance };
                sum.data_term += weight * self.likelihood().expected_log_density(y, f);
                if gradient {
                    mean_bar.fill(0.0);
                    variance_bar.fill(0.0);
                    let theta = &mut sum.likelihood;
                    let bars = LatentBars { mean: mean_bar, variance: variance_bar, theta };
                    self.likelihood().expected_log_density_pullback(y, f, weight, bars);
                    narrow(mean_bar, last.mean_bar.row_mut(s));
                    narrow(variance_bar, last.variance_bar.row_mut(s));
                }
            }
        }
        if gradient {
            chain.backward(rows, Some(&mut sum.layers));
        }
    }

    /// Pulls the sums back to the parameters, all layers side by side.
    fn epilogue(
        &self,
        prepared: Vec<Prepared>,
        total: &mut Sums<f64>,
        batch: Batch<'_>,
        memory: &mut [LayerMemory],
        out: &mut Vec<f64>,
    ) {
        let lengths = self.layers().iter().map(Layer::parameter_count);
        out.resize(lengths.clone().sum::<usize>() + total.likelihood.len(), 0.0);
        let mut rest = &mut out[..];
        let mut work = Vec::with_capacity(prepared.len());
        for ((length, prepared), (sums, memory)) in lengths.zip(prepared).zip(total.layers.iter_mut().zip(memory)) {
            let (own, after) = rest.split_at_mut(length);
            work.push((prepared, sums, memory, own));
            rest = after;
        }
        rest.copy_from_slice(&total.likelihood);
        let sparse = self.sparse_inputs(batch.data);
        work.into_par_iter().zip(self.layers()).enumerate().for_each(|(l, ((prepared, sums, memory, own), layer))| {
            let background = sparse.filter(|_| l == 0).map(SparseInputs::background);
            layer.pullback(prepared, sums, -batch.kl_weight, background, memory, own);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mat::Mat;
    use crate::noise::{Key, Purpose};
    use crate::settings::{InducingSize, ModelSettings};
    use crate::simd::baseline;
    use crate::testing::uniform;

    fn bits(rows: usize) -> Mat {
        uniform(rows, 40, 3).map(|v| f64::from(u8::from(v > 0.8)))
    }

    #[test]
    fn sparse_inputs_are_found_for_kernels_that_can_take_them() {
        let data = Dataset::new(bits(50), uniform(50, 1, 2)).unwrap();
        let dense = Dataset::new(uniform(50, 40, 1), uniform(50, 1, 2)).unwrap();
        let settings = ModelSettings { inducing: Some(InducingSize::Tied(3)), ..ModelSettings::default() };
        let model = DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
        assert!(model.sparse_inputs(&data).is_some() && model.sparse_inputs(&dense).is_none());
        let mut layers = model.layers().to_vec();
        layers[0].kernel = Box::new(crate::kernel::Matern12::new(1.0, vec![1.0; 40]));
        let kinked = DeepGp::new(layers, model.likelihood().clone_box()).unwrap();
        assert!(kinked.sparse_inputs(&data).is_none());
    }

    #[test]
    fn loops_without_vectors_give_the_same_bits() {
        for x in [uniform(300, 3, 1), bits(300)] {
            let data = Dataset::new(x, uniform(300, 1, 2)).unwrap();
            let rows: Vec<u32> = (0..300).collect();
            for precision in [Precision::F64, Precision::Mixed] {
                let inducing = Some(InducingSize::Decoupled { mean: 40, covariance: 35 });
                let settings = ModelSettings { hidden_layers: 1, inducing, precision, ..ModelSettings::default() };
                let model = DeepGp::for_regression(data.x().view(), 1, &settings).unwrap();
                let evaluate = || {
                    let batch = Batch { data: &data, rows: &rows, num_data: 300, samples: 2, kl_weight: 1.0 };
                    let noise = Noise::Rows { key: Key::new(1, Purpose::Train), step: 0 };
                    model.elbo_gradient(batch, noise).unwrap()
                };
                assert_eq!(evaluate(), baseline::run(evaluate), "{precision:?}");
            }
        }
    }
}
