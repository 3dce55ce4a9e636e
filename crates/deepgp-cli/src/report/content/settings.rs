//! Settings and other facts of a fit: what it takes to make the model again.

use deepgp_io::{ModelFile, SplitRule, StopReason};
use serde_json::Value;

use crate::model::description::{inputs_in_words, transforms_in_words};

/// The settings and other facts of a fit: names and values.
pub fn all_settings(file: &ModelFile) -> Vec<(String, String)> {
    let record = &file.record;
    let mut all = vec![
        ("table".to_string(), record.data.to_string()),
        ("rows".into(), record.data.rows().to_string()),
        ("SHA-256 of the table".into(), record.data.table().map_or(String::new(), |table| table.sha256.clone())),
        ("targets".into(), file.schema.targets.join(", ")),
        ("inputs".into(), inputs_in_words(file, "number")),
        ("parameters".into(), file.regressor.model.raw().len().to_string()),
        ("end of training".into(), record.stop.as_ref().map_or(String::new(), StopReason::to_string)),
    ];
    let mut flatten = |prefix: &str, value: &Value| {
        if let Value::Object(fields) = value {
            for (name, value) in fields {
                let shown = in_words(value);
                all.push((format!("{prefix}{}", name.replace('_', " ")), shown));
            }
        }
    };
    let settings = serde_json::to_value(&record.settings).unwrap_or_default();
    flatten("", settings.get("model").unwrap_or(&Value::Null));
    flatten("training: ", settings.get("train").unwrap_or(&Value::Null));
    let transforms = transforms_in_words(file);
    let transforms = if transforms.is_empty() { "none".into() } else { transforms.join(", ") };
    all.push(("targets transformed to".into(), transforms));
    all.push(("validation share".into(), record.settings.validation.map_or("none".into(), |v| v.to_string())));
    all.push(("test share".into(), record.test.map_or("none".into(), |v| v.to_string())));
    let split = match &record.split {
        SplitRule::Random => "at random".to_string(),
        SplitRule::Last { column: None } => "the last, in the order of the table".into(),
        SplitRule::Last { column: Some(column) } => format!("the last by `{column}`"),
    };
    all.push(("rows held out".into(), split));
    all.extend(file.schema.row_columns.group.iter().map(|column| ("groups kept together".into(), column.clone())));
    all.extend(file.schema.row_columns.weights.iter().map(|column| ("rows weighted by".into(), column.clone())));
    all.push(("model written by".into(), format!("deepgp {}", record.version)));
    all
}

/// The value of a setting without the marks of JSON: `{"decoupled":{"mean":5}}` is `decoupled: mean 5`.
fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "default".into(),
        Value::Object(fields) => {
            let each = fields.iter().map(|(name, value)| match value {
                Value::Object(_) => format!("{name}: {}", in_words(value)),
                _ => format!("{name} {}", in_words(value)),
            });
            each.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
