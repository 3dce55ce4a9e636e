//! Deep Gaussian processes with decoupled inducing inputs (Havasi, Hernández-Lobato and Murillo-Fuentes 2017).
#![warn(missing_debug_implementations)]

mod adam;
pub mod build;
mod chain;
mod data;
mod error;
mod inducing;
mod joint;
pub mod kernel;
mod layer;
pub mod likelihood;
mod linalg;
mod mat;
mod metrics;
mod model;
pub mod noise;
pub mod params;
mod predict;
mod real;
mod regressor;
mod settings;
mod simd;
pub mod simulate;
mod step;
#[cfg(test)]
mod testing;
mod threads;
mod train;

pub use adam::Adam;
pub use data::{ConstantColumns, Dataset, Scaling, Standardiser};
pub use error::{Error, Matrix, Result};
pub use inducing::{InducingStart, SUBSAMPLE};
pub use joint::{JOINT_ROWS, JointDraws, JointMoments};
pub use layer::{
    CovarianceForm, Inducing, Jitter, JitterEvent, Layer, LayerCovariance, LayerMean, MeanForm, MeanFunction,
};
pub use mat::{Mat, View, ViewMut};
pub use metrics::Score;
pub use model::{DeepGp, Precision};
pub use noise::Noise;
pub use predict::{InputGradient, Moments, Prediction, Predictor};
pub use real::Real;
pub use regressor::{Fit, Regressor, UserPredictor};
pub use settings::{
    COVARIANCE_INDUCING, FitSettings, InducingSize, KernelChoice, MEAN_INDUCING, ModelSettings, PredictSettings,
    Schedule, TrainSettings,
};
pub use step::{Batch, Elbo};
pub use train::{Best, Snapshot, StepOutcome, StepReport, Stop, TrainState, Trainer};
