//! A model file before its first step: where `fit` and `demo` begin.

use deepgp::{FitSettings, Training};
use deepgp_io::table::Schema;
use deepgp_io::{History, ModelFile, Provenance, Record, TableRecord};

/// The file of a fit that is about to begin: the model at its starting point, with the state of a run that has not made a step.
pub fn begin(schema: &Schema, table: &TableRecord, settings: FitSettings, training: &Training) -> ModelFile {
    let (regressor, state) = (training.regressor().clone(), Some(training.state()));
    let record = Record::new(Provenance::Table(table.clone()), settings);
    ModelFile { regressor, schema: schema.clone(), record, history: History::default(), state }
}
