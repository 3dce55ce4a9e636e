//! [`Regressor`]: a model with the change of units around it. Rows and predictions are in the user's units.

use std::ops::ControlFlow;

use crate::data::{Dataset, Scaling, Standardiser};
use crate::error::{Error, Result};
use crate::likelihood::class_distribution::ClassDistribution;
use crate::likelihood::{Outcomes, Quantity};
use crate::model::DeepGp;
use crate::numeric::mat::{Mat, View};
use crate::predict::class_metrics::ClassScore;
use crate::predict::count_metrics::{CountAssessment, CountScore};
use crate::predict::joint::{JointDraws, JointMoments};
use crate::predict::metrics::{Assessment, Score};
use crate::predict::{InputGradient, Moments, Prediction, Predictor, Rows, Sharpness, Spread, ends_of_intervals};
use crate::settings::{FitSettings, PredictSettings};
use crate::train::state::{StepReport, TrainState};
use crate::train::{Fit, Training};

/// A regression model for data in the user's units.
#[derive(Clone, Debug)]
pub struct Regressor {
    /// The model, for standardised inputs and targets.
    pub model: DeepGp,
    /// The change between the user's units and the model's.
    pub standardiser: Standardiser,
    /// How much surer class probabilities are made than the model's; neutral where targets are no classes.
    pub sharpness: Sharpness,
    /// How much wider distributions of numbers are made than the model's; neutral where targets are none.
    pub spread: Spread,
}

impl Regressor {
    /// A model with these units, whose predictions are taken as they are.
    pub fn new(model: DeepGp, standardiser: Standardiser) -> Self {
        Self { model, standardiser, sharpness: Sharpness::default(), spread: Spread::default() }
    }

    /// This model as sure of its predictions as rows say which training did not see, in the model's units: with the [`Sharpness`] of classes or the
    /// [`Spread`] of numbers that suits them. As it is, if it cannot predict these rows.
    pub(crate) fn calibrated_by(mut self, held_out: &Dataset, settings: PredictSettings) -> Result<Self> {
        let learnt = self.model.predictor(settings).and_then(|own| calibration(&own, held_out));
        match learnt {
            Ok((sharpness, spread)) => (self.sharpness, self.spread) = (sharpness, spread),
            Err(reason) if reason.can_be_rolled_back() => {}
            Err(other) => return Err(other),
        }
        Ok(self)
    }

    /// Trains a model on `data`: the short way through [`Training`]. `callback` sees every step and can end training by breaking.
    pub fn fit(
        data: &Dataset,
        settings: &FitSettings,
        callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>,
    ) -> Result<Fit> {
        Training::new(data, settings)?.run(callback)
    }

    /// The model ready to predict, in the user's units.
    pub fn predictor(&self, settings: PredictSettings) -> Result<UserPredictor<'_>> {
        let likelihood = self.model.likelihood();
        let targets = self.standardiser.y.scale.len();
        if likelihood.observed_width() != targets {
            return Err(Error::Shape {
                what: "a model for regression",
                expected: format!("{targets} targets, as the standardiser has"),
                found: likelihood.observed_width().to_string(),
            });
        }
        match likelihood.outcomes() {
            Outcomes::Real | Outcomes::Counts if !self.sharpness.is_neutral() => {
                return Err(Error::NoClasses { likelihood: likelihood.name() });
            }
            Outcomes::Real | Outcomes::Counts | Outcomes::Classes(_) => {}
        }
        let latent = likelihood.latent_units(&self.standardiser.y);
        let (inner, sharpness) = (self.model.predictor(settings)?.with_spread(&self.spread)?, self.sharpness);
        let inner = inner.with_trend(self.standardiser.trend.as_ref())?;
        Ok(UserPredictor { inner, standardiser: &self.standardiser, latent, sharpness })
    }

    /// The likelihood's parameters in the user's units, e.g. the noise's standard deviation; where targets are transformed, in the units of
    /// the transformed ones.
    pub fn likelihood_summary(&self) -> Vec<Quantity> {
        self.model.likelihood().summary(&self.standardiser.y)
    }

    /// Mean and variance of `f` and `y` at each row of `x`, with the default settings.
    pub fn predict(&self, x: View<'_>) -> Result<Prediction> {
        self.predictor(PredictSettings::default())?.moments(x)
    }
}

