//! Prediction on the CPU: rows through all layers, forward alone, or backward too for slopes in the inputs.
//!
//! All rows share the samples' noise, and rows go through in groups of one size, the last one filled up, so that products have one shape
//! and a row's bits do not depend on the others.

use rayon::prelude::*;

use super::chain::{Chain, ChainRows, Workspaces};
use crate::backend::Mixtures;
use crate::error::Result;
use crate::layer::{Prepared, Want};
use crate::model::{DeepGp, Precision, Sites};
use crate::numeric::mat::{Mat, View};
use crate::numeric::real::{Real, widen};
use crate::predict::Moments;
use crate::random::noise::{Noise, RowNumbers};
use crate::settings::PredictSettings;

/// The number of rows times samples in a block: enough that fetching a layer's matrices costs little, few enough that a single row is
/// fast.
const ROWS_AT_ONCE: usize = 256;
/// The number of rows, without their samples, that go through the first layer together, for the same reason.
const FIRST_ROWS: usize = 64;
/// The number of inputs of rows, or of the last layer's means over all rows and samples, that are held at once.
const NUMBERS_AT_ONCE: usize = 1 << 20;

/// A model ready to predict on the CPU.
#[derive(Debug)]
pub(crate) struct CpuMixtures<'m> {
    /// The layers and working memory.
    chain: RowChain<'m>,
    /// The noise of each hidden layer, `[S, width]`, the same for all rows.
    noise: Vec<Mat>,
    /// The number of latent functions, `P`.
    width: usize,
    /// The learned sites that take the place of samples, if there are any.
    sites: Option<&'m Sites>,
}

