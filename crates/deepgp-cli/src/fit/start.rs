//! The start of a fit: a model file before its first step.

use deepgp::{FitSettings, Training};
use deepgp_io::table::Schema;
use deepgp_io::{History, ModelFile, Provenance, Record, TableRecord};

/// The model file of a fit that has not made a step, with the state to train from.
pub fn begin(schema: &Schema, table: &TableRecord, settings: FitSettings, training: &Training) -> ModelFile {
    let (regressor, state) = (training.regressor().clone(), Some(training.state()));
    let record = Record::new(Provenance::Table(table.clone()), settings);
    ModelFile { regressor, schema: schema.clone(), record, history: History::default(), state }
}
