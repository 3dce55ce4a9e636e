//! Every setting and its default, in one place.

use crate::data::{ConstantColumns, held_out};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential};
use crate::layer::{CovarianceForm, Jitter, MeanForm};
use crate::likelihood::LikelihoodForm;
use crate::model::Precision;
use crate::model::inducing::InducingStart;
use crate::objective::ObjectiveForm;
use crate::train::optimiser::OptimiserForm;

/// `M_a` of a model that was not told and has many rows to learn from.
pub const MEAN_INDUCING: usize = 500;
/// `M_b` of a model that was not told and has many rows to learn from.
pub const COVARIANCE_INDUCING: usize = 100;
/// Rows for each inducing input of mean and covariance, where there are few.
const ROWS_EACH: (usize, usize) = (5, 8);
/// `M_a` and `M_b` fall no further than this.
const LEAST_INDUCING: (usize, usize) = (100, 60);
/// `α` at the start of a rational quadratic.
const RATIONAL_QUADRATIC_ALPHA: f64 = 1.0;

/// How many inducing inputs a layer has, at most: where its inputs have fewer distinct rows, it has as many as these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum InducingSize {
    /// One set for mean and covariance: the full DGP.
    Tied(usize),
    /// A set for each. A size that is not told follows the number of distinct rows, see [`inducing_for`].
    Decoupled {
        /// `M_a`.
        mean: Option<usize>,
        /// `M_b`.
        covariance: Option<usize>,
    },
}

impl Default for InducingSize {
    fn default() -> Self {
        Self::Decoupled { mean: None, covariance: None }
    }
}

impl InducingSize {
    /// A set of `mean` and one of `covariance` inducing inputs.
    pub const fn decoupled(mean: usize, covariance: usize) -> Self {
        Self::Decoupled { mean: Some(mean), covariance: Some(covariance) }
    }

    /// The sizes for inputs with so many distinct rows.
    pub(crate) fn resolve(self, distinct: usize) -> ResolvedSize {
        match self {
            Self::Tied(m) => ResolvedSize::Tied(m.min(distinct)),
            Self::Decoupled { mean, covariance } => {
                let (usual_mean, usual_covariance) = inducing_for(distinct);
                ResolvedSize::Decoupled {
                    mean: mean.unwrap_or(usual_mean).min(distinct),
                    covariance: covariance.unwrap_or(usual_covariance).min(distinct),
                }
            }
        }
    }
}

/// An [`InducingSize`] in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResolvedSize {
    /// `M`.
    Tied(usize),
    /// `M_a` and `M_b`.
    Decoupled { mean: usize, covariance: usize },
}

/// `M_a` and `M_b` of a model that was not told, for so many distinct rows: one for each five of them for the mean and each eight for the
/// covariance, but at least 100 and 60, and at most [`MEAN_INDUCING`] and [`COVARIANCE_INDUCING`]. With more, small tables are fitted no
/// better, and several times as slowly.
pub fn inducing_for(rows: usize) -> (usize, usize) {
    let mean = (rows / ROWS_EACH.0).clamp(LEAST_INDUCING.0, MEAN_INDUCING);
    let covariance = (rows / ROWS_EACH.1).clamp(LEAST_INDUCING.1, COVARIANCE_INDUCING);
    (mean.min(rows), covariance.min(rows))
}

/// One of the kernels that come with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum KernelChoice {
    /// The paper's.
    SquaredExponential,
    /// Rough functions.
    Matern12,
    /// Once differentiable.
    Matern32,
    /// Twice differentiable.
    Matern52,
    /// A mixture of lengthscales.
    RationalQuadratic,
}

impl KernelChoice {
    /// The kernel as it starts over standardised inputs of this width: variance 1, lengthscales `√width`.
    pub fn start(self, width: usize) -> Box<dyn Kernel> {
        let lengthscales = vec![(width as f64).sqrt(); width];
        match self {
            Self::SquaredExponential => Box::new(SquaredExponential::new(1.0, lengthscales)),
            Self::Matern12 => Box::new(Matern12::new(1.0, lengthscales)),
            Self::Matern32 => Box::new(Matern32::new(1.0, lengthscales)),
            Self::Matern52 => Box::new(Matern52::new(1.0, lengthscales)),
            Self::RationalQuadratic => Box::new(RationalQuadratic::new(1.0, lengthscales, RATIONAL_QUADRATIC_ALPHA)),
        }
    }
}