/// A model ready to predict, in the user's units: a [`Predictor`] with the change of units around it.
///
/// With `x = (u − shift_x) / scale_x` and `y = (v − shift_y) / scale_y` for inputs `u` and targets `v` in the user's units, means and
/// quantiles are `scale_y · y + shift_y`, variances are times `scale_y²`, the slope of a mean is times `scale_y / scale_x`, and a log
/// density is less `Σ log scale_y`.
///
/// Where targets are transformed, `y = (T(v) − shift_y) / scale_y`. All that is said of observations is in the user's units all the same:
/// quantiles and draws through `T⁻¹`, moments and scores by quadrature, log densities with `ln T'(v)`; the noise has the share of the variance
/// that it has of `T(v)`'s. What is said of the latent functions `f` (moments, draws, slopes, joint moments) stays in the units of `T(v)`, in
/// which the model is a Gaussian process.
///
/// Where targets are classes, all that is said of observations by themselves follows from probabilities that the [`Sharpness`] has seen;
/// draws of whole functions ([`UserPredictor::joint_draws`]) are the model's own. Where they are numbers, all that is said of them and of the
/// functions they scatter around is as wide as the [`Spread`] makes it.
#[derive(Debug)]
pub struct UserPredictor<'a> {
    /// The predictor in the model's units.
    inner: Predictor<'a>,
    /// The units of inputs and targets.
    standardiser: &'a Standardiser,
    /// The units of latent functions.
    latent: Scaling,
    /// What is done to class probabilities.
    sharpness: Sharpness,
}

