//! A model file before its first step: where `fit` and `demo` begin.

use deepgp::{Dataset, FitSettings, Regressor};
use deepgp_io::table::Schema;
use deepgp_io::{History, ModelFile, Provenance, Record, TableRecord};

/// A model at its starting point, with the state of a run that has not begun.
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
