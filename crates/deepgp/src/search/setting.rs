//! Settings that a search may change, and their values.

use crate::data::TransformChoice;
use crate::layer::CovarianceForm;
use crate::likelihood::{LikelihoodForm, Link};
use crate::model::Sites;
use crate::settings::{FitSettings, InducingSize, KernelChoice, LikelihoodChoice, ObjectiveChoice};

/// A value of a setting that a search may change.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum SettingValue {
    /// The number of hidden layers.
    HiddenLayers(usize),
    /// The number of outputs of each hidden layer.
    Width(usize),
    /// The number of inducing inputs of each layer's mean.
    MeanInducing(usize),
    /// The number of inducing inputs of each layer's covariance.
    CovarianceInducing(usize),
    /// The variables of the covariance.
    CovarianceForm(CovarianceForm),
    /// The kernel of every layer.
    Kernel(KernelChoice),
    /// The likelihood.
    Likelihood(LikelihoodChoice),
    /// The objective.
    Objective(ObjectiveChoice),
    /// The transform of the targets.
    TransformTarget(TransformChoice),
    /// The learning rate.
    LearningRate(f64),
    /// The factor on the KL.
    KlWeight(f64),
    /// The number of rows in a minibatch.
    BatchSize(usize),
    /// The number of samples of the hidden layers for each row.
    Samples(usize),
}

/// A setting that a search may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Setting {
    /// [`SettingValue::HiddenLayers`].
    HiddenLayers,
    /// [`SettingValue::Width`].
    Width,
    /// [`SettingValue::MeanInducing`].
    MeanInducing,
    /// [`SettingValue::CovarianceInducing`].
    CovarianceInducing,
    /// [`SettingValue::CovarianceForm`].
    CovarianceForm,
    /// [`SettingValue::Kernel`].
    Kernel,
    /// [`SettingValue::Likelihood`].
    Likelihood,
    /// [`SettingValue::Objective`].
    Objective,
    /// [`SettingValue::TransformTarget`].
    TransformTarget,
    /// [`SettingValue::LearningRate`].
    LearningRate,
    /// [`SettingValue::KlWeight`].
    KlWeight,
    /// [`SettingValue::BatchSize`].
    BatchSize,
    /// [`SettingValue::Samples`].
    Samples,
}

impl Setting {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 13] = [
        Self::HiddenLayers,
        Self::Width,
        Self::MeanInducing,
        Self::CovarianceInducing,
        Self::CovarianceForm,
        Self::Kernel,
        Self::Likelihood,
        Self::Objective,
        Self::TransformTarget,
        Self::LearningRate,
        Self::KlWeight,
        Self::BatchSize,
        Self::Samples,
    ];

    /// The name that options and files have for the setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::HiddenLayers => "hidden-layers",
            Self::Width => "width",
            Self::MeanInducing => "mean-inducing",
            Self::CovarianceInducing => "covariance-inducing",
            Self::CovarianceForm => "covariance-form",
            Self::Kernel => "kernel",
            Self::Likelihood => "likelihood",
            Self::Objective => "objective",
            Self::TransformTarget => "transform-target",
            Self::LearningRate => "learning-rate",
            Self::KlWeight => "kl-weight",
            Self::BatchSize => "batch-size",
            Self::Samples => "samples",
        }
    }
}

impl SettingValue {
    /// The setting that has this value.
    pub fn setting(self) -> Setting {
        match self {
            Self::HiddenLayers(_) => Setting::HiddenLayers,
            Self::Width(_) => Setting::Width,
            Self::MeanInducing(_) => Setting::MeanInducing,
            Self::CovarianceInducing(_) => Setting::CovarianceInducing,
            Self::CovarianceForm(_) => Setting::CovarianceForm,
            Self::Kernel(_) => Setting::Kernel,
            Self::Likelihood(_) => Setting::Likelihood,
            Self::Objective(_) => Setting::Objective,
            Self::TransformTarget(_) => Setting::TransformTarget,
            Self::LearningRate(_) => Setting::LearningRate,
            Self::KlWeight(_) => Setting::KlWeight,
            Self::BatchSize(_) => Setting::BatchSize,
            Self::Samples(_) => Setting::Samples,
        }
    }

