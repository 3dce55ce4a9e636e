//! Prediction: rows go through the hidden layers sample by sample, and the mixture that results at each row is reduced to a few numbers.
//!
//! At a row the model's answer is `1/S Σ_s N(f; μ_s, σ²_s)`, where `s` runs over samples of the hidden layers, or a weighted sum over
//! learned sites. Moments,
//! quantiles and log density are those of the mixture: the density by log-sum-exp, never an average of logarithms. `f` is
//! the latent function, `y` an observation of it; results name which they are of. All rows share the samples' noise, so results depend
//! neither on the other rows nor on how rows are cut into chunks (on a device, as long as it has memory for its usual chunk). Everything
//! is in the model's units here; `Regressor` works in the user's.

mod absolute;
pub mod baseline;
mod class_baselines;
pub(crate) mod class_metrics;
mod count_baselines;
pub(crate) mod count_metrics;
mod discrete;
pub(crate) mod distribution_on_grid;
mod interval;
pub(crate) mod joint;
pub(crate) mod metrics;
pub(crate) mod mixture;
pub(crate) mod neighbours;
mod noise;
mod rows;
mod sharpness;
mod spread;
pub(crate) mod transformed;
mod trend;

pub(crate) use interval::ends_of_intervals;
pub use rows::Rows;
pub use sharpness::Sharpness;
pub use spread::Spread;

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::backend::Mixtures;
use crate::backend::cpu::chain::{Chain, Workspaces};
use crate::backend::cpu::mixtures::CpuMixtures;
use crate::data::{Trend, check_finite};
use crate::error::{Error, Result};
use crate::layer::{Prepared, Want};
use crate::likelihood::class_distribution::ClassDistribution;
use crate::likelihood::{Likelihood, Outcomes};
use crate::model::DeepGp;
use crate::numeric::mat::{Mat, View};
use crate::numeric::threads::Threads;
use crate::predict::count_metrics::CountAssessment;
use crate::predict::metrics::Assessment;
use crate::predict::mixture::Mixture;
use crate::predict::spread::Widening;
use crate::predict::trend::LatentTrend;
use crate::random::noise::{Key, Noise, Purpose, RowNumbers, fill_row, row_words};
use crate::settings::PredictSettings;

/// The least distance of a quantile level from 0 and 1: nearer to them the distribution function has not the digits.
const EXTREME_LEVEL: f64 = 1e-10;

/// The largest input in magnitude; larger ones are moved here, where the model has long returned to its prior and squares still fit in
/// `f32`.
const LARGEST_INPUT: f64 = 1e12;

/// Means and variances of several rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// The means, `[N, P]`.
    pub mean: Mat,
    /// The variances, `[N, P]`.
    pub variance: Mat,
}

impl Moments {
    /// The standard deviations, `[N, P]`.
    pub fn deviation(&self) -> Mat {
        self.variance.map(f64::sqrt)
    }
}

/// The predicted moments of the latent function and of an observation, `[N, P]` each.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Moments of the latent function `f`.
    pub f: Moments,
    /// Moments of an observation `y`: noise included.
    pub y: Moments,
    /// The noise's part of the variance of `y`, `E Var[y | f]`, `[N, P]`: what is left however well `f` is known.
    pub noise: Mat,
}

/// Slopes of the predicted moments of `f` in the inputs: row `n`, column `p · D + d` is `∂ moment_p(x_n) / ∂x_nd`.
#[derive(Clone, Debug, PartialEq)]
pub struct InputGradient {
    /// Slopes of the mean, `[N, P · D]`.
    pub mean: Mat,
    /// Slopes of the variance, `[N, P · D]`.
    pub variance: Mat,
}

/// A model ready to predict, in the model's units: what does not depend on rows is computed once.
#[derive(Debug)]
pub struct Predictor<'a> {
    /// The model that predicts.
    pub(crate) model: &'a DeepGp,
    /// The prepared layers, for joint predictions and slopes; computed when one is asked for.
    prepared: OnceLock<Vec<Prepared>>,
    /// Samples, seed and threads.
    pub(crate) settings: PredictSettings,
    /// The threads to work on.
    pub(crate) threads: Threads,
    /// The backend's way from rows to mixtures.
    mixtures: Box<dyn Mixtures + 'a>,
    /// The weights of the mixtures' parts; `None` where all weigh alike.
    pub(crate) weights: Option<Vec<f64>>,
    /// What is done to the mixtures; `None` where they are the model's own.
    widening: Option<Widening>,
    /// What is added to the means; `None` where targets have no trend.
    trend: Option<LatentTrend>,
}

