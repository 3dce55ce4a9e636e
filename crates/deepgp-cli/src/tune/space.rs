//! The space of a search as people say it: `--search kernel=matern32,matern52`, and flags of settings that are to stay as they are.

use anyhow::{Result, bail};
use deepgp::FitSettings;
use deepgp::search::{Candidate, SearchMetric, SearchSpace, Setting, SettingValue};
use serde_json::{Value, json};

use crate::arguments::fit_options::FitOptions;
use crate::arguments::usage::Usage;
use crate::arguments::value::limits;

/// The usual space, without settings whose own flag is given, and with the values that `--search` names in place of the usual ones.
pub fn space(usual: SearchSpace, options: &FitOptions, asked: &[String]) -> Result<SearchSpace> {
    let fixed = fixed(options);
    let mut space = usual.without(&fixed);
    let mut named = Vec::new();
    for text in asked {
        let (setting, values) = parse(text)?;
        let name = setting.name();
        if fixed.contains(&setting) {
            bail!(Usage(format!("--{name} and --search {text} contradict each other: leave out one of the two")));
        }
        if named.contains(&setting) {
            bail!(Usage(format!("--search {text}: {name} is named twice: give all of its values at once")));
        }
        if matches!(setting, Setting::MeanInducing | Setting::CovarianceInducing) && options.inducing.is_some() {
            bail!(Usage(format!(
                "--search {text}: --inducing is for mean and covariance alike: leave out one of the two"
            )));
        }
        named.push(setting);
        space = space.with(values)?;
    }
    Ok(space)
}

/// The settings whose own flag is given.
fn fixed(options: &FitOptions) -> Vec<Setting> {
    let is_given = |setting: &Setting| match setting {
        Setting::HiddenLayers => options.hidden_layers.is_some(),
        Setting::Width => options.width.is_some(),
        Setting::MeanInducing => options.mean_inducing.is_some() || options.inducing.is_some(),
        Setting::CovarianceInducing => options.covariance_inducing.is_some() || options.inducing.is_some(),
        Setting::CovarianceForm => options.covariance_form.is_some(),
        Setting::Kernel => options.kernel.is_some(),
        Setting::Likelihood => options.likelihood.is_some(),
        Setting::Objective => options.objective.is_some() || options.power.is_some() || options.sites.is_some(),
        Setting::TransformTarget => options.transform_target.is_some(),
        Setting::LearningRate => options.learning_rate.is_some(),
        Setting::KlWeight => options.kl_weight.is_some(),
        Setting::BatchSize => options.batch_size.is_some(),
        Setting::Samples => options.samples.is_some(),
    };
    Setting::ALL.into_iter().filter(is_given).collect()
}

/// A setting and its values, as `--search` names them.
fn parse(text: &str) -> Result<(Setting, Vec<SettingValue>)> {
    let names = || Setting::ALL.map(Setting::name).join(", ");
    let Some((name, values)) = text.split_once('=') else {
        bail!(Usage(format!("--search {text}: give a setting and its values, such as kernel=matern32,matern52")));
    };
    let Some(setting) = Setting::ALL.into_iter().find(|own| own.name() == name.trim()) else {
        bail!(Usage(format!("--search {text}: there is no setting `{name}` to search; there are {}", names())));
    };
    let value = |word: &str| -> Result<SettingValue> {
        let wrong = |reason: String| Usage(format!("--search {text}: `{word}`: {reason}"));
        let written = serde_json::from_str::<Value>(word).ok().filter(Value::is_number).unwrap_or_else(|| json!(word));
        let value: SettingValue = serde_json::from_value(json!({ setting.name(): written }))
            .map_err(|error| wrong(format!("no value of {name}: {error}")))?;
        check(value).map_err(wrong)?;
        Ok(value)
    };
    let values: Vec<SettingValue> = values.split(',').map(|word| value(word.trim())).collect::<Result<_>>()?;
    Ok((setting, values))
}

/// Fails if a value is outside of what the setting's own flag takes.
fn check(value: SettingValue) -> std::result::Result<(), String> {
    let size = |size: usize, sizes| limits::allowed(size, &sizes).map(drop);
    let positive = |number: f64| {
        let is = number > 0.0 && number.is_finite();
        if is { Ok(()) } else { Err("give a number above 0".to_string()) }
    };
    match value {
        SettingValue::HiddenLayers(own) => size(own, limits::HIDDEN_LAYERS),
        SettingValue::Width(own) => size(own, limits::WIDTH),
        SettingValue::MeanInducing(own) | SettingValue::CovarianceInducing(own) => size(own, limits::INDUCING),
        SettingValue::Samples(own) => size(own, limits::SAMPLES),
        SettingValue::BatchSize(own) => {
            if own > 0 {
                Ok(())
            } else {
                Err("give at least 1".into())
            }
        }
        SettingValue::LearningRate(own) | SettingValue::KlWeight(own) => positive(own),
        SettingValue::CovarianceForm(_)
        | SettingValue::Kernel(_)
        | SettingValue::Likelihood(_)
        | SettingValue::Objective(_)
        | SettingValue::TransformTarget(_) => Ok(()),
    }
}

