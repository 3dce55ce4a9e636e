//! Deep Gaussian processes with decoupled inducing inputs (Havasi, Hernández-Lobato and Murillo-Fuentes 2017).
//!
//! A deep GP is a chain of sparse GPs, each a layer. A layer's mean is cheap in the number of inducing inputs, its
//! variance expensive, so the mean may have a large set `Z_a` and the variance a small one `Z_b`.
//!
//! # From data to predictions
//!
//! [`Regressor`] takes data in any units, standardises it, trains a model and predicts in the same units. ([`Training`] is the same way with
//! stops: look at the model before it is trained, freeze parameters, save states, go on.)
//!
//! ```
//! use std::ops::ControlFlow;
//! use deepgp::{FitSettings, InducingSize, PredictSettings, Regressor, simulate};
//!
//! let data = simulate::step_curve(100, 1);
//! let mut settings = FitSettings::default();
//! settings.model.hidden_layers = 1;
//! settings.model.width = 2;
//! settings.model.inducing = InducingSize::decoupled(20, 10);
//! settings.train.steps = 100;
//! let fit = Regressor::fit(&data, &settings, |report, _state| {
//!     assert!(report.seconds > 0.0); // show progress here; `ControlFlow::Break(())` ends training
//!     ControlFlow::Continue(())
//! })?;
//!
//! let predictor = fit.regressor.predictor(PredictSettings::default())?;
//! let prediction = predictor.moments(data.x().view())?; // of the function, `f`, and of observations, `y`
//! assert!(prediction.y.variance[(0, 0)] > prediction.f.variance[(0, 0)]);
//! let bands = predictor.quantiles(data.x().view(), &[0.05, 0.95])?;
//! assert!(bands[(0, 0)] < bands[(0, 1)]);
//! # Ok::<(), deepgp::Error>(())
//! ```
//!
//! Where the target is a class or a count, the likelihood says so; all else is the same:
//!
//! ```
//! use std::ops::ControlFlow;
//! use deepgp::{Dataset, FitSettings, InducingSize, LikelihoodForm, Mat, PredictSettings, Regressor};
//!
//! let x = Mat::from_fn(120, 1, |i, _| i as f64 / 60.0 - 1.0);
//! let y = x.map(|v: f64| f64::from(v * v > 0.3)); // class 1 at both ends, class 0 between
//! let data = Dataset::new(x, y)?;
//! let mut settings = FitSettings::default();
//! settings.model.likelihood = LikelihoodForm::PROBIT; // `SOFTMAX` for several classes, `Poisson` for counts
//! settings.model.hidden_layers = 1;
//! settings.model.width = 2;
//! settings.model.inducing = InducingSize::nested(20, 10);
//! settings.train.steps = 150;
//! let fit = Regressor::fit(&data, &settings, |_, _| ControlFlow::Continue(()))?;
//!
//! let predictor = fit.regressor.predictor(PredictSettings::default())?;
//! let p = predictor.class_probabilities(data.x().view())?; // a column for each class
//! assert!(p[(0, 1)] > 0.5 && p[(60, 1)] < 0.5);
//! assert!(predictor.class_score(&data)?.accuracy > 0.9);
//! # Ok::<(), deepgp::Error>(())
//! ```
//!
//! # The model itself
//!
//! [`DeepGp`] is layers and a likelihood, in the model's own units: [`DeepGp::objective_gradient`] gives the bound in its parts
//! and the gradient in every parameter, [`DeepGp::parameters`] lists them, [`Trainer`] moves them, [`DeepGp::predictor`] asks the
//! result. [`build::LayerPlan`] chooses kernel, forms and inducing inputs a layer at a time.
//!
//! ```
//! use deepgp::{Batch, Dataset, DeepGp, Mat, ModelSettings, Noise};
//! use deepgp::noise::{Key, Purpose};
//!
//! let x = Mat::from_fn(50, 1, |i, _| i as f64 / 25.0 - 1.0);
//! let y = x.map(|v: f64| (4.0 * v).sin());
//! let data = Dataset::new(x, y)?;
//! let model = DeepGp::for_regression(data.x().view(), 1, &ModelSettings::default())?;
//!
//! let rows: Vec<u32> = (0..50).collect();
//! let batch = Batch::of(&data, &rows);
//! let noise = Noise::Rows { key: Key::new(0, Purpose::Train), step: 0 };
//! let (bound, gradient) = model.objective_gradient(batch, noise)?;
//! assert_eq!(bound.kl.len(), 3);
//! for parameter in model.parameters() {
//!     assert_eq!(gradient[parameter.range].len(), parameter.values.len());
//! }
//! # Ok::<(), deepgp::Error>(())
//! ```
//!
//! # What can be replaced
//!
//! A [`kernel::Kernel`], a [`likelihood::Likelihood`] (or just its log density, [`likelihood::Pointwise`]), an [`objective::Objective`], an
//! [`Optimiser`], a [`backend::Backend`] and a [`backend::Communicator`] are traits that a program outside of this crate can implement; the
//! files of `tests/` do. The variables that a layer's mean and covariance are trained in are closed sets, [`MeanForm`] and
//! [`CovarianceForm`]: the `match` is the paper's table.
//!
//! # Glossary
//!
//! | here | is |
//! |---|---|
//! | `Z_a`, `Z_b` | inducing inputs of a layer's mean and of its covariance, `[M_a, D]` and `[M_b, D]` |
//! | tied | one set for both, the full DGP; *decoupled*: a set for each; *nested*: one set whose head serves the covariance |
//! | `K_aa`, `K_bb`, `L` | kernel matrices of inducing inputs, jitter included, and their Cholesky factor, `L Lᵀ = K` |
//! | `k_a`, `k_b` | the kernel between a row and `Z_a` or `Z_b` |
//! | `w` | the mean's weights, `[M_a, P]`: `mean = k_a w` whatever the form |
//! | `R` | the projection, `L⁻¹` of `K_bb` or the identity: `A = k_b Rᵀ` |
//! | `G_p` | the symmetric share of the prior that is explained, `[M_b, M_b]` for output `p`: `variance_p = k(x, x) − A G_p Aᵀ` |
//! | `S`, `S'`, `L_s` | the covariance of `q(u)`, the same in whitened variables (`S = L S' Lᵀ`), and its triangular factor |
//! | whitened | in variables that are standard normal under the prior: `u = L v` |
//! | dual | in variables that need no inverse of a kernel matrix (eq. 7) |
//! | `f`, `y` | the last layer's latent functions, and what is observed of them through the likelihood |
//! | `x_bar`, `bars` | gradients of the objective at `x`, of `x`'s shape; a *pullback* makes them, going backward |
//! | raw | the unconstrained numbers that the optimiser moves; *values* are what the mathematics sees |
//! | prologue, blocks, epilogue | the parts of a step: what rows do not enter, rows, and the way back to the parameters |
//! | prepared | what the prologue computes of a layer: everything of size `M × M` |
//! | epoch, burst | a pass over all rows, in minibatches; some steps that a backend takes without a word in between |
//! | held-out rows | the rows that decide when training stops, the validation rows; training does not see them |
//! | roll-back | the return to the parameters before the last update, where these cannot be evaluated |
//! | form | one of a closed set, as settings and files name it: of means, covariances, kernels, likelihoods, objectives, optimisers |
//! | mixture | the predictive distribution at a row: one Gaussian for each sample of the hidden layers |
//! | user's units, model's units | before and after standardising; targets may be transformed first ([`TargetTransform`]) |
//!
//! # Conventions
//!
//! Matrices are row-major and rows are data points. Results are deterministic: the same seed gives the same bits, whatever the
//! number of threads. What a user can cause is an [`Error`] that says what to do; nothing is printed and no file is opened.
#![warn(missing_debug_implementations)]

