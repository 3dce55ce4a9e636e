//! Prediction: the mixture over samples propagated through the hidden layers, reduced row by row.
//!
//! At a row the model's answer is `1/S Σ_s N(f; μ_s, σ²_s)`, where `s` runs over samples of the hidden layers. Moments,
//! quantiles and log density are those of the mixture: the density by log-sum-exp, never an average of logarithms. `f` is
//! the function, `y` an observation of it; they are kept apart. All rows share the samples' noise, so results depend
//! neither on the other rows nor on how rows are cut into chunks (on an accelerator, as long as it has memory for its usual chunk). Everything is in the model's units here; `Regressor`
//! speaks the user's.

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::accelerator::Mixtures;
use crate::chain::{Block, Chain, ChainRows, Workspaces};
use crate::data::check_finite;
use crate::error::{Error, Result};
use crate::layer::{Prepared, Want};
use crate::mat::{Mat, View};
use crate::metrics::Assessment;
use crate::mixture::Mixture;
use crate::model::{DeepGp, Precision};
use crate::noise::{Key, Noise, Purpose, fill_row, row_words};
use crate::real::{Real, widen};
use crate::settings::PredictSettings;
use crate::threads::Threads;

/// No quantile level is nearer to 0 or 1: the distribution function has not the digits.
const EXTREME_LEVEL: f64 = 1e-10;

/// Inputs farther out than this are moved here: the model has long returned to its prior, and squares still fit in `f32`.
pub(crate) const FAR: f64 = 1e12;

/// Rows times samples in a block: enough that fetching a layer's matrices does not count, few enough that one row is soon answered.
const ROWS_AT_ONCE: usize = 256;
/// Rows, without their samples, that go through the first layer together, for the same reason.
const FIRST_ROWS: usize = 64;

/// Means and variances, a row each.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Means.
    pub mean: Mat,
    /// Variances.
    pub variance: Mat,
}

impl Moments {
    /// Standard deviations.
    pub fn deviation(&self) -> Mat {
        self.variance.map(f64::sqrt)
    }
}

/// Moments of the function and of an observation, `[N, P]` each.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Of `f`.
    pub f: Moments,
    /// Of `y`: noise included.
    pub y: Moments,
}

/// Slopes of the predicted moments of `f` in the inputs: row `n`, column `p · D + d` is `∂ moment_p(x_n) / ∂x_nd`.
#[derive(Clone, Debug, PartialEq)]
pub struct InputGradient {
    /// Of the mean, `[N, P · D]`.
    pub mean: Mat,
    /// Of the variance, `[N, P · D]`.
    pub variance: Mat,
}

/// A model made ready to answer: what does not depend on rows is computed once.
#[derive(Debug)]
pub struct Predictor<'a> {
    pub(crate) model: &'a DeepGp,
    /// Made at once on the CPU; where an accelerator answers, only if something asks that the CPU must answer.
    prepared: OnceLock<Vec<Prepared>>,
    pub(crate) settings: PredictSettings,
    pub(crate) threads: Threads,
    source: Source<'a>,
}