    /// Changes the settings of a fit to this value. A likelihood keeps the noise that the one before it started with, and the number of classes.
    pub fn apply(self, settings: &mut FitSettings) {
        let FitSettings { model, train, transform_target, .. } = settings;
        match self {
            Self::HiddenLayers(layers) => model.hidden_layers = layers,
            Self::Width(width) => model.width = width,
            Self::MeanInducing(size) => match &mut model.inducing {
                InducingSize::Tied(both) => *both = size,
                InducingSize::Decoupled { mean, .. } | InducingSize::Nested { mean, .. } => *mean = Some(size),
            },
            Self::CovarianceInducing(size) => match &mut model.inducing {
                InducingSize::Tied(both) => *both = size,
                InducingSize::Decoupled { covariance, .. } | InducingSize::Nested { covariance, .. } => {
                    *covariance = Some(size);
                }
            },
            Self::CovarianceForm(form) => model.covariance_form = form,
            Self::Kernel(kernel) => model.kernel = kernel,
            Self::Likelihood(choice) => model.likelihood = likelihood(choice, model.likelihood),
            Self::Objective(choice) => {
                train.objective = choice.form(train.objective.and_then(crate::ObjectiveForm::power));
                model.sites = (choice == ObjectiveChoice::Sites).then_some(model.sites.unwrap_or(Sites::USUAL));
            }
            Self::TransformTarget(choice) => *transform_target = choice,
            Self::LearningRate(rate) => train.learning_rate = Some(rate),
            Self::KlWeight(weight) => train.kl_weight = weight,
            Self::BatchSize(rows) => train.batch_size = rows,
            Self::Samples(samples) => train.samples = samples,
        }
    }
}

/// The form of a likelihood in place of another: with its noise and its number of classes, if both have some.
fn likelihood(choice: LikelihoodChoice, before: LikelihoodForm) -> LikelihoodForm {
    let known = match before {
        LikelihoodForm::Softmax { classes } | LikelihoodForm::Ordered { classes } => classes,
        LikelihoodForm::Bernoulli { link: Link::Probit | Link::Logit } => Some(2),
        LikelihoodForm::Gaussian { .. }
        | LikelihoodForm::Heteroscedastic { .. }
        | LikelihoodForm::StudentT { .. }
        | LikelihoodForm::Poisson
        | LikelihoodForm::NegativeBinomial { .. } => None,
    };
    match choice.form() {
        LikelihoodForm::Softmax { .. } => LikelihoodForm::Softmax { classes: known },
        LikelihoodForm::Ordered { .. } => LikelihoodForm::Ordered { classes: known },
        other => before.noise().and_then(|noise| other.with_noise(noise)).unwrap_or(other),
    }
}

/// Whether the parts of these settings can go together: what training would refuse once there is a model.
pub(super) fn go_together(settings: &FitSettings) -> bool {
    let FitSettings { model, train, .. } = settings;
    let likelihood = LikelihoodChoice::of(model.likelihood);
    let objective = match ObjectiveChoice::of(train.objective, model.sites) {
        ObjectiveChoice::Faithful => likelihood == LikelihoodChoice::Heteroscedastic,
        ObjectiveChoice::Tighter => {
            likelihood == LikelihoodChoice::Gaussian && model.covariance_form != CovarianceForm::Dual
        }
        ObjectiveChoice::Auto | ObjectiveChoice::Elbo | ObjectiveChoice::Predictive | ObjectiveChoice::Sites => true,
    };
    let sizes = match model.inducing {
        InducingSize::Nested { mean: Some(mean), covariance: Some(covariance) } => covariance <= mean,
        InducingSize::Nested { .. } | InducingSize::Tied(_) | InducingSize::Decoupled { .. } => true,
    };
    objective && sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likelihood_keeps_its_noise_and_its_classes() {
        let mut settings = FitSettings::default();
        settings.model.likelihood = LikelihoodForm::Heteroscedastic { noise: 0.25 };
        SettingValue::Likelihood(LikelihoodChoice::Gaussian).apply(&mut settings);
        assert_eq!(settings.model.likelihood, LikelihoodForm::Gaussian { noise: 0.25 });
        settings.model.likelihood = LikelihoodForm::Softmax { classes: Some(7) };
        SettingValue::Likelihood(LikelihoodChoice::Ordered).apply(&mut settings);
        assert_eq!(settings.model.likelihood, LikelihoodForm::Ordered { classes: Some(7) });
    }

    #[test]
    fn what_training_would_refuse_does_not_go_together() {
        let with = |values: &[SettingValue]| {
            let mut settings = FitSettings::default();
            values.iter().for_each(|own| own.apply(&mut settings));
            go_together(&settings)
        };
        let (gaussian, tighter) =
            (SettingValue::Likelihood(LikelihoodChoice::Gaussian), SettingValue::Objective(ObjectiveChoice::Tighter));
        assert!(with(&[]) && with(&[gaussian]) && with(&[gaussian, tighter]) && !with(&[tighter]));
        assert!(!with(&[gaussian, SettingValue::Objective(ObjectiveChoice::Faithful)]));
        assert!(!with(&[SettingValue::MeanInducing(10), SettingValue::CovarianceInducing(20)]));
        assert!(with(&[SettingValue::CovarianceInducing(700)]));
    }
}
