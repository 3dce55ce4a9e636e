//! The space of a search: which settings it may change, and to which values.

use super::setting::{Setting, SettingValue};
use crate::data::{Dataset, FEWEST_VALUES, TransformChoice, distinct_values};
use crate::error::{Error, Result};
use crate::likelihood::{LikelihoodForm, Outcomes};
use crate::settings::{
    FitSettings, InducingSize, KernelChoice, LikelihoodChoice, ObjectiveChoice, inducing_for, learning_rate_for,
};

/// The values among which a search chooses one for a setting.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Choices {
    /// The values, all of one setting.
    pub values: Vec<SettingValue>,
    /// Whether the setting may also stay as it was.
    pub or_unchanged: bool,
}

/// The settings that a search may change, each with its values.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SearchSpace(Vec<Choices>);

/// The numbers of hidden layers that are tried.
const HIDDEN_LAYERS: [usize; 4] = [0, 1, 2, 3];
/// The widths that are tried.
const WIDTHS: [usize; 3] = [5, 10, 20];
/// The kernels that are tried.
const KERNELS: [KernelChoice; 4] =
    [KernelChoice::SquaredExponential, KernelChoice::Matern52, KernelChoice::Matern32, KernelChoice::RationalQuadratic];
/// The factors on the usual sizes and on the usual learning rate that are tried.
const SIZE_FACTORS: [f64; 2] = [0.5, 2.0];
/// The factors on the usual learning rate that are tried.
const RATE_FACTORS: [f64; 4] = [0.3, 0.6, 1.7, 3.0];
/// The least number of inducing inputs that is tried.
const FEWEST_INDUCING: usize = 10;

impl SearchSpace {
    /// The usual space around the settings `base` of a fit to rows such as these: depth, width, sizes, kernel, likelihood, objective, transform and
    /// learning rate. Sizes follow the number of rows; likelihoods, objectives and transforms are those that the targets can have.
    pub fn usual(train: &Dataset, base: &FitSettings) -> Self {
        let rows = base.training_rows(train.len());
        let outcomes = base.model.likelihood.start(train.y().ncols()).outcomes();
        let changed = |value: &SettingValue| {
            let mut settings = base.clone();
            value.apply(&mut settings);
            settings != *base
        };
        let of = |values: Vec<SettingValue>| Choices {
            values: values.into_iter().filter(changed).collect(),
            or_unchanged: true,
        };
        let mut all = vec![
            of(HIDDEN_LAYERS.map(SettingValue::HiddenLayers).into()),
            of(WIDTHS.map(SettingValue::Width).into()),
            of(KERNELS.map(SettingValue::Kernel).into()),
            of(likelihoods(base.model.likelihood).into_iter().map(SettingValue::Likelihood).collect()),
            of(objectives(outcomes).iter().copied().map(SettingValue::Objective).collect()),
            of(rates(base.train.learning_rate.unwrap_or_else(|| learning_rate_for(rows)))),
        ];
        if let InducingSize::Nested { mean, covariance } | InducingSize::Decoupled { mean, covariance } =
            base.model.inducing
        {
            let (usual_mean, usual_covariance) = inducing_for(rows);
            all.push(of(sizes(mean.unwrap_or(usual_mean), rows).map(SettingValue::MeanInducing).collect()));
            let usual = covariance.unwrap_or(usual_covariance);
            all.push(of(sizes(usual, rows).map(SettingValue::CovarianceInducing).collect()));
        }
        if outcomes == Outcomes::Real {
            all.push(of(transforms(train).into_iter().map(SettingValue::TransformTarget).collect()));
        }
        let mut space = Self(Vec::new());
        all.into_iter().for_each(|choices| space.put(choices));
        space
    }

    /// This space with these values for their setting, and no others. Fails if there are none, or they are of several settings.
    pub fn with(mut self, values: Vec<SettingValue>) -> Result<Self> {
        let setting = values.first().map(|own| own.setting());
        if setting.is_none() || values.iter().any(|own| Some(own.setting()) != setting) {
            let value = format!("{values:?}");
            return Err(Error::Setting { name: "space", value, requirement: "some values of one setting" });
        }
        self.put(Choices { values, or_unchanged: false });
        Ok(self)
    }

    /// This space without these settings, which stay as they are.
    pub fn without(mut self, settings: &[Setting]) -> Self {
        self.0.retain(|choices| choices.values.iter().all(|own| !settings.contains(&own.setting())));
        self
    }

    /// The settings that may change, in the order of [`Setting::ALL`], each with its values.
    pub fn choices(&self) -> impl Iterator<Item = (Setting, &Choices)> {
        self.0.iter().filter_map(|choices| Some((choices.values.first()?.setting(), choices)))
    }

    /// Whether these changes are all among the choices, and leave nothing as it was that may not stay so.
    pub(super) fn has(&self, changes: &[SettingValue]) -> bool {
        let is_choice = |value: &SettingValue| self.0.iter().any(|choices| choices.values.contains(value));
        let changed = |setting: Setting| changes.iter().any(|value| value.setting() == setting);
        changes.iter().all(is_choice) && self.choices().all(|(setting, own)| own.or_unchanged || changed(setting))
    }

    /// Puts the choices of a setting in their place, for others of the setting if there are any.
    fn put(&mut self, choices: Choices) {
        let Some(setting) = choices.values.first().map(|own| own.setting()) else { return };
        let of = |own: &Choices| own.values.first().map(|value| value.setting());
        self.0.retain(|own| of(own) != Some(setting));
        let at = self.0.iter().position(|own| of(own) > Some(setting)).unwrap_or(self.0.len());
        self.0.insert(at, choices);
    }
}