#[derive(Debug)]
enum Engine<'a> {
    F64(Chain<'a, f64>, Workspaces<f64>),
    Mixed(Chain<'a, f32>, Workspaces<f32>),
}

/// Who computes the mixtures.
#[derive(Debug)]
enum Source<'a> {
    Cpu(Engine<'a>),
    Accelerator(Box<dyn Mixtures>),
}

impl<'a> Engine<'a> {
    fn new(model: &'a DeepGp, prepared: &[Prepared], samples: usize, want: Want) -> Self {
        let (layers, floor, count) = (model.layers(), model.precision().floor(), model.layers().len());
        match model.precision() {
            Precision::F64 => Self::F64(Chain::new(layers, prepared, floor, samples, want), Workspaces::new(count)),
            Precision::Mixed => Self::Mixed(Chain::new(layers, prepared, floor, samples, want), Workspaces::new(count)),
        }
    }
}

impl DeepGp {
    /// Makes the model ready to answer.
    pub fn predictor(&self, settings: PredictSettings) -> Result<Predictor<'_>> {
        if settings.samples == 0 {
            return Err(Error::Setting { name: "samples", value: "0".into(), requirement: "at least 1" });
        }
        let threads = Threads::new(settings.threads)?;
        if let Some(accelerator) = self.accelerator() {
            let source = Source::Accelerator(accelerator.mixtures(self, settings)?);
            return Ok(Predictor { model: self, prepared: OnceLock::new(), settings, threads, source });
        }
        let prepared = threads.run(|| self.prepare())?;
        let source = Source::Cpu(Engine::new(self, &prepared, settings.samples, Want::Moments));
        Ok(Predictor { model: self, prepared: prepared.into(), settings, threads, source })
    }

    /// Moments of the last layer for each row and sample of the hidden layers, in `f64`: row `n · samples + s` of the
    /// result is sample `s` of row `n` (one row for each if there is no hidden layer).
    ///
    /// For a look inside and for comparison with other programs: all rows are held at once.
    pub fn propagate(&self, x: View<'_>, noise: Noise<'_>, samples: usize) -> Result<Moments> {
        check_inputs(self, x)?;
        self.check_noise(&noise, x.nrows(), samples)?;
        let ids: Vec<u32> = (0..x.nrows() as u32).collect();
        let prepared = self.prepare()?;
        let chain = Chain::<f64>::new(self.layers(), &prepared, self.precision().floor(), samples, Want::Moments);
        let workspaces = Workspaces::new(self.layers().len());
        let mut rows = workspaces.take();
        rows.layers[0].x = x.to_mat();
        chain.forward(&mut rows, &noise, Block { ids: &ids, first: 0 });
        let last = rows.layers.last_mut().expect("a model has a layer");
        Ok(Moments { mean: std::mem::take(&mut last.mean), variance: std::mem::take(&mut last.variance) })
    }
}

fn check_inputs(model: &DeepGp, x: View<'_>) -> Result<()> {
    if x.ncols() != model.input_width() {
        return Err(Error::Shape {
            what: "inputs",
            expected: format!("{} columns, as in training", model.input_width()),
            found: x.ncols().to_string(),
        });
    }
    check_finite("x", x)
}

