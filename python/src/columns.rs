//! What a model file says of a model that came from arrays, so that the command line can use it.

use deepgp::{DeepGp, FitSettings, Regressor, Scaling, Standardiser};
use deepgp_io::table::{InputColumn, Kind, Missing, Schema, TargetKind, by_position};
use deepgp_io::{History, ModelFile, Provenance, Record};
use pyo3::prelude::*;

/// The names that Python knows, from a dictionary: of inputs and targets, if they have any; of the column of exposures, if there is one;
/// and the labels of classes, if targets are classes.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Names {
    pub inputs: Option<Vec<String>>,
    pub targets: Option<Vec<String>>,
    pub exposure: Option<String>,
    pub labels: Option<Vec<String>>,
}

/// The names of so many targets: their own, or `y`, or `y0`, `y1`, ….
pub fn target_names(named: Option<Vec<String>>, outputs: usize) -> Vec<String> {
    named.unwrap_or_else(|| match outputs {
        1 => vec!["y".into()],
        _ => (0..outputs).map(|i| format!("y{i}")).collect(),
    })
}

/// `width` columns of numbers, known by their names or, without, by their positions, and targets of a kind, named or counted.
pub fn schema(names: Names, width: usize, outputs: usize, target_kind: TargetKind) -> Schema {
    let targets = target_names(names.targets, outputs);
    let positions = if names.inputs.is_none() { Some(width) } else { None };
    let inputs = names.inputs.unwrap_or_else(|| by_position(width));
    let column = |name| InputColumn::new(name, Kind::Number { fill: None });
    Schema {
        inputs: inputs.into_iter().map(column).collect(),
        targets,
        target_kind,
        exposure: names.exposure,
        missing: Missing::Reject,
        positions,
        ..Schema::default()
    }
}

/// The columns of a model that is trained further: as they were, but for targets that have names now, and exposures that are new.
pub fn renamed(mut schema: Schema, names: Names) -> Schema {
    if let Some(targets) = names.targets.filter(|targets| targets.len() == schema.targets.len()) {
        schema.targets = targets;
    }
    schema.exposure = schema.exposure.or(names.exposure);
    schema
}

/// A file for `regressor`, with a record of these settings and of where its data came from.
pub fn file(regressor: Regressor, schema: Schema, settings: FitSettings, data: Provenance) -> ModelFile {
    let record = Record::new(data, settings);
    ModelFile { regressor, schema, record, history: History::default(), state: None }
}

/// A file for a model that takes numbers as they are: nothing is shifted or scaled.
pub fn unscaled(model: DeepGp) -> ModelFile {
    let units = |width: usize| Scaling { shift: vec![0.0; width], scale: vec![1.0; width] };
    let (inputs, outputs) = (model.input_width(), model.likelihood().observed_width());
    let standardiser = Standardiser { x: units(inputs), y: units(outputs), transform: None, trend: None };
    let schema = schema(Names::default(), inputs, outputs, TargetKind::Numbers);
    file(Regressor::new(model, standardiser), schema, FitSettings::default(), Provenance::Unfitted)
}
