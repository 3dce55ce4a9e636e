//! Rows through all layers for prediction: forward alone, or backward too for slopes in the inputs.
//!
//! All rows share the samples' noise, and rows go through in groups of one size, the last one filled up, so that products have one shape
//! and a row's bits do not depend on the others.

use rayon::prelude::*;

use super::chain::{Chain, ChainRows, Workspaces};
use crate::backend::Mixtures;
use crate::error::Result;
use crate::layer::{Prepared, Want};
use crate::model::{DeepGp, Precision};
use crate::numeric::mat::{Mat, View};
use crate::numeric::real::{Real, widen};
use crate::predict::{LARGEST_INPUT, Moments};
use crate::random::noise::{Key, Noise, Purpose, RowNumbers};
use crate::settings::PredictSettings;

/// Rows times samples in a block: enough that fetching a layer's matrices does not count, few enough that one row is soon answered.
const ROWS_AT_ONCE: usize = 256;
/// Rows, without their samples, that go through the first layer together, for the same reason.
const FIRST_ROWS: usize = 64;
/// Numbers that are held at once: inputs of rows, or means of the last layer over all rows and samples.
const NUMBERS_AT_ONCE: usize = 1 << 20;

/// A model made ready for rows to pass through it.
#[derive(Debug)]
pub(crate) struct Passes<'m> {
    engine: Engine<'m>,
    settings: PredictSettings,
    width: usize,
}

#[derive(Debug)]
enum Engine<'m> {
    F64(Chain<'m, f64>, Workspaces<f64>),
    Mixed(Chain<'m, f32>, Workspaces<f32>),
}

impl<'m> Passes<'m> {
    /// For moments alone, or for gradients too.
    pub fn new(model: &'m DeepGp, prepared: &[Prepared], settings: PredictSettings, want: Want) -> Self {
        let (layers, floor, samples) = (model.layers(), model.precision().floor(), settings.samples);
        let count = layers.len();
        let engine = match model.precision() {
            Precision::F64 => Engine::F64(Chain::new(layers, prepared, floor, samples, want), Workspaces::new(count)),
            Precision::Mixed => {
                Engine::Mixed(Chain::new(layers, prepared, floor, samples, want), Workspaces::new(count))
            }
        };
        Self { engine, settings, width: model.latent_width() }
    }

    /// Slopes of the mean and of the variance of each latent function in the inputs: `[N, 2 · P · D]`, the means' first.
    pub fn input_gradients(&self, x: View<'_>) -> Mat {
        let mut out = Mat::zeros(x.nrows(), 2 * self.width * x.ncols());
        match &self.engine {
            Engine::F64(chain, workspaces) => self.fill_gradients(chain, workspaces, x, &mut out),
            Engine::Mixed(chain, workspaces) => self.fill_gradients(chain, workspaces, x, &mut out),
        }
        out
    }

    /// Means, then variances, of all samples of a row: `[N, 2 · S · P]`.
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

    /// With `m = 1/S Σ μ_s` and `v = 1/S Σ (σ²_s + (μ_s − m)²)`: `∂m/∂μ_s = 1/S`, `∂v/∂μ_s = 2 (μ_s − m)/S`, `∂v/∂σ²_s = 1/S`.
    fn fill_gradients<T: Real>(&self, chain: &Chain<'_, T>, workspaces: &Workspaces<T>, x: View<'_>, out: &mut Mat) {
        let (s, p, d) = (chain.mixture_size(), self.width, x.ncols());
        self.each_block(chain, workspaces, x, out, 1, |rows, out| {
            let share = T::of(1.0 / s as f64);
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
                        let mean = own.clone().map(|r| last.mean[(r, o)]).sum::<T>() * share;
                        for r in own {
                            if moment == 0 {
                                last.mean_bar[(r, o)] = share;
                            } else {
                                last.variance_bar[(r, o)] = share;
                                last.mean_bar[(r, o)] = (T::ONE + T::ONE) * (last.mean[(r, o)] - mean) * share;
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

    /// Takes every block of rows forward and hands it on, with its rows of `out`. The first layer, which sees a row once and not once
    /// a sample, takes `at_first` blocks together.
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
        let noise = Noise::Shared { key: Key::new(self.settings.seed, Purpose::Predict) };
        let block_rows = block_rows(chain);
        let first_rows = block_rows * at_first;
        // Shared noise asks for no row numbers, only for how many rows there are.
        let ids = vec![0; block_rows];
        let compute = |(group, out): (usize, &mut [f64])| {
            let mut rows = workspaces.take();
            let (first, count) = (group * first_rows, out.len() / width);
            let input = rows.layers[0].x.dense_mut();
            input.reshape_for_overwrite(first_rows, x.ncols());
            for i in 0..first_rows {
                let row = x.row(first + i.min(count - 1));
                for (to, from) in input.row_mut(i).iter_mut().zip(row) {
                    *to = T::of(from.clamp(-LARGEST_INPUT, LARGEST_INPUT));
                }
            }
            chain.first(&mut rows);
            for (block, out) in out.chunks_mut(block_rows * width).enumerate() {
                let part = block * block_rows..(block + 1) * block_rows;
                let place = RowNumbers { ids: &ids, first: first + part.start, offset: 0 };
                chain.after_first(&mut rows, part, &noise, place);
                then(&mut rows, out.chunks_exact_mut(width));
            }
        };
        out.as_mut_slice().par_chunks_mut(first_rows * width).enumerate().for_each(compute);
    }
}

/// Rows, without their samples, in a block.
fn block_rows<T: Real>(chain: &Chain<'_, T>) -> usize {
    ROWS_AT_ONCE.div_ceil(chain.mixture_size())
}

/// Blocks that go through the first layer together.
fn blocks_at_first<T: Real>(chain: &Chain<'_, T>) -> usize {
    if chain.layers.len() == 1 { 1 } else { FIRST_ROWS.div_ceil(block_rows(chain)) }
}

impl Mixtures for Passes<'_> {
    fn moments(&self, x: View<'_>) -> Result<Moments> {
        let all = match &self.engine {
            Engine::F64(chain, workspaces) => self.fill_moments(chain, workspaces, x),
            Engine::Mixed(chain, workspaces) => self.fill_moments(chain, workspaces, x),
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
        let (group, samples, columns) = match &self.engine {
            Engine::F64(chain, _) => sizes(chain),
            Engine::Mixed(chain, _) => sizes(chain),
        };
        // Whole groups, and enough of them for many threads.
        (NUMBERS_AT_ONCE / columns.max(samples * self.width)).div_ceil(group).max(16) * group
    }
}