impl UserPredictor<'_> {
    /// The latent function around which target `output` scatters, as [`Likelihood::location`](crate::likelihood::Likelihood::location)
    /// gives it.
    pub fn location(&self, output: usize) -> Option<usize> {
        self.inner.model.likelihood().location(output)
    }

    /// The inputs in the model's units.
    fn inputs(&self, x: View<'_>) -> Result<Mat> {
        self.standardiser.x.apply("x", x)
    }

    /// Mean and variance of `f` and `y` at each row, as [`Predictor::moments`] gives them.
    pub fn moments<'r>(&self, rows: impl Into<Rows<'r>>) -> Result<Prediction> {
        let rows @ Rows { x, offsets } = rows.into();
        let inputs = self.inputs(x)?;
        let Prediction { mut f, mut y, mut noise } = self.inner.moments(Rows { x: inputs.view(), offsets })?;
        self.latent.undo(&mut f.mean);
        self.latent.undo_variance(&mut f.variance);
        let elsewhere = match self.sharpened(rows)? {
            Some(p) => Some(moments_of_classes(&p)),
            None if self.standardiser.transform.is_some() => {
                Some(self.inner.transformed_moments(inputs.view(), self.standardiser)?)
            }
            None => None,
        };
        if let Some(own) = elsewhere {
            // The noise keeps its share of the variance.
            let share = |i, p| if y.variance[(i, p)] > 0.0 { noise[(i, p)] / y.variance[(i, p)] } else { 0.0 };
            noise = Mat::from_fn(noise.nrows(), noise.ncols(), |i, p| share(i, p) * own.variance[(i, p)]);
            y = own;
        } else {
            self.standardiser.y.undo(&mut y.mean);
            self.standardiser.y.undo_variance(&mut y.variance);
            self.standardiser.y.undo_variance(&mut noise);
        }
        Ok(Prediction { f, y, noise })
    }

    /// What the model makes of each row's targets in numbers whose differences say how much it tells rows apart, an answer for each target: the mean of
    /// the function around which a number scatters, `[N, 1]`, in the units of its transform, the logarithm of the mean of a count, and the
    /// probabilities of classes, `[N, C]`. For [`importance`](crate::importance()).
    pub fn central(&self, x: View<'_>) -> Result<Vec<Mat>> {
        let outcomes = self.inner.likelihood().outcomes();
        if let Outcomes::Classes(_) = outcomes {
            return Ok(vec![self.class_probabilities(x)?]);
        }
        let Prediction { f, y, .. } = self.moments(x)?;
        let value = |i: usize, p: usize| match (self.location(p), outcomes) {
            (Some(latent), _) => f.mean[(i, latent)],
            (None, Outcomes::Counts) => y.mean[(i, p)].ln(),
            (None, Outcomes::Real | Outcomes::Classes(_)) => y.mean[(i, p)],
        };
        Ok((0..y.mean.ncols()).map(|p| Mat::from_fn(x.nrows(), 1, |i, _| value(i, p))).collect())
    }

    /// The function around which each target scatters, in the target's units, with its doubt: columns `3 p`, `3 p + 1` and `3 p + 2` of the result are
    /// target `p` at the function's mean and at so many of its standard deviations below and above, through the transform of the target. Where a
    /// target, such as a count, has no function of its own units, it is what each row's mean is known to. Fails if targets are classes.
    pub fn function_band(&self, x: View<'_>, deviations: f64) -> Result<Mat> {
        let likelihood = self.inner.likelihood();
        if let Outcomes::Classes(_) = likelihood.outcomes() {
            return Err(Error::NoIntervals { likelihood: likelihood.name() });
        }
        let Prediction { f, y, noise } = self.moments(x)?;
        let counted = likelihood.outcomes() == Outcomes::Counts;
        Ok(Mat::from_fn(x.nrows(), 3 * y.mean.ncols(), |i, column| {
            let (p, away) = (column / 3, [0.0, -deviations, deviations][column % 3]);
            match self.location(p) {
                Some(latent) => {
                    let value = f.mean[(i, latent)] + away * f.variance[(i, latent)].sqrt();
                    self.standardiser.transform_of(p).inverse(value)
                }
                None => {
                    let known_to = (y.variance[(i, p)] - noise[(i, p)]).max(0.0).sqrt();
                    let value = y.mean[(i, p)] + away * known_to;
                    if counted { value.max(0.0) } else { value }
                }
            }
        }))
    }

    /// Quantiles of `y` at each row, as [`Predictor::quantiles`] gives them: column `p · levels + l` is level `l` of output `p`.
    pub fn quantiles<'r>(&self, rows: impl Into<Rows<'r>>, levels: &[f64]) -> Result<Mat> {
        let rows @ Rows { x, offsets } = rows.into();
        if let Some(p) = self.sharpened(rows)? {
            return Ok(Mat::from_fn(p.nrows(), levels.len(), |i, l| ClassDistribution(p.row(i)).quantile(levels[l])));
        }
        let mut out = self.inner.quantiles(Rows { x: self.inputs(x)?.view(), offsets }, levels)?;
        for i in 0..out.nrows() {
            for (p, own) in out.row_mut(i).chunks_exact_mut(levels.len().max(1)).enumerate() {
                for v in own {
                    *v = self.standardiser.target(p, *v);
                }
            }
        }
        Ok(out)
    }

    /// Central intervals of `y` at each row, which leave as much below as above: column `2 (p · levels + l)` of the result is where that of level `l`
    /// of output `p` begins, and the next is where it ends. Fails if targets are classes.
    pub fn intervals<'r>(&self, rows: impl Into<Rows<'r>>, levels: &[f64]) -> Result<Mat> {
        let likelihood = self.inner.likelihood();
        match likelihood.outcomes() {
            Outcomes::Real | Outcomes::Counts => self.quantiles(rows, &ends_of_intervals(levels)?),
            Outcomes::Classes(_) => Err(Error::NoIntervals { likelihood: likelihood.name() }),
        }
    }

    /// The probability of each class at each row, `[N, C]`: that of [`Predictor::class_probabilities`], sharpened.
    pub fn class_probabilities<'r>(&self, rows: impl Into<Rows<'r>>) -> Result<Mat> {
        let Rows { x, offsets } = rows.into();
        let mut p = self.inner.class_probabilities(Rows { x: self.inputs(x)?.view(), offsets })?;
        (0..p.nrows()).for_each(|i| self.sharpness.apply(p.row_mut(i)));
        Ok(p)
    }

    /// The sharpened probabilities; `None` where they are the model's own, or there are no classes.
    fn sharpened(&self, rows: Rows<'_>) -> Result<Option<Mat>> {
        if self.sharpness.is_neutral() { Ok(None) } else { self.class_probabilities(rows).map(Some) }
    }

    /// The log density of each row's targets, jointly over outputs, as [`Predictor::log_density`] gives it; `−∞` for a target that its
    /// transform cannot have, e.g. a negative one under a logarithm.
    pub fn log_density<'r>(&self, rows: impl Into<Rows<'r>>, y: View<'_>) -> Result<Vec<f64>> {
        let rows @ Rows { x, offsets } = rows.into();
        if let Some(p) = self.sharpened(rows)? {
            self.inner.check_targets(x, y)?;
            return Ok((0..p.nrows()).map(|i| p[(i, y[(i, 0)] as usize)].ln()).collect());
        }
        if self.standardiser.transform.is_some() {
            return self.inner.transformed_log_density(self.inputs(x)?.view(), y, self.standardiser);
        }
        let y = self.standardiser.y.apply("y", y)?;
        let mut out = self.inner.log_density(Rows { x: self.inputs(x)?.view(), offsets }, y.view())?;
        self.undo_density(&mut out);
        Ok(out)
    }

    /// Brings log densities to the user's units: `log p(v) = log p(y) − Σ log scale` where `y = (v − shift) / scale`.
    fn undo_density(&self, log_density: &mut [f64]) {
        let volume = self.standardiser.y.log_volume();
        for v in log_density {
            *v -= volume;
        }
    }

    /// The probability integral transform `P(Y ≤ y)` of each target, as [`Predictor::cumulative`] gives it.
    pub fn cumulative<'r>(&self, rows: impl Into<Rows<'r>>, y: View<'_>) -> Result<Mat> {
        let rows @ Rows { x, offsets } = rows.into();
        if let Some(p) = self.sharpened(rows)? {
            self.inner.check_targets(x, y)?;
            return Ok(Mat::from_fn(p.nrows(), 1, |i, _| ClassDistribution(p.row(i)).cumulative(y[(i, 0)])));
        }
        if self.standardiser.transform.is_some() {
            return self.inner.transformed_cumulative(self.inputs(x)?.view(), y, self.standardiser);
        }
        let y = self.standardiser.y.apply("y", y)?;
        self.inner.cumulative(Rows { x: self.inputs(x)?.view(), offsets }, y.view())
    }

    /// Draws of `f` at each row by itself, as [`Predictor::draws_of_f`] gives them.
    pub fn draws_of_f<'r>(&self, rows: impl Into<Rows<'r>>, draws: usize) -> Result<Vec<Mat>> {
        let Rows { x, offsets } = rows.into();
        Ok(undo_all(&self.latent, self.inner.draws_of_f(Rows { x: self.inputs(x)?.view(), offsets }, draws)?))
    }

    /// Draws of observations `y` at each row by itself, as [`Predictor::draws_of_y`] gives them.
    pub fn draws_of_y<'r>(&self, rows: impl Into<Rows<'r>>, draws: usize) -> Result<Vec<Mat>> {
        let rows @ Rows { x, offsets } = rows.into();
        if let Some(p) = self.sharpened(rows)? {
            let inputs = self.inputs(x)?;
            return Ok(self.inner.draws_of_classes(inputs.view(), &p, draws));
        }
        Ok(self.observed(self.inner.draws_of_y(Rows { x: self.inputs(x)?.view(), offsets }, draws)?))
    }

    /// The slopes of the predicted mean and variance of `f` in the inputs, as [`Predictor::input_gradient`] gives them.
    pub fn input_gradient(&self, x: View<'_>) -> Result<InputGradient> {
        let InputGradient { mut mean, mut variance } = self.inner.input_gradient(self.inputs(x)?.view())?;
        let (from, to) = (&self.standardiser.x.scale, &self.latent.scale);
        for i in 0..mean.nrows() {
            for (p, to) in to.iter().enumerate() {
                for (d, from) in from.iter().enumerate() {
                    mean[(i, p * x.ncols() + d)] *= to / from;
                    variance[(i, p * x.ncols() + d)] *= to * to / from;
                }
            }
        }
        Ok(InputGradient { mean, variance })
    }

    /// Mean and covariance of `f` over all rows, as [`Predictor::joint_moments`] gives them.
    pub fn joint_moments(&self, x: View<'_>) -> Result<JointMoments> {
        let JointMoments { mut mean, mut covariance } = self.inner.joint_moments(self.inputs(x)?.view())?;
        self.latent.undo(&mut mean);
        for (own, scale) in covariance.iter_mut().zip(&self.latent.scale) {
            for v in own.as_mut_slice() {
                *v *= scale * scale;
            }
        }
        Ok(JointMoments { mean, covariance })
    }

    /// Draws of whole functions over all rows, as [`Predictor::joint_draws`] gives them.
    pub fn joint_draws(&self, x: View<'_>, draws: usize) -> Result<JointDraws> {
        let JointDraws { f, y } = self.inner.joint_draws(self.inputs(x)?.view(), draws)?;
        Ok(JointDraws { f: undo_all(&self.latent, f), y: self.observed(y) })
    }

    /// Draws of observations in the user's units.
    fn observed(&self, mut all: Vec<Mat>) -> Vec<Mat> {
        for own in &mut all {
            self.standardiser.undo_targets(own);
        }
        all
    }

    /// The predictions beside what was observed, row by row, as [`Predictor::assess`] gives them.
    pub fn assess(&self, data: &Dataset) -> Result<Assessment> {
        if let Some(p) = self.sharpened(data.into())? {
            self.inner.check_targets(data.x().view(), data.y().view())?;
            return Ok(assess_classes(&p, data.y().view()));
        }
        if self.standardiser.transform.is_some() {
            let x = self.inputs(data.x().view())?;
            return self.inner.transformed_assess(x.view(), data.y().view(), self.standardiser);
        }
        let (x, y) = (self.inputs(data.x().view())?, self.standardiser.y.apply("y", data.y().view())?);
        let mut assessment = self.inner.assess(Rows { x: x.view(), offsets: data.offsets() }, y.view())?;
        self.standardiser.y.undo(&mut assessment.mean);
        for spread in [&mut assessment.deviation, &mut assessment.crps] {
            for i in 0..spread.nrows() {
                for (v, scale) in spread.row_mut(i).iter_mut().zip(&self.standardiser.y.scale) {
                    *v *= scale;
                }
            }
        }
        self.undo_density(&mut assessment.log_density);
        Ok(assessment)
    }

    /// The quality of the model's predictions of `data`; rows count by their weights.
    pub fn score(&self, data: &Dataset) -> Result<Score> {
        Ok(Score::weighted(data.y().view(), &self.assess(data)?, data.weights()))
    }

    /// The quality of the model's class probabilities on `data`; rows count by their weights. Fails if the likelihood is not one of classes.
    pub fn class_score(&self, data: &Dataset) -> Result<ClassScore> {
        ClassScore::new(data.y().view(), &self.class_probabilities(data)?, data.weights())
    }

    /// The predictions of counts beside what was observed, row by row, as [`Predictor::assess_counts`] gives them.
    pub fn assess_counts(&self, data: &Dataset) -> Result<CountAssessment> {
        let inputs = self.inputs(data.x().view())?;
        self.inner.assess_counts(Rows { x: inputs.view(), offsets: data.offsets() }, data.y().view())
    }

    /// The distribution function `P(Y ≤ k)` of each row for each of `counts`, `[N, K]`, as [`Predictor::cumulative_counts`] gives it.
    pub fn cumulative_counts<'r>(&self, rows: impl Into<Rows<'r>>, counts: &[f64]) -> Result<Mat> {
        let Rows { x, offsets } = rows.into();
        self.inner.cumulative_counts(Rows { x: self.inputs(x)?.view(), offsets }, counts)
    }

    /// The quality of the model's predictions of counts on `data`; rows count by their weights. Fails if the likelihood is not one of counts.
    pub fn count_score(&self, data: &Dataset) -> Result<CountScore> {
        CountScore::new(data.y().view(), &self.assess_counts(data)?, data.weights())
    }
}

