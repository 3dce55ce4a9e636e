//! What a row is to a model, as a JSON Schema; and, under names that begin with `x-`, what is predicted of it.

use deepgp_io::ModelFile;
use deepgp_io::table::{InputColumn, Kind, Missing, Schema, TargetKind, Writing};
use serde_json::{Map, Value, json};

/// How many levels of a category with very many are shown.
const EXAMPLES: usize = 5;

/// The JSON Schema of a row. `answers` are the names of what is told of each.
pub fn of(file: &ModelFile, schema: &Schema, answers: &[String]) -> Value {
    let mut properties = Map::new();
    let mut first = 0;
    for column in &schema.inputs {
        properties.insert(column.name.clone(), of_column(file, schema, column, first));
        first += column.width();
    }
    if let Some(exposure) = &schema.exposure {
        let description = "The exposure, which the count grows with.";
        properties
            .insert(exposure.clone(), json!({ "type": "number", "exclusiveMinimum": 0, "description": description }));
    }
    let required: Vec<&String> = properties.keys().collect();
    let (kind, labels) = match &schema.target_kind {
        TargetKind::Numbers => ("numbers", None),
        TargetKind::Classes { labels } => ("classes", Some(labels)),
        TargetKind::Counts => ("counts", None),
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A row",
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": true,
        "x-target": { "columns": schema.targets, "kind": kind, "labels": labels },
        "x-answers": answers,
        "x-rows-with-missing-cells": match schema.missing {
            Missing::Reject => "are refused",
            Missing::Drop => "have no prediction: null",
            Missing::Mean | Missing::Indicator => "are filled in",
        },
    })
}

/// The JSON Schema of a column's cell; `first` is the position of its first number among the encoded ones.
fn of_column(file: &ModelFile, schema: &Schema, column: &InputColumn, first: usize) -> Value {
    let written = schema.writing.get(&column.name);
    let units = &file.regressor.standardiser.x;
    let typical = || json!({ "mean": units.shift[first], "standard_deviation": units.scale[first] });
    let (mut own, is_filled) = match &column.kind {
        Kind::Number { fill } => {
            let (types, description) = match written {
                Some(Writing::Decorated) => (
                    json!(["number", "string"]),
                    "A number in the units of the table that the model was fitted on, or a text with signs as in that table.",
                ),
                Some(Writing::Words | Writing::MonthFirst | Writing::DayFirst) | None => {
                    (json!(["number"]), "A number in the units of the table that the model was fitted on.")
                }
            };
            (json!({ "type": types, "description": description, "x-typical": typical() }), fill.is_some())
        }
        Kind::Boolean { fill } => (json!({ "type": ["boolean"] }), fill.is_some()),
        Kind::Date { fill, .. } => {
            let form = match written {
                Some(Writing::MonthFirst) => "MM/DD/YYYY or YYYY-MM-DD",
                Some(Writing::DayFirst) => "DD/MM/YYYY or YYYY-MM-DD",
                Some(Writing::Words | Writing::Decorated) | None => "YYYY-MM-DD",
            };
            let description = format!(
                "A date as {form}, with HH:MM:SS and an offset such as +01:00 or without; or seconds since 1970, UTC."
            );
            (json!({ "type": ["string", "number"], "description": description }), fill.is_some())
        }
        Kind::Category { levels } => {
            let mut values: Vec<Value> = levels.iter().map(|level| json!(level)).collect();
            values.extend(levels.iter().filter_map(|level| typed(level)));
            let description = "A category; any other value is none of them, with a note.";
            (json!({ "enum": values, "description": description }), true)
        }
        Kind::ManyLevels { levels, .. } => {
            let description = format!("A category of {}; any other value is none of them, with a note.", levels.len());
            let examples: Vec<&String> = levels.iter().take(EXAMPLES).collect();
            (json!({ "type": ["string", "number"], "description": description, "examples": examples }), true)
        }
    };
    let may_be_missing = match schema.missing {
        Missing::Reject => false,
        Missing::Drop => true,
        Missing::Mean | Missing::Indicator => is_filled,
    };
    if may_be_missing {
        if let Some(Value::Array(types)) = own.get_mut("type") {
            types.push("null".into());
        }
        if let Some(Value::Array(values)) = own.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    own
}

/// A level as JSON's own type, where it may come as one.
fn typed(level: &str) -> Option<Value> {
    match level {
        "true" => Some(true.into()),
        "false" => Some(false.into()),
        _ => level.parse::<f64>().ok().filter(|value| value.is_finite()).map(Value::from),
    }
}
