//! Deep Gaussian processes with decoupled inducing inputs (Havasi, Hernández-Lobato and Murillo-Fuentes 2017).
//!
//! A deep GP is a chain of sparse GPs, each a layer. A layer's mean is cheap in the number of inducing inputs, its
//! variance expensive, so the mean may have a large set `Z_a` and the variance a small one `Z_b`.
//!
//! # From data to predictions
//!
//! [`Regressor`] takes data in any units, standardises it, trains a model and predicts in the same units:
//!
//! ```
//! use std::ops::ControlFlow;
//! use deepgp::{FitSettings, InducingSize, PredictSettings, Regressor, simulate};
//!
//! let data = simulate::step_curve(100, 1);
//! let mut settings = FitSettings::default();
//! settings.model.hidden_layers = 1;
//! settings.model.width = 2;
//! settings.model.inducing = Some(InducingSize::Decoupled { mean: 20, covariance: 10 });
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
//! # The model itself
//!
//! [`DeepGp`] is layers and a likelihood, in the model's own units: [`DeepGp::elbo_gradient`] gives the bound in its parts and
//! the gradient in every parameter, [`DeepGp::parameters`] lists them, [`Trainer`] moves them, [`DeepGp::predictor`] asks the
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
//! let batch = Batch { data: &data, rows: &rows, num_data: 50, samples: 1, kl_weight: 1.0 };
//! let noise = Noise::Rows { key: Key::new(0, Purpose::Train), step: 0 };
//! let (elbo, gradient) = model.elbo_gradient(batch, noise)?;
//! assert_eq!(elbo.kl.len(), 3);
//! for parameter in model.parameters() {
//!     assert_eq!(gradient[parameter.range].len(), parameter.values.len());
//! }
//! # Ok::<(), deepgp::Error>(())
//! ```
//!
//! # Conventions
//!
//! Matrices are row-major and rows are data points. Results are deterministic: the same seed gives the same bits, whatever the
//! number of threads. What a user can cause is an [`Error`] that says what to do; nothing is printed and no file is opened.
#![warn(missing_debug_implementations)]

/// The README's program must run too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub mod accelerator;
mod adam;
pub mod baseline;
mod batch;
mod box_muller;
pub mod build;
mod chain;
mod compressed;
mod copies;
mod data;
mod error;
mod inducing;
mod invert;
mod joint;
pub mod kernel;
mod layer;
pub mod likelihood;
mod linalg;
mod mat;
mod merge;
mod metrics;
mod mixture;
mod model;
pub mod noise;
pub mod params;
mod predict;
mod real;
mod regressor;
mod scratch;
mod settings;
mod simd;
pub mod simulate;
mod sparse;
mod step;
#[cfg(test)]
mod testing;
mod threads;
mod train;
mod train_state;

pub use adam::Adam;
pub use batch::Batch;
pub use data::{ConstantColumns, Dataset, Scaling, Standardiser, split_rows};
pub use error::{Error, Matrix, Result};
pub use inducing::{InducingStart, SUBSAMPLE};
pub use joint::{JOINT_ROWS, JointDraws, JointMoments};
#[doc(hidden)]
pub use layer::pieces;
pub use layer::{
    CovarianceForm, Floor, Inducing, Jitter, JitterEvent, Layer, LayerCovariance, LayerMean, MeanForm, MeanFunction,
};
pub use mat::{Mat, View, ViewMut};
pub use metrics::{Assessment, Score};
pub use model::{DeepGp, Precision};
pub use noise::Noise;
pub use predict::{InputGradient, Moments, Prediction, Predictor};
pub use real::Real;
pub use regressor::{Fit, Regressor, UserPredictor, hold_out};
pub use settings::{
    COVARIANCE_INDUCING, FitSettings, InducingSize, KernelChoice, MEAN_INDUCING, ModelSettings, PredictSettings,
    Schedule, TrainSettings, inducing_for,
};
pub use step::Elbo;
pub use train::Trainer;
pub use train_state::{Best, Snapshot, StepOutcome, StepReport, Stop, TrainState};
