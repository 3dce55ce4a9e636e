//! [`Regressor`]: a model and the change of units around it. What goes in and comes out is in the user's units.

use std::ops::ControlFlow;

use crate::copies::Copies;
use crate::data::{ConstantColumns, Dataset, Standardiser};
use crate::error::{Error, Result};
use crate::joint::{JointDraws, JointMoments};
use crate::mat::{Mat, View};
use crate::metrics::{Assessment, Score};
use crate::model::DeepGp;
use crate::noise::{Key, Purpose};
use crate::predict::{InputGradient, Moments, Prediction, Predictor};
use crate::settings::{FitSettings, PredictSettings, TrainSettings};
use crate::threads::Threads;
use crate::train::Trainer;
use crate::train_state::{StepReport, Stop, TrainState};

/// A regression model for data in the user's units.
#[derive(Clone, Debug)]
pub struct Regressor {
    /// The model, for standardised inputs and targets.
    pub model: DeepGp,
    /// Between the user's units and the model's.
    pub standardiser: Standardiser,
}

/// What [`Regressor::fit`] did.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The trained model.
    pub regressor: Regressor,
    /// Why training ended.
    pub stop: Stop,
    /// The state it ended in; `state.rolled_back` counts the steps that failed on the way.
    pub state: TrainState,
}

impl Regressor {
    /// A model at its starting point, for data that looks like `data`. Units are learnt from the rows that
    /// [`Regressor::train`] will train on. Freeze or change parameters of `model` before you train it, if you like:
    ///
    /// ```
    /// use deepgp::{FitSettings, Regressor, simulate};
    /// use std::ops::ControlFlow;
    ///
    /// let data = simulate::step_curve(60, 1);
    /// let mut settings = FitSettings::default();
    /// settings.train.steps = 20;
    /// let mut start = Regressor::start(&data, &settings)?;
    /// let known = (0.05 / start.standardiser.y.scale[0]).powi(2); // the noise has a standard deviation of 0.05
    /// start.model.set_parameter("likelihood.noise", &[known])?;
    /// start.model.freeze("likelihood.noise")?;
    /// let fit = start.clone().train(&data, &settings, |_, _| ControlFlow::Continue(()))?;
    /// assert_eq!(fit.regressor.model.parameters().last().unwrap().values, [known]);
    ///
    /// settings.train.steps = 30; // ten more
    /// let fit = start.resume(&data, &settings, fit.state, |_, _| ControlFlow::Continue(()))?;
    /// assert_eq!(fit.state.step, 30);
    /// # Ok::<(), deepgp::Error>(())
    /// ```
    pub fn start(data: &Dataset, settings: &FitSettings) -> Result<Self> {
        let (train, _) = hold_out(data, settings)?;
        // An input that varies may be constant among the rows that are left: whether it is refused, all rows decide.
        Standardiser::fit(data, settings.constant_columns)?;
        let standardiser = Standardiser::fit(&train, ConstantColumns::Keep)?;
        let scaled = standardiser.apply(&train)?;
        let threads = Threads::new(settings.train.threads)?;
        let outputs = scaled.y().ncols();
        let model = threads.run(|| DeepGp::for_regression(scaled.x().view(), outputs, &settings.model))?;
        Ok(Self { model, standardiser })
    }

    /// Trains a model on `data`: [`Regressor::start`], then [`Regressor::train`].
    pub fn fit(
        data: &Dataset,
        settings: &FitSettings,
        callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>,
    ) -> Result<Fit> {
        Self::start(data, settings)?.train(data, settings, callback)
    }

    /// Trains this model on `data`. `callback` sees every step and can end training by breaking.
    ///
    /// A share of the rows, drawn by `settings.train.seed`, is held out for early stopping if the settings say so. Where weights are
    /// multiples of a whole number and differ, they count copies, and this share of each row's copies is held out; else rows are held out
    /// as a whole. A run that gets stuck is not an error: [`Fit::stop`] says so, and the model is the last good one.
    pub fn train(
        self,
        data: &Dataset,
        settings: &FitSettings,
        callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>,
    ) -> Result<Fit> {
        self.run(data, settings, settings.train, None, callback)
    }

    /// Trains further, after runs with these settings that made `made` steps. The same rows are held out as in those, but minibatches
    /// and noise are fresh; Adam's moments, the schedule and the count of steps begin anew. [`Regressor::resume`] does not take the state
    /// of such a run.
    pub fn train_further(
        self,
        data: &Dataset,
        settings: &FitSettings,
        made: u64,
        callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>,
    ) -> Result<Fit> {
        let train = TrainSettings { seed: further_seed(settings.train.seed, made), ..settings.train };
        self.run(data, settings, train, None, callback)
    }