/// How sure of its predictions the model should be, as rows say which training did not see, in the model's units.
fn calibration(predictor: &Predictor<'_>, held_out: &Dataset) -> Result<(Sharpness, Spread)> {
    let neutral = (Sharpness::default(), Spread::default());
    Ok(match predictor.likelihood().outcomes() {
        Outcomes::Counts => neutral,
        Outcomes::Real => (neutral.0, Spread::fit(predictor, held_out)?),
        Outcomes::Classes(_) => {
            let p = predictor.class_probabilities(held_out)?;
            (Sharpness::fit(&p, held_out.y().view(), held_out.weights()), neutral.1)
        }
    })
}

/// The moments of class numbers at each row.
fn moments_of_classes(p: &Mat) -> Moments {
    let each: Vec<(f64, f64)> = (0..p.nrows()).map(|i| ClassDistribution(p.row(i)).moments()).collect();
    let column = |of: fn(&(f64, f64)) -> f64| Mat::from_fn(p.nrows(), 1, |i, _| of(&each[i]));
    Moments { mean: column(|own| own.0), variance: column(|own| own.1) }
}

/// Class probabilities beside the classes that were observed.
fn assess_classes(p: &Mat, y: View<'_>) -> Assessment {
    let Moments { mean, variance } = moments_of_classes(p);
    let each = |of: &dyn Fn(ClassDistribution<'_>, f64) -> f64| {
        Mat::from_fn(p.nrows(), 1, |i, _| of(ClassDistribution(p.row(i)), y[(i, 0)]))
    };
    Assessment {
        mean,
        deviation: variance.map(f64::sqrt),
        pit: each(&|own, y| 0.5 * (own.cumulative(y - 1.0) + own.cumulative(y))),
        crps: each(&|own, y| own.ranked_score(y)),
        log_density: (0..p.nrows()).map(|i| p[(i, y[(i, 0)] as usize)].ln()).collect(),
    }
}