/// The README's program must run too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod answers;
pub mod backend;
mod data;
mod error;
pub mod kernel;
mod layer;
pub mod likelihood;
mod model;
mod numeric;
pub mod objective;
mod predict;
mod random;
mod regressor;
pub mod search;
mod settings;
#[cfg(test)]
mod testing;
mod train;

pub use answers::dependence::{Dependence, dependence, frequent_values, spread_values};
pub use answers::importance::{IMPORTANCE_SAMPLES, Importance, importance, importance_rows};
pub use answers::paired::Paired;
pub use backend::Evaluation;
pub use data::{
    ConstantColumns, Dataset, MOST_KNOTS, MonotoneSpline, RowStore, Scaling, SplitBy, Standardiser, StoredRows,
    Stratify, TargetTransform, TargetTransforms, TransformChoice, Trend, TrendChoice, YeoJohnson, simulate,
    split_last_rows, split_rows, split_rows_by_class, split_rows_by_group,
};
pub use error::{Error, Matrix, Result};
#[doc(hidden)]
pub use layer::pieces;
pub use layer::{
    CovarianceForm, ExplicitLayer, ExplicitShares, Floor, Inducing, Jitter, JitterEvent, Layer, LayerCovariance,
    LayerMean, MeanForm, MeanFunction,
};
pub use likelihood::LikelihoodForm;
pub use model::batch::{Batch, Shard};
pub use model::inducing::{InducingStart, SUBSAMPLE};
pub use model::memory::FitMemory;
pub use model::start::StartProgress;
pub use model::{DeepGp, ExplicitModel, Precision, SharedParameter, SharedParameters, Sites, build, params};
pub use numeric::mat::{Mat, View, ViewMut};
pub use numeric::real::{Real, SMALLEST_EXPONENT};
pub use objective::ObjectiveForm;
pub use predict::class_metrics::{ClassScore, ReliabilityBin};
pub use predict::count_metrics::{CountAssessment, CountScore};
pub use predict::distribution_on_grid::{FARTHEST as NORMAL_TAIL_REACH, TAIL as NORMAL_TAIL};
pub use predict::joint::{JOINT_ROWS, JointDraws, JointMoments};
pub use predict::metrics::{Assessment, Score};
pub use predict::{InputGradient, Moments, Prediction, Predictor, Rows, Sharpness, Spread, baseline};
pub use random::noise::{self, Noise};
pub use regressor::{Regressor, UserPredictor};
pub use settings::{
    COVARIANCE_INDUCING, Draws, FitSettings, InducingSize, KernelChoice, LikelihoodChoice, MEAN_INDUCING,
    ModelSettings, ObjectiveChoice, PredictSettings, SMALL_TABLE, Schedule, TrainSettings, ValidationScore,
    inducing_for, learning_rate_for,
};
pub use train::adam::Adam;
pub use train::optimiser::{Factors, Optimiser, OptimiserForm, OptimiserState, Update};
pub use train::shared_rows::{SharedRows, evenly};
pub use train::state::{Best, Snapshot, StepOutcome, StepReport, Stop, TrainState};
pub use train::{Fit, Method, Trainer, Training, TransformFinding, hold_out};

/// The backends' module under the name that it had in version 0.1.
#[deprecated(since = "0.2.0", note = "it is `deepgp::backend`, and an `Accelerator` is a `Backend`")]
pub mod accelerator {
    pub use crate::backend::{BURST, Backend as Accelerator, Mixtures, Run, StepPlan};
}

/// [`Evaluation`] under the name that it had when there was one objective.
#[deprecated(since = "0.2.0", note = "it is `Evaluation`")]
pub type Elbo = Evaluation;
