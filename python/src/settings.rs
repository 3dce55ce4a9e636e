//! Settings by the names they have in the library: Python gives a JSON object of some, the others have their defaults.

use deepgp::{
    FitSettings, LikelihoodChoice, LikelihoodForm, ObjectiveChoice, ObjectiveForm, PredictSettings, Schedule, Sites,
};
use deepgp_io::limits::{MOST_HIDDEN_LAYERS, MOST_OUTPUTS, MOST_SAMPLES};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// The parts of [`FitSettings`] that hold settings, and where `seed` stands twice.
const PARTS: [&str; 2] = ["model", "train"];

/// Settings that are no arguments in Python: there is one choice so far, or the columns of a frame decide.
const NO_ARGUMENTS: [&str; 3] = ["optimiser", "validation_rows", "trend_columns"];

/// An argument that is one word or number in Python, and only part of a setting of the library.
#[derive(Clone, Copy)]
enum DensityArgument {
    /// The likelihood's name.
    Likelihood,
    /// The noise that a likelihood starts with.
    Noise,
    /// The objective's name; learned sites are one.
    Objective,
    /// The power of the predictive objective.
    Power,
    /// The number of learned sites, if there are any.
    Sites,
}

impl DensityArgument {
    /// All of them by name, in an order in which one can follow the other.
    const ALL: [(&str, Self); 5] = [
        ("likelihood", Self::Likelihood),
        ("noise", Self::Noise),
        ("objective", Self::Objective),
        ("power", Self::Power),
        ("sites", Self::Sites),
    ];

    /// The argument of this name, if there is one.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(own, _)| *own == name).map(|(_, argument)| *argument)
    }

    /// Changes `settings` to what the argument says.
    fn set(self, settings: &mut FitSettings, value: Value) -> serde_json::Result<()> {
        let FitSettings { model, train, .. } = settings;
        match self {
            Self::Likelihood => {
                let chosen = serde_json::from_value::<LikelihoodChoice>(value)?.form();
                let noisy = model.likelihood.noise().and_then(|noise| chosen.with_noise(noise));
                model.likelihood = noisy.unwrap_or(chosen);
            }
            Self::Noise => {
                let noisy = model.likelihood.with_noise(serde_json::from_value(value)?);
                model.likelihood = noisy.unwrap_or(model.likelihood);
            }
            Self::Objective => {
                let choice: ObjectiveChoice = serde_json::from_value(value)?;
                train.objective = choice.form(train.objective.and_then(ObjectiveForm::power));
                model.sites = (choice == ObjectiveChoice::Sites).then_some(model.sites.unwrap_or(Sites::USUAL));
            }
            Self::Power => {
                let given: Option<f64> = serde_json::from_value(value)?;
                train.objective = ObjectiveChoice::of(train.objective, model.sites).form(given);
                if let (Some(power), None) = (given, train.objective.and_then(ObjectiveForm::power)) {
                    let objectives = "objective=\"predictive\", \"faithful\" or \"sites\"";
                    return Err(serde::de::Error::custom(format!(
                        "{power} is that of {objectives}: give one of these"
                    )));
                }
            }
            Self::Sites => {
                let given: usize = serde_json::from_value(value)?;
                model.sites = model.sites.map(|_| given);
            }
        }
        Ok(())
    }

    /// The argument's value in `settings`.
    fn get(self, settings: &FitSettings) -> Value {
        let FitSettings { model, train, .. } = settings;
        match self {
            Self::Likelihood => json!(LikelihoodChoice::of(model.likelihood)),
            // Where there is no noise, the argument has no effect.
            Self::Noise => json!(model.likelihood.noise().or(LikelihoodForm::default().noise())),
            Self::Objective => json!(ObjectiveChoice::of(train.objective, model.sites)),
            Self::Power => json!(train.objective.and_then(ObjectiveForm::power)),
            Self::Sites => json!(model.sites.unwrap_or(Sites::USUAL)),
        }
    }
}

/// The library's defaults as one JSON object, `seed` once.
#[pyfunction]
pub fn default_settings() -> PyResult<String> {
    let mut all = flat(&FitSettings::default())?;
    all.insert("prediction_samples".into(), PredictSettings::default().samples.into());
    Ok(Value::Object(all).to_string())
}

/// The largest value of each setting that could be a slip of the keyboard.
#[pyfunction]
pub fn limits() -> Vec<(&'static str, usize)> {
    let samples = ["samples", "validation_samples", "prediction_samples"].map(|name| (name, MOST_SAMPLES));
    let outputs = ["width", "outputs"].map(|name| (name, MOST_OUTPUTS));
    [("hidden_layers", MOST_HIDDEN_LAYERS)].into_iter().chain(outputs).chain(samples).collect()
}

/// Settings from a JSON object of those that differ from the defaults. The error names the one that cannot be.
pub fn parse(text: &str) -> PyResult<FitSettings> {
    let given: Map<String, Value> = serde_json::from_str(text).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let mut settings = FitSettings::default();
    let (density, others): (Vec<_>, Vec<_>) =
        given.into_iter().partition(|(name, _)| DensityArgument::named(name).is_some());
    for (name, value) in others {
        settings = with(&settings, &name, value)?;
    }
    for (name, argument) in DensityArgument::ALL {
        if let Some((_, value)) = density.iter().find(|(own, _)| own == name) {
            let wrong = |error: serde_json::Error| PyValueError::new_err(format!("`{name}`: {error}"));
            argument.set(&mut settings, value.clone()).map_err(wrong)?;
        }
    }
    Ok(settings)
}

/// `settings` with one of them changed.
fn with(settings: &FitSettings, name: &str, value: Value) -> PyResult<FitSettings> {
    let wrong = |reason: String| PyValueError::new_err(format!("`{name}`: {reason}"));
    let mut tree = serde_json::to_value(settings).map_err(|e| wrong(e.to_string()))?;
    if name == "schedule" && value == "cosine" {
        return with(settings, name, json!(Schedule::COSINE));
    }
    let mut known = false;
    for part in PARTS {
        if let Some(place) = tree.get_mut(part).and_then(|own| own.get_mut(name)) {
            *place = value.clone();
            known = true;
        }
    }
    if !known {
        let place = tree.get_mut(name).filter(|_| !PARTS.contains(&name));
        *place.ok_or_else(|| wrong("there is no such setting".into()))? = value;
    }
    serde_json::from_value(tree).map_err(|e| wrong(e.to_string()))
}

/// All settings side by side.
pub fn flat(settings: &FitSettings) -> PyResult<Map<String, Value>> {
    let tree = serde_json::to_value(settings).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let Value::Object(tree) = tree else { return Ok(Map::new()) };
    let mut all = Map::new();
    for (name, value) in tree {
        match value {
            Value::Object(part) if PARTS.contains(&name.as_str()) => all.extend(part),
            other => drop(all.insert(name, other)),
        }
    }
    for name in NO_ARGUMENTS {
        all.remove(name);
    }
    for (name, argument) in DensityArgument::ALL {
        all.insert(name.into(), argument.get(settings));
    }
    if settings.train.schedule == Schedule::COSINE {
        all.insert("schedule".into(), "cosine".into());
    }
    // Python has an argument for each of the sizes: `inducing` is that of one set.
    if let Some(sizes) = all.insert("inducing".into(), Value::Null) {
        all.insert("sizes".into(), sizes);
    }
    Ok(all)
}