impl DeepGp {
    /// The model ready to predict, in the model's units.
    pub fn predictor(&self, settings: PredictSettings) -> Result<Predictor<'_>> {
        if settings.samples == 0 {
            return Err(Error::Setting { name: "samples", value: "0".into(), requirement: "at least 1" });
        }
        let threads = Threads::new(settings.threads)?;
        let mixtures = threads.run(|| self.backend().mixtures(self, settings))?;
        let weights = self.sites().map(|sites| sites.log_weights().iter().map(|own| own.exp()).collect());
        let (prepared, widening, trend) = (OnceLock::new(), None, None);
        Ok(Predictor { model: self, prepared, settings, threads, mixtures, weights, widening, trend })
    }

    /// Moments of the last layer for each row and sample of the hidden layers, in `f64`: row `n · samples + s` of the
    /// result is sample `s` of row `n` (one row for each if there is no hidden layer). The noise given is used, learned sites are not.
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
        *rows.layers[0].x.dense_mut() = x.to_mat();
        chain.forward(&mut rows, &noise, RowNumbers { ids: &ids, first: 0, offset: 0 });
        let last = rows.layers.last_mut().expect("a model has a layer");
        Ok(Moments { mean: std::mem::take(&mut last.mean), variance: std::mem::take(&mut last.variance) })
    }
}

/// The rows of `x` with numbers beyond [`LARGEST_INPUT`] moved there.
pub(crate) fn within_reach(x: View<'_>) -> Mat {
    let mut rows = x.to_mat();
    for v in rows.as_mut_slice() {
        *v = v.clamp(-LARGEST_INPUT, LARGEST_INPUT);
    }
    rows
}

/// Fails unless `x` has the model's width and is finite.
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

impl<'a> Predictor<'a> {
    /// This predictor with distributions of numbers made so much wider. Fails if the likelihood cannot be.
    pub(crate) fn with_spread(mut self, spread: &Spread) -> Result<Self> {
        if spread.is_neutral() {
            return Ok(self);
        }
        let likelihood = self.model.likelihood();
        match Widening::new(likelihood, spread.factors()) {
            Some(widening) => self.widening = Some(widening),
            None => return Err(Error::NoSpread { likelihood: likelihood.name() }),
        }
        Ok(self)
    }

    /// This predictor with a trend added to the latent functions that targets scatter around. Fails if it is not one of this model's inputs and targets.
    pub(crate) fn with_trend(mut self, trend: Option<&Trend>) -> Result<Self> {
        self.trend = trend.map(|own| LatentTrend::new(own, self.model)).transpose()?;
        Ok(self)
    }

    /// The likelihood through which mixtures are seen.
    pub(crate) fn likelihood(&self) -> &dyn Likelihood {
        self.widening.as_ref().map_or(self.model.likelihood(), Widening::likelihood)
    }

    /// The factor by which the distribution of each latent function is wider than the model's.
    pub(crate) fn latent_factors(&self) -> Vec<f64> {
        self.widening.as_ref().map_or_else(|| vec![1.0; self.model.latent_width()], |own| own.factors().to_vec())
    }

