//! Settings by the names they have in the library: Python gives a JSON object of some, the others have their defaults.

use deepgp::{FitSettings, LikelihoodForm, PredictSettings, Schedule};
use deepgp_io::limits::{MOST_HIDDEN_LAYERS, MOST_OUTPUTS, MOST_SAMPLES};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// The parts of [`FitSettings`] that hold settings, and where `seed` stands twice.
const PARTS: [&str; 2] = ["model", "train"];

/// The argument that the Gaussian likelihood starts with.
const NOISE: &str = "noise";
/// Settings of which there is one choice so far: they are no arguments in Python.
const ONE_CHOICE: [&str; 2] = ["objective", "optimiser"];

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
    for (name, value) in given {
        settings = with(&settings, &name, value)?;
    }
    Ok(settings)
}

/// `settings` with one of them changed.
fn with(settings: &FitSettings, name: &str, value: Value) -> PyResult<FitSettings> {
    let wrong = |reason: String| PyValueError::new_err(format!("`{name}`: {reason}"));
    let mut tree = serde_json::to_value(settings).map_err(|e| wrong(e.to_string()))?;
    if name == NOISE {
        // The one likelihood that there is to choose starts with it.
        tree["model"]["likelihood"] = json!({ "gaussian": { "noise": value } });
        return serde_json::from_value(tree).map_err(|e| wrong(e.to_string()));
    }
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
    for name in ONE_CHOICE {
        all.remove(name);
    }
    let noise = settings.model.likelihood.noise();
    all.remove("likelihood");
    all.insert(NOISE.into(), noise.into());
    // Python has an argument for each of the sizes: `inducing` is that of one set.
    if let Some(sizes) = all.insert("inducing".into(), Value::Null) {
        all.insert("sizes".into(), sizes);
    }
    Ok(all)
}