    /// The state before the first step, for [`Regressor::resume`] to begin with: a program that saves states can save this one too.
    pub fn begin(&self, data: &Dataset, settings: &FitSettings) -> Result<TrainState> {
        let (train, _) = hold_out(data, settings)?;
        let train = self.standardiser.apply(&train)?;
        Ok(Trainer::new(self.model.clone(), &train, None, settings.train)?.state().clone())
    }

    /// Goes on training from a saved state, on the same data with the same settings (`steps` and `threads` may differ). With as many
    /// `steps` it ends with the same bits as a run that was never interrupted; with more it goes on after a run that had ended.
    pub fn resume(
        self,
        data: &Dataset,
        settings: &FitSettings,
        state: TrainState,
        callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>,
    ) -> Result<Fit> {
        self.run(data, settings, settings.train, Some(state), callback)
    }

    fn run(
        self,
        data: &Dataset,
        settings: &FitSettings,
        train_settings: TrainSettings,
        state: Option<TrainState>,
        callback: impl FnMut(&StepReport, &TrainState) -> ControlFlow<()>,
    ) -> Result<Fit> {
        let Self { model, standardiser } = self;
        let (train, held_out) = hold_out(data, settings)?;
        let train = standardiser.apply(&train)?;
        let held_out = held_out.map(|d| standardiser.apply(&d)).transpose()?;
        let (held_out, settings) = (held_out.as_ref(), train_settings);
        let mut trainer = match state {
            None => Trainer::new(model, &train, held_out, settings)?,
            Some(state) => Trainer::resume(model, &train, held_out, settings, state)?,
        };
        let stop = trainer.run(callback)?;
        let state = trainer.state().clone();
        Ok(Fit { regressor: Self { model: trainer.finish(), standardiser }, stop, state })
    }

    /// Makes the model ready to answer.
    pub fn predictor(&self, settings: PredictSettings) -> Result<UserPredictor<'_>> {
        let likelihood = self.model.likelihood();
        let units = self.standardiser.y.scale.len();
        if (likelihood.latent_width(), likelihood.observed_width()) != (units, units) {
            return Err(Error::Shape {
                what: "a model for regression",
                expected: format!("{units} latent functions and {units} targets, as the standardiser has"),
                found: format!("{} and {}", likelihood.latent_width(), likelihood.observed_width()),
            });
        }
        Ok(UserPredictor { inner: self.model.predictor(settings)?, standardiser: &self.standardiser })
    }

    /// Mean and variance of `f` and `y` at each row of `x`, with the default settings.
    pub fn predict(&self, x: View<'_>) -> Result<Prediction> {
        self.predictor(PredictSettings::default())?.moments(x)
    }
}

/// The rows to train on, and those held out for early stopping, if `settings` ask for any: what every run with them does. Rows that
/// weigh nothing are in neither.
pub fn hold_out(data: &Dataset, settings: &FitSettings) -> Result<(Dataset, Option<Dataset>)> {
    let data = data.weighty();
    let Some(fraction) = settings.validation else { return Ok((data.into_owned(), None)) };
    if !(fraction > 0.0 && fraction < 1.0) {
        let requirement = "above 0 and below 1, or `None`";
        return Err(Error::Setting { name: "validation", value: fraction.to_string(), requirement });
    }
    let copies = Copies::of(&data);
    let rows = copies.as_ref().map_or(data.len(), Copies::len);
    if rows < 3 {
        let advice = "give more rows, or set `validation` to `None`";
        return Err(Error::TooFewRows { what: "holding rows out for validation", needed: 3, rows, advice });
    }
    let (train, held_out) = match copies {
        Some(copies) => copies.split(fraction, settings.train.seed)?,
        None => data.split(fraction, settings.train.seed)?,
    };
    Ok((train, Some(held_out)))
}

/// The seed of a run after others that made `made` steps; without any it is theirs.
fn further_seed(seed: u64, made: u64) -> u64 {
    if made == 0 {
        return seed;
    }
    let [low, high, ..] = Key::new(seed, Purpose::Train).bits([made as u32, (made >> 32) as u32, u32::MAX, u32::MAX]);
    u64::from(high) << 32 | u64::from(low)
}

/// A [`Predictor`] that speaks the user's units.
#[derive(Debug)]
pub struct UserPredictor<'a> {
    inner: Predictor<'a>,
    standardiser: &'a Standardiser,
}