/// What model to build: the same choice for every layer. For a choice by layer see [`crate::model::build::LayerPlan`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(from = "stored::Model"))]
pub struct ModelSettings {
    /// Layers before the last one.
    pub hidden_layers: usize,
    /// Outputs of each hidden layer.
    pub width: usize,
    /// Inducing inputs of each layer.
    pub inducing: InducingSize,
    /// The variables of the mean.
    pub mean_form: MeanForm,
    /// The variables of the covariance.
    pub covariance_form: CovarianceForm,
    /// The kernel.
    pub kernel: KernelChoice,
    /// Where inducing inputs start.
    pub inducing_start: InducingStart,
    /// How observations arise from the last layer, and where its parameters start.
    pub likelihood: LikelihoodForm,
    /// The precision of the work on rows.
    pub precision: Precision,
    /// Jitter of kernel matrices; `None` is the precision's own.
    pub jitter: Option<Jitter>,
    /// Seeds the choice of inducing inputs.
    pub seed: u64,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            hidden_layers: 2,
            width: 10,
            inducing: InducingSize::default(),
            mean_form: MeanForm::Whitened,
            covariance_form: CovarianceForm::Whitened,
            kernel: KernelChoice::SquaredExponential,
            inducing_start: InducingStart::KMeans,
            likelihood: LikelihoodForm::default(),
            precision: Precision::F64,
            jitter: None,
            seed: 0,
        }
    }
}

/// Settings as they stand in files, those of version 0.1 too.
#[cfg(feature = "serde")]
mod stored {
    use super::{
        CovarianceForm, InducingSize, InducingStart, Jitter, KernelChoice, LikelihoodForm, MeanForm, ModelSettings,
        Precision,
    };

    /// [`ModelSettings`]; in 0.1 there was a noise in place of a likelihood, and nothing at all for sizes that were not told.
    #[derive(serde::Deserialize)]
    pub(super) struct Model {
        hidden_layers: usize,
        width: usize,
        inducing: Option<InducingSize>,
        mean_form: MeanForm,
        covariance_form: CovarianceForm,
        kernel: KernelChoice,
        inducing_start: InducingStart,
        likelihood: Option<LikelihoodForm>,
        noise: Option<f64>,
        precision: Precision,
        jitter: Option<Jitter>,
        seed: u64,
    }

    impl From<Model> for ModelSettings {
        fn from(stored: Model) -> Self {
            let older = stored.noise.map(|noise| LikelihoodForm::Gaussian { noise });
            Self {
                hidden_layers: stored.hidden_layers,
                width: stored.width,
                inducing: stored.inducing.unwrap_or_default(),
                mean_form: stored.mean_form,
                covariance_form: stored.covariance_form,
                kernel: stored.kernel,
                inducing_start: stored.inducing_start,
                likelihood: stored.likelihood.or(older).unwrap_or_default(),
                precision: stored.precision,
                jitter: stored.jitter,
                seed: stored.seed,
            }
        }
    }
}

/// How the learning rate changes over the steps of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Schedule {
    /// Always the same.
    Constant,
    /// Down to `last` times the rate along half a cosine.
    Cosine {
        /// The factor at the end of the run.
        last: f64,
    },
    /// Times `factor` after every `every` steps.
    Step {
        /// Steps between two changes.
        every: u64,
        /// The factor.
        factor: f64,
    },
}

impl Schedule {
    /// Half a cosine down to a hundredth of the rate: what `cosine` means where no more is said.
    pub const COSINE: Self = Self::Cosine { last: 0.01 };

    /// The factor on the learning rate at `step` of `steps`.
    pub fn factor(self, step: u64, steps: u64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Cosine { last } => {
                let progress = (step as f64 / steps.max(1) as f64).min(1.0);
                last + (1.0 - last) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
            }
            Self::Step { every, factor } => factor.powf((step / every.max(1)) as f64),
        }
    }
}

/// How to train.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TrainSettings {
    /// Steps of the optimiser.
    pub steps: u64,
    /// Rows in a minibatch; all of them if there are fewer.
    pub batch_size: usize,
    /// Samples of the hidden layers for each row.
    pub samples: usize,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// How it changes.
    pub schedule: Schedule,
    /// Steps over which the factor on the KL grows from 0 to 1; 0 for none.
    pub kl_warm_up: u64,
    /// Steps between two looks at the validation rows, if there are any.
    pub validate_every: u64,
    /// Looks without a better result before training stops.
    pub patience: u32,
    /// Samples of the mixture in such a look.
    pub validation_samples: usize,
    /// Seeds minibatches and noise.
    pub seed: u64,
    /// Threads to work with; 0 for all. No result depends on it.
    pub threads: usize,
    /// What is maximised.
    #[cfg_attr(feature = "serde", serde(default))]
    pub objective: ObjectiveForm,
    /// How parameters move.
    #[cfg_attr(feature = "serde", serde(default))]
    pub optimiser: OptimiserForm,
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            steps: 3000,
            batch_size: 10_000,
            samples: 1,
            learning_rate: 0.01,
            schedule: Schedule::Constant,
            kl_warm_up: 0,
            validate_every: 50,
            patience: 10,
            validation_samples: 20,
            seed: 0,
            threads: 0,
            objective: ObjectiveForm::Elbo,
            optimiser: OptimiserForm::Adam,
        }
    }
}

impl TrainSettings {
    /// `κ`, the factor on the KL at `step`, from 0: up to 1 along a line over [`TrainSettings::kl_warm_up`] steps.
    pub fn kl_weight(&self, step: u64) -> f64 {
        match self.kl_warm_up {
            0 => 1.0,
            over => ((step + 1) as f64 / over as f64).min(1.0),
        }
    }

