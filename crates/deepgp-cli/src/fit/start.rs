//! The start of a fit: a model file before its first step.

use deepgp::{Dataset, FitSettings, Regressor};
use deepgp_io::table::Schema;
use deepgp_io::{History, ModelFile, Provenance, Record, TableRecord};

/// The model file of a fit that has not made a step, with the state to train from.
pub fn begin(
    schema: &Schema,
    table: &TableRecord,
    settings: FitSettings,
    train: &Dataset,
) -> deepgp::Result<ModelFile> {
    let regressor = Regressor::start(train, &settings)?;
    let state = Some(regressor.begin(train, &settings)?);
    let record = Record::new(Provenance::Table(table.clone()), settings);
    Ok(ModelFile { regressor, schema: schema.clone(), record, history: History::default(), state })
}