impl Predictor<'_> {
    /// What the CPU needs that does not depend on rows.
    pub(crate) fn prepared(&self) -> Result<&[Prepared]> {
        match self.prepared.get() {
            Some(made) => Ok(made),
            None => {
                let made = self.threads.run(|| self.model.prepare())?;
                Ok(self.prepared.get_or_init(|| made))
            }
        }
    }

    /// Mean and variance of `f` and `y` at each row.
    pub fn moments(&self, x: View<'_>) -> Result<Prediction> {
        let (p, o) = (self.model.latent_width(), self.model.likelihood().observed_width());
        let all = self.map_rows(x, 2 * (p + o), |_, mixture, out| {
            let (f, y) = out.split_at_mut(2 * p);
            let (f_mean, f_variance) = f.split_at_mut(p);
            mixture.moments_of_f(f_mean, f_variance);
            let (y_mean, y_variance) = y.split_at_mut(o);
            mixture.moments_of_y(self.model.likelihood(), y_mean, y_variance);
        })?;
        let columns = |from: usize, width| Mat::from_fn(x.nrows(), width, |i, j| all[(i, from + j)]);
        Ok(Prediction {
            f: Moments { mean: columns(0, p), variance: columns(p, p) },
            y: Moments { mean: columns(2 * p, o), variance: columns(2 * p + o, o) },
        })
    }

    /// Quantiles of `y` at each row: column `p · levels + l` of the result is level `l` of output `p`. Levels lie between 1e-10
    /// and 1 − 1e-10.
    pub fn quantiles(&self, x: View<'_>, levels: &[f64]) -> Result<Mat> {
        let answerable = EXTREME_LEVEL..=1.0 - EXTREME_LEVEL;
        if let Some(bad) = levels.iter().find(|q| !answerable.contains(q)) {
            let requirement = "between 1e-10 and 1 - 1e-10";
            return Err(Error::Setting { name: "quantile level", value: bad.to_string(), requirement });
        }
        let outputs = self.model.likelihood().observed_width();
        self.map_rows(x, outputs * levels.len(), |_, mixture, out| {
            for (p, out) in out.chunks_exact_mut(levels.len().max(1)).enumerate() {
                for (q, &level) in out.iter_mut().zip(levels) {
                    *q = mixture.quantile(self.model.likelihood(), p, level);
                }
            }
        })
    }

    /// `log p(y_n | x_n)` of each row, jointly over outputs: `log 1/S Σ_s exp log p_s(y_n)`.
    pub fn log_density(&self, x: View<'_>, y: View<'_>) -> Result<Vec<f64>> {
        self.check_targets(x, y)?;
        let all = self.map_rows(x, 1, |row, mixture, out| {
            out[0] = mixture.log_density(self.model.likelihood(), y.row(row));
        })?;
        Ok(all.into_vec())
    }

    /// `P(y ≤ y_np)` for each target, `[N, P]`: uniform in (0, 1) if the model is calibrated.
    pub fn below(&self, x: View<'_>, y: View<'_>) -> Result<Mat> {
        self.check_targets(x, y)?;
        self.map_rows(x, y.ncols(), |row, mixture, out| {
            for (p, out) in out.iter_mut().enumerate() {
                *out = mixture.cumulative(self.model.likelihood(), p, y[(row, p)]);
            }
        })
    }

    /// `draws` draws of `f` at each row, each from one sample of the hidden layers; `[N, P]` each. Right for each row by
    /// itself; for draws of whole functions see [`Predictor::joint_draws`].
    pub fn draws_of_f(&self, x: View<'_>, draws: usize) -> Result<Vec<Mat>> {
        let p = self.model.latent_width();
        self.draws(x, draws, p, |_, f, _, out| out.copy_from_slice(f))
    }

    /// Like [`Predictor::draws_of_f`], of observations. Each row has noise of its own, a function of the row's inputs (equal rows
    /// get equal noise), so that draws do not depend on the other rows either.
    pub fn draws_of_y(&self, x: View<'_>, draws: usize) -> Result<Vec<Mat>> {
        let key = Key::new(self.settings.seed, Purpose::Observe);
        self.draws(x, draws, self.model.likelihood().observed_width(), |row, f, k, out| {
            let [low, high] = row_words(x.row(row));
            self.model.likelihood().draw(f, key, [low, high, k as u32, 0], out);
        })
    }

    fn draws(
        &self,
        x: View<'_>,
        draws: usize,
        width: usize,
        observe: impl Fn(usize, &[f64], usize, &mut [f64]) + Sync,
    ) -> Result<Vec<Mat>> {
        let p = self.model.latent_width();
        let last = (self.model.layers().len() as u32 - 1) << 16;
        let key = Key::new(self.settings.seed, Purpose::Predict);
        let all = self.map_rows(x, draws * width, |row, mixture, out| {
            let mut f = vec![0.0; p];
            for (k, out) in out.chunks_exact_mut(width).enumerate() {
                let part = mixture.part(k);
                fill_row(key, [0, 0, k as u32, last], &mut f);
                for ((f, mean), variance) in f.iter_mut().zip(part.mean).zip(part.variance) {
                    *f = mean + variance.sqrt() * *f;
                }
                observe(row, &f, k, out);
            }
        })?;
        Ok((0..draws).map(|k| Mat::from_fn(x.nrows(), width, |i, j| all[(i, k * width + j)])).collect())
    }

    /// Slopes of the predicted mean and variance of `f` in the inputs.
    pub fn input_gradient(&self, x: View<'_>) -> Result<InputGradient> {
        check_inputs(self.model, x)?;
        let width = 2 * self.model.latent_width() * x.ncols();
        let mut all = Mat::zeros(x.nrows(), width);
        match &Engine::new(self.model, self.prepared()?, self.settings.samples, Want::Gradients) {
            Engine::F64(chain, workspaces) => self.fill_gradients(chain, workspaces, x, &mut all),
            Engine::Mixed(chain, workspaces) => self.fill_gradients(chain, workspaces, x, &mut all),
        }
        let half = |from: usize| Mat::from_fn(x.nrows(), width / 2, |i, j| all[(i, from + j)]);
        Ok(InputGradient { mean: half(0), variance: half(width / 2) })
    }

    /// Predictions beside what was observed, row by row.
    pub fn assess(&self, x: View<'_>, y: View<'_>) -> Result<Assessment> {
        self.check_targets(x, y)?;
        let (p, likelihood) = (y.ncols(), self.model.likelihood());
        let all = self.map_rows(x, 4 * p + 1, |row, mixture, out| {
            let (mean, rest) = out.split_at_mut(p);
            let (variance, rest) = rest.split_at_mut(p);
            let (below, rest) = rest.split_at_mut(p);
            let (crps, density) = rest.split_at_mut(p);
            mixture.moments_of_y(likelihood, mean, variance);
            for o in 0..p {
                below[o] = mixture.cumulative(likelihood, o, y[(row, o)]);
                crps[o] = mixture.crps(likelihood, o, y[(row, o)]);
            }
            density[0] = mixture.log_density(likelihood, y.row(row));
        })?;
        let columns = |from: usize| Mat::from_fn(x.nrows(), p, |i, j| all[(i, from * p + j)]);
        Ok(Assessment {
            mean: columns(0),
            deviation: columns(1).map(f64::sqrt),
            below: columns(2),
            crps: columns(3),
            log_density: (0..x.nrows()).map(|i| all[(i, 4 * p)]).collect(),
        })
    }

    fn check_targets(&self, x: View<'_>, y: View<'_>) -> Result<()> {
        let width = self.model.likelihood().observed_width();
        if (y.nrows(), y.ncols()) != (x.nrows(), width) {
            return Err(Error::Shape {
                what: "targets",
                expected: format!("{} x {width}", x.nrows()),
                found: format!("{} x {}", y.nrows(), y.ncols()),
            });
        }
        check_finite("y", y)?;
        self.model.likelihood().check(y)
    }

    /// Reduces the mixture at each row to `width` numbers. Memory is that of the result and one block a thread.
    fn map_rows(
        &self,
        x: View<'_>,
        width: usize,
        reduce: impl Fn(usize, Mixture<'_>, &mut [f64]) + Sync,
    ) -> Result<Mat> {
        check_inputs(self.model, x)?;
        let mut out = Mat::zeros(x.nrows(), width);
        match &self.source {
            Source::Cpu(Engine::F64(chain, workspaces)) => self.fill_rows(chain, workspaces, x, &mut out, reduce),
            Source::Cpu(Engine::Mixed(chain, workspaces)) => self.fill_rows(chain, workspaces, x, &mut out, reduce),
            Source::Accelerator(mixtures) => self.fetch_rows(&**mixtures, x, &mut out, reduce)?,
        }
        Ok(out)
    }

    /// [`Predictor::fill_rows`] with moments from an accelerator.
    fn fetch_rows(
        &self,
        mixtures: &dyn Mixtures,
        x: View<'_>,
        out: &mut Mat,
        reduce: impl Fn(usize, Mixture<'_>, &mut [f64]) + Sync,
    ) -> Result<()> {
        let (at_once, p, width) = (mixtures.rows_at_once(), self.model.latent_width(), out.ncols());
        let s = if self.model.layers().len() == 1 { 1 } else { self.settings.samples };
        if width == 0 {
            return Ok(());
        }
        for (chunk, out) in out.as_mut_slice().chunks_mut(at_once * width).enumerate() {
            let first = chunk * at_once;
            let rows = x.rows(first..x.nrows().min(first + at_once)).to_mat().map(|v| v.clamp(-FAR, FAR));
            let Moments { mean, variance } = mixtures.moments(rows.view())?;
            let reduce_row = |(i, out): (usize, &mut [f64])| {
                let own = i * s * p..(i + 1) * s * p;
                let (mean, variance) = (&mean.as_slice()[own.clone()], &variance.as_slice()[own]);
                reduce(first + i, Mixture { mean, variance, width: p }, out);
            };
            self.threads.run(|| out.par_chunks_mut(width).enumerate().for_each(reduce_row));
        }
        Ok(())
    }

    fn fill_rows<T: Real>(
        &self,
        chain: &Chain<'_, T>,
        workspaces: &Workspaces<T>,
        x: View<'_>,
        out: &mut Mat,
        reduce: impl Fn(usize, Mixture<'_>, &mut [f64]) + Sync,
    ) {
        let (s, p) = (chain.mixture_size(), self.model.latent_width());
        let at_first = if chain.layers.len() == 1 { 1 } else { FIRST_ROWS.div_ceil(ROWS_AT_ONCE.div_ceil(s)) };
        self.each_block(chain, workspaces, x, out, at_first, |rows, first, out| {
            let last = rows.layers.last().expect("a model has a layer");
            let (mut mean, mut variance) = (vec![0.0; s * p], vec![0.0; s * p]);
            for (i, out) in out.enumerate() {
                widen(&last.mean.as_slice()[i * s * p..(i + 1) * s * p], &mut mean);
                widen(&last.variance.as_slice()[i * s * p..(i + 1) * s * p], &mut variance);
                reduce(first + i, Mixture { mean: &mean, variance: &variance, width: p }, out);
            }
        });
    }

    /// With `m = 1/S Σ μ_s` and `v = 1/S Σ (σ²_s + (μ_s − m)²)`: `∂m/∂μ_s = 1/S`, `∂v/∂μ_s = 2 (μ_s − m)/S`, `∂v/∂σ²_s = 1/S`.
    fn fill_gradients<T: Real>(&self, chain: &Chain<'_, T>, workspaces: &Workspaces<T>, x: View<'_>, out: &mut Mat) {
        let (s, p, d) = (chain.mixture_size(), self.model.latent_width(), x.ncols());
        self.each_block(chain, workspaces, x, out, 1, |rows, _, out| {
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
        then: impl Fn(&mut ChainRows<T>, usize, std::slice::ChunksExactMut<'_, f64>) + Sync,
    ) {
        let width = out.ncols();
        if width == 0 || x.nrows() == 0 {
            return;
        }
        let noise = Noise::Shared { key: Key::new(self.settings.seed, Purpose::Predict) };
        let block_rows = ROWS_AT_ONCE.div_ceil(chain.mixture_size());
        let first_rows = block_rows * at_first;
        // Shared noise asks for no row numbers, only for how many rows there are.
        let ids = vec![0; block_rows];
        let compute = |(group, out): (usize, &mut [f64])| {
            let mut rows = workspaces.take();
            let (first, count) = (group * first_rows, out.len() / width);
            // A short group is filled up, so that products have one shape and a row's bits do not depend on the others.
            let input = &mut rows.layers[0].x;
            input.reshape_for_overwrite(first_rows, x.ncols());
            for i in 0..first_rows {
                let row = x.row(first + i.min(count - 1));
                for (to, from) in input.row_mut(i).iter_mut().zip(row) {
                    *to = T::of(from.clamp(-FAR, FAR));
                }
            }
            chain.first(&mut rows);
            for (block, out) in out.chunks_mut(block_rows * width).enumerate() {
                let part = block * block_rows..(block + 1) * block_rows;
                chain.after_first(&mut rows, part.clone(), &noise, Block { ids: &ids, first: first + part.start });
                then(&mut rows, first + part.start, out.chunks_exact_mut(width));
            }
        };
        let groups = out.as_mut_slice().par_chunks_mut(first_rows * width).enumerate();
        self.threads.run(|| groups.for_each(compute));
    }
}