    /// Means, then variances, of the parts of each row's mixture, `[N, 2 S P]`.
    pub(crate) fn parts<'r>(&self, rows: impl Into<Rows<'r>>) -> Result<Mat> {
        let half = self.model.mixture_size(self.settings.samples) * self.model.latent_width();
        self.map_rows(rows.into(), 2 * half, |_, mixture, out| {
            let (mean, variance) = out.split_at_mut(half);
            mean.copy_from_slice(mixture.mean);
            variance.copy_from_slice(mixture.variance);
        })
    }

    /// The prepared layers, which do not depend on rows; computed on the first call.
    pub(crate) fn prepared(&self) -> Result<&[Prepared]> {
        match self.prepared.get() {
            Some(prepared) => Ok(prepared),
            None => {
                let prepared = self.threads.run(|| self.model.prepare())?;
                Ok(self.prepared.get_or_init(|| prepared))
            }
        }
    }

    /// Mean and variance of `f` and `y` at each row.
    pub fn moments<'r>(&self, rows: impl Into<Rows<'r>>) -> Result<Prediction> {
        let rows = rows.into();
        let (p, o) = (self.model.latent_width(), self.likelihood().observed_width());
        let all = self.map_rows(rows, 2 * p + 3 * o, |_, mixture, out| {
            let (f, y) = out.split_at_mut(2 * p);
            let (f_mean, f_variance) = f.split_at_mut(p);
            mixture.moments_of_f(f_mean, f_variance);
            let (y_mean, rest) = y.split_at_mut(o);
            let (y_variance, noise) = rest.split_at_mut(o);
            mixture.moments_of_y(self.likelihood(), y_mean, y_variance);
            mixture.noise_variance(self.likelihood(), noise);
        })?;
        let columns = |from: usize, width| Mat::from_fn(rows.x.nrows(), width, |i, j| all[(i, from + j)]);
        Ok(Prediction {
            f: Moments { mean: columns(0, p), variance: columns(p, p) },
            y: Moments { mean: columns(2 * p, o), variance: columns(2 * p + o, o) },
            noise: columns(2 * p + 2 * o, o),
        })
    }

    /// Quantiles of `y` at each row: column `p · levels + l` of the result is level `l` of output `p`. Levels lie between 1e-10
    /// and 1 − 1e-10.
    pub fn quantiles<'r>(&self, rows: impl Into<Rows<'r>>, levels: &[f64]) -> Result<Mat> {
        let rows = rows.into();
        let answerable = EXTREME_LEVEL..=1.0 - EXTREME_LEVEL;
        if let Some(bad) = levels.iter().find(|q| !answerable.contains(q)) {
            let requirement = "between 1e-10 and 1 - 1e-10";
            return Err(Error::Setting { name: "quantile level", value: bad.to_string(), requirement });
        }
        let outputs = self.likelihood().observed_width();
        self.map_rows(rows, outputs * levels.len(), |_, mixture, out| {
            for (p, out) in out.chunks_exact_mut(levels.len().max(1)).enumerate() {
                for (q, &level) in out.iter_mut().zip(levels) {
                    *q = mixture.quantile(self.likelihood(), p, level);
                }
            }
        })
    }

    /// The probability of each class at each row, `[N, C]`. Fails if the likelihood is not one of classes.
    pub fn class_probabilities<'r>(&self, rows: impl Into<Rows<'r>>) -> Result<Mat> {
        let rows = rows.into();
        let likelihood = self.likelihood();
        match likelihood.outcomes() {
            Outcomes::Classes(classes) => self.map_rows(rows, classes, |_, mixture, out| {
                let there = mixture.class_probabilities(likelihood, out);
                assert!(there, "a likelihood of classes has their probabilities");
            }),
            Outcomes::Real | Outcomes::Counts => Err(Error::NoClasses { likelihood: likelihood.name() }),
        }
    }

    /// The log density `log p(y_n | x_n)` of each row, jointly over outputs: `log 1/S Σ_s exp log p_s(y_n)`.
    pub fn log_density<'r>(&self, rows: impl Into<Rows<'r>>, y: View<'_>) -> Result<Vec<f64>> {
        let rows = rows.into();
        self.check_targets(rows.x, y)?;
        let all = self.map_rows(rows, 1, |row, mixture, out| {
            out[0] = mixture.log_density(self.likelihood(), y.row(row));
        })?;
        Ok(all.into_vec())
    }

    /// The continuous ranked probability score of each row, the mean over outputs.
    pub fn crps<'r>(&self, rows: impl Into<Rows<'r>>, y: View<'_>) -> Result<Vec<f64>> {
        let rows = rows.into();
        self.check_targets(rows.x, y)?;
        let all = self.map_rows(rows, 1, |row, mixture, out| {
            let each = (0..y.ncols()).map(|p| mixture.crps(self.likelihood(), p, y[(row, p)]));
            out[0] = each.sum::<f64>() / y.ncols() as f64;
        })?;
        Ok(all.into_vec())
    }

    /// The probability integral transform: `P(Y ≤ y_np)` for each target, `[N, P]`, uniform in (0, 1) if the model is calibrated.
    pub fn cumulative<'r>(&self, rows: impl Into<Rows<'r>>, y: View<'_>) -> Result<Mat> {
        let rows = rows.into();
        self.check_targets(rows.x, y)?;
        self.map_rows(rows, y.ncols(), |row, mixture, out| {
            for (p, out) in out.iter_mut().enumerate() {
                *out = mixture.cumulative(self.likelihood(), p, y[(row, p)]);
            }
        })
    }

    /// Draws of `f` at each row, each from one sample of the hidden layers; `[N, P]` each. Right for each row by itself; for draws of
    /// whole functions see [`Predictor::joint_draws`].
    pub fn draws_of_f<'r>(&self, rows: impl Into<Rows<'r>>, draws: usize) -> Result<Vec<Mat>> {
        let rows = rows.into();
        let p = self.model.latent_width();
        self.draws(rows, draws, p, |_, f, _, out| out.copy_from_slice(f))
    }

    /// Draws of observations `y` at each row, each from one sample of the hidden layers; `[N, P]` each. Each row has noise of its own, a
    /// function of the row's inputs (equal rows get equal noise), so that draws do not depend on the other rows either.
    pub fn draws_of_y<'r>(&self, rows: impl Into<Rows<'r>>, draws: usize) -> Result<Vec<Mat>> {
        let rows = rows.into();
        let key = Key::new(self.settings.seed, Purpose::Observe);
        self.draws(rows, draws, self.likelihood().observed_width(), |row, f, k, out| {
            let [low, high] = row_words(rows.x.row(row));
            self.likelihood().draw(f, key, [low, high, k as u32, 0], out);
        })
    }

    /// Draws of classes at each row by their probabilities `p`, `[N, C]`, with the noise that [`Predictor::draws_of_y`] has.
    pub(crate) fn draws_of_classes(&self, x: View<'_>, p: &Mat, draws: usize) -> Vec<Mat> {
        let key = Key::new(self.settings.seed, Purpose::Observe);
        let draw = |i: usize, k: usize| {
            let [low, high] = row_words(x.row(i));
            ClassDistribution(p.row(i)).quantile(key.uniform([low, high, k as u32, 0]))
        };
        (0..draws).map(|k| Mat::from_fn(x.nrows(), 1, |i, _| draw(i, k))).collect()
    }

    /// The part of the mixture from which draw `k` comes: one after the other where all weigh alike, else one by chance.
    pub(crate) fn part_of_draw(&self, k: usize) -> usize {
        let Some(weights) = &self.weights else { return k };
        let mut left = Key::new(self.settings.seed, Purpose::Sites).uniform([k as u32, 0, 0, 1]);
        let chosen = weights.iter().position(|weight| {
            left -= weight;
            left <= 0.0
        });
        chosen.unwrap_or(weights.len() - 1)
    }

    /// Draws of `width` numbers at each row: draw `k` is `f_p = μ_sp + σ_sp ε_kp` from sample `s = k mod S`, or from a site `s` by chance,
    /// sent through `observe(row, f, k, out)`.
    fn draws(
        &self,
        rows: Rows<'_>,
        draws: usize,
        width: usize,
        observe: impl Fn(usize, &[f64], usize, &mut [f64]) + Sync,
    ) -> Result<Vec<Mat>> {
        let p = self.model.latent_width();
        let last = (self.model.layers().len() as u32 - 1) << 16;
        let key = Key::new(self.settings.seed, Purpose::Predict);
        let all = self.map_rows(rows, draws * width, |row, mixture, out| {
            let mut f = vec![0.0; p];
            for (k, out) in out.chunks_exact_mut(width).enumerate() {
                let part = mixture.part(self.part_of_draw(k));
                fill_row(key, [0, 0, k as u32, last], &mut f);
                for ((f, mean), variance) in f.iter_mut().zip(part.mean).zip(part.variance) {
                    *f = mean + variance.sqrt() * *f;
                }
                observe(row, &f, k, out);
            }
        })?;
        Ok((0..draws).map(|k| Mat::from_fn(rows.x.nrows(), width, |i, j| all[(i, k * width + j)])).collect())
    }

    /// The slopes of the predicted mean and variance of `f` in the inputs.
    pub fn input_gradient(&self, x: View<'_>) -> Result<InputGradient> {
        check_inputs(self.model, x)?;
        let width = 2 * self.model.latent_width() * x.ncols();
        let mixtures = CpuMixtures::new(self.model, self.prepared()?, self.settings, Want::Gradients);
        let all = self.threads.run(|| mixtures.input_gradients(within_reach(x).view()));
        let (half, factors) = (width / 2, self.latent_factors());
        let with_trend = |slope: f64, j: usize| match &self.trend {
            Some(trend) => slope + trend.slope(j / x.ncols(), j % x.ncols()),
            None => slope,
        };
        Ok(InputGradient {
            mean: Mat::from_fn(x.nrows(), half, |i, j| with_trend(all[(i, j)], j)),
            variance: Mat::from_fn(x.nrows(), half, |i, j| factors[j / x.ncols()].powi(2) * all[(i, half + j)]),
        })
    }

    /// The predictions beside what was observed, row by row.
    pub fn assess<'r>(&self, rows: impl Into<Rows<'r>>, y: View<'_>) -> Result<Assessment> {
        let rows = rows.into();
        self.check_targets(rows.x, y)?;
        let (p, likelihood) = (y.ncols(), self.likelihood());
        let all = self.map_rows(rows, 4 * p + 1, |row, mixture, out| {
            let (mean, rest) = out.split_at_mut(p);
            let (variance, rest) = rest.split_at_mut(p);
            let (pit, rest) = rest.split_at_mut(p);
            let (crps, density) = rest.split_at_mut(p);
            mixture.moments_of_y(likelihood, mean, variance);
            for o in 0..p {
                pit[o] = mixture.middle_of_jump(likelihood, o, y[(row, o)]);
                crps[o] = mixture.crps(likelihood, o, y[(row, o)]);
            }
            density[0] = mixture.log_density(likelihood, y.row(row));
        })?;
        let columns = |from: usize| Mat::from_fn(rows.x.nrows(), p, |i, j| all[(i, from * p + j)]);
        Ok(Assessment {
            mean: columns(0),
            deviation: columns(1).map(f64::sqrt),
            pit: columns(2),
            crps: columns(3),
            log_density: (0..rows.x.nrows()).map(|i| all[(i, 4 * p)]).collect(),
        })
    }

    /// The predictions of counts beside what was observed, row by row. Fails if the likelihood is not one of counts.
    pub fn assess_counts<'r>(&self, rows: impl Into<Rows<'r>>, y: View<'_>) -> Result<CountAssessment> {
        let (rows, likelihood) = (rows.into(), self.likelihood());
        match likelihood.outcomes() {
            Outcomes::Counts => {}
            Outcomes::Real | Outcomes::Classes(_) => return Err(Error::NoCounts { likelihood: likelihood.name() }),
        }
        self.check_targets(rows.x, y)?;
        let all = self.map_rows(rows, 5, |row, mixture, out| {
            let (observed, mut variance) = (y[(row, 0)], [0.0]);
            mixture.moments_of_y(likelihood, &mut out[..1], &mut variance);
            out[1] = mixture.cumulative(likelihood, 0, observed - 1.0);
            out[2] = mixture.cumulative(likelihood, 0, observed);
            out[3] = mixture.log_density(likelihood, y.row(row));
            out[4] = mixture.cumulative(likelihood, 0, 0.0);
        })?;
        let column = |j: usize| (0..all.nrows()).map(|i| all[(i, j)]).collect();
        Ok(CountAssessment {
            mean: column(0),
            below: column(1),
            up_to: column(2),
            log_mass: column(3),
            zero: column(4),
        })
    }

    /// The distribution function `P(Y ≤ k)` of each row for each of `counts`, `[N, K]`. Fails if the likelihood is not one of counts.
    pub fn cumulative_counts<'r>(&self, rows: impl Into<Rows<'r>>, counts: &[f64]) -> Result<Mat> {
        let likelihood = self.likelihood();
        match likelihood.outcomes() {
            Outcomes::Counts => self.map_rows(rows.into(), counts.len(), |_, mixture, out| {
                for (to, count) in out.iter_mut().zip(counts) {
                    *to = mixture.cumulative(likelihood, 0, *count);
                }
            }),
            Outcomes::Real | Outcomes::Classes(_) => Err(Error::NoCounts { likelihood: likelihood.name() }),
        }
    }

    /// [`Predictor::cumulative`] under the name that it had in version 0.1.
    #[deprecated(since = "0.2.0", note = "it is `cumulative`")]
    pub fn below(&self, x: View<'_>, y: View<'_>) -> Result<Mat> {
        self.cumulative(x, y)
    }

    /// Fails unless `y` has a row for each of `x` and is possible under the likelihood.
    pub(crate) fn check_targets(&self, x: View<'_>, y: View<'_>) -> Result<()> {
        let width = self.likelihood().observed_width();
        if (y.nrows(), y.ncols()) != (x.nrows(), width) {
            return Err(Error::Shape {
                what: "targets",
                expected: format!("{} x {width}", x.nrows()),
                found: format!("{} x {}", y.nrows(), y.ncols()),
            });
        }
        check_finite("y", y)?;
        self.likelihood().check(y)
    }

    /// Fails unless offsets, if there are any, are as many as rows, finite, and of use to the likelihood.
    fn check_offsets(&self, rows: Rows<'_>) -> Result<()> {
        let Some(offsets) = rows.offsets else { return Ok(()) };
        self.model.check_offsets()?;
        if offsets.len() != rows.x.nrows() {
            let (expected, found) = (rows.x.nrows().to_string(), offsets.len().to_string());
            return Err(Error::Shape { what: "offsets", expected, found });
        }
        check_finite("offsets", View::new(offsets, offsets.len(), 1))
    }

    /// Reduces the mixture at each row to `width` numbers, as many rows at a time as the backend wants. Memory is that of the result and
    /// of one chunk's moments.
    fn map_rows(
        &self,
        rows: Rows<'_>,
        width: usize,
        reduce: impl Fn(usize, Mixture<'_>, &mut [f64]) + Sync,
    ) -> Result<Mat> {
        let Rows { x, offsets } = rows;
        check_inputs(self.model, x)?;
        self.check_offsets(rows)?;
        let mut out = Mat::zeros(x.nrows(), width);
        if width == 0 {
            return Ok(out);
        }
        let (at_once, p) = (self.mixtures.rows_at_once(), self.model.latent_width());
        for (chunk, out) in out.as_mut_slice().chunks_mut(at_once * width).enumerate() {
            let first = chunk * at_once;
            let rows = within_reach(x.rows(first..x.nrows().min(first + at_once)));
            let Moments { mut mean, mut variance } = self.threads.run(|| self.mixtures.moments(rows.view()))?;
            let each = mean.as_slice().len() / rows.nrows();
            if let Some(offsets) = offsets {
                for (mean, offset) in mean.as_mut_slice().chunks_exact_mut(each).zip(&offsets[first..]) {
                    self.model.add_offset(*offset, mean);
                }
            }
            if let Some(trend) = &self.trend {
                mean.as_mut_slice()
                    .chunks_exact_mut(each)
                    .enumerate()
                    .for_each(|(i, mean)| trend.add(rows.row(i), mean));
            }
            if let Some(widening) = &self.widening {
                let rows =
                    mean.as_mut_slice().chunks_exact_mut(each).zip(variance.as_mut_slice().chunks_exact_mut(each));
                rows.for_each(|(mean, variance)| widening.widen(mean, variance, self.weights.as_deref()));
            }
            let reduce_row = |(i, out): (usize, &mut [f64])| {
                let own = i * each..(i + 1) * each;
                let (mean, variance) = (&mean.as_slice()[own.clone()], &variance.as_slice()[own]);
                reduce(first + i, Mixture { mean, variance, width: p, weights: self.weights.as_deref() }, out);
            };
            self.threads.run(|| out.par_chunks_mut(width).enumerate().for_each(reduce_row));
        }
        Ok(out)
    }
}