    /// Fails if a setting makes no sense.
    pub fn check(&self) -> Result<()> {
        let at_least_one = [
            ("batch_size", self.batch_size as u64),
            ("samples", self.samples as u64),
            ("validate_every", self.validate_every),
            ("patience", u64::from(self.patience)),
            ("validation_samples", self.validation_samples as u64),
        ];
        for (name, value) in at_least_one {
            if value == 0 {
                return Err(Error::Setting { name, value: "0".into(), requirement: "at least 1" });
            }
        }
        let positive = |name, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err(Error::Setting { name, value: value.to_string(), requirement: "a positive number" })
            }
        };
        positive("learning_rate", self.learning_rate)?;
        match self.schedule {
            Schedule::Constant => Ok(()),
            Schedule::Cosine { last } if (0.0..=1.0).contains(&last) => Ok(()),
            Schedule::Cosine { last } => {
                let requirement = "between 0 and 1";
                Err(Error::Setting { name: "schedule: last", value: last.to_string(), requirement })
            }
            Schedule::Step { every: 0, .. } => {
                Err(Error::Setting { name: "schedule: every", value: "0".into(), requirement: "at least 1" })
            }
            Schedule::Step { factor, .. } => positive("schedule: factor", factor),
        }
    }
}

/// How to go from data to a trained model.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FitSettings {
    /// Which model.
    pub model: ModelSettings,
    /// How to train it.
    pub train: TrainSettings,
    /// The share of the rows held out for early stopping; `None` to train on all rows for all steps.
    pub validation: Option<f64>,
    /// What to do with inputs that do not vary.
    pub constant_columns: ConstantColumns,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            model: ModelSettings::default(),
            train: TrainSettings::default(),
            validation: Some(0.1),
            constant_columns: ConstantColumns::Reject,
        }
    }
}

impl FitSettings {
    /// How many of `rows` are left to train on when those for early stopping are held out.
    pub fn training_rows(&self, rows: usize) -> usize {
        match self.validation {
            Some(fraction) if rows >= 2 => rows - held_out(rows, fraction),
            _ => rows,
        }
    }
}

/// How to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictSettings {
    /// Samples of the hidden layers: the size of the mixture.
    pub samples: usize,
    /// Seeds them.
    pub seed: u64,
    /// Threads to work with; 0 for all. No result depends on it.
    pub threads: usize,
}

impl Default for PredictSettings {
    fn default() -> Self {
        Self { samples: 100, seed: 0, threads: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_design() {
        let (model, train) = (ModelSettings::default(), TrainSettings::default());
        assert_eq!((model.hidden_layers, model.width), (2, 10));
        assert_eq!(model.likelihood, LikelihoodForm::Gaussian { noise: 0.5 });
        let sizes = [30, 300, 700, 1000, 1_000_000].map(inducing_for);
        assert_eq!(sizes, [(30, 30), (100, 60), (140, 87), (200, 100), (500, 100)]);
        assert_eq!((model.mean_form, model.covariance_form), (MeanForm::Whitened, CovarianceForm::Whitened));
        assert_eq!((train.steps, train.batch_size, train.samples, train.learning_rate), (3000, 10_000, 1, 0.01));
        assert_eq!(PredictSettings::default().samples, 100);
    }

    #[test]
    fn training_rows_are_those_that_a_split_leaves() {
        let settings = FitSettings::default();
        for rows in [3, 15, 25, 100] {
            let data = crate::data::simulate::step_curve(rows, 1);
            let (train, _) = data.split(settings.validation.unwrap(), 0).unwrap();
            assert_eq!(settings.training_rows(rows), train.len(), "{rows}");
        }
        assert_eq!(FitSettings { validation: None, ..settings }.training_rows(15), 15);
    }

    #[test]
    fn schedules_start_at_one_and_end_where_they_should() {
        assert_eq!(Schedule::Constant.factor(7, 10), 1.0);
        let cosine = Schedule::Cosine { last: 0.1 };
        assert_eq!(cosine.factor(0, 100), 1.0);
        assert!((cosine.factor(50, 100) - 0.55).abs() < 1e-12 && (cosine.factor(100, 100) - 0.1).abs() < 1e-12);
        let step = Schedule::Step { every: 10, factor: 0.5 };
        assert_eq!((step.factor(9, 100), step.factor(10, 100), step.factor(25, 100)), (1.0, 0.5, 0.25));
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_by_name() {
        let refused = |change: fn(&mut TrainSettings)| {
            let mut settings = TrainSettings::default();
            change(&mut settings);
            settings.check().unwrap_err().to_string()
        };
        assert!(refused(|s| s.batch_size = 0).contains("`batch_size` is 0"));
        assert!(refused(|s| s.samples = 0).contains("`samples` is 0"));
        assert!(refused(|s| s.learning_rate = -1.0).contains("`learning_rate` is -1"));
        assert!(refused(|s| s.learning_rate = f64::NAN).contains("NaN"));
        assert!(refused(|s| s.schedule = Schedule::Cosine { last: 2.0 }).contains("schedule: last"));
        assert!(refused(|s| s.schedule = Schedule::Step { every: 0, factor: 0.5 }).contains("schedule: every"));
    }
}
