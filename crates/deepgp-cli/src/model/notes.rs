//! Notes: what a person should know of a model.

use deepgp_io::{ModelFile, Note};

use super::score;

/// All notes on a model: on its fit, then on its test scores.
pub fn all(file: &ModelFile) -> Vec<Note> {
    let notes = &file.record.notes;
    let remarks = score::remarks_of_fit(file).into_iter().filter(|remark| !notes.contains(remark));
    notes.iter().cloned().chain(remarks).collect()
}

/// Notes as scripts and pages show them: in sentences.
pub fn sentences(notes: &[Note]) -> Vec<String> {
    notes.iter().map(Note::to_string).collect()
}