/// Brings every matrix back to the user's units.
fn undo_all(units: &Scaling, mut all: Vec<Mat>) -> Vec<Mat> {
    for own in &mut all {
        units.undo(own);
    }
    all
}

impl UserPredictor<'_> {
    /// [`UserPredictor::cumulative`] under the name that it had in version 0.1.
    #[deprecated(since = "0.2.0", note = "it is `cumulative`")]
    pub fn below(&self, x: View<'_>, y: View<'_>) -> Result<Mat> {
        self.cumulative(x, y)
    }
}

/// The verbs of version 0.1, which are one [`Training`] now.
impl Regressor {
    /// A model at its starting point, for `data`.
    #[deprecated(since = "0.2.0", note = "take `Training::new(data, settings)?.regressor().clone()`")]
    pub fn start(data: &Dataset, settings: &FitSettings) -> Result<Self> {
        Ok(Training::new(data, settings)?.regressor().clone())
    }

    /// Trains this model on `data`.
    #[deprecated(since = "0.2.0", note = "take `Training::of(regressor, data, settings)?.run(callback)`")]
    pub fn train(
        self,
        data: &Dataset,
        settings: &FitSettings,
        callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>,
    ) -> Result<Fit> {
        Training::of(self, data, settings)?.run(callback)
    }

    /// Trains this model further, after runs with these settings that took `made` steps.
    #[deprecated(since = "0.2.0", note = "take `Training::of(regressor, data, settings)?.further(made).run(callback)`")]
    pub fn train_further(
        self,
        data: &Dataset,
        settings: &FitSettings,
        made: u64,
        callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>,
    ) -> Result<Fit> {
        Training::of(self, data, settings)?.further(made).run(callback)
    }

    /// The state of a run before its first step.
    #[deprecated(since = "0.2.0", note = "take `Training::of(regressor, data, settings)?.state()`")]
    pub fn begin(&self, data: &Dataset, settings: &FitSettings) -> Result<TrainState> {
        Ok(Training::of(self.clone(), data, settings)?.state())
    }

    /// Trains this model on from a saved state.
    #[deprecated(since = "0.2.0", note = "take `Training::of(regressor, data, settings)?.resume(state).run(callback)`")]
    pub fn resume(
        self,
        data: &Dataset,
        settings: &FitSettings,
        state: TrainState,
        callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>,
    ) -> Result<Fit> {
        Training::of(self, data, settings)?.resume(state).run(callback)
    }
}