/// The value as its flag takes it.
pub fn value_in_words(value: SettingValue) -> String {
    // A value is an object of one field, the setting.
    match json!(value).as_object().and_then(|all| all.values().next()) {
        Some(Value::String(name)) => name.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// What a candidate changes, as flags of `fit`: `--kernel matern52 --learning-rate 0.009`; nothing for candidate 0.
pub fn flags(candidate: &Candidate) -> String {
    let flag = |value: &SettingValue| format!("--{} {}", value.setting().name(), value_in_words(*value));
    candidate.changes.iter().map(flag).collect::<Vec<_>>().join(" ")
}

/// What a candidate changes, for people: `kernel matern52, learning-rate 0.009`.
pub fn in_words(candidate: &Candidate) -> String {
    if candidate.changes.is_empty() {
        return "the settings of fit".into();
    }
    let change = |value: &SettingValue| format!("{} {}", value.setting().name(), value_in_words(*value));
    candidate.changes.iter().map(change).collect::<Vec<_>>().join(", ")
}

/// The name of a metric as people read it.
pub fn metric_in_words(metric: SearchMetric) -> &'static str {
    match metric {
        SearchMetric::Crps => "CRPS",
        SearchMetric::LogLikelihood => "log likelihood",
        SearchMetric::Rmse => "RMSE",
        SearchMetric::Mae => "MAE",
        SearchMetric::LogLoss => "log loss",
        SearchMetric::Brier => "Brier score",
        SearchMetric::Accuracy => "accuracy",
        SearchMetric::Deviance => "deviance",
    }
}

/// The value that a setting has in the settings of candidate 0, as its flag takes it; nothing where it follows the rows.
pub fn unchanged_value(setting: Setting, base: &FitSettings) -> String {
    use deepgp::{InducingSize, LikelihoodChoice, ObjectiveChoice};
    let size = |size: Option<usize>| size.map_or("by rows".to_string(), |size| size.to_string());
    let (mean, covariance) = match base.model.inducing {
        InducingSize::Tied(both) => (Some(both), Some(both)),
        InducingSize::Decoupled { mean, covariance } | InducingSize::Nested { mean, covariance } => (mean, covariance),
    };
    let of = value_in_words;
    match setting {
        Setting::HiddenLayers => of(SettingValue::HiddenLayers(base.model.hidden_layers)),
        Setting::Width => of(SettingValue::Width(base.model.width)),
        Setting::MeanInducing => size(mean),
        Setting::CovarianceInducing => size(covariance),
        Setting::CovarianceForm => of(SettingValue::CovarianceForm(base.model.covariance_form)),
        Setting::Kernel => of(SettingValue::Kernel(base.model.kernel)),
        Setting::Likelihood => of(SettingValue::Likelihood(LikelihoodChoice::of(base.model.likelihood))),
        Setting::Objective => of(SettingValue::Objective(ObjectiveChoice::of(base.train.objective, base.model.sites))),
        Setting::TransformTarget => of(SettingValue::TransformTarget(base.transform_target)),
        Setting::LearningRate => base.train.learning_rate.map_or("by rows".into(), |rate| rate.to_string()),
        Setting::KlWeight => of(SettingValue::KlWeight(base.train.kl_weight)),
        Setting::BatchSize => of(SettingValue::BatchSize(base.train.batch_size)),
        Setting::Samples => of(SettingValue::Samples(base.train.samples)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_the_name_of_its_value_in_files() {
        for setting in Setting::ALL {
            assert_eq!(json!(setting), json!(setting.name()));
        }
        for metric in SearchMetric::ALL {
            assert_eq!(json!(metric), json!(metric.name()));
        }
        assert_eq!(crate::arguments::METRICS, SearchMetric::ALL.map(|own| own.name()));
    }

    #[test]
    fn values_are_read_as_flags_take_them() {
        let (setting, values) = parse("kernel=matern32, matern52").unwrap();
        assert_eq!((setting, values.len()), (Setting::Kernel, 2));
        let candidate = Candidate { number: 1, changes: vec![values[1], SettingValue::LearningRate(0.009)] };
        assert_eq!(flags(&candidate), "--kernel matern52 --learning-rate 0.009");
        assert_eq!(in_words(&Candidate::unchanged()), "the settings of fit");
        let wrong = |text: &str| {
            let error = parse(text).unwrap_err();
            assert!(error.is::<Usage>(), "{error}");
            error.to_string()
        };
        assert!(wrong("kernel").contains("kernel=matern32,matern52"));
        assert!(wrong("depth=3").contains("no setting `depth`") && wrong("depth=3").contains("hidden-layers"));
        assert!(wrong("kernel=rbf").contains("`rbf`") && wrong("kernel=rbf").contains("matern12"));
        assert!(wrong("width=0").contains("at least 1") && wrong("learning-rate=-1").contains("above 0"));
    }

    #[test]
    fn a_flag_fixes_its_setting() {
        let options = FitOptions { kernel: Some(deepgp::KernelChoice::Matern12), ..FitOptions::default() };
        let data = deepgp::simulate::step_curve(50, 1);
        let usual = || SearchSpace::usual(&data, &FitSettings::default());
        let has_kernel = |space: &SearchSpace| space.choices().any(|own| own.0 == Setting::Kernel);
        assert!(!has_kernel(&space(usual(), &options, &[]).unwrap()));
        let both = space(usual(), &options, &["kernel=matern32".into()]).unwrap_err().to_string();
        assert!(both.contains("--kernel and --search kernel=matern32 contradict"), "{both}");
        let twice = ["width=3".into(), "width=4".into()];
        assert!(space(usual(), &options, &twice).unwrap_err().to_string().contains("named twice"));
    }
}
