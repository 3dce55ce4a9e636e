//! The settings of a model to build.

use super::{InducingSize, KernelChoice};
use crate::layer::{CovarianceForm, Jitter, MeanForm};
use crate::likelihood::LikelihoodForm;
use crate::model::Precision;
use crate::model::inducing::InducingStart;

/// The settings of a model to build, the same for every layer. For a choice by layer see [`crate::model::build::LayerPlan`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(from = "stored::Model"))]
pub struct ModelSettings {
    /// The number of layers before the last one.
    pub hidden_layers: usize,
    /// The number of outputs of each hidden layer.
    pub width: usize,
    /// The number of inducing inputs of each layer.
    pub inducing: InducingSize,
    /// The variables that means are trained in.
    pub mean_form: MeanForm,
    /// The variables that covariances are trained in.
    pub covariance_form: CovarianceForm,
    /// The kernel of each layer.
    pub kernel: KernelChoice,
    /// The rule by which the starting points of inducing inputs are chosen.
    pub inducing_start: InducingStart,
    /// The likelihood of observations given the last layer, and the starting values of its parameters.
    pub likelihood: LikelihoodForm,
    /// The number of learned sites that take the place of samples of the hidden layers; `None` for samples.
    pub sites: Option<usize>,
    /// The precision of the work on rows.
    pub precision: Precision,
    /// The jitter of kernel matrices; `None` is the precision's own.
    pub jitter: Option<Jitter>,
    /// The seed of the choice of inducing inputs.
    pub seed: u64,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            hidden_layers: 2,
            width: 10,
            inducing: InducingSize::default(),
            mean_form: MeanForm::Whitened,
            covariance_form: CovarianceForm::Diagonal,
            kernel: KernelChoice::SquaredExponential,
            inducing_start: InducingStart::KMeans,
            likelihood: LikelihoodForm::default(),
            sites: None,
            precision: Precision::F64,
            jitter: None,
            seed: 0,
        }
    }
}

impl ModelSettings {
    /// Settings with one Gaussian noise.
    pub fn plain() -> Self {
        Self { likelihood: LikelihoodForm::GAUSSIAN, ..Self::default() }
    }
}

/// Settings as files store them, those of version 0.1 too.
#[cfg(feature = "serde")]
mod stored {
    use super::{
        CovarianceForm, InducingSize, InducingStart, Jitter, KernelChoice, LikelihoodForm, MeanForm, ModelSettings,
        Precision,
    };

    /// [`ModelSettings`] as files store them; in 0.1 there was a noise in place of a likelihood, and nothing at all for sizes that were not
    /// given.
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
        /// The starting noise variance, in files of version 0.1.
        noise: Option<f64>,
        sites: Option<usize>,
        precision: Precision,
        jitter: Option<Jitter>,
        seed: u64,
    }

    /// What 0.1 meant where it stored no sizes.
    const OLDER: InducingSize = InducingSize::Decoupled { mean: None, covariance: None };

    impl From<Model> for ModelSettings {
        fn from(stored: Model) -> Self {
            let older = stored.noise.map(|noise| LikelihoodForm::Gaussian { noise });
            Self {
                hidden_layers: stored.hidden_layers,
                width: stored.width,
                inducing: stored.inducing.unwrap_or(OLDER),
                mean_form: stored.mean_form,
                covariance_form: stored.covariance_form,
                kernel: stored.kernel,
                inducing_start: stored.inducing_start,
                likelihood: stored.likelihood.or(older).unwrap_or(LikelihoodForm::GAUSSIAN),
                sites: stored.sites,
                precision: stored.precision,
                jitter: stored.jitter,
                seed: stored.seed,
            }
        }
    }
}