impl UserPredictor<'_> {
    fn inputs(&self, x: View<'_>) -> Result<Mat> {
        self.standardiser.x.apply("x", x)
    }

    /// See [`Predictor::moments`].
    pub fn moments(&self, x: View<'_>) -> Result<Prediction> {
        let Prediction { mut f, mut y } = self.inner.moments(self.inputs(x)?.view())?;
        for Moments { mean, variance } in [&mut f, &mut y] {
            self.standardiser.y.undo(mean);
            self.standardiser.y.undo_variance(variance);
        }
        Ok(Prediction { f, y })
    }

    /// See [`Predictor::quantiles`].
    pub fn quantiles(&self, x: View<'_>, levels: &[f64]) -> Result<Mat> {
        let mut out = self.inner.quantiles(self.inputs(x)?.view(), levels)?;
        let units = &self.standardiser.y;
        for i in 0..out.nrows() {
            for (p, own) in out.row_mut(i).chunks_exact_mut(levels.len().max(1)).enumerate() {
                for v in own {
                    *v = *v * units.scale[p] + units.shift[p];
                }
            }
        }
        Ok(out)
    }

    /// See [`Predictor::log_density`].
    pub fn log_density(&self, x: View<'_>, y: View<'_>) -> Result<Vec<f64>> {
        let y = self.standardiser.y.apply("y", y)?;
        let mut out = self.inner.log_density(self.inputs(x)?.view(), y.view())?;
        self.undo_density(&mut out);
        Ok(out)
    }

    /// A density of `y / scale` is `scale` times the density of `y`.
    fn undo_density(&self, log_density: &mut [f64]) {
        let volume = self.standardiser.y.log_volume();
        for v in log_density {
            *v -= volume;
        }
    }

    /// See [`Predictor::below`].
    pub fn below(&self, x: View<'_>, y: View<'_>) -> Result<Mat> {
        let y = self.standardiser.y.apply("y", y)?;
        self.inner.below(self.inputs(x)?.view(), y.view())
    }

    /// See [`Predictor::draws_of_f`].
    pub fn draws_of_f(&self, x: View<'_>, draws: usize) -> Result<Vec<Mat>> {
        Ok(self.undo_all(self.inner.draws_of_f(self.inputs(x)?.view(), draws)?))
    }

    /// See [`Predictor::draws_of_y`].
    pub fn draws_of_y(&self, x: View<'_>, draws: usize) -> Result<Vec<Mat>> {
        Ok(self.undo_all(self.inner.draws_of_y(self.inputs(x)?.view(), draws)?))
    }

    /// See [`Predictor::input_gradient`].
    pub fn input_gradient(&self, x: View<'_>) -> Result<InputGradient> {
        let InputGradient { mut mean, mut variance } = self.inner.input_gradient(self.inputs(x)?.view())?;
        let (from, to) = (&self.standardiser.x.scale, &self.standardiser.y.scale);
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

    /// See [`Predictor::joint_moments`].
    pub fn joint_moments(&self, x: View<'_>) -> Result<JointMoments> {
        let JointMoments { mut mean, mut covariance } = self.inner.joint_moments(self.inputs(x)?.view())?;
        self.standardiser.y.undo(&mut mean);
        for (own, scale) in covariance.iter_mut().zip(&self.standardiser.y.scale) {
            for v in own.as_mut_slice() {
                *v *= scale * scale;
            }
        }
        Ok(JointMoments { mean, covariance })
    }

    /// See [`Predictor::joint_draws`].
    pub fn joint_draws(&self, x: View<'_>, draws: usize) -> Result<JointDraws> {
        let JointDraws { f, y } = self.inner.joint_draws(self.inputs(x)?.view(), draws)?;
        Ok(JointDraws { f: self.undo_all(f), y: self.undo_all(y) })
    }

    /// See [`Predictor::assess`].
    pub fn assess(&self, data: &Dataset) -> Result<Assessment> {
        let (x, y) = (self.inputs(data.x().view())?, self.standardiser.y.apply("y", data.y().view())?);
        let mut assessment = self.inner.assess(x.view(), y.view())?;
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

    /// How well the model predicts `data`; rows count by their weights.
    pub fn score(&self, data: &Dataset) -> Result<Score> {
        Ok(Score::weighted(data.y().view(), &self.assess(data)?, data.weights()))
    }

    fn undo_all(&self, mut all: Vec<Mat>) -> Vec<Mat> {
        for own in &mut all {
            self.standardiser.y.undo(own);
        }
        all
    }
}
