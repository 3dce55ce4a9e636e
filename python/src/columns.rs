//! What a model file says of a model that came from arrays, so that the command line can use it.

use deepgp::{DeepGp, FitSettings, Regressor, Scaling, Standardiser};
use deepgp_io::table::{InputColumn, Kind, Missing, Schema, TargetKind, by_position};
use deepgp_io::{History, ModelFile, Provenance, Record};

/// `width` columns of numbers, known by their names or, without, by their positions, and targets, named or counted.
pub fn schema(names: Option<Vec<String>>, width: usize, targets: Option<Vec<String>>, outputs: usize) -> Schema {
    let targets = targets.unwrap_or_else(|| match outputs {
        1 => vec!["y".into()],
        _ => (0..outputs).map(|i| format!("y{i}")).collect(),
    });
    let positions = if names.is_none() { Some(width) } else { None };
    let names = names.unwrap_or_else(|| by_position(width));
    let column = |name| InputColumn { name, kind: Kind::Number { fill: None } };
    let (target_kind, exposure) = (TargetKind::Numbers, None);
    Schema {
        inputs: names.into_iter().map(column).collect(),
        targets,
        target_kind,
        exposure,
        missing: Missing::Reject,
        positions,
    }
}

/// The columns of a model that is trained further: as they were, but for targets that have names now.
pub fn renamed(mut schema: Schema, targets: Option<Vec<String>>) -> Schema {
    if let Some(targets) = targets.filter(|targets| targets.len() == schema.targets.len()) {
        schema.targets = targets;
    }
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
    let standardiser = Standardiser { x: units(inputs), y: units(outputs), transform: None };
    let schema = schema(None, inputs, None, outputs);
    file(Regressor { model, standardiser }, schema, FitSettings::default(), Provenance::Unfitted)
}
