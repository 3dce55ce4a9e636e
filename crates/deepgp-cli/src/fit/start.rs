//! The start of a fit: a model file before its first step.

use deepgp::{Dataset, FitSettings, Regressor};
use deepgp_io::table::Schema;
use deepgp_io::{History, ModelFile, Record, TableRecord};

use crate::terminal::date;

/// The model file of a fit that has not made a step, with the state to train from.
pub fn begin(
    schema: &Schema,
    table: &TableRecord,
    settings: FitSettings,
    train: &Dataset,
) -> deepgp::Result<ModelFile> {
    let regressor = Regressor::start(train, &settings)?;
    let state = Some(regressor.begin(train, &settings)?);
    let record = Record {
        table: table.clone(),
        settings,
        test: None,
        steps: 0,
        train_seconds: 0.0,
        elbo: None,
        stop: None,
        written: date::now(),
        version: env!("CARGO_PKG_VERSION").into(),
        test_rows: 0,
        scores: Vec::new(),
        notes: Vec::new(),
        out: String::new(),
        checkpoint_every: String::new(),
        device: String::new(),
        prediction_samples: None,
        steps_before: 0,
    };
    Ok(ModelFile { regressor, schema: schema.clone(), record, history: History::default(), state })
}
