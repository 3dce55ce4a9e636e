//! The arguments of `deepgp benchmark`.

use clap::Args;
use deepgp::{
    CovarianceForm, InducingSize, LikelihoodChoice, LikelihoodForm, ModelSettings, ObjectiveChoice, Precision,
    TrainSettings,
};

use super::value::choice::{COVARIANCE_FORMS, LIKELIHOODS, OBJECTIVES, PRECISIONS, choice, name_of};
use super::value::limits::{self, within};
use crate::model::device::{DEVICES, Device};

/// The arguments of `deepgp benchmark`.
#[derive(Args, Debug)]
pub struct BenchmarkArgs {
    /// Rows of the data
    #[arg(long, default_value_t = 6554, value_parser = within(limits::ROWS))]
    pub rows: usize,
    /// Columns of the inputs; from 100 on they are bits, one in eleven set
    #[arg(long, default_value_t = 8, value_parser = within(limits::COLUMNS))]
    pub columns: usize,
    /// Rows in a minibatch
    #[arg(long, default_value_t = TrainSettings::default().batch_size)]
    pub batch_size: usize,
    /// Layers before the last one
    #[arg(long, default_value_t = 1, value_parser = within(limits::HIDDEN_LAYERS))]
    pub hidden_layers: usize,
    /// Outputs of each hidden layer
    #[arg(long, default_value_t = ModelSettings::default().width, value_parser = within(limits::WIDTH))]
    pub width: usize,
    /// Inducing inputs of each layer, for mean and covariance alike; with a whitened covariance, the full model
    #[arg(long, value_name = "M", conflicts_with_all = ["mean_inducing", "covariance_inducing"],
          value_parser = within(limits::INDUCING))]
    pub inducing: Option<usize>,
    /// Inducing inputs of each layer's mean
    #[arg(long, value_name = "M", default_value_t = deepgp::MEAN_INDUCING, value_parser = within(limits::INDUCING))]
    pub mean_inducing: usize,
    /// Inducing inputs of each layer's covariance
    #[arg(long, value_name = "M", default_value_t = deepgp::COVARIANCE_INDUCING, value_parser = within(limits::INDUCING))]
    pub covariance_inducing: usize,
    /// Whether the covariance's inducing inputs are the first of the mean's, or a set of their own (--nested=false)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          default_value_t = matches!(InducingSize::default(), InducingSize::Nested { .. }),
          conflicts_with = "inducing")]
    pub nested: bool,
    /// Variables of the covariance
    #[arg(long, default_value = name_of(COVARIANCE_FORMS, ModelSettings::default().covariance_form),
          value_parser = choice::<CovarianceForm>(COVARIANCE_FORMS))]
    pub covariance_form: CovarianceForm,
    /// How targets arise from the function
    #[arg(long, default_value = "gaussian", value_parser = choice::<LikelihoodChoice>(LIKELIHOODS))]
    pub likelihood: LikelihoodChoice,
    /// Classes, for softmax and ordered
    #[arg(long, default_value_t = 10, value_parser = within(limits::CLASSES))]
    pub classes: usize,
    /// What training maximises; auto is what suits the likelihood
    #[arg(long, default_value = "elbo", value_parser = choice::<ObjectiveChoice>(OBJECTIVES))]
    pub objective: ObjectiveChoice,
    /// Numbers of the work on rows
    #[arg(long, default_value = name_of(PRECISIONS, ModelSettings::default().precision),
          value_parser = choice::<Precision>(PRECISIONS))]
    pub precision: Precision,
    /// Threads to work with; 0 for all
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Where to compute
    #[arg(long, default_value = "cpu", value_parser = choice::<Device>(DEVICES))]
    pub device: Device,
    /// Models to train side by side, each from a thread of its own
    #[arg(long, conflicts_with = "predict", default_value_t = 1, value_parser = within(limits::REPLICAS))]
    pub replicas: usize,
    /// Steps to time
    #[arg(long, default_value_t = 20, value_parser = within(limits::TIMED_STEPS))]
    pub steps: usize,
    /// Also time the prediction of so many rows, with 100 samples each
    #[arg(long, value_name = "ROWS", default_value_t = 0, value_parser = within(limits::PREDICTED_ROWS))]
    pub predict: usize,
    /// Print one JSON object; where the command fails, it has `error` and `exit_code`
    #[arg(long)]
    pub json: bool,
}

impl BenchmarkArgs {
    /// The numbers of inducing inputs of mean and covariance, `M_a` and `M_b`.
    pub fn inducing_numbers(&self) -> (usize, usize) {
        self.inducing.map_or((self.mean_inducing, self.covariance_inducing), |m| (m, m))
    }

    /// The likelihood at its start.
    pub fn likelihood(&self) -> LikelihoodForm {
        match self.likelihood.form() {
            LikelihoodForm::Softmax { .. } => LikelihoodForm::Softmax { classes: Some(self.classes) },
            LikelihoodForm::Ordered { .. } => LikelihoodForm::Ordered { classes: Some(self.classes) },
            other => other,
        }
    }

    /// The numbers of inducing inputs of each layer.
    pub fn inducing_size(&self) -> InducingSize {
        match self.inducing {
            Some(m) => InducingSize::Tied(m),
            None if self.nested => InducingSize::nested(self.mean_inducing, self.covariance_inducing),
            None => InducingSize::decoupled(self.mean_inducing, self.covariance_inducing),
        }
    }
}