/// The likelihoods for targets of the same kind as this one's.
fn likelihoods(base: LikelihoodForm) -> Vec<LikelihoodChoice> {
    use LikelihoodChoice as Choice;
    match base {
        LikelihoodForm::Gaussian { .. } | LikelihoodForm::Heteroscedastic { .. } | LikelihoodForm::StudentT { .. } => {
            // Student's t only by name: the CRPS of its mixtures, by integration, takes as long as the steps between two looks.
            vec![Choice::Gaussian, Choice::Heteroscedastic]
        }
        LikelihoodForm::Bernoulli { .. } => vec![Choice::Probit, Choice::Logit],
        LikelihoodForm::Poisson | LikelihoodForm::NegativeBinomial { .. } => {
            vec![Choice::Poisson, Choice::NegativeBinomial]
        }
        // Whether classes have an order, their numbers do not say.
        LikelihoodForm::Softmax { .. } | LikelihoodForm::Ordered { .. } => Vec::new(),
    }
}

/// The objectives that are tried for such targets.
fn objectives(outcomes: Outcomes) -> &'static [ObjectiveChoice] {
    match outcomes {
        Outcomes::Real => &[ObjectiveChoice::Elbo, ObjectiveChoice::Predictive, ObjectiveChoice::Sites],
        Outcomes::Classes(_) => &[ObjectiveChoice::Predictive],
        Outcomes::Counts => &[ObjectiveChoice::Elbo],
    }
}

/// The transforms that all these targets can have.
fn transforms(train: &Dataset) -> Vec<TransformChoice> {
    let y = train.y();
    let column = |p: usize| -> Vec<f64> { (0..train.len()).map(|i| y[(i, p)]).collect() };
    // With room for the rows that are held out for early stopping.
    let many = (0..y.ncols()).all(|p| distinct_values(&column(p), |_| 1.0) >= 2 * FEWEST_VALUES);
    let mut all = vec![TransformChoice::None, TransformChoice::YeoJohnson];
    if TransformChoice::Log.check(y.view()).is_ok() {
        all.push(TransformChoice::Log);
    }
    if many {
        all.push(TransformChoice::Quantile);
    }
    all
}

/// The sizes that are tried beside a usual one, up to the number of rows.
fn sizes(usual: usize, rows: usize) -> impl Iterator<Item = usize> {
    let scaled = SIZE_FACTORS.map(|factor| ((usual as f64 * factor).round() as usize).max(FEWEST_INDUCING));
    scaled.into_iter().filter(move |size| *size != usual && *size <= rows)
}

/// The learning rates that are tried beside a usual one, to two digits.
fn rates(usual: f64) -> Vec<SettingValue> {
    let two_digits = |rate: f64| format!("{rate:.1e}").parse().unwrap_or(rate);
    RATE_FACTORS.map(|factor| SettingValue::LearningRate(two_digits(usual * factor))).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::simulate;
    use crate::numeric::mat::Mat;

    fn values(space: &SearchSpace, setting: Setting) -> Vec<SettingValue> {
        space.choices().find(|own| own.0 == setting).map_or(Vec::new(), |own| own.1.values.clone())
    }

    #[test]
    fn the_usual_space_follows_rows_and_targets() {
        let (base, data) = (FitSettings::default(), simulate::eight_link_arm(1000, 1));
        let space = SearchSpace::usual(&data, &base);
        assert_eq!(values(&space, Setting::HiddenLayers), [0, 1, 3].map(SettingValue::HiddenLayers));
        assert_eq!(values(&space, Setting::MeanInducing), [90, 360].map(SettingValue::MeanInducing));
        assert_eq!(values(&space, Setting::LearningRate).len(), 4);
        assert_eq!(values(&space, Setting::LearningRate)[0], SettingValue::LearningRate(0.0045));
        assert!(
            values(&space, Setting::TransformTarget)
                .contains(&SettingValue::TransformTarget(TransformChoice::Quantile))
        );
        let order: Vec<Setting> = space.choices().map(|own| own.0).collect();
        assert!(order.is_sorted() && order.len() == 9, "{order:?}");
        let classes = Dataset::new(data.x().clone(), Mat::from_fn(1000, 1, |i, _| (i % 2) as f64)).unwrap();
        let mut base = FitSettings::default();
        base.model.likelihood = LikelihoodForm::PROBIT;
        let space = SearchSpace::usual(&classes, &base);
        assert_eq!(values(&space, Setting::Likelihood), [SettingValue::Likelihood(LikelihoodChoice::Logit)]);
        assert!(values(&space, Setting::TransformTarget).is_empty());
    }

    #[test]
    fn a_setting_can_be_restricted_or_fixed() {
        let usual = SearchSpace::usual(&simulate::step_curve(50, 1), &FitSettings::default());
        let own = usual.clone().with(vec![SettingValue::Width(3), SettingValue::Width(4)]).unwrap();
        assert_eq!(values(&own, Setting::Width), [3, 4].map(SettingValue::Width));
        assert_eq!(own.choices().count(), usual.choices().count());
        assert!(values(&usual.clone().without(&[Setting::Kernel]), Setting::Kernel).is_empty());
        for wrong in [vec![], vec![SettingValue::Width(3), SettingValue::KlWeight(0.5)]] {
            assert!(usual.clone().with(wrong).is_err());
        }
        // There is room for no more inducing inputs than rows.
        assert_eq!(values(&usual, Setting::MeanInducing), [SettingValue::MeanInducing(23)]);
    }
}