/// The layers and working memory in the precision of the rows.
#[derive(Debug)]
enum RowChain<'m> {
    /// Rows in `f64`.
    F64(Chain<'m, f64>, Workspaces<f64>),
    /// Rows in `f32`.
    Mixed(Chain<'m, f32>, Workspaces<f32>),
}

impl<'m> CpuMixtures<'m> {
    /// The model ready to predict, for moments alone or for gradients too.
    pub fn new(model: &'m DeepGp, prepared: &[Prepared], settings: PredictSettings, want: Want) -> Self {
        let (layers, floor, samples) = (model.layers(), model.precision().floor(), model.samples(settings.samples));
        let count = layers.len();
        let chain = match model.precision() {
            Precision::F64 => RowChain::F64(Chain::new(layers, prepared, floor, samples, want), Workspaces::new(count)),
            Precision::Mixed => {
                RowChain::Mixed(Chain::new(layers, prepared, floor, samples, want), Workspaces::new(count))
            }
        };
        let noise = model.prediction_noise(settings);
        Self { chain, noise, width: model.latent_width(), sites: model.sites() }
    }

    /// The slopes of mean and variance of each latent function in the inputs: `[N, 2 · P · D]`, those of the means first.
    pub fn input_gradients(&self, x: View<'_>) -> Mat {
        let mut out = Mat::zeros(x.nrows(), 2 * self.width * x.ncols());
        match &self.chain {
            RowChain::F64(chain, workspaces) => self.fill_gradients(chain, workspaces, x, &mut out),
            RowChain::Mixed(chain, workspaces) => self.fill_gradients(chain, workspaces, x, &mut out),
        }
        out
    }

    /// The means, then the variances, of all samples of each row: `[N, 2 · S · P]`.
    fn fill_moments<T: Real>(&self, chain: &Chain<'_, T>, workspaces: &Workspaces<T>, x: View<'_>) -> Mat {
        let each = chain.mixture_size() * self.width;
        let mut out = Mat::zeros(x.nrows(), 2 * each);
        let at_first = blocks_at_first(chain);
        self.each_block(chain, workspaces, x, &mut out, at_first, |rows, out| {
            let last = rows.layers.last().expect("a model has a layer");
            for (i, out) in out.enumerate() {
                let (mean, variance) = out.split_at_mut(each);
                widen(&last.mean.as_slice()[i * each..(i + 1) * each], mean);
                widen(&last.variance.as_slice()[i * each..(i + 1) * each], variance);
            }
        });
        out
    }

    /// Writes the slopes of the mixture's mean and variance in the inputs, by a pullback for each moment of each latent function.
    ///
    /// With `m = Σ ω_s μ_s` and `v = Σ ω_s (σ²_s + (μ_s − m)²)`: `∂m/∂μ_s = ω_s`, `∂v/∂μ_s = 2 ω_s (μ_s − m)`, `∂v/∂σ²_s = ω_s`.
    fn fill_gradients<T: Real>(&self, chain: &Chain<'_, T>, workspaces: &Workspaces<T>, x: View<'_>, out: &mut Mat) {
        let (s, p, d) = (chain.mixture_size(), self.width, x.ncols());
        self.each_block(chain, workspaces, x, out, 1, |rows, out| {
            let weights: Vec<T> = match self.sites {
                None => vec![T::of(1.0 / s as f64); s],
                Some(sites) => sites.log_weights().iter().map(|own| T::of(own.exp())).collect(),
            };
            let mut out: Vec<&mut [f64]> = out.collect();
            for moment in 0..2 {
                for o in 0..p {
                    let last = rows.layers.last_mut().expect("a model has a layer");
                    last.mean_bar.reshape_for_overwrite(last.mean.nrows(), p);
                    last.variance_bar.reshape_for_overwrite(last.mean.nrows(), p);
                    last.mean_bar.fill(T::ZERO);
                    last.variance_bar.fill(T::ZERO);
                    for i in 0..out.len() {
                        let own = i * s..(i + 1) * s;
                        let mean = match self.sites {
                            None => own.clone().map(|r| last.mean[(r, o)]).sum::<T>() * weights[0],
                            Some(_) => own.clone().zip(&weights).map(|(r, &w)| w * last.mean[(r, o)]).sum::<T>(),
                        };
                        for (r, &weight) in own.zip(&weights) {
                            if moment == 0 {
                                last.mean_bar[(r, o)] = weight;
                            } else {
                                last.variance_bar[(r, o)] = weight;
                                last.mean_bar[(r, o)] = (T::ONE + T::ONE) * (last.mean[(r, o)] - mean) * weight;
                            }
                        }
                    }
                    chain.backward(rows, None);
                    for (i, out) in out.iter_mut().enumerate() {
                        let start = (moment * p + o) * d;
                        widen(rows.layers[0].x_bar.row(i), &mut out[start..start + d]);
                    }
                }
            }
        });
    }

    /// Takes every block of rows forward and hands it to `then`, with its rows of `out`. The first layer, which sees a row once and not
    /// once a sample, takes `at_first` blocks together.
    fn each_block<T: Real>(
        &self,
        chain: &Chain<'_, T>,
        workspaces: &Workspaces<T>,
        x: View<'_>,
        out: &mut Mat,
        at_first: usize,
        then: impl Fn(&mut ChainRows<T>, std::slice::ChunksExactMut<'_, f64>) + Sync,
    ) {
        let width = out.ncols();
        if width == 0 || x.nrows() == 0 {
            return;
        }
        let noise = Noise::Table(&self.noise);
        let block_rows = block_rows(chain);
        let first_rows = block_rows * at_first;
        // A table asks for no row numbers, only for how many rows there are.
        let ids = vec![0; block_rows];
        let compute = |(group, out): (usize, &mut [f64])| {
            let mut rows = workspaces.take();
            let (first, count) = (group * first_rows, out.len() / width);
            let input = rows.layers[0].x.dense_mut();
            input.reshape_for_overwrite(first_rows, x.ncols());
            for i in 0..first_rows {
                let row = x.row(first + i.min(count - 1));
                for (to, from) in input.row_mut(i).iter_mut().zip(row) {
                    *to = T::of(*from);
                }
            }
            chain.forward_first(&mut rows);
            for (block, out) in out.chunks_mut(block_rows * width).enumerate() {
                let part = block * block_rows..(block + 1) * block_rows;
                let place = RowNumbers { ids: &ids, first: first + part.start, offset: 0 };
                chain.forward_rest(&mut rows, part, &noise, place);
                then(&mut rows, out.chunks_exact_mut(width));
            }
        };
        out.as_mut_slice().par_chunks_mut(first_rows * width).enumerate().for_each(compute);
    }
}

/// The number of rows, without their samples, in a block.
fn block_rows<T: Real>(chain: &Chain<'_, T>) -> usize {
    ROWS_AT_ONCE.div_ceil(chain.mixture_size())
}

/// The number of blocks that go through the first layer together.
fn blocks_at_first<T: Real>(chain: &Chain<'_, T>) -> usize {
    if chain.layers.len() == 1 { 1 } else { FIRST_ROWS.div_ceil(block_rows(chain)) }
}

impl Mixtures for CpuMixtures<'_> {
    fn moments(&self, x: View<'_>) -> Result<Moments> {
        let all = match &self.chain {
            RowChain::F64(chain, workspaces) => self.fill_moments(chain, workspaces, x),
            RowChain::Mixed(chain, workspaces) => self.fill_moments(chain, workspaces, x),
        };
        let each = all.ncols() / 2;
        let part = |start: usize| {
            let rows = (0..all.nrows()).flat_map(|i| &all.row(i)[start..start + each]);
            Mat::from_buffer(all.nrows() * each / self.width, self.width, rows.copied().collect())
        };
        Ok(Moments { mean: part(0), variance: part(each) })
    }

    fn rows_at_once(&self) -> usize {
        fn sizes<T: Real>(chain: &Chain<'_, T>) -> (usize, usize, usize) {
            (block_rows(chain) * blocks_at_first(chain), chain.mixture_size(), chain.layers[0].input_width())
        }
        let (group, samples, columns) = match &self.chain {
            RowChain::F64(chain, _) => sizes(chain),
            RowChain::Mixed(chain, _) => sizes(chain),
        };
        // Whole groups, and enough of them for many threads.
        (NUMBERS_AT_ONCE / columns.max(samples * self.width)).div_ceil(group).max(4) * group
    }
}
